//! What training takes, alone or along a path: the problem, the method, when to stop.

use crate::data_sets::DataSet;
use crate::failure::bad;
use crate::files::{Limits, Source};
use crate::values::{count, inner, method, positive, threads};
use anyhow::Result;
use clap::ValueEnum;
use couloir::model::{DEFAULT_TOL, RobustFit, Scaling, Start};
use couloir::{Inner, Method};
use couloir_data::Dataset;

#[derive(clap::Args)]
pub struct Settings {
    /// Scaling of the losses: dro reweights rows for real, paper hardly does
    #[arg(long, value_name = "NAME", value_enum, default_value = "dro", help_heading = "Problem")]
    objective: Objective,
    /// lambda times n: how dear it is to reweight rows
    #[arg(long, value_name = "V", value_parser = positive, allow_hyphen_values = true, default_value = "1", help_heading = "Problem")]
    lambda_n: f64,
    /// Number of classes, when the file lacks rows of some [default: the labels seen]
    #[arg(long, value_name = "H", help_heading = "Problem")]
    pub classes: Option<usize>,
    /// Add an intercept: a constant feature, as large as the heaviest feature (by root mean square)
    #[arg(long, help_heading = "Problem")]
    intercept: bool,

    /// How to solve it
    #[arg(
        long,
        value_name = "NAME",
        value_parser = method(),
        default_value = Method::default().name(),
        help_heading = "Method"
    )]
    method: Method,
    /// How the method solves its inner problems, if it leaves a choice [default: the method's own]
    #[arg(long, value_name = "NAME", value_parser = inner(), help_heading = "Method")]
    inner: Option<Inner>,
    /// First weights of the rows: all the same, or all on the first row
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "uniform",
        help_heading = "Method"
    )]
    start: StartName,
    /// Seed of everything that is drawn: samples of stochastic methods, rows that path holds back
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Method")]
    pub seed: u64,
    /// Threads; the results are the same for any number [default: one per processor]
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true, help_heading = "Method")]
    pub threads: Option<usize>,

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

#[derive(Clone, Copy, ValueEnum)]
pub enum Objective {
    Dro,
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum StartName {
    Uniform,
    Vertex,
}

impl From<Objective> for Scaling {
    fn from(name: Objective) -> Self {
        match name {
            Objective::Dro => Scaling::Dro,
            Objective::Paper => Scaling::Paper,
        }
    }
}

impl From<StartName> for Start {
    fn from(name: StartName) -> Self {
        match name {
            StartName::Uniform => Start::Uniform,
            StartName::Vertex => Start::Vertex,
        }
    }
}

impl Settings {
    fn method(&self) -> Result<Method> {
        match self.inner {
            None => Ok(self.method.clone()),
            Some(inner) => Ok(self.method.with_inner(inner)?),
        }
    }

    /// The fit that is asked for.
    pub fn fit(&self, tau: Option<f64>) -> Result<RobustFit> {
        let fit = RobustFit::default()
            .scaling(self.objective.into())
            .start(self.start.into())
            .method(self.method()?)
            .tau(tau)
            .lambda_n(self.lambda_n)
            .intercept(self.intercept)
            .tol(self.tol)
            .max_seconds(self.max_time)
            .max_memory(self.limits.memory.limit())
            .max_grads(self.max_grads)
            .max_iters(Some(self.max_iters))
            .seed(self.seed);
        fit.check()?;
        Ok(fit)
    }

    /// Reads or makes data to train on, as [`DataSet::load`].
    pub fn load(
        &self,
        data: &DataSet,
        job: impl FnOnce(usize, usize, usize, usize) -> (String, u64),
    ) -> Result<Dataset> {
        data.load(&self.limits, self.classes, job)
    }
}

/// Reads data to train on. `job` names what will be done with `(n, d, h, entries)` and how many bytes that takes;
/// it is refused here if they are not there.
pub fn read_to_train(
    source: &Source,
    limits: &Limits,
    classes: Option<usize>,
    job: impl FnOnce(usize, usize, usize, usize) -> (String, u64),
) -> Result<Dataset> {
    if let Some(classes) = classes {
        // each has a label and a place, before anything is known of the file
        let bytes = (classes as u64).saturating_mul(128);
        limits.memory.check(&format!("{classes} classes"), bytes, "declare fewer")?;
    }
    let data = source.read(&limits.read_options(classes))?;
    data.check_trainable(source.name())?;
    let file = source.name().display();
    if data.nonzeros() == 0 {
        return Err(bad(format!(
            "{file}: no row has a feature; expected lines like `1 3:0.5 7:1`"
        )));
    }
    let (what, bytes) = job(data.len(), data.features, data.classes.len(), data.nonzeros());
    let advice = "use fewer features or classes";
    limits.memory.check(&format!("{file}: {what}"), bytes, advice)?;
    Ok(data)
}

/// The labels of the classes, for a model.
pub fn names(data: &Dataset) -> Vec<String> {
    data.classes.iter().map(|class| class.text().to_owned()).collect()
}
