//! Checks couloir's certificates against the truth, in exact arithmetic.
//!
//! A certificate says of a pair of points, down to the last bit, that `max_y' f(x, y') <= upper` and
//! `min_x' f(x', y) >= lower`. This crate draws problems for which both numbers can be computed without the library
//! and without rounding, solves them with every method, and compares.
//!
//! * [`exact`], [`elementary`], [`spectral`]: rational numbers; exponentials, logarithms and singular values to some hundred bits;
//! * [`sets`]: sets for which the maximum of a separable quadratic is known, and exact membership;
//! * [`quadratic`], [`robust`]: quadratic-bilinear functions and the robust classifier, from their definitions;
//! * [`draw`], [`subject`], [`judge`], [`table`]: random problems, the verdict on each, and all verdicts together.
//!
//! It uses nothing of couloir but what users have.

pub mod draw;
pub mod elementary;
pub mod exact;
pub mod judge;
pub mod quadratic;
pub mod robust;
pub mod sets;
pub mod spectral;
pub mod subject;
pub mod table;
