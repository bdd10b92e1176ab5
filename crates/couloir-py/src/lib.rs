//! The compiled half of the Python package `couloir`; `python/couloir` is the half that users see.

mod callbacks;
mod checkpoints;
mod completion;
mod failure;
mod fit;
mod games;
mod guard;
mod page;
mod path;
mod problem;
mod records;
mod rows;
mod sets;
mod solve;
mod watch;

use pyo3::prelude::*;

#[pymodule]
mod _couloir {
    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::completion::fit_completion;
    #[pymodule_export]
    use super::fit::fit_robust;
    #[pymodule_export]
    use super::games::{ready_game, solve_game};
    #[pymodule_export]
    use super::page::write_fit_page;
    #[pymodule_export]
    use super::path::{auto_tau, path_robust};
    #[pymodule_export]
    use super::sets::{check_set, set_diameter, set_dim, set_lmo};
    #[pymodule_export]
    use super::solve::{check_gradient, methods, solve};
}
