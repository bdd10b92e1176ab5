//! The points that a run returns are in their sets.
//!
//! Where the repair of a point takes no more than a few passes ([`Domain::repairs_quickly`]), points are repaired before they
//! are certified. On nuclear-norm balls it takes a decomposition: there the prox gives points that are inside by a margin of some
//! roundings, their mixtures gather rounding, and what has left the ball after all is taken back here, once, at the end.
//!
//! The certificate is charged with that move. As `f(., y)` is convex, with `x'` the point moved to and any `y` of its set,
//!
//! ```text
//! f(x', y) <= f(x, y) + <grad_x f(x', y), x' - x> <= max_y f(x, y) + max_y |grad_x f(x', y)| |x' - x|,
//! ```
//!
//! and the problem bounds the steepest gradient ([`Rounding::steepest_x`](crate::problem::Rounding)), or it is estimated. The same
//! holds for `y` with both blocks exchanged.

use crate::domain::Domain;
use crate::error::Result;
use crate::oracles::Oracles;
use crate::problem::{PointX, SaddleProblem};
use crate::run::{Status, StopRules};
use crate::solver::Solution;

/// Takes both points of a solution into their sets, where rounding has left them outside.
///
/// # Errors
/// Gradients that are not finite; the points and their certificate are then as before.
pub(super) fn return_members(
    solution: &mut Solution,
    rules: &StopRules,
    problem: &dyn SaddleProblem,
    (x_set, y_set): (&dyn Domain, &dyn Domain),
) -> Result<()> {
    let repaired = [(x_set, &solution.x), (y_set, &solution.y)].map(|(set, p)| repaired(set, p));
    if repaired.iter().all(Option::is_none) {
        return Ok(());
    }
    let moved = [&repaired[0], &repaired[1]].map(|p| p.as_ref().map_or(0.0, |(_, moved)| *moved));
    let [x, y] = repaired.map(|p| p.map(|(p, _)| p));
    let x = x.unwrap_or_else(|| solution.x.clone());
    let y = y.unwrap_or_else(|| solution.y.clone());
    let mut oracles = Oracles::new(problem, x_set, y_set)?;
    let [charge_x, charge_y] = oracles.certifying(|o| charges(o, &x, &y, moved))?;
    let Solution { outcome, .. } = solution;
    let certificate = &mut outcome.certificate;
    // x moves max_y f(x, y), which bounds what y may gain
    certificate.upper += charge_x;
    certificate.gap_y += charge_x;
    certificate.lower -= charge_y;
    certificate.gap_x += charge_y;
    certificate.gap += charge_x + charge_y;
    let first = outcome.trace.first().map_or(f64::INFINITY, |point| point.certificate.gap);
    if outcome.status.is_solved() && rules.reached(certificate.gap, first).is_none() {
        outcome.status = Status::NoProgress;
    }
    outcome.ledger.certificate = outcome.ledger.certificate + oracles.ledger().certificate;
    (solution.x, solution.y) = (x, y);
    Ok(())
}

/// The point of the set in place of one that rounding has left outside, and how far it is from there. A point that stays is not
/// even copied where that is known: it may be large.
fn repaired(set: &dyn Domain, p: &[f64]) -> Option<(Vec<f64>, f64)> {
    if set.needs_no_repair(p) {
        return None;
    }
    let mut member = p.to_vec();
    let moved = set.repair(&mut member);
    (moved != 0.0).then_some((member, moved))
}

/// What the moves of both points are charged with.
fn charges(
    oracles: &mut Oracles<'_>,
    x: &[f64],
    y: &[f64],
    [moved_x, moved_y]: [f64; 2],
) -> Result<[f64; 2]> {
    let mut at = PointX::new(oracles.problem());
    at.x.copy_from_slice(x);
    oracles.image(x, &mut at.image)?;
    oracles.prepare(&mut at);
    // of a problem that promises nothing gradients have to be seen
    oracles.grad_x(&at, y, &mut vec![0.0; x.len()])?;
    oracles.grad_y(&at, y, &mut vec![0.0; y.len()])?;
    let steepest = oracles.rounding(&at, y, 0.0);
    let charge = |slope: f64, moved: f64| if moved > 0.0 { slope * moved } else { 0.0 };
    let length_y = (y.len() as f64).sqrt() * steepest.steepest_y;
    Ok([charge(steepest.steepest_x, moved_x), charge(length_y, moved_y)])
}
