//! What training takes, alone or along a path: the problem, the method, when to stop.

use crate::data_sets::DataSet;
use crate::failure::{bad, warn};
use crate::files::{Limits, Source};
use crate::model_and_data::some;
use crate::row_files;
use crate::tested::Tested;
use crate::values::{
    ClassWeights, Radius, ball, class_weights, count, inner, loss, method, number, positive,
    scale_rule, threads, uncertainty,
};
use anyhow::Result;
use clap::ValueEnum;
use couloir::linalg::SparseMatrix;
use couloir::model::loss::LossChoice;
use couloir::model::uncertainty::UncertaintyChoice;
use couloir::model::{
    Ball, ClassWeight, Classifier, ColumnScale, DEFAULT_TOL, RobustFit, ScaleRule, Scaling, Start,
    is_dense,
};
use couloir::{Inner, Method};
use couloir_data::Dataset;
use std::path::{Path, PathBuf};

/// The tolerance for dense data: the loosest of 0.1, 0.01 and 0.001 at which a balanced fit of imbalanced iris, wine and digits has the
/// worst recall of balanced logistic regression within a standard error (docs/choosing-the-model.md).
const DENSE_TOL: f64 = 1e-2;

#[derive(clap::Args)]
pub struct Settings {
    /// Norm of the ball that the weights lie in
    #[arg(long, value_name = "NAME", value_parser = ball(), default_value = Ball::default().name(), help_heading = "Problem")]
    ball: Ball,
    /// Loss of a row: logistic (multinomial), or hinge (smoothed; its probabilities are not calibrated)
    #[arg(long, value_name = "NAME", value_parser = loss(), default_value = LossChoice::default().name(), help_heading = "Problem")]
    loss: LossChoice,
    /// What the adversary may do with the weights of the rows
    #[arg(long, value_name = "NAME", value_parser = uncertainty(), default_value = UncertaintyChoice::default().name(), help_heading = "Problem")]
    uncertainty: UncertaintyChoice,
    /// Level of the uncertainty set; what it is and its default stand beside the set's name in --help
    #[arg(long, value_name = "V", value_parser = number, allow_hyphen_values = true, help_heading = "Problem")]
    level: Option<f64>,
    /// File with the weight of each row, one number of zero or more per line; rows of weight zero are left out
    #[arg(long, value_name = "FILE", help_heading = "Problem")]
    weights: Option<PathBuf>,
    /// Weights of the classes: none, balanced (every class has the same weight in total), or a list like 3=2.5,7=0.5 (all others
    /// have weight 1)
    #[arg(long, value_name = "W", value_parser = class_weights, default_value = "none", help_heading = "Problem")]
    class_weight: ClassWeights,
    /// File with the group of each row, one label per line, for --uncertainty group
    #[arg(long, value_name = "FILE", help_heading = "Problem")]
    groups: Option<PathBuf>,
    /// Scaling of the objective. dro: the adversary reweights rows; paper: the scaling printed in the paper, for chi2 alone, with
    /// nearly uniform weights
    #[arg(long, value_name = "NAME", value_enum, default_value = "dro", help_heading = "Problem")]
    objective: Objective,
    /// Number of classes, when the file lacks rows of some [default: the labels seen]
    #[arg(long, value_name = "H", help_heading = "Problem")]
    pub classes: Option<usize>,
    /// Add an intercept: a constant feature, as large as the heaviest feature (by root mean square). Centred columns come with one
    #[arg(long, help_heading = "Problem")]
    intercept: bool,
    /// Scaling of the columns. auto: centre the columns of dense data (at least half of the cells are not zero) and divide them by their
    /// standard deviation; on: also divide the columns of sparse data by their largest absolute value; off: take the data as they are.
    /// The saved model takes unscaled data
    #[arg(long, value_name = "RULE", value_parser = scale_rule(), default_value = "auto", help_heading = "Problem")]
    scale: ScaleRule,

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

