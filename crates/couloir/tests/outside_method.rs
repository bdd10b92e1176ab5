//! A method that is not couloir's own, as another crate would write it: the projected subgradient method with averaged
//! iterates. `Solve` runs it with the same counts, certificates and checkpoints as every other.
//!
//! ```text
//! x_{k+1} = P_X[x_k - eta_k grad_x f(x_k, y_k)],   y_{k+1} = P_Y[y_k + eta_k grad_y f(x_k, y_k)],   eta_k = eta/sqrt(k + 1)
//! ```
//!
//! The primal-dual gap of the averages, weighted by the steps, is at most
//! `(D_X^2 + D_Y^2 + G^2 sum eta_k^2)/(2 sum eta_k)` if no gradient is longer than `G`.

use couloir::certificate::{Bounds, Certificate};
use couloir::domain::{Domain, L2Ball, LoSet, Simplex};
use couloir::error::{Block, CheckpointError};
use couloir::linalg::{between, norm};
use couloir::oracles::{Ledger, Oracles};
use couloir::problem::{PointX, QuadraticBilinear};
use couloir::run::{Algorithm, Checkpoints, Fact, Status, Step};
use couloir::solver::{About, Incumbent, MethodSettings, Need, Start};
use couloir::state::{Archive, Fingerprint};
use couloir::watch::Watch;
use couloir::{Error, Method, Result, Solution, Solve};

/// The settings: one first step.
#[derive(Clone, Debug, PartialEq)]
struct SubgradientSettings {
    eta: f64,
}

impl MethodSettings for SubgradientSettings {
    const ABOUT: About = About::new("subgradient", "Projected subgradient with averaged iterates")
        .needs(&[Need::Projection(Block::X), Need::Projection(Block::Y)])
        .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        self.check()?;
        let mut oracles = start.oracles(Self::ABOUT.needs)?;
        let (x, y) = start.points(&mut oracles)?;
        Ok(Box::new(Subgradient {
            eta: self.eta,
            sizes: [start.x_set.diameter(), start.y_set.diameter()],
            k: 0,
            sum: 0.0,
            squares: 0.0,
            longest: 0.0,
            average: (x.clone(), y.clone()),
            best: Incumbent::new(&x.x, &y),
            next: (x.x.clone(), y.clone()),
            gradients: (x.x.clone(), y.clone()),
            x,
            y,
            oracles,
        }))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let SubgradientSettings { eta } = self;
        print.note("first step", eta);
    }

    fn check(&self) -> Result<()> {
        if self.eta > 0.0 && self.eta.is_finite() {
            return Ok(());
        }
        Err(Error::NotPositive { name: "the first step".to_owned(), value: self.eta })
    }
}

struct Subgradient<'a> {
    oracles: Oracles<'a>,
    eta: f64,
    sizes: [f64; 2],
    k: u64,
    /// Sums of the steps and of their squares, and the longest gradient.
    sum: f64,
    squares: f64,
    longest: f64,
    x: PointX,
    y: Vec<f64>,
    next: (Vec<f64>, Vec<f64>),
    gradients: (Vec<f64>, Vec<f64>),
    average: (PointX, Vec<f64>),
    best: Incumbent,
}

impl Algorithm for Subgradient<'_> {
    fn name(&self) -> &'static str {
        SubgradientSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        let eta = self.eta / ((self.k + 1) as f64).sqrt();
        let (gx, gy) = (&mut self.gradients.0, &mut self.gradients.1);
        self.oracles.grad_x(&self.x, &self.y, gx)?;
        self.oracles.grad_y(&self.x, &self.y, gy)?;
        gy.iter_mut().for_each(|g| *g = -*g);
        self.longest = self.longest.max(norm(gx).hypot(norm(gy)));
        // the averages take in the point at which the gradients were taken
        self.sum += eta;
        self.squares += eta * eta;
        let share = eta / self.sum;
        let (mean, mean_y) = (&mut self.average.0, &mut self.average.1);
        let (before, before_image, before_y) = (mean.x.clone(), mean.image.clone(), mean_y.clone());
        between(share, &before, &self.x.x, &mut mean.x);
        between(share, &before_image, &self.x.image, &mut mean.image);
        between(share, &before_y, &self.y, mean_y);
        self.oracles.prepare(mean);
        // argmin <g, u> + 1/(2 eta) |u - x|^2 is the projection of x - eta g
        self.oracles.prox(Block::X, gx, &self.x.x, 1.0 / eta, &mut self.next.0)?;
        self.oracles.prox(Block::Y, gy, &self.y, 1.0 / eta, &mut self.next.1)?;
        std::mem::swap(&mut self.x.x, &mut self.next.0);
        std::mem::swap(&mut self.y, &mut self.next.1);
        self.oracles.image(&self.x.x, &mut self.x.image)?;
        self.oracles.prepare(&mut self.x);
        self.k += 1;
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        self.best.consider(&mut self.oracles, &self.average.0, &self.average.1)
    }

    fn certificate(&self) -> &Certificate {
        self.best.certificate()
    }

    fn best(&self) -> (&[f64], &[f64]) {
        self.best.pair()
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.average.0.x, &self.average.1)
    }

    fn iterations(&self) -> u64 {
        self.k
    }

    fn bounds(&self) -> Bounds {
        if self.k == 0 {
            return Bounds::NONE;
        }
        let distances = self.sizes.map(|size| size * size).iter().sum::<f64>();
        let schedule = (distances + self.longest.powi(2) * self.squares) / (2.0 * self.sum);
        Bounds { schedule, ..Bounds::NONE }
    }

    fn ledger(&self) -> &Ledger {
        self.oracles.ledger()
    }

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact { name: "longest gradient", value: self.longest }]
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.count("k", &mut self.k)?;
        archive.number("sum", &mut self.sum)?;
        archive.number("squares", &mut self.squares)?;
        archive.number("longest", &mut self.longest)?;
        self.oracles.point_state(archive, "x", &mut self.x)?;
        archive.numbers("y", &mut self.y)?;
        self.oracles.point_state(archive, "average", &mut self.average.0)?;
        archive.numbers("average_y", &mut self.average.1)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}

