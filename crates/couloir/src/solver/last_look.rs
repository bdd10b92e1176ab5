//! Before a run is called solved, its bounds are held against values at points that it may never have seen.
//!
//! A method that starts where the gradient vanishes never leaves, and sees nothing that could tell a minimum from a maximum. The
//! certificate claims `f(u, y) >= lower` for all `u` in X and `f(x, v) <= upper` for all `v` in Y: a look at the centre and at two
//! opposite vertices of each set costs six values, a gradient and two linear minimisations in each block. Oracles of the user
//! may take minutes: they are not asked. Where an image is a product with an operator, nothing is.

use crate::domain::{Confidence, Domain};
use crate::error::{Block, Error, Result};
use crate::oracles::{Oracles, check_order};
use crate::problem::{PointX, SaddleProblem};
use crate::solver::Solution;

/// Looks at a solution that is said to be solved; where its bounds are contradicted the status says so, and the certificate is
/// withdrawn.
///
/// # Errors
/// Dimensions that disagree.
pub(super) fn look_last(
    solution: &mut Solution,
    problem: &dyn SaddleProblem,
    (x_set, y_set): (&dyn Domain, &dyn Domain),
) -> Result<()> {
    let has_operator = problem.capabilities().operator.is_some();
    if !solution.outcome.status.is_solved() || has_operator {
        return Ok(());
    }
    let mut oracles = Oracles::new(problem, x_set, y_set)?;
    let found = oracles.certifying(|o| compare(solution, o));
    let outcome = &mut solution.outcome;
    outcome.ledger.certificate = outcome.ledger.certificate + oracles.ledger().certificate;
    // a value or a gradient that fails here says nothing
    if let Err(error @ Error::Contradiction { .. }) = found {
        outcome.contradict(error);
    }
    Ok(())
}

fn compare(solution: &Solution, oracles: &mut Oracles<'_>) -> Result<()> {
    let Solution { x, y, outcome, .. } = solution;
    let mut at = PointX::new(oracles.problem());
    at.x.copy_from_slice(x);
    move_image(oracles, &mut at)?;
    let asks = outcome.certificate.confidence != Confidence::AsGiven;
    let mut gradient = vec![0.0; y.len()];
    oracles.grad_y(&at, y, &mut gradient)?;
    let ys = points(oracles, Block::Y, &mut gradient, asks)?;
    let in_y = ys.iter().map(|v| oracles.value(&at, v)).collect::<Result<Vec<f64>>>()?;
    let mut gradient = vec![0.0; x.len()];
    oracles.grad_x(&at, y, &mut gradient)?;
    let xs = points(oracles, Block::X, &mut gradient, asks)?;
    let mut in_x = Vec::new();
    for u in xs {
        at.x = u;
        move_image(oracles, &mut at)?;
        in_x.push(oracles.value(&at, y)?);
    }
    let first = outcome.trace.first().map(|point| point.certificate);
    let first = first.map_or(0.0, |first| first.upper.abs().max(first.lower.abs()).max(first.gap));
    let seen = in_x.iter().chain(&in_y).fold(0.0f64, |size, value| size.max(value.abs()));
    let size = seen.max(if first.is_finite() { first } else { 0.0 });
    let least = in_x.into_iter().fold(f64::INFINITY, f64::min);
    let most = in_y.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let (lower, upper) = (outcome.certificate.lower, outcome.certificate.upper);
    if least < lower {
        let what = "f is not convex in x, or grad_x is not its gradient";
        check_order(what, ("the lower bound of f(., y)", lower), ("the value", least), size)?;
    }
    if most > upper {
        let what = "f is not concave in y, or grad_y is not its gradient";
        check_order(what, ("the upper bound of f(x, .)", upper), ("the value", most), size)?;
    }
    Ok(())
}

/// The centre of a set and, where its oracle is asked, the vertices along a gradient and against it.
fn points(
    oracles: &mut Oracles<'_>,
    block: Block,
    gradient: &mut [f64],
    asks: bool,
) -> Result<Vec<Vec<f64>>> {
    let mut points = vec![vec![0.0; gradient.len()]; if asks { 3 } else { 1 }];
    oracles.start(block, None, &mut points[0])?;
    for vertex in &mut points[1..] {
        oracles.lmo(block, gradient, vertex)?;
        // where an entry is zero, the other vertex is that for another sign of it
        let largest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        let instead = if largest > 0.0 { 1e-9 * largest } else { 1.0 };
        gradient.iter_mut().for_each(|g| *g = if *g == 0.0 { instead } else { -*g });
    }
    Ok(points)
}

fn move_image(oracles: &mut Oracles<'_>, at: &mut PointX) -> Result<()> {
    oracles.image(&at.x, &mut at.image)?;
    oracles.prepare(at);
    Ok(())
}
