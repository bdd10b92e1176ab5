//! Problems that tell themselves apart from others like them.

use crate::state::Fingerprint;

/// What tells a problem from others like it, so that a run on one is never continued from a checkpoint of a run on another.
///
/// A run notes the sets, the method, the start points and the value there in any case.
///
/// ```
/// use couloir::problem::Identity;
/// use couloir::state::{Digest, Fingerprint};
///
/// struct Portfolio { returns: Vec<f64>, risk_aversion: f64 }
///
/// impl Identity for Portfolio {
///     fn fingerprint(&self, print: &mut Fingerprint) {
///         print.note("risk aversion", self.risk_aversion);
///         let mut digest = Digest::default();
///         digest.numbers(&self.returns);
///         print.note("returns (SHA-256)", digest.name());
///     }
/// }
///
/// let print_of = |returns: &[f64]| {
///     let mut print = Fingerprint::default();
///     Portfolio { returns: returns.to_vec(), risk_aversion: 3.0 }.fingerprint(&mut print);
///     print
/// };
/// assert_ne!(print_of(&[0.02, 0.05]), print_of(&[0.02, 0.06]));
/// ```
pub trait Identity: Send + Sync {
    /// Notes settings, and a digest of the data.
    fn fingerprint(&self, print: &mut Fingerprint);
}