fn sets() -> (L2Ball, Simplex) {
    (L2Ball::new(6, 1.0).expect("a ball"), Simplex::new(5).expect("a simplex"))
}

fn problem(x_set: &dyn Domain, y_set: &dyn Domain) -> QuadraticBilinear {
    let builder = QuadraticBilinear::on(x_set, y_set).curvature(0.1, 1.0).coupling(2.0);
    builder.seed(3).build().expect("a problem")
}

fn method(eta: f64) -> Method {
    Method::new(SubgradientSettings { eta })
}

#[test]
fn it_is_certified_counted_and_as_good_as_its_theorem_says() {
    let (x_set, y_set) = sets();
    let problem = problem(&x_set, &y_set);
    let solve = Solve::new(&problem, &x_set, &y_set).method(method(0.5)).gap(1e-12);
    let mut looks = 0;
    let mut watch = |point: &couloir::run::TracePoint, state: &dyn Algorithm| {
        let (x, y) = state.current();
        let gap = problem.exact_gap(&x_set, &y_set, x, y).expect("a gap");
        assert!(gap <= point.bounds.schedule, "{gap} at {}", point.iteration);
        let (x, y) = state.best();
        let gap = problem.exact_gap(&x_set, &y_set, x, y).expect("a gap");
        assert!(gap <= point.certificate.gap, "{gap} at {}", point.iteration);
        looks += 1;
        couloir::run::Flow::Continue
    };
    let solution = solve.iterations(2000).run_with(&mut watch).expect("a run");
    let outcome = &solution.outcome;
    assert_eq!((outcome.status, looks), (Status::IterationLimit, 2001));
    let (first, last) = (outcome.trace[0].certificate.gap, outcome.certificate.gap);
    assert!(last < 0.03 * first, "{last} of {first}");
    // its own calls, and apart from them those of the certificates
    let (own, for_certificates) = (outcome.ledger.method, outcome.ledger.certificate);
    assert_eq!([own.grad_x, own.grad_y, own.prox_x, own.prox_y], [2000; 4]);
    assert_eq!((own.images, own.lo()), (2001, 0));
    assert_eq!([for_certificates.grad_x, for_certificates.lo_x, for_certificates.lo_y], [2001; 3]);
    assert_eq!(outcome.facts[0].name, "longest gradient");
}

#[test]
fn it_stops_by_the_rules_and_its_needs_and_settings_are_checked() {
    let (x_set, y_set) = sets();
    let problem = problem(&x_set, &y_set);
    let solve = Solve::new(&problem, &x_set, &y_set);
    let solved = solve.clone().method(SubgradientSettings { eta: 0.5 }).relative_gap(0.1).run();
    assert_eq!(solved.expect("a run").outcome.status, Status::SolvedRelative);
    let error = solve.method(method(-1.0)).run().expect_err("a bad step");
    assert!(matches!(error, Error::NotPositive { value: -1.0, .. }), "{error}");
    let own = LoSet::new(6, 2.0, vec![0.0; 6], |_, p| p.fill(0.0)).expect("a set");
    let error = Solve::new(&problem, &own, &y_set).method(method(0.5)).run().expect_err("no prox");
    assert!(matches!(error, Error::MissingOracle { oracle: "exact projection", .. }), "{error}");
    // it is a method like others, but for the table, which has couloir's own
    assert_eq!(method(0.5).to_string(), "subgradient");
    assert!(
        method(0.5) == method(0.5) && method(0.5) != method(0.25) && method(0.5) != Method::apg()
    );
    assert!("subgradient".parse::<Method>().is_err());
}

#[test]
fn it_goes_on_from_a_checkpoint_with_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.checkpoint");
    let (x_set, y_set) = sets();
    let problem = problem(&x_set, &y_set);
    let solve = |eta: f64, iterations: u64| {
        let solve = Solve::new(&problem, &x_set, &y_set).method(method(eta)).gap(1e-12);
        solve.iterations(iterations)
    };
    let whole = solve(0.5, 60).run().expect("a run");
    for stop in [0, 1, 7, 59, 60] {
        solve(0.5, stop).checkpoints(Checkpoints::to(&file)).run().expect("a run");
        let resumed = solve(0.5, 60).checkpoints(Checkpoints::resume(&file)).run().expect("a run");
        let bits = |solution: &Solution| -> Vec<u64> {
            solution.x.iter().chain(&solution.y).map(|v| v.to_bits()).collect()
        };
        assert_eq!(bits(&resumed), bits(&whole), "stopped after {stop}");
        assert_eq!(resumed, whole, "stopped after {stop}");
    }
    let other = solve(0.25, 60).checkpoints(Checkpoints::resume(&file)).run();
    let Err(Error::Checkpoint { error: CheckpointError::Differs { differences }, .. }) = other
    else {
        panic!("another step is another run: {other:?}");
    };
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].name, "first step");
}
