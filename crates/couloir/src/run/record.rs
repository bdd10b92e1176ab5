//! What a run has to tell, as it is written to files, pages and other languages.
//!
//! Numbers of the objective are over a `scale` of the caller's choice. What is not finite becomes null in JSON, and null
//! is read as NaN: not known.

use super::{Outcome, Status, TracePoint};
use crate::certificate::Certificate;
use crate::domain::Confidence;
use crate::oracles::Ledger;
use serde::{Deserialize, Deserializer, Serialize};

/// How a run ended: its certificate and its work.
///
/// Work is the method's own; what was spent on certificates alone is counted apart, gradients and linear minimisations
/// alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// Why the run ended.
    pub status: String,
    /// What went wrong, where the run ended with numerical trouble or a contradiction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Whether the tolerance was reached.
    pub solved: bool,
    /// The certified gap: an upper bound on the primal-dual gap of the pair returned.
    #[serde(deserialize_with = "number")]
    pub gap: f64,
    /// The part of it that `x` may still gain.
    #[serde(deserialize_with = "number")]
    pub gap_x: f64,
    /// The part of it that `y` may still gain.
    #[serde(deserialize_with = "number")]
    pub gap_y: f64,
    /// A lower bound of `min_x' f(x', y)`, so of the optimal value.
    #[serde(deserialize_with = "number")]
    pub lower: f64,
    /// An upper bound of `max_y' f(x, y')`, so of the optimal value.
    #[serde(deserialize_with = "number")]
    pub upper: f64,
    /// What theory says of the last iterate; infinite where it says nothing.
    #[serde(deserialize_with = "number")]
    pub bound: f64,
    /// On what the bounds rest: `exact`, `probabilistic`, `estimated` or `as given`.
    pub confidence: String,
    /// The probability that they fail.
    pub failure_probability: f64,
    /// Iterations.
    pub iterations: u64,
    /// Full gradients in `x` of the method, rejected trials included.
    pub grads: u64,
    /// Full gradients in `x` that were spent on certificates alone.
    pub certificate_grads: u64,
    /// Linear minimisations of the method, over both sets.
    pub lo_calls: u64,
    /// Linear minimisations that were spent on certificates alone.
    pub certificate_lo_calls: u64,
    /// Seconds of the method, certificates not counted.
    pub method_seconds: f64,
    /// All oracle calls.
    pub ledger: Ledger,
}

impl RunRecord {
    /// On what the certificate rests, in words.
    #[must_use]
    pub fn certainty(&self) -> String {
        match self.confidence.as_str() {
            "exact" => "exact oracles; rounding is charged".to_owned(),
            "probabilistic" => {
                format!("holds except with probability {:.1e}", self.failure_probability)
            }
            "estimated" => "exact oracles; the problem's own rounding is estimated".to_owned(),
            "as given" => "as right as the oracles and constants that were given".to_owned(),
            other => other.to_owned(),
        }
    }

    /// The record of a run that came to its end.
    #[must_use]
    pub fn new(outcome: &Outcome, scale: f64) -> Self {
        let last = TracePoint {
            iteration: outcome.iterations,
            seconds: outcome.seconds,
            certificate: outcome.certificate,
            bounds: outcome.bounds,
            ledger: outcome.ledger,
        };
        let trouble = outcome.trouble.as_ref().map(ToString::to_string);
        RunRecord { trouble, ..RunRecord::at(&last, outcome.status, scale) }
    }

    /// The record of a run that ended at this point.
    #[must_use]
    pub fn at(point: &TracePoint, status: Status, scale: f64) -> Self {
        let Work { grads, certificate_grads, lo_calls, certificate_lo_calls } =
            Work::of(&point.ledger);
        let (confidence, failure_probability) = match point.certificate.confidence {
            Confidence::Exact => ("exact", 0.0),
            Confidence::Probabilistic { failure } => ("probabilistic", failure),
            Confidence::AsGiven => ("as given", 0.0),
            Confidence::Estimated => ("estimated", 0.0),
        };
        let Certificate { gap, gap_x, gap_y, upper, lower, .. } = point.certificate;
        RunRecord {
            status: status.to_string(),
            trouble: None,
            solved: status.is_solved(),
            gap: gap / scale,
            gap_x: gap_x / scale,
            gap_y: gap_y / scale,
            lower: lower / scale,
            upper: upper / scale,
            bound: point.bounds.best() / scale,
            confidence: confidence.to_owned(),
            failure_probability,
            iterations: point.iteration,
            grads,
            certificate_grads,
            lo_calls,
            certificate_lo_calls,
            method_seconds: point.seconds,
            ledger: point.ledger,
        }
    }
}

