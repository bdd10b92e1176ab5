//! `couloir compare`: methods on data sets under one time budget, as the paper does; and `couloir report`, which
//! shows the results again.

mod folder;
mod runs;
mod watch;

use crate::data_sets::DataSet;
use crate::failure::bad;
use crate::files::{Limits, on_threads, prepare_outputs};
use crate::interrupt::{Interrupted, keep, listen};
use crate::memory::Memory;
use crate::progress::Progress;
use crate::settings::{Objective, StartName};
use crate::values::{count, method_for_balls, positive, threads};
use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use couloir::Method;
use couloir::model::{RobustFit, Scaling, Start};
use couloir::run::Cancel;
use couloir_report::comparison::reach_table;
use couloir_report::machine;
use couloir_report::results::{Results, ResultsLimits, RunKey, Settings};
use couloir_report::summary::summarise;
use folder::Folder;
use runs::Problem;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Data sets: LIBSVM files (plain, .bz2 or .gz), names that were fetched, or made-up text: generated:news20,
    /// generated:rcv1, generated:sector, or generated:2000x5000x8 for rows x features x classes
    #[arg(required = true)]
    data: Vec<String>,

    /// Folder for the results; made if it is not there
    #[arg(
        short,
        long,
        value_name = "DIR",
        default_value = "couloir-compare",
        help_heading = "Results"
    )]
    out: PathBuf,
    /// Go on with what is in the folder: only runs that are not there are run
    #[arg(long = "continue", help_heading = "Results")]
    go_on: bool,
    /// Show no progress
    #[arg(short, long, help_heading = "Results")]
    quiet: bool,

    /// Scaling of the losses
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "paper",
        help_heading = "Problem"
    )]
    objective: Objective,
    /// Radius of the nuclear-norm ball, or auto: sqrt(n h) / mean row norm
    #[arg(long, value_name = "T", value_parser = radius, allow_hyphen_values = true, default_value = "100", help_heading = "Problem")]
    tau: Radius,
    /// Level of the chi-square penalty on reweighting rows; smaller values give the adversary more freedom
    #[arg(long, value_name = "V", value_parser = positive, allow_hyphen_values = true, default_value = "1", help_heading = "Problem")]
    level: f64,

    /// The methods, with commas between
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = method_for_balls(),
        default_value = "certified,mpcgs,batched,spfw,svre",
        help_heading = "Methods"
    )]
    methods: Vec<Method>,
    /// First weights of the rows: all on the first row, or all the same
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "vertex",
        help_heading = "Methods"
    )]
    start: StartName,
    /// Times that each method runs on each data set, with another seed each time
    #[arg(long, value_name = "R", value_parser = count, allow_hyphen_values = true, default_value_t = 1, help_heading = "Methods")]
    repeat: u64,
    /// Seed of the methods that sample
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Methods")]
    seed: u64,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true, help_heading = "Methods")]
    threads: Option<usize>,

    /// Seconds of its own that each method has on each data set
    #[arg(long, value_name = "S", value_parser = positive, allow_hyphen_values = true, default_value_t = 30.0, help_heading = "Limits")]
    time_budget: f64,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    runs: MaxRuns,
}

const EXAMPLES: &str = "\
Examples:
  couloir compare generated:2000x5000x8 --time-budget 2
  couloir compare news20.scale rcv1.multiclass sector.scale --out paper
  couloir compare news20.scale --methods certified,extragradient,apg --objective dro --tau auto";

#[derive(clap::Args)]
pub struct ReportOptions {
    /// Folder of a comparison
    dir: PathBuf,
    #[command(flatten)]
    memory: Memory,
    #[command(flatten)]
    runs: MaxRuns,
}

/// How much of a file of results to bear.
#[derive(clap::Args)]
struct MaxRuns {
    /// Refuse results with more data sets, searches and runs than this
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 2000, help_heading = "Limits")]
    max_runs: u64,
}

impl MaxRuns {
    /// Fails for a comparison of more runs than a file of results may have.
    fn check(&self, sets: usize, methods: usize, repeat: u64) -> Result<()> {
        let runs = (sets as u64 * methods as u64).saturating_mul(repeat);
        if runs <= self.max_runs {
            return Ok(());
        }
        Err(bad(format!(
            "{sets} data sets, {methods} methods and --repeat {repeat} make {runs} runs, more than {}; lower --repeat, or raise \
             --max-runs",
            self.max_runs
        )))
    }

    fn limits(&self, memory: Memory) -> ResultsLimits {
        ResultsLimits::within(memory.bytes())
            .runs(usize::try_from(self.max_runs).unwrap_or(usize::MAX))
    }
}

/// A radius, or one that is chosen from the data.
#[derive(Clone, Copy)]
struct Radius(Option<f64>);

fn radius(text: &str) -> Result<Radius, String> {
    match text {
        "auto" => Ok(Radius(None)),
        _ => positive(text).map(|tau| Radius(Some(tau))),
    }
}

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let sets: Vec<DataSet> = options.data.iter().map(|name| find(name)).collect::<Result<_>>()?;
    for (i, set) in sets.iter().enumerate() {
        set.check(&options.limits)?;
        if sets[..i].iter().any(|other| other.name == set.name) {
            return Err(bad(format!(
                "{}: named twice; tables could not tell them apart",
                set.name
            )));
        }
    }
    let methods = each_once(&options.methods);
    let folder = Folder::new(&options.out, options.runs.limits(options.limits.memory));
    options.runs.check(sets.len(), methods.len(), options.repeat)?;
    let outputs = folder.outputs();
    on_threads(options.threads, || {
        let settings = settings(options);
        let (mut results, _lock) = folder.begin(settings, options.go_on)?;
        let inputs: Vec<(&str, &Path)> = sets.iter().map(|set| ("the data", set.path())).collect();
        let named: Vec<(&str, &Path)> =
            outputs.iter().map(|path| ("a result", path.as_path())).collect();
        prepare_outputs(&inputs, &named)?;
        if !options.go_on {
            folder.forget_checkpoint();
        }
        let cancel = listen(outputs);
        compare(options, &sets, &methods, &folder, &mut results, cancel)?;
        show(&results, out)?;
        folder.list(out)
    })
}

