//! Sliding on a set: the conditional gradient procedure CndG in its several forms.

mod cndg;
pub(super) mod compressed;
mod over_atoms;
pub(super) mod pairwise;

pub use cndg::{Cndg, cndg};
pub(crate) use over_atoms::OverAtoms;

/// The quadratic that CndG slides on, and when it stops.
///
/// CndG(r, q, beta, eta, Omega) of the paper minimises `<r, u> + beta/2 |u - q|^2` over the set,
/// from `u = q`, and stops when its own gap `tau_t = max_u <r + beta (q_t - q), q_t - u>` is at most
/// `eta`.
#[derive(Clone, Copy, Debug)]
pub struct SlideTask<'a> {
    /// The linear part.
    pub r: &'a [f64],
    /// The centre of the quadratic, where the procedure starts.
    pub q: &'a [f64],
    /// The weight of the quadratic, above zero.
    pub beta: f64,
    /// The gap at which to stop.
    pub eta: f64,
    /// How many linear minimisations may be spent.
    pub budget: u64,
}

/// How a slide ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlideState {
    /// The gap is at most `eta`.
    Reached,
    /// The budget of linear minimisations ran out first.
    OutOfBudget,
    /// The gap is at the level of rounding, above `eta`; no step changes it any more.
    RoundingFloor,
}

/// What a slide reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlideReport {
    /// The gap reached at the point returned (an upper bound of it where the linear minimisation
    /// is inexact).
    pub gap: f64,
    /// Linear minimisations spent.
    pub lo_calls: u64,
    /// Products of a matrix with a vector inside them.
    pub products: u64,
    /// How it ended.
    pub state: SlideState,
}

/// The ways to slide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sliding {
    /// CndG as printed.
    Plain,
    /// Mass moves from the worst vertex in use to the best one; O(log n) a step.
    Pairwise,
    /// Every coordinate takes its own step (products of intervals).
    Coordinatewise,
    /// CndG as printed, in the coordinates of the row space of `[r; q]`.
    Compressed,
    /// By quadratic programs over the atoms of all slides before.
    Atoms,
}
