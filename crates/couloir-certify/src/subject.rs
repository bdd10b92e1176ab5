//! Whatever is solved: a quadratic problem or a robust classifier, behind one interface.

use crate::draw::{Draw, Form, Problem, draw_game, draw_problem};
use crate::exact::Exact;
use crate::judge::{Truth, ULPS};
use crate::robust::Robust;
use crate::sets::Set;
use couloir::Solution;
use couloir::domain::Domain;
use couloir::problem::{Population, QuadraticSum, SaddleProblem};

/// A problem whose true gaps are known.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A quadratic-bilinear problem.
    Quadratic(Problem),
    /// A robust classifier.
    Robust(Robust),
}

/// The share of robust classifiers.
const ROBUST: f64 = 0.05;
/// The share of games by their matrix among the others.
const GAMES: f64 = 0.08;

impl Subject {
    /// A random one.
    #[must_use]
    pub fn draw(draw: &mut Draw) -> Self {
        if draw.chance(ROBUST) {
            Subject::Robust(Robust::draw(draw))
        } else if draw.chance(GAMES) {
            Subject::Quadratic(draw_game(draw))
        } else {
            Subject::Quadratic(draw_problem(draw))
        }
    }

    /// Names for tables: the place, the sets, the form.
    #[must_use]
    pub fn names(&self) -> [String; 3] {
        let (x, y) = self.sets();
        let [of_x, of_y] = self.by_oracle().map(|is| if is { " by its oracle" } else { "" });
        let sets = format!("{}{of_x}, {}{of_y}", x.kind(), y.kind());
        match self {
            Subject::Quadratic(problem) => {
                [problem.place.name().to_owned(), sets, problem.form.name().to_owned()]
            }
            Subject::Robust(_) => {
                ["robust classifier".to_owned(), sets, "RobustMulticlass".to_owned()]
            }
        }
    }

    /// Which of the two sets are known by their oracle alone.
    #[must_use]
    pub fn by_oracle(&self) -> [bool; 2] {
        match self {
            Subject::Quadratic(problem) => problem.by_oracle,
            Subject::Robust(_) => [false; 2],
        }
    }

    /// What plain sums of the numbers of the problem may round by, where the problem promises nothing itself: the library
    /// can only estimate it. None where it promises.
    #[must_use]
    pub fn unpromised(&self, x: &[f64], y: &[f64]) -> Option<f64> {
        // at members that are as near as rounding leaves them the terms that vanish here do not
        let moved = |set: &Set, p: &[f64], centre: &[f64]| -> Vec<f64> {
            let away = |i: usize| ULPS * f64::EPSILON * set.width(i).copysign(p[i] - centre[i]);
            (0..p.len()).map(|i| p[i] + away(i)).collect()
        };
        match self {
            Subject::Quadratic(problem) if !problem.form.promises() => {
                let terms = (16 + x.len() + y.len()) as f64;
                let x = moved(&problem.x, x, &problem.f.x0);
                let y = moved(&problem.y, y, &problem.f.y0);
                Some(terms * f64::EPSILON * self.size(&x, &y))
            }
            _ => None,
        }
    }

    /// The two sets.
    #[must_use]
    pub fn sets(&self) -> (Set, Set) {
        match self {
            Subject::Quadratic(problem) => (problem.x.clone(), problem.y.clone()),
            Subject::Robust(robust) => (robust.x_set(), robust.y_set()),
        }
    }

    /// Hands the problem and its sets to the library.
    ///
    /// # Errors
    /// Numbers that the library refuses; what `work` reports.
    pub fn with<T>(
        &self,
        work: impl FnOnce(&dyn SaddleProblem, &dyn Domain, &dyn Domain) -> couloir::Result<T>,
    ) -> couloir::Result<T> {
        match self {
            Subject::Quadratic(problem) => {
                let domain = |set: &Set, by_oracle: bool| -> couloir::Result<Box<dyn Domain>> {
                    Ok(if by_oracle { Box::new(set.by_oracle()?) } else { set.domain()? })
                };
                let [of_x, of_y] = problem.by_oracle;
                let (x, y) = (domain(&problem.x, of_x)?, domain(&problem.y, of_y)?);
                work(&*as_given(problem)?, &*x, &*y)
            }
            Subject::Robust(robust) => {
                let model = robust.model()?;
                work(&model, &model.x_set()?, model.y_set())
            }
        }
    }

    /// The points of a solution as the sets of this crate have them.
    #[must_use]
    pub fn points(&self, solution: &Solution) -> (Vec<f64>, Vec<f64>) {
        let x = match self {
            Subject::Quadratic(_) => solution.x.clone(),
            Subject::Robust(robust) => match robust.model() {
                Ok(model) => model.class_major(&solution.x),
                Err(_) => solution.x.clone(),
            },
        };
        (x, solution.y.clone())
    }

    /// The true bounds of a pair.
    #[must_use]
    pub fn truth(&self, x: &[Exact], y: &[Exact]) -> Truth {
        match self {
            Subject::Quadratic(problem) => Truth {
                worst: problem.y.maximum(&problem.f.in_y(x)),
                least: problem.x.maximum(&problem.f.against_x(y)).negated(),
            },
            Subject::Robust(robust) => robust.truth(x, y),
        }
    }

    /// The size of the numbers that cancel in the value.
    #[must_use]
    pub fn size(&self, x: &[f64], y: &[f64]) -> f64 {
        match self {
            Subject::Quadratic(problem) => problem.f.size((&problem.x, &problem.y), x, y),
            Subject::Robust(robust) => robust.size(x, y),
        }
    }
}

/// A quadratic problem as the library is given it.
///
/// # Errors
/// Numbers that the library refuses.
fn as_given(problem: &Problem) -> couloir::Result<Box<dyn SaddleProblem + '_>> {
    let f = &problem.f;
    Ok(match problem.form {
        Form::Library => Box::new(f.library()?),
        Form::Game => Box::new(f.game()?),
        Form::Sum => {
            Box::new(QuadraticSum::new(f.library()?, Population::Finite(24), 0.5, 0.1, 3)?)
        }
        Form::Closures => Box::new(f.closures()?.with_constants(f.constants())?),
        Form::BareClosures => Box::new(f.closures()?),
        Form::Response => match &problem.y {
            Set::Box { lower, upper } => {
                let respond = |x: &[f64], y: &mut [f64]| f.respond(x, lower, upper, y);
                Box::new(f.closures()?.with_best_response(respond))
            }
            _ => Box::new(f.closures()?),
        },
    })
}
