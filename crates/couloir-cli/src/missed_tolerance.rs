//! What to say of fits that ended before they reached their tolerance.

use crate::values::show;
use couloir::model::{Fitted, PathStep, SearchStep};
use couloir::run::Status;
use std::path::Path;

/// The warning for a fit of this data; none where it is solved, or where the user ended it. A fit that was cut short is
/// not an error: its point is the best so far, and its certificate says how good it is.
pub fn warning(data: &Path, fitted: &Fitted, checkpoint: Option<&Path>) -> Option<String> {
    let (outcome, tol) = (fitted.outcome(), fitted.fit().tol);
    if outcome.status.is_solved() || outcome.status == Status::Cancelled {
        return None;
    }
    let why = match &outcome.trouble {
        Some(trouble) => trouble.to_string(),
        None => outcome.status.to_string(),
    };
    let resume = match checkpoint {
        Some(file) => format!("; --resume {} continues", file.display()),
        None => String::new(),
    };
    Some(format!(
        "{}: tolerance {tol:?} not reached: {why} after {} iterations, certified gap {}; the best point is kept; \
         {}{resume}",
        data.display(),
        outcome.iterations,
        show(fitted.gap()),
        advice(outcome.status)
    ))
}

/// The warning for the steps of a path over this data.
pub fn path_warning(data: &Path, steps: &[SearchStep], tol: f64) -> Option<String> {
    let fits: Vec<&PathStep> = steps.iter().flat_map(|step| &step.folds).collect();
    let missed: Vec<&PathStep> =
        fits.iter().copied().filter(|step| !step.status.is_solved()).collect();
    let first = missed.first()?;
    let largest = missed.iter().map(|step| step.gap).fold(0.0, f64::max);
    Some(format!(
        "{}: tolerance {tol:?} not reached for {} of {} fits: {}, certified gap up to {}; {}",
        data.display(),
        missed.len(),
        fits.len(),
        first.status,
        show(largest),
        advice(first.status)
    ))
}

fn advice(status: Status) -> &'static str {
    match status {
        Status::TimeLimit => "raise --max-time, or --tol",
        Status::MemoryLimit => "raise --max-memory, or --tol",
        Status::IterationLimit => "raise --max-iters, or --tol",
        Status::OracleLimit(_) => "raise --max-grads, or --tol",
        Status::Contradiction => "please report this as a bug of couloir",
        Status::NumericalTrouble => "scale the features to about 1, or raise --tol",
        Status::InnerBudget(_) => "use --method certified, or raise --tol",
        _ => "raise --tol",
    }
}
