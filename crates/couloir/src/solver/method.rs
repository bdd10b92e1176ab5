//! What a method is: its description, its settings, and how it starts. The table of all methods is in the parent module.

use super::{Inner, Need, Start, TABLE};
use crate::domain::{Domain, NuclearShape};
use crate::error::{Error, Result};
use crate::problem::SaddleProblem;
use crate::run::Algorithm;
use crate::state::Fingerprint;
use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Problems that take thin factors of a matrix are solved on them above this smaller side, where no method is named. Measured on robust
/// completion of square matrices of rank 3, to a gap of 1e-3, milliseconds of `certified` and of `corrective` beside other work: 16, 2 and 25;
/// 32, 144 and 115; 64, 470 and 175; 128, 3,100 and 107; 256, 27,500 and 161.
const FACTORS_FROM: usize = 32;

/// What is known of a method before it runs: help texts, choices and documentation are made from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct About {
    /// The name that users type.
    pub name: &'static str,
    /// What it is, in one line without a full stop.
    pub summary: &'static str,
    /// What it needs beyond values, gradients and linear minimisation, whatever its settings.
    pub needs: &'static [Need],
    /// Whether its certificate is the FW-gap of its best pair, and not a sharper bound of its own.
    pub certifies_by_fw_gap: bool,
}

impl About {
    /// A method that needs nothing special and has a certificate of its own.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str) -> Self {
        About { name, summary, needs: &[], certifies_by_fw_gap: false }
    }

    /// What it needs.
    #[must_use]
    pub const fn needs(mut self, needs: &'static [Need]) -> Self {
        self.needs = needs;
        self
    }

    /// Its certificate is the FW-gap of its best pair, as [`Incumbent`](super::Incumbent) keeps it.
    #[must_use]
    pub const fn certifies_by_fw_gap(mut self) -> Self {
        self.certifies_by_fw_gap = true;
        self
    }
}

/// How much a method keeps in memory, in vectors: what the estimate of a fit's memory is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Vectors as long as `x`, with what the oracles of the sets need.
    pub points: usize,
    /// Vectors as long as the image of `x`.
    pub images: usize,
    /// Whether it works on a copy of (a part of) the data.
    pub copies_data: bool,
    /// Whether it takes products with `A A^T`, which the data may keep tables for.
    pub normal_products: bool,
}

impl Default for Footprint {
    /// Enough for every method that does not say otherwise.
    fn default() -> Self {
        Footprint { points: 13, images: 12, copies_data: false, normal_products: false }
    }
}

/// The settings of a method, and through them the method itself. A type that implements this can be run by
/// [`Solve`](super::Solve), with the same rules, counts, certificates and checkpoints as the methods of this crate;
/// `tests/outside_method.rs` is an example.
pub trait MethodSettings: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Name, summary, needs.
    const ABOUT: About;

    /// The solver at its start point. Begin with [`check`](Self::check).
    ///
    /// # Errors
    /// Dimensions that disagree, settings or start points that make no sense, constants or oracles that the method
    /// needs and the problem or a set lacks.
    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>>;

    /// Notes every setting: a checkpoint is resumed only where they are the same. Take the settings apart without `..`,
    /// so that a new one cannot be forgotten.
    fn fingerprint(&self, print: &mut Fingerprint);

    /// Fails for settings that no problem can save.
    ///
    /// # Errors
    /// The first such setting.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The settings with this seed; a method that draws nothing has none.
    #[must_use]
    fn with_seed(self, seed: u64) -> Self {
        let _ = seed;
        self
    }

    /// The settings with this way to solve inner problems, where there is a choice.
    #[must_use]
    fn with_inner(self, inner: Inner) -> Option<Self> {
        let _ = inner;
        None
    }

    /// The settings with these steps in `x` and `y`, where the method takes steps that can be set.
    #[must_use]
    fn with_steps(self, step_x: f64, step_y: f64) -> Option<Self> {
        let _ = (step_x, step_y);
        None
    }

    /// The steps that were set.
    fn steps(&self) -> Option<(f64, f64)> {
        None
    }

    /// Samples that one iteration looks at, for methods whose iterations are small beside a certificate. Callers then
    /// evaluate about once in a pass over the data.
    fn samples_per_iteration(&self) -> Option<u64> {
        None
    }

    /// How much it keeps in memory.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// [`MethodSettings`] without its type.
trait Erased: Send + Sync {
    fn about(&self) -> About;
    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>>;
    fn fingerprint(&self, print: &mut Fingerprint);
    fn check(&self) -> Result<()>;
    fn with_seed(&self, seed: u64) -> Method;
    fn with_inner(&self, inner: Inner) -> Option<Method>;
    fn with_steps(&self, step_x: f64, step_y: f64) -> Option<Method>;
    fn steps(&self) -> Option<(f64, f64)>;
    fn samples_per_iteration(&self) -> Option<u64>;
    fn footprint(&self) -> Footprint;
    fn equals(&self, other: &dyn Any) -> bool;
    fn as_any(&self) -> &dyn Any;
    fn as_debug(&self) -> &dyn fmt::Debug;
}

