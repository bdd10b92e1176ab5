//! `couloir data`: the catalogue of data sets, their download, and data made to measure.

use crate::files::{Limits, cache, on_threads, prepare_outputs};
use crate::interrupt::listen;
use crate::progress::Progress;
use crate::terminal::shown_path;
use crate::values::{bytes, show_bytes, table, threads};
use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use couloir::io::write_atomically;
use couloir_data::catalogue::{self, CATALOGUE, Entry, KnownDigest};
use couloir_data::fetch::{Checked, FetchOptions, fetch};
use couloir_data::generate::TextLike;
use couloir_data::{DataError, libsvm};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub enum Job {
    /// List the data sets that can be fetched by name
    List(Folder),
    /// Tell what is known of a data set: shape, source, licence, digest, where it is
    Info(Info),
    /// Download a data set by HTTPS and check its SHA-256
    ///
    /// A download that breaks off goes on where it stopped when the command is run again. Where no
    /// digest is known the first one seen is recorded beside the file, and every later look is held
    /// against it. HTTPS_PROXY is heeded.
    Fetch(Fetch),
    /// Make text-like data: Zipf words, class topics, tf-idf, rows of unit length
    ///
    /// The same settings give the same file on any machine and any number of threads.
    Generate(Generate),
}

#[derive(clap::Args)]
pub struct Folder {
    /// Folder of the files [default: the cache folder of the platform]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl Folder {
    fn path(&self) -> Result<PathBuf> {
        self.dir.clone().map_or_else(cache, Ok)
    }
}

/// Names of the catalogue, so that a wrong one is answered with all of them and the nearest.
fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(CATALOGUE.iter().map(|entry| entry.name))
}

#[derive(clap::Args)]
pub struct Info {
    /// Name in the catalogue
    #[arg(value_parser = names())]
    name: String,
    #[command(flatten)]
    folder: Folder,
}

#[derive(clap::Args)]
pub struct Fetch {
    /// Names in the catalogue
    #[arg(value_parser = names(), required = true)]
    names: Vec<String>,
    #[command(flatten)]
    folder: Folder,
    /// Refuse a file larger than this
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "2G")]
    max_size: u64,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

#[derive(clap::Args)]
pub struct Generate {
    /// Rows
    #[arg(long, value_name = "N", default_value_t = 2000)]
    rows: usize,
    /// Features
    #[arg(long, value_name = "D", default_value_t = 5000)]
    features: usize,
    /// Classes
    #[arg(long, value_name = "H", default_value_t = 8)]
    classes: usize,
    /// Mean number of nonzeros in a row [default: 80, or a quarter of the features]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    density: Option<f64>,
    /// Mean share of words that tell the class, 0 to 1: how easy the data is
    #[arg(long, value_name = "SHARE", default_value_t = 0.3, allow_hyphen_values = true)]
    topic: f64,
    /// Share of rows with a wrong label, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_hyphen_values = true)]
    label_noise: f64,
    /// Class c has a size in proportion to 1/c^E: 0 for equal classes, 1 for Zipf
    #[arg(long, value_name = "E", default_value_t = 0.0, allow_hyphen_values = true)]
    imbalance: f64,
    /// Share of rows in a minority, 0 to 1, some of whose words speak for another class: models that do well on the majority
    /// fail on it
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_hyphen_values = true)]
    minority: f64,
    /// Where to write the group of each row, one per line: majority or minority
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Everything random follows from this and from --sample
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Draw other rows of the same text, for example to test on: the meaning of words follows from --seed alone
    #[arg(long, value_name = "K", default_value_t = 0)]
    sample: u64,
    /// Where to write; a name in .bz2 or .gz is packed so [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    threads: Option<usize>,
    #[command(flatten)]
    limits: Limits,
}

pub fn run(job: &Job, out: &mut (dyn Write + Send)) -> Result<()> {
    match job {
        Job::List(folder) => list(&folder.path()?, out),
        Job::Info(options) => info(find(&options.name)?, &options.folder.path()?, out),
        Job::Fetch(options) => {
            let folder = options.folder.path()?;
            for name in &options.names {
                fetch_one(find(name)?, &folder, options, out)?;
            }
            Ok(())
        }
        Job::Generate(options) => generate(options, out),
    }
}

fn find(name: &str) -> Result<&'static Entry> {
    catalogue::find(name)
        .ok_or_else(|| crate::failure::bad(format!("{name}: not in the catalogue")))
}

fn list(folder: &Path, out: &mut dyn Write) -> Result<()> {
    let mut table = table(["name", "rows", "features", "classes", "fetched", "what it is"], 1..4);
    for entry in CATALOGUE {
        let fetched = if folder.join(entry.file).is_file() { "yes" } else { "no" };
        table.add_row([
            entry.name.to_owned(),
            entry.rows.to_string(),
            entry.features.to_string(),
            entry.classes.to_string(),
            fetched.to_owned(),
            entry.about.to_owned(),
        ]);
    }
    writeln!(out, "{table}")?;
    writeln!(out, "`couloir data fetch NAME` downloads one into {}", shown_path(folder))?;
    Ok(())
}

