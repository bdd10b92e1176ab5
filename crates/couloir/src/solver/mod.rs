//! The methods, and the one call that runs any of them.
//!
//! Every method has one file (or folder), with its settings, its listing and its description ([`MethodSettings`]), and one row
//! in the table below, from which everything else takes names and choices: [`Method`], the command, Python, docs/methods.md.

mod batched;
mod corrective;
mod history;
mod incumbent;
mod inner;
mod last_look;
mod members;
mod method;
mod mpcgs;
mod mpscgs;
mod restarted;
mod solve;
mod start;
mod step_search;

/// Methods of others, to compare with.
mod baseline {
    pub mod active_set;
    pub mod adaptive_step;
    pub mod apg;
    pub mod extragradient;
    pub mod spafw;
    pub mod spfw;
    pub mod sppfw;
    pub mod svre;
}

pub use baseline::apg::ApgSettings;
pub use baseline::extragradient::ExtragradientSettings;
pub use baseline::spafw::{SpAfwSettings, SpAfwStep};
pub use baseline::spfw::{SpfwRate, SpfwSettings, SpfwStep};
pub use baseline::sppfw::SpPfwSettings;
pub use baseline::svre::{Epoch, SvreSettings};
// Running solvers, whose steps our own tests look at. Everyone else runs a method by its settings.
#[doc(hidden)]
pub use baseline::{
    apg::Apg, extragradient::Extragradient, spafw::SpAfw, spfw::Geometry, spfw::Spfw, svre::Svre,
};
pub use batched::BatchedSettings;
pub use corrective::{AtomBlocks, CorrectiveSettings};
pub use incumbent::Incumbent;
pub use inner::Inner;
pub use method::{About, Footprint, Method, MethodSettings};
pub use mpcgs::{Certified, CertifiedSettings, MpcgsConstants, MpcgsSettings};
pub use mpscgs::{MpscgsConstants, MpscgsSettings, NegatedBatches};
pub use restarted::RestartedSettings;
pub use solve::{Solution, Solve};
pub use start::{Need, Start};
pub use step_search::{PAPER_GRID, StepSearch, StepTrial, search_steps};

/// Makes the table and `Method`'s functions from the rows.
macro_rules! methods {
    ($($name:ident: $settings:ty,)*) => {
        /// Every method with its default settings, in the order in which users see them.
        const TABLE: &[fn() -> Method] = &[$(Method::$name),*];

        impl Method {
            $(
                #[doc = concat!("`", stringify!($name), "`, with the default [`", stringify!($settings), "`].")]
                #[must_use]
                pub fn $name() -> Self {
                    Method::new(<$settings>::default())
                }
            )*
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

methods! {
    certified: CertifiedSettings,
    corrective: CorrectiveSettings,
    restarted: RestartedSettings,
    mpcgs: MpcgsSettings,
    mpscgs: MpscgsSettings,
    batched: BatchedSettings,
    spfw: SpfwSettings,
    spafw: SpAfwSettings,
    sppfw: SpPfwSettings,
    svre: SvreSettings,
    extragradient: ExtragradientSettings,
    apg: ApgSettings,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_goes_by_the_name_of_its_row() {
        let names: Vec<&str> = Method::all().map(|method| method.name()).collect();
        assert_eq!(names, NAMES);
        for name in names {
            let method: Method = name.parse().expect("a method");
            assert_eq!(method.to_string(), name);
        }
    }

    #[test]
    fn summaries_are_one_line_each_and_tell_methods_apart() {
        let summaries: Vec<&str> = Method::all().map(|method| method.about().summary).collect();
        for (i, summary) in summaries.iter().enumerate() {
            assert!((10..100).contains(&summary.len()), "{summary}");
            assert!(!summary.contains(['\n', '|']) && !summary.ends_with('.'), "{summary}");
            assert!(!summaries[..i].contains(summary), "{summary}");
        }
    }
}