fn find(name: &str) -> Result<DataSet> {
    if name == "-" {
        return Err(bad("-: a comparison does not read standard input; name a file"));
    }
    DataSet::find(Path::new(name))
}

/// The methods, each once.
fn each_once(named: &[Method]) -> Vec<Method> {
    let mut methods: Vec<Method> = Vec::new();
    for method in named {
        if !methods.contains(method) {
            methods.push(method.clone());
        }
    }
    methods
}

fn settings(options: &Options) -> Settings {
    Settings {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        objective: Scaling::from(options.objective).to_string(),
        tau: options.tau.0,
        level: options.level,
        start: Start::from(options.start).to_string(),
        time_budget: options.time_budget,
        seed: options.seed,
        threads: rayon::current_num_threads(),
        machine: machine::facts(),
    }
}

fn compare(
    options: &Options,
    sets: &[DataSet],
    methods: &[Method],
    folder: &Folder,
    results: &mut Results,
    cancel: Cancel,
) -> Result<()> {
    let fit = RobustFit::default()
        .scaling(options.objective.into())
        .start(options.start.into())
        .tau(options.tau.0)
        .level(options.level)
        .seed(options.seed)
        .max_memory(options.limits.memory.limit())
        .cancel(Some(cancel.clone()));
    fit.check()?;
    let interrupted = |results: &Results| -> Result<()> {
        folder.keep(results)?;
        Err(Interrupted::now("what is done is kept; the same command with --continue goes on"))
    };
    let keys = |set: &DataSet| -> Vec<(Method, RunKey)> {
        let mut keys = Vec::new();
        for repeat in 0..options.repeat {
            for method in methods {
                let (data, name) = (set.name.clone(), method.name().to_owned());
                keys.push((method.clone(), RunKey { data, method: name, repeat }));
            }
        }
        keys
    };
    let total: usize = sets.iter().map(|set| keys(set).len()).sum();
    let mut progress = Progress::start(options.quiet, "starting");
    let mut done = 0;
    for set in sets {
        let mut missing = keys(set);
        missing.retain(|(_, key)| results.run(key).is_none());
        done += keys(set).len() - missing.len();
        if missing.is_empty() {
            continue;
        }
        progress.doing(&format!("reading {}", set.name));
        keep(false); // what is done is on the disk
        let data = set.load(&options.limits, None, |n, d, h, entries| {
            let most =
                methods.iter().map(|m| fit.clone().method(m.clone()).memory(n, d, h, entries));
            let what = format!("a comparison on {n} rows, {d} features and {h} classes");
            (what, most.max().unwrap_or(0))
        })?;
        let problem = Problem::new(&set.name, data, &fit, options.time_budget)
            .with_context(|| set.name.clone())?;
        match results.facts_of(&set.name) {
            None => results.data.push(problem.facts().clone()),
            Some(facts) if facts == problem.facts() => {}
            Some(_) => {
                let folder = options.out.display();
                return Err(bad(format!(
                    "{}: is not what it was for the results in {folder}; name another folder with --out",
                    set.name
                )));
            }
        }
        keep(true);
        for (method, key) in missing {
            done += 1;
            let title = format!("run {done} of {total}, {} on {}", key.method, key.data);
            let search = problem.search(&method, results, &mut progress, &title)?;
            if cancel.is_raised() {
                return interrupted(results);
            }
            let method = match search {
                Some(search) => {
                    let chosen = match search.chosen {
                        Some((step_x, step_y)) => method.with_steps(step_x, step_y)?,
                        None => method,
                    };
                    results.searches.retain(|s| (&s.data, &s.method) != (&key.data, &key.method));
                    results.searches.push(search);
                    folder.keep(results)?; // a run that goes on needs the same steps
                    chosen
                }
                None => method,
            };
            let file = folder.checkpoint();
            match problem.run(&method, &key, &file, &mut progress, &title)? {
                Some(run) => results.runs.push(run),
                None => return interrupted(results),
            }
            folder.keep(results)?; // whatever happens now, this run is done
            folder.forget_checkpoint();
        }
        folder.write_views(results)?;
    }
    folder.write_views(results)
}

/// Prints a table for each data set.
fn show(results: &Results, out: &mut dyn Write) -> Result<()> {
    let entries = summarise(results);
    for data in &results.data {
        let reach = reach_table(&entries, &data.data);
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN).set_header(reach.header).add_rows(reach.rows);
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(out, "{}\n{table}\n", reach.caption)?;
    }
    Ok(())
}

pub fn report(options: &ReportOptions, out: &mut (dyn Write + Send)) -> Result<()> {
    let folder = Folder::new(&options.dir, options.runs.limits(options.memory));
    let results = folder.read()?;
    let _lock = folder.claim()?;
    if results.runs.is_empty() {
        let shown = options.dir.display();
        return Err(bad(format!("{shown}: no run in it has come to its end")));
    }
    folder.write_views(&results)?;
    show(&results, out)?;
    folder.list(out)
}
