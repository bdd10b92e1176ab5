//! Settings of the restarted primal-dual method.

use super::Restarted;
use crate::error::{Block, Result};
use crate::run::Algorithm;
use crate::solver::{About, Footprint, MethodSettings, Need, Start};
use crate::state::Fingerprint;

/// Settings of the [restarted primal-dual method](crate::Method::restarted) for bilinear problems.
///
/// ```
/// use couloir::Solve;
/// use couloir::domain::Simplex;
/// use couloir::problem::MatrixGame;
/// use couloir::solver::RestartedSettings;
///
/// let game = MatrixGame::from_rows(2, 2, vec![3.0, -1.0, -2.0, 1.0])?;
/// let set = Simplex::new(2)?;
/// let by_steps = RestartedSettings::default().finish(false);
/// let solution = Solve::new(&game, &set, &set).method(by_steps).gap(1e-6).run()?;
/// assert!((solution.outcome.certificate.lower - 1.0 / 7.0).abs() < 1e-6);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RestartedSettings {
    /// Whether to look for the exact solution of games on simplices that the supports of an iterate point at.
    pub finish: bool,
}

impl Default for RestartedSettings {
    fn default() -> Self {
        RestartedSettings { finish: true }
    }
}

impl RestartedSettings {
    /// Whether to look for exact solutions.
    #[must_use]
    pub fn finish(mut self, finish: bool) -> Self {
        self.finish = finish;
        self
    }
}

impl MethodSettings for RestartedSettings {
    const ABOUT: About = About::new(
        "restarted",
        "Primal-dual steps with restarts, and an exact finish for games on simplices",
    )
    .needs(&[Need::Bilinear, Need::Projection(Block::X), Need::Projection(Block::Y)])
    .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(Restarted::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let RestartedSettings { finish } = self;
        print.note("exact finish", finish);
    }

    fn footprint(&self) -> Footprint {
        Footprint { copies_data: self.finish, ..Footprint::default() }
    }
}
