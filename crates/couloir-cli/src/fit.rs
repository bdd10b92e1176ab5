//! `couloir fit`: a robust classifier from a LIBSVM file, with a certificate.

use crate::failure::bad;
use crate::files::{Limits, Source, check_distinct, check_output, on_threads};
use crate::progress::Progress;
use crate::report::{Report, trace_line};
use crate::values::{count, positive, show, threads};
use anyhow::{Context, Result};
use clap::ValueEnum;
use couloir::model::{DEFAULT_TOL, Fitted, RobustFit, Scaling, Start};
use couloir::run::{Algorithm, Flow, TracePoint, WallClock, write_atomically};
use couloir::{Inner, Method};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// LIBSVM file (plain, .bz2 or .gz), `-` for standard input, or a data set that was fetched by name
    data: PathBuf,

    /// Write the model here (safetensors)
    #[arg(short, long, value_name = "MODEL", help_heading = "Results")]
    output: Option<PathBuf>,
    /// Print one JSON object in place of the summary
    #[arg(long, help_heading = "Results")]
    json: bool,
    /// Write the trace here, a JSON object a line
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Results")]
    trace: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long, help_heading = "Results")]
    quiet: bool,

    /// Scaling of the losses: dro reweights rows for real, paper hardly does
    #[arg(long, value_name = "NAME", value_enum, default_value = "dro", help_heading = "Problem")]
    objective: Objective,
    /// Radius of the nuclear-norm ball [default: sqrt(n h) / mean row norm]
    #[arg(long, value_name = "T", value_parser = positive, allow_hyphen_values = true, help_heading = "Problem")]
    tau: Option<f64>,
    /// lambda times n: how dear it is to reweight rows
    #[arg(long, value_name = "V", value_parser = positive, allow_hyphen_values = true, default_value = "1", help_heading = "Problem")]
    lambda_n: f64,
    /// Number of classes, when the file lacks rows of some [default: the labels seen]
    #[arg(long, value_name = "H", help_heading = "Problem")]
    classes: Option<usize>,
    /// Add a constant feature, as long as the mean row
    #[arg(long, help_heading = "Problem")]
    intercept: bool,

    /// How to solve it
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "certified",
        help_heading = "Method"
    )]
    method: MethodName,
    /// Constants of mpcgs (printed unless said) or mpscgs (practical unless said); practical mpcgs is
    /// certified
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Method")]
    schedule: Option<Schedule>,
    /// How certified, mpcgs, mpscgs and apg solve inner problems: slide never projects [default: auto,
    /// for mpcgs slide]
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Method")]
    inner: Option<InnerName>,
    /// First weights of the rows: all the same, or all on the first row
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "uniform",
        help_heading = "Method"
    )]
    start: StartName,
    /// Seed of mpscgs and svre
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Method")]
    seed: u64,
    /// Threads; the results are the same for any number [default: one per processor]
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true, help_heading = "Method")]
    threads: Option<usize>,

    /// Stop when the certified gap, in units of the loss, is at most this
    #[arg(long, value_name = "G", value_parser = positive, allow_hyphen_values = true, default_value_t = DEFAULT_TOL, help_heading = "Limits")]
    tol: f64,
    /// Stop after this many seconds of the method's own work
    #[arg(long, value_name = "S", value_parser = positive, allow_hyphen_values = true, help_heading = "Limits")]
    max_time: Option<f64>,
    /// Stop after this many full gradients
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true, help_heading = "Limits")]
    max_grads: Option<u64>,
    /// Stop after this many iterations (of svre: batches)
    #[arg(long, value_name = "K", value_parser = count, allow_hyphen_values = true, default_value_t = 10_000, help_heading = "Limits")]
    max_iters: u64,
    #[command(flatten)]
    limits: Limits,
}

const EXAMPLES: &str = "\
Examples:
  couloir data generate --rows 2000 --features 5000 --classes 8 -o text.svm
  couloir fit text.svm -o text.safetensors
  couloir fit news20.scale --tau 100 --tol 1e-3 --json --trace trace.jsonl";