fn info(entry: &Entry, folder: &Path, out: &mut dyn Write) -> Result<()> {
    let path = folder.join(entry.file);
    let digest = match entry.sha256 {
        KnownDigest::Full(digest) => format!("SHA-256 {digest}"),
        KnownDigest::Prefix(start) => format!("SHA-256 begins {start}, the rest is not known"),
        _ => "not known; the first one seen is recorded beside the file".to_owned(),
    };
    let present = match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => format!("yes, {}", show_bytes(metadata.len())),
        _ => format!("no; `couloir data fetch {}` gets it", entry.name),
    };
    let Entry { name, about, rows, features, classes, page, url, licence, .. } = entry;
    writeln!(out, "{name}: {about}")?;
    writeln!(out, "shape     n = {rows} rows, d = {features} features, h = {classes} classes")?;
    writeln!(out, "page      {page}")?;
    writeln!(out, "source    {url}")?;
    writeln!(out, "licence   {licence}")?;
    writeln!(out, "digest    {digest}")?;
    writeln!(out, "file      {}", shown_path(&path))?;
    writeln!(out, "fetched   {present}")?;
    Ok(())
}

fn fetch_one(entry: &Entry, folder: &Path, options: &Fetch, out: &mut dyn Write) -> Result<()> {
    let mut progress = Progress::start(options.quiet, &format!("asking for {}", entry.file));
    let mut show = |at: couloir_data::fetch::Progress| {
        progress.received(entry.file, at.received, at.total);
    };
    let how = fetch_options().max_bytes(options.max_size);
    let fetched = fetch(entry, folder, &how, &mut show).map_err(|error| match error {
        DataError::TooLarge { .. } => anyhow::anyhow!("{error} (--max-size)"),
        other => other.into(),
    })?;
    drop(progress);
    let checked = match fetched.checked {
        Checked::Known => "as it must be",
        Checked::KnownPrefix => "begins as it must; all of it recorded for next time",
        Checked::Recorded => "the same as when it was first seen",
        _ => "no digest is known; recorded for next time",
    };
    let how = if fetched.cached { "was there" } else { "fetched" };
    writeln!(
        out,
        "{}: {how}, {}, SHA-256 {} ({checked})",
        shown_path(&fetched.path),
        show_bytes(fetched.bytes),
        fetched.sha256
    )?;
    Ok(())
}

fn fetch_options() -> FetchOptions {
    let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let proxy = names.iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    match proxy {
        Some(proxy) => FetchOptions::default().proxy(proxy),
        None => FetchOptions::default(),
    }
}

fn generate(options: &Generate, out: &mut (dyn Write + Send)) -> Result<()> {
    let Generate { rows, features, classes, .. } = *options;
    let mut text = TextLike::new(rows, features, classes)
        .topic(options.topic)
        .label_noise(options.label_noise)
        .imbalance(options.imbalance)
        .minority(options.minority)
        .seed(options.seed)
        .sample(options.sample);
    if let Some(density) = options.density {
        text = text.density(density);
    }
    let files = [("--output", &options.output), ("--groups", &options.groups)];
    let outputs: Vec<(&str, &Path)> =
        files.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect();
    prepare_outputs(&[], &outputs)?;
    listen(outputs.iter().map(|(_, path)| path.to_path_buf()).collect());
    text.check().map_err(name_option)?;
    let what = format!("data of {rows} rows and {features} features");
    options.limits.memory.check(&what, text.memory(), "make less")?;
    on_threads(options.threads, || {
        let (data, groups) = text.generate_with_groups()?;
        if let Some(path) = &options.groups {
            let name = |group: &u32| if *group == 0 { "majority" } else { "minority" };
            write_atomically(path, |out| {
                groups.iter().try_for_each(|g| writeln!(out, "{}", name(g)))
            })
            .with_context(|| format!("{}", path.display()))?;
        }
        let Some(path) = &options.output else {
            return Ok(libsvm::write_to(out, &data)?);
        };
        libsvm::write(path, &data)?;
        writeln!(
            out,
            "{}: {rows} rows, {features} features, {classes} classes, {} entries",
            shown_path(path),
            data.nonzeros()
        )?;
        Ok(())
    })
}

/// The option behind a setting that is out of range.
fn name_option(error: DataError) -> anyhow::Error {
    match error {
        DataError::Setting { name, why } => {
            crate::failure::bad(format!("--{}: {why}", name.replace('_', "-")))
        }
        other => other.into(),
    }
}
