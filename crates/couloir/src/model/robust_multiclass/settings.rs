//! Settings of the robust model.

use crate::error::{Error, Result};
use crate::linalg::Layout;

/// The factor `s` of the losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// `s = 1`: the adversary reweights, `n y_i = max(0, 1 + (l_i - nu)/level)`.
    #[default]
    Dro,
    /// `s = 1/n`, as printed in the paper: `y` stays within about `1/n` of uniform.
    Paper,
}

impl Scaling {
    /// `s` for `n` rows.
    #[must_use]
    pub fn factor(self, n: usize) -> f64 {
        match self {
            Scaling::Dro => 1.0,
            Scaling::Paper => 1.0 / n as f64,
        }
    }
}

impl std::fmt::Display for Scaling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Scaling::Dro => "dro",
            Scaling::Paper => "paper",
        })
    }
}

/// The norm whose ball `X` lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ball {
    /// The sum of the singular values: classes share few directions.
    #[default]
    Nuclear,
    /// The Euclidean length of all weights, as in ridge regression.
    L2,
    /// The sum of the absolute weights: few weights.
    L1,
    /// The sum over features of the length of their weights: few features.
    GroupL1,
}

impl Ball {
    /// All of them.
    pub const ALL: [Ball; 4] = [Ball::Nuclear, Ball::L2, Ball::L1, Ball::GroupL1];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ball::Nuclear => "nuclear",
            Ball::L2 => "l2",
            Ball::L1 => "l1",
            Ball::GroupL1 => "group-l1",
        }
    }

    /// What its models are like.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Ball::Nuclear => "Weights of low rank: classes share few directions",
            Ball::L2 => "Small weights, as in ridge regression",
            Ball::L1 => "Few weights",
            Ball::GroupL1 => "Few features",
        }
    }
}

impl std::fmt::Display for Ball {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Ball {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ball::ALL.into_iter().find(|ball| ball.name() == name).ok_or_else(|| {
            let names = Ball::ALL.map(Ball::name);
            Error::Setting { name: "ball", why: crate::model::choice::unknown(name, &names) }
        })
    }
}

/// Settings of [`RobustMulticlass`](super::RobustMulticlass).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RobustSettings {
    /// The factor of the losses.
    pub scaling: Scaling,
    /// The level of the chi-square penalty: `lambda n`, 1 in the paper.
    pub level: f64,
    /// The norm of the ball, the nuclear norm in the paper.
    pub ball: Ball,
    /// The radius of the ball, 100 in the paper.
    pub tau: f64,
    /// A value to append to every row as one more feature, the intercept. Its weights lie in the ball
    /// with all others. A value far above the root mean square of every feature makes the problem
    /// much harder, for then it alone decides how much f bends; [`heaviest_feature`](crate::model::heaviest_feature)
    /// is a sensible one.
    pub intercept: Option<f64>,
    /// How `X` lies in memory. By features (the default, and faster) they come in order of falling
    /// frequency: [`RobustMulticlass::class_major`](super::RobustMulticlass::class_major) gives the matrix.
    pub layout: Layout,
}

impl Default for RobustSettings {
    fn default() -> Self {
        RobustSettings {
            scaling: Scaling::Dro,
            level: 1.0,
            ball: Ball::Nuclear,
            tau: 100.0,
            intercept: None,
            layout: Layout::default(),
        }
    }
}

impl RobustSettings {
    /// The settings with this scaling.
    #[must_use]
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.scaling = scaling;
        self
    }

    /// The settings with this level.
    #[must_use]
    pub fn level(mut self, level: f64) -> Self {
        self.level = level;
        self
    }

    /// The settings with this ball.
    #[must_use]
    pub fn ball(mut self, ball: Ball) -> Self {
        self.ball = ball;
        self
    }

    /// The settings with this radius.
    #[must_use]
    pub fn tau(mut self, tau: f64) -> Self {
        self.tau = tau;
        self
    }

    /// The settings with this intercept feature.
    #[must_use]
    pub fn intercept(mut self, value: Option<f64>) -> Self {
        self.intercept = value;
        self
    }

    /// The settings with this layout of `X`.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }
}