#[derive(Clone, Copy, ValueEnum)]
enum Objective {
    Dro,
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodName {
    /// MPCGS that finds its constants and proves its bounds while it runs
    Certified,
    /// MPCGS with the constants of the paper
    Mpcgs,
    /// MPSCGS, which samples rows
    Mpscgs,
    /// SP-FW: a linear minimisation in each block
    Spfw,
    /// SP-FW with away steps; for polytopes, so not for this problem
    Spafw,
    /// Variance reduced extragradient, which projects
    Svre,
    /// Extragradient, which projects
    Extragradient,
    /// Accelerated projected gradient
    Apg,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Schedule {
    Printed,
    Practical,
}

#[derive(Clone, Copy, ValueEnum)]
enum InnerName {
    Auto,
    Slide,
    Exact,
}

#[derive(Clone, Copy, ValueEnum)]
enum StartName {
    Uniform,
    Vertex,
}

impl Options {
    fn method(&self) -> Result<Method> {
        use MethodName as Name;
        use Schedule::{Practical, Printed};
        let method = match (self.method, self.schedule) {
            (Name::Certified, None | Some(Practical)) | (Name::Mpcgs, Some(Practical)) => {
                Method::certified()
            }
            (Name::Mpcgs, None | Some(Printed)) => Method::printed(),
            (Name::Mpscgs, None | Some(Practical)) => Method::mpscgs(),
            (Name::Mpscgs, Some(Printed)) => Method::printed_mpscgs(),
            (Name::Certified, Some(Printed)) => {
                return Err(bad("--schedule printed: certified finds its own; use --method mpcgs"));
            }
            (_, Some(_)) => {
                return Err(bad("--schedule: only mpcgs and mpscgs have one; leave it out"));
            }
            (Name::Spfw, None) => Method::spfw(),
            (Name::Spafw, None) => Method::spafw(),
            (Name::Svre, None) => Method::svre(),
            (Name::Extragradient, None) => Method::extragradient(),
            (Name::Apg, None) => Method::apg(),
        };
        let inner = match self.inner {
            None => return Ok(method),
            Some(InnerName::Auto) => Inner::Auto,
            Some(InnerName::Slide) => Inner::Slide,
            Some(InnerName::Exact) => Inner::Exact,
        };
        Ok(method.with_inner(inner)?)
    }

    fn fit(&self) -> Result<RobustFit> {
        let fit = RobustFit::default()
            .scaling(match self.objective {
                Objective::Dro => Scaling::Dro,
                Objective::Paper => Scaling::Paper,
            })
            .start(match self.start {
                StartName::Uniform => Start::Uniform,
                StartName::Vertex => Start::Vertex,
            })
            .method(self.method()?)
            .tau(self.tau)
            .lambda_n(self.lambda_n)
            .intercept(self.intercept)
            .tol(self.tol)
            .max_seconds(self.max_time)
            .max_grads(self.max_grads)
            .max_iters(Some(self.max_iters))
            .seed(self.seed);
        fit.check()?;
        Ok(fit)
    }
}

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let fit = options.fit()?;
    let source = Source::find(&options.data)?;
    let outputs = [("--output", &options.output), ("--trace", &options.trace)];
    let mut paths = vec![("the data", source.name())];
    paths.extend(outputs.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?))));
    for (_, path) in &paths[1..] {
        check_output(path)?;
    }
    check_distinct(&paths)?;
    on_threads(options.threads, || {
        let (report, fitted) = fit_source(options, &fit, &source)?;
        if let Some(path) = &options.trace {
            write_trace(path, &fitted).with_context(|| format!("{}", path.display()))?;
        }
        if options.json {
            writeln!(out, "{}", serde_json::to_string(&report)?)?;
        } else {
            summarise(&report, out)?;
        }
        Ok(())
    })
}