    /// Stop when the certified gap, in units of the loss, is at most this [default: 0.01 for dense data, of which at least half of the
    /// cells are not zero, and 0.1 for sparse data]
    #[arg(long, value_name = "G", value_parser = positive, allow_hyphen_values = true, help_heading = "Limits")]
    tol: Option<f64>,
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
    pub limits: Limits,
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
    pub fn fit(&self, tau: Option<Radius>) -> Result<RobustFit> {
        let (tau, times) = match tau {
            None => (None, 1.0),
            Some(Radius::Given(tau)) => (Some(tau), 1.0),
            Some(Radius::Auto(times)) => (None, times),
        };
        let fit = RobustFit::default()
            .scaling(self.objective.into())
            .start(self.start.into())
            .method(self.method()?)
            .ball(self.ball)
            .tau(tau)
            .tau_times(times)
            .loss(self.loss)
            .uncertainty(self.uncertainty)
            .level(self.level)
            .intercept(self.intercept)
            .tol(self.tol.unwrap_or(DEFAULT_TOL))
            .max_seconds(self.max_time)
            .max_memory(self.limits.memory.limit())
            .max_grads(self.max_grads)
            .max_iters(Some(self.max_iters))
            .seed(self.seed);
        fit.check()?;
        if self.uncertainty.name() == "group" && self.groups.is_none() {
            return Err(bad("--uncertainty group needs the group of each row: --groups FILE"));
        }
        Ok(fit)
    }

    /// The files that are read besides the data, and the options that name them.
    pub fn row_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("--weights", &self.weights), ("--groups", &self.groups)];
        files.into_iter().filter_map(|(name, file)| Some((name, file.as_deref()?)))
    }

    /// The fit with the weights and groups of the rows of this data.
    pub fn with_rows(&self, fit: RobustFit, data: &Dataset) -> Result<RobustFit> {
        let rows = data.len();
        let weights =
            self.weights.as_deref().map(|file| row_files::weights(file, rows)).transpose()?;
        let groups =
            self.groups.as_deref().map(|file| row_files::groups(file, rows)).transpose()?;
        let class_weight = match &self.class_weight {
            ClassWeights::None => ClassWeight::None,
            ClassWeights::Balanced => ClassWeight::Balanced,
            ClassWeights::Given(given) => {
                let names = names(data);
                let mut factors = vec![1.0; names.len()];
                for (class, weight) in given {
                    let place = names.iter().position(|name| name == class).ok_or_else(|| {
                        bad(format!(
                            "--class-weight: there is no class {class}; there are {}",
                            some(&names)
                        ))
                    })?;
                    factors[place] = *weight;
                }
                ClassWeight::PerClass(factors)
            }
        };
        let groups = groups.map(|(groups, _)| groups);
        Ok(fit.weights(weights).groups(groups).class_weight(class_weight))
    }

    /// The names of the groups of so many rows, by their numbers; none where no groups are given.
    pub fn group_names(&self, rows: usize) -> Result<Vec<String>> {
        let groups =
            self.groups.as_deref().map(|file| row_files::groups(file, rows)).transpose()?;
        Ok(groups.map(|(_, names)| names).unwrap_or_default())
    }

    /// Rows to test a model on, with their groups.
    pub fn test_rows(
        &self,
        source: &Source,
        model: &Classifier,
        groups: Option<&Path>,
    ) -> Result<Tested> {
        Tested::new(source, model, groups, &self.limits)
    }

    /// The rule by which columns are scaled.
    pub fn scale_rule(&self) -> ScaleRule {
        self.scale
    }

    /// The fit as it suits these rows: with an intercept if their columns will be centred, and to the tolerance for dense
    /// data if they are dense and none is set.
    pub fn for_rows(&self, fit: RobustFit, rows: &SparseMatrix) -> RobustFit {
        let dense = is_dense(rows);
        let intercept = fit.intercept || (dense && self.scale != ScaleRule::Off);
        let tol = if dense && self.tol.is_none() { DENSE_TOL } else { fit.tol };
        fit.intercept(intercept).tol(tol)
    }

    /// How the columns of these rows are scaled for this fit.
    pub fn scale(&self, fit: &RobustFit, rows: &SparseMatrix) -> Result<Option<ColumnScale>> {
        Ok(ColumnScale::of(rows, fit.weights.as_deref(), self.scale, fit.intercept)?)
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
    if let Some(warning) = many_classes(&data) {
        warn(&format!("{file}: {warning}"));
    }
    Ok(data)
}

/// What to say of labels that look like measured values, each of which becomes a class.
fn many_classes(data: &Dataset) -> Option<String> {
    const MANY: usize = 100;
    let (n, h) = (data.len(), data.classes.len());
    let fraction = data.classes.iter().find(|label| label.value().fract() != 0.0);
    if h <= MANY || (2 * h <= n && fraction.is_none()) {
        return None;
    }
    let example =
        fraction.map_or(String::new(), |label| format!(", some with fractions like {label}"));
    Some(format!(
        "{n} rows have {h} different labels{example}, and each becomes a class; if they are measured values, put them into \
         few classes first"
    ))
}

/// The labels of the classes, for a model.
pub fn names(data: &Dataset) -> Vec<String> {
    data.classes.iter().map(|class| class.text().to_owned()).collect()
}