impl<S: MethodSettings> Erased for S {
    fn about(&self) -> About {
        S::ABOUT
    }

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        MethodSettings::start(self, start)
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        MethodSettings::fingerprint(self, print);
    }

    fn check(&self) -> Result<()> {
        MethodSettings::check(self)
    }

    fn with_seed(&self, seed: u64) -> Method {
        Method::new(MethodSettings::with_seed(self.clone(), seed))
    }

    fn with_inner(&self, inner: Inner) -> Option<Method> {
        MethodSettings::with_inner(self.clone(), inner).map(Method::new)
    }

    fn with_steps(&self, step_x: f64, step_y: f64) -> Option<Method> {
        MethodSettings::with_steps(self.clone(), step_x, step_y).map(Method::new)
    }

    fn steps(&self) -> Option<(f64, f64)> {
        MethodSettings::steps(self)
    }

    fn samples_per_iteration(&self) -> Option<u64> {
        MethodSettings::samples_per_iteration(self)
    }

    fn footprint(&self) -> Footprint {
        MethodSettings::footprint(self)
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<S>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_debug(&self) -> &dyn fmt::Debug {
        self
    }
}

/// A method and its settings: any type that implements [`MethodSettings`], cheap to clone.
///
/// ```
/// use couloir::Method;
/// use couloir::solver::SvreSettings;
///
/// let method = Method::new(SvreSettings::default().batch(20));
/// assert_eq!(method.name(), "svre");
/// assert_eq!(method.settings::<SvreSettings>().map(|settings| settings.batch), Some(20));
/// assert_ne!(method, Method::svre());
/// ```
#[derive(Clone)]
pub struct Method(Arc<dyn Erased>);

impl Method {
    /// The method of these settings.
    #[must_use]
    pub fn new(settings: impl MethodSettings) -> Self {
        Method(Arc::new(settings))
    }

    /// The method that suits a problem by its structure, which [`Solve`](super::Solve) takes where none is named:
    ///
    /// * `restarted` for a [bilinear](crate::problem::Bilinear) function on sets that can be projected onto;
    /// * `corrective` where the set of `x` has no prox, and so is known by its linear minimisation alone or is a large nuclear-norm ball,
    ///   on smaller nuclear-norm balls for problems that take [thin factors](crate::problem::MatrixOperator), and where the set of `y` has
    ///   no prox and `f` is not known to be strongly concave;
    /// * `certified` for everything else.
    ///
    /// ```
    /// use couloir::Method;
    /// use couloir::domain::{LoSet, Simplex};
    /// use couloir::problem::{MatrixGame, QuadraticBilinear};
    ///
    /// let set = Simplex::new(2)?;
    /// let game = MatrixGame::from_rows(2, 2, vec![1.0, -1.0, -1.0, 1.0])?;
    /// assert_eq!(Method::suited(&game, &set, &set).name(), "restarted");
    /// let strongly_concave = QuadraticBilinear::on(&set, &set).build()?;
    /// assert_eq!(Method::suited(&strongly_concave, &set, &set).name(), "certified");
    ///
    /// let interval = LoSet::new(2, 1.0, vec![0.0; 2], |g, p| p[0] = if g[0] < 0.0 { 1.0 } else { 0.0 })?;
    /// assert_eq!(Method::suited(&strongly_concave, &interval, &set).name(), "corrective");
    /// # Ok::<(), couloir::Error>(())
    /// ```
    #[must_use]
    pub fn suited(problem: &dyn SaddleProblem, x_set: &dyn Domain, y_set: &dyn Domain) -> Self {
        let can_project = |set: &dyn Domain| set.oracle().has_prox();
        if problem.capabilities().bilinear.is_some() && can_project(x_set) && can_project(y_set) {
            return Method::restarted();
        }
        let side = |shape: NuclearShape| shape.rows.min(shape.columns);
        let is_large = x_set.nuclear_shape().is_some_and(|shape| side(shape) > FACTORS_FROM);
        let known = problem.capabilities();
        let knows_y = known.best_response.is_some()
            || known.constants.is_some_and(|known| known.mu().is_some());
        let by_factors = is_large && knows_y && known.matrix_operator.is_some();
        let responds = can_project(y_set) || knows_y;
        match can_project(x_set) && responds && !by_factors {
            true => Method::certified(),
            false => Method::corrective(),
        }
    }