fn fit_source(options: &Options, fit: &RobustFit, source: &Source) -> Result<(Report, Fitted)> {
    let file = source.name();
    let mut progress = Progress::start(options.quiet, &format!("reading {}", file.display()));
    if let Some(classes) = options.classes {
        // each has a label and a place, before anything is known of the file
        let bytes = (classes as u64).saturating_mul(128);
        options.limits.check(&format!("{classes} classes"), bytes, "declare fewer")?;
    }
    let mut data = source.read(&options.limits.read_options(options.classes))?;
    data.check_trainable(file)?;
    if data.nonzeros() == 0 {
        let file = file.display();
        return Err(bad(format!(
            "{file}: no row has a feature; expected lines like `1 3:0.5 7:1`"
        )));
    }
    let (n, d, h) = (data.len(), data.features, data.classes.len());
    let entries = data.nonzeros();
    options.limits.check(
        &format!("{}: a fit of {n} rows, {d} features and {h} classes", file.display()),
        fit.memory(n, d, h, entries),
        "use fewer features or classes, or raise --max-memory",
    )?;
    progress.doing("starting");
    let rows = data.take_matrix()?;
    let labels = std::mem::take(&mut data.labels);
    let scale = fit.scaling.factor(n);
    let mut watch = |point: &TracePoint, _: &dyn Algorithm| {
        progress.at(point, scale);
        Flow::Continue
    };
    let fitted = fit
        .run(rows, labels, h, &WallClock::start(), &mut watch)
        .with_context(|| format!("{}", file.display()))?;
    if let Some(path) = &options.output {
        let names = data.classes.iter().map(|class| class.text().to_owned()).collect();
        fitted.classifier(names)?.save(path)?;
    }
    let report = Report::new(file, options.output.as_deref(), d, entries, &fitted);
    Ok((report, fitted))
}

fn write_trace(path: &Path, fitted: &Fitted) -> Result<()> {
    let scale = fitted.model().scale();
    let lines = fitted.outcome().trace.iter().map(|point| trace_line(point, scale));
    let lines = lines.collect::<serde_json::Result<Vec<String>>>()?;
    Ok(write_atomically(path, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?)
}

fn summarise(report: &Report, out: &mut dyn Write) -> Result<()> {
    let Report { n, d, classes, entries, .. } = report;
    let chosen = if report.tau_chosen { " (chosen: sqrt(n h) / mean row norm)" } else { "" };
    let intercept = if report.intercept { ", intercept" } else { "" };
    let threads = if report.threads == 1 { "thread" } else { "threads" };
    writeln!(
        out,
        "data      {}: {n} rows, {d} features, {classes} classes, {entries} entries",
        report.data
    )?;
    writeln!(
        out,
        "problem   {}, tau {}{chosen}, lambda n {}{intercept}",
        report.objective,
        show(report.tau),
        report.lambda_n
    )?;
    writeln!(
        out,
        "ended     {} after {} iterations of {}, {:.2} s on {} {threads}",
        report.status, report.iterations, report.method, report.seconds, report.threads
    )?;
    writeln!(
        out,
        "loss      {} robust (the worst weights of the rows); no X in the ball has less than {}",
        show(report.primal),
        show(report.lower.max(0.0)),
    )?;
    writeln!(
        out,
        "gap       {} certified (X {}, y {}), asked for {}",
        show(report.gap),
        show(report.gap_x),
        show(report.gap_y),
        report.tol
    )?;
    writeln!(
        out,
        "work      {} gradients, {} for certificates, {} linear minimisations",
        report.grads, report.certificate_grads, report.lo_calls
    )?;
    writeln!(out, "X         rank {}, nuclear norm {}", report.rank, show(report.nuclear_norm))?;
    match &report.model {
        Some(model) => writeln!(out, "model     {model}")?,
        None => writeln!(out, "model     not kept; name a file with -o to keep it")?,
    }
    Ok(())
}