/// A point of a trace: the best certificate so far, and the work up to there, counted as in [`RunRecord`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceRecord {
    /// Iterations done.
    pub iteration: u64,
    /// Seconds of the method, certificates not counted.
    pub seconds: f64,
    /// The certified gap.
    #[serde(deserialize_with = "number")]
    pub gap: f64,
    /// The part of it that `x` may still gain.
    #[serde(deserialize_with = "number")]
    pub gap_x: f64,
    /// The part of it that `y` may still gain.
    #[serde(deserialize_with = "number")]
    pub gap_y: f64,
    /// The upper bound.
    #[serde(deserialize_with = "number")]
    pub upper: f64,
    /// The lower bound.
    #[serde(deserialize_with = "number")]
    pub lower: f64,
    /// What theory says; infinite where it says nothing.
    #[serde(deserialize_with = "number")]
    pub bound: f64,
    /// Full gradients in `x` of the method.
    pub grads: u64,
    /// Full gradients in `x` that were spent on certificates alone.
    pub certificate_grads: u64,
    /// Gradients of single components or samples.
    pub component_grads: u64,
    /// Linear minimisations of the method.
    pub lo_calls: u64,
    /// Linear minimisations that were spent on certificates alone.
    pub certificate_lo_calls: u64,
    /// Passes of the method over the data.
    pub passes: f64,
}

impl TraceRecord {
    /// The record of a point.
    #[must_use]
    pub fn new(point: &TracePoint, scale: f64) -> Self {
        let Work { grads, certificate_grads, lo_calls, certificate_lo_calls } =
            Work::of(&point.ledger);
        let Certificate { gap, gap_x, gap_y, upper, lower, .. } = point.certificate;
        TraceRecord {
            iteration: point.iteration,
            seconds: point.seconds,
            gap: gap / scale,
            gap_x: gap_x / scale,
            gap_y: gap_y / scale,
            upper: upper / scale,
            lower: lower / scale,
            bound: point.bounds.best() / scale,
            grads,
            certificate_grads,
            component_grads: point.ledger.method.component_grads,
            lo_calls,
            certificate_lo_calls,
            passes: point.ledger.method.passes,
        }
    }
}

/// The one rule by which work is counted.
struct Work {
    grads: u64,
    certificate_grads: u64,
    lo_calls: u64,
    certificate_lo_calls: u64,
}

impl Work {
    fn of(ledger: &Ledger) -> Self {
        Work {
            grads: ledger.method.grad_x,
            certificate_grads: ledger.certificate.grad_x,
            lo_calls: ledger.method.lo(),
            certificate_lo_calls: ledger.certificate.lo(),
        }
    }
}

/// A number, NaN where there is null.
pub(crate) fn number<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Bounds;
    use crate::oracles::OracleCounts;

    fn point() -> TracePoint {
        let counts = |lo_x: u64| OracleCounts {
            grad_x: 2 * lo_x,
            lo_x,
            lo_y: 10 * lo_x,
            passes: 1.0 / 3.0,
            ..OracleCounts::default()
        };
        TracePoint {
            iteration: 7,
            seconds: 0.1,
            certificate: Certificate::from_parts(
                3.0,
                1.0,
                0.5,
                Confidence::Probabilistic { failure: 1e-9 },
            ),
            bounds: Bounds { schedule: 8.0, minorant: 6.0 },
            ledger: Ledger { method: counts(3), certificate: counts(5) },
        }
    }

    #[test]
    fn records_are_over_the_scale_and_count_the_methods_work_apart() {
        let run = RunRecord::at(&point(), Status::TimeLimit, 2.0);
        assert_eq!((run.status.as_str(), run.solved), ("time limit", false));
        assert_eq!([run.gap, run.gap_x, run.gap_y], [0.75, 0.5, 0.25]);
        assert_eq!([run.lower, run.upper, run.bound], [1.0, 1.75, 3.0]);
        assert_eq!((run.confidence.as_str(), run.failure_probability), ("probabilistic", 1e-9));
        assert_eq!([run.grads, run.certificate_grads], [6, 10]);
        assert_eq!([run.lo_calls, run.certificate_lo_calls], [33, 55]);
        let trace = TraceRecord::new(&point(), 2.0);
        assert_eq!([trace.gap, trace.lower, trace.bound], [run.gap, run.lower, run.bound]);
        assert_eq!([trace.lo_calls, trace.certificate_lo_calls], [33, 55]);
    }

    #[test]
    fn records_are_read_again_to_the_same_bits_and_what_is_not_finite_as_not_known() {
        let run = RunRecord::at(&point(), Status::Solved, 3.0);
        let text = serde_json::to_string(&run).expect("JSON");
        assert_eq!(serde_json::from_str::<RunRecord>(&text).expect("a record"), run);
        let unbounded = TracePoint { bounds: Bounds::NONE, ..point() };
        let text = serde_json::to_string(&TraceRecord::new(&unbounded, 1.0)).expect("JSON");
        assert!(text.contains("\"bound\":null"), "{text}");
        assert!(serde_json::from_str::<TraceRecord>(&text).expect("a record").bound.is_nan());
    }
}