    /// Every method of this crate, with its default settings.
    ///
    /// ```
    /// use couloir::Method;
    /// let names: Vec<&str> = Method::all().map(|method| method.name()).collect();
    /// assert_eq!(names[..4], ["certified", "corrective", "restarted", "mpcgs"]);
    /// ```
    pub fn all() -> impl Iterator<Item = Method> {
        TABLE.iter().map(|new| new())
    }

    /// Name, summary, needs.
    #[must_use]
    pub fn about(&self) -> About {
        self.0.about()
    }

    /// The name that users type.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.about().name
    }

    /// Whether this is one of the method's needs.
    #[must_use]
    pub fn needs(&self, need: Need) -> bool {
        self.about().needs.contains(&need)
    }

    /// Whether the method draws batches of samples, and so needs a problem that is a mean.
    #[must_use]
    pub fn samples(&self) -> bool {
        self.needs(Need::Batches) || self.needs(Need::FiniteSum)
    }

    /// The settings, if they are of this type.
    #[must_use]
    pub fn settings<S: MethodSettings>(&self) -> Option<&S> {
        self.0.as_any().downcast_ref()
    }

    /// Fails for settings that no problem can save.
    ///
    /// # Errors
    /// The first such setting.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }

    /// The solver at its start point.
    ///
    /// # Errors
    /// As [`MethodSettings::start`].
    pub fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        self.0.start(start)
    }

    /// The method with this seed; methods that draw nothing stay as they are.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        self.0.with_seed(seed)
    }

    /// The method with this way to solve its inner problems, on both blocks where it has both.
    ///
    /// # Errors
    /// A method that has no inner problems, or only one way to solve them.
    pub fn with_inner(&self, inner: Inner) -> Result<Self> {
        self.0.with_inner(inner).ok_or_else(|| {
            let others = names(|method| method.0.with_inner(inner).is_some());
            let why = format!("`{self}` leaves no choice; methods that do are {others}");
            Error::Setting { name: "inner", why }
        })
    }

    /// The method with these steps in `x` and `y`.
    ///
    /// # Errors
    /// A method that has no steps to set.
    pub fn with_steps(&self, step_x: f64, step_y: f64) -> Result<Self> {
        self.0.with_steps(step_x, step_y).ok_or_else(|| {
            let others = names(Method::has_steps);
            let why = format!("`{self}` has no steps to set; methods that do are {others}");
            Error::Setting { name: "method", why }
        })
    }

    /// Whether it has steps that can be set, and so be [searched for](super::search_steps).
    #[must_use]
    pub fn has_steps(&self) -> bool {
        self.0.with_steps(1.0, 1.0).is_some()
    }

    /// The steps that were set.
    #[must_use]
    pub fn steps(&self) -> Option<(f64, f64)> {
        self.0.steps()
    }

    /// Iterations in about one pass over `samples` samples, for methods whose iterations are small beside a
    /// certificate; 1 for all others. A good value of
    /// [`evaluate_every`](crate::run::StopRules::evaluate_every).
    #[must_use]
    pub fn iterations_per_pass(&self, samples: u64) -> u64 {
        let per_iteration = self.0.samples_per_iteration();
        per_iteration.map_or(1, |batch| samples.div_ceil(batch.max(1)).max(1))
    }

    /// How much it keeps in memory.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        self.0.footprint()
    }

    /// Notes the name and every setting.
    pub(super) fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("method", self);
        self.0.fingerprint(print);
    }
}

impl Default for Method {
    /// The first of the table.
    fn default() -> Self {
        Method::certified()
    }
}

impl<S: MethodSettings> From<S> for Method {
    fn from(settings: S) -> Self {
        Method::new(settings)
    }
}

impl PartialEq for Method {
    /// Whether both are the same method with the same settings.
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(other.0.as_any())
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_debug().fmt(f)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of the methods that `which` picks, for messages.
fn names(which: impl Fn(&Method) -> bool) -> String {
    let picked = Method::all().filter(which).map(|method| method.name());
    picked.collect::<Vec<_>>().join(", ")
}

/// Names of the past, and what the method is called now.
const FORMER: [(&str, &str); 1] = [("mpscgs-printed", "mpscgs")];

/// A method of this crate with its default settings, by its name.
///
/// ```
/// use couloir::Method;
/// let method: Method = "batched".parse()?;
/// assert_eq!(method, Method::batched());
/// let error = "mpscgs-printed".parse::<Method>().expect_err("a name of the past");
/// assert_eq!(error.to_string(), "setting method: `mpscgs-printed` is now called `mpscgs`");
/// # Ok::<(), couloir::Error>(())
/// ```
impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if let Some(method) = Method::all().find(|method| method.name() == name) {
            return Ok(method);
        }
        let why = match FORMER.iter().find(|(former, _)| *former == name) {
            Some((former, now)) => format!("`{former}` is now called `{now}`"),
            None => format!("there is no `{name}`; there are {}", names(|_| true)),
        };
        Err(Error::Setting { name: "method", why })
    }
}
