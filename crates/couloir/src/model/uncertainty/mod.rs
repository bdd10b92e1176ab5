//! Uncertainty sets on rows: which weights the adversary may give to the rows, and what they cost.

mod chi_square;
mod fixed;
mod groups;
mod kl;
mod unpriced;
mod weighted_chi_square;

pub use chi_square::ChiSquare;
pub use fixed::Fixed;
pub use groups::Groups;
pub use kl::KullbackLeibler;
pub use unpriced::Unpriced;
pub use weighted_chi_square::WeightedChiSquare;

use super::choice::{Choice, Tabled};
use crate::domain::Domain;
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::accurate_sum_of;
use crate::problem::Measured;
use crate::state::Fingerprint;
use std::sync::Arc;

/// The uncertainty sets that a fit can choose by name.
pub const UNCERTAINTY_SETS: &[UncertaintyChoice] = &[
    Choice::new(
        "chi2",
        MakeUncertainty {
            make: |data, level| match data.weights {
                None => Ok(Arc::new(ChiSquare::new(data.rows, level)?)),
                Some(q) => Ok(Arc::new(WeightedChiSquare::new(q.to_vec(), level)?)),
            },
            level: Level {
                default: 1.0,
                range: LevelRange::Positive,
                means: "strength of the chi-square penalty on reweighting rows: smaller values give the adversary more \
                        freedom, large ones lead to the plain model",
            },
        },
    ),
    Choice::new(
        "kl",
        MakeUncertainty {
            make: |data, level| Ok(Arc::new(KullbackLeibler::new(data.nominal(), level)?)),
            level: Level {
                default: 1.0,
                range: LevelRange::Positive,
                means: "strength of the Kullback-Leibler penalty on reweighting rows, in units of the loss: smaller values give \
                        the adversary more freedom, large ones lead to the plain model",
            },
        },
    ),
    Choice::new(
        "cvar",
        MakeUncertainty {
            make: |data, level| unpriced("cvar", data, level, 1.0, Unpriced::cvar),
            level: Level {
                default: 0.3,
                range: LevelRange::Share,
                means: "share of the rows (by weight) whose mean loss counts, the worst ones: smaller values look at fewer rows, 1 is the plain \
                        model",
            },
        },
    ),
    Choice::new(
        "chi2-ball",
        MakeUncertainty {
            make: |data, level| unpriced("chi2-ball", data, level, 0.0, Unpriced::chi_square_ball),
            level: Level {
                default: 0.5,
                range: LevelRange::ZeroOrMore,
                means: "largest chi-square divergence of the weights from the nominal ones: larger values give the adversary more freedom, 0 is \
                        the plain model",
            },
        },
    ),
    Choice::new(
        "kl-ball",
        MakeUncertainty {
            make: |data, level| unpriced("kl-ball", data, level, 0.0, Unpriced::kl_ball),
            level: Level {
                default: 0.3,
                range: LevelRange::ZeroOrMore,
                means: "largest Kullback-Leibler divergence of the weights from the nominal ones: larger values give the adversary more freedom, 0 \
                        is the plain model",
            },
        },
    ),
    Choice::new(
        "tv-ball",
        MakeUncertainty {
            make: |data, level| unpriced("tv-ball", data, level, 0.0, Unpriced::tv_ball),
            level: Level {
                default: 0.2,
                range: LevelRange::ZeroOrMore,
                means: "share of the weight that the adversary may move to other rows: larger values give more freedom, 0 is the plain model",
            },
        },
    ),
    Choice::new(
        "group",
        MakeUncertainty {
            make: |data, level| {
                let groups = Groups::new(data.need_groups()?, level)?;
                Ok(Arc::new(match data.weights {
                    None => groups,
                    Some(q) => groups.weighted(q)?,
                }))
            },
            level: Level {
                default: 0.1,
                range: LevelRange::ZeroOrMore,
                means: "strength of the penalty on moving weight between groups: 0 is the loss of the worst \
                        group, large ones weigh all groups the same",
            },
        },
    ),
    Choice::new(
        "label",
        MakeUncertainty {
            make: |data, level| {
                let labels = data.need_labels()?;
                Ok(Arc::new(Groups::label_shift(labels, &data.nominal(), level)?))
            },
            level: Level {
                default: 0.1,
                range: LevelRange::ZeroOrMore,
                means: "strength of the penalty on moving weight between classes: 0 is the loss of the worst \
                        class, large ones lead to the plain model",
            },
        },
    ),
    Choice::new(
        "none",
        MakeUncertainty {
            make: |data, _| Ok(Arc::new(Fixed::new(data.nominal())?)),
            level: Level {
                default: 1.0,
                range: LevelRange::Positive,
                means: "not used: every row has its nominal weight, which is the plain model",
            },
        },
    ),
];

/// A set around the nominal weights, or these weights alone at the level that leaves nothing else.
fn unpriced(
    name: &'static str,
    data: &RowData<'_>,
    level: f64,
    nothing: f64,
    set: fn(Vec<f64>, f64) -> Result<Unpriced>,
) -> Result<Arc<dyn Uncertainty>> {
    let q = data.nominal();
    if level == nothing {
        return Ok(Arc::new(Fixed::named(name, q)?));
    }
    Ok(Arc::new(set(q, level)?))
}

/// An uncertainty set that a fit can choose by name: a line of [`UNCERTAINTY_SETS`].
///
/// ```
/// use couloir::model::uncertainty::UncertaintyChoice;
/// assert_eq!("chi2".parse::<UncertaintyChoice>()?, UncertaintyChoice::default());
/// let error = "k1".parse::<UncertaintyChoice>().unwrap_err();
/// assert!(error.to_string().contains("nearest is kl"), "{error}");
/// # Ok::<(), couloir::Error>(())
/// ```
pub type UncertaintyChoice = Choice<MakeUncertainty>;

/// How the set of an [`UncertaintyChoice`] is made: from the data, at a level.
#[derive(Clone, Copy)]
pub struct MakeUncertainty {
    make: fn(&RowData<'_>, f64) -> Result<Arc<dyn Uncertainty>>,
    level: Level,
}

/// The one number of an uncertainty set.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Level {
    /// The level unless another is given.
    pub default: f64,
    /// The levels that make sense.
    pub range: LevelRange,
    /// What it is, and what smaller and larger levels do, for help.
    pub means: &'static str,
}

/// Levels that make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LevelRange {
    /// Above zero.
    Positive,
    /// Zero, or above.
    ZeroOrMore,
    /// Above zero, and 1 at the most.
    Share,
}

impl LevelRange {
    fn contains(self, level: f64) -> bool {
        match self {
            LevelRange::Positive => level > 0.0 && level.is_finite(),
            LevelRange::ZeroOrMore => level >= 0.0 && level.is_finite(),
            LevelRange::Share => level > 0.0 && level <= 1.0,
        }
    }

    fn describe(self) -> &'static str {
        match self {
            LevelRange::Positive => "must be a finite number above zero",
            LevelRange::ZeroOrMore => "must be a finite number of zero or more",
            LevelRange::Share => "must be a number above zero and at most 1",
        }
    }
}

impl Tabled for MakeUncertainty {
    const SETTING: &'static str = "uncertainty";
    const TABLE: &'static [UncertaintyChoice] = UNCERTAINTY_SETS;
}

impl UncertaintyChoice {
    /// The set for these rows at this level.
    ///
    /// # Errors
    /// A level that the set does not take, or data that it needs and that are missing.
    pub fn set(&self, data: &RowData<'_>, level: f64) -> Result<Arc<dyn Uncertainty>> {
        self.check_level(level)?;
        (self.make.make)(data, level)
    }

    /// Its level: the default, and what it means.
    #[must_use]
    pub fn level(&self) -> Level {
        self.make.level
    }

    /// Fails for a level that the set does not take.
    ///
    /// # Errors
    /// [`Error::Setting`] with the level and the range.
    pub fn check_level(&self, level: f64) -> Result<()> {
        let range = self.make.level.range;
        if range.contains(level) {
            return Ok(());
        }
        let why = format!("of `{self}` {}, got {level}", range.describe());
        Err(Error::Setting { name: "level", why })
    }
}

/// What is known of the rows when an uncertainty set is made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RowData<'a> {
    /// The number of rows.
    pub rows: usize,
    /// The nominal weights of the rows, which are positive and add up to 1; all the same if there are none.
    pub weights: Option<&'a [f64]>,
    /// The group of each row, if there are groups.
    pub groups: Option<&'a [u32]>,
    /// The class of each row, if there are classes.
    pub labels: Option<&'a [u32]>,
}

impl<'a> RowData<'a> {
    /// So many rows.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        RowData { rows, weights: None, groups: None, labels: None }
    }

    /// The rows with these nominal weights.
    #[must_use]
    pub fn weights(mut self, weights: Option<&'a [f64]>) -> Self {
        self.weights = weights;
        self
    }

    /// The rows with these groups.
    #[must_use]
    pub fn groups(mut self, groups: Option<&'a [u32]>) -> Self {
        self.groups = groups;
        self
    }

    /// The rows with these classes.
    #[must_use]
    pub fn labels(mut self, labels: Option<&'a [u32]>) -> Self {
        self.labels = labels;
        self
    }

    /// The nominal weights.
    fn nominal(&self) -> Vec<f64> {
        self.weights.map_or_else(|| vec![1.0 / self.rows as f64; self.rows], <[f64]>::to_vec)
    }

    /// The groups, of which there must be one for each row.
    fn need_groups(&self) -> Result<Vec<u32>> {
        let groups = self.groups.ok_or_else(|| Error::Setting {
            name: "groups",
            why: "this uncertainty set needs the group of each row, and none are given".to_owned(),
        })?;
        check_len("groups", self.rows, groups.len())?;
        Ok(groups.to_vec())
    }

    /// The classes that have rows, numbered anew.
    fn need_labels(&self) -> Result<Vec<u32>> {
        let labels = self.labels.ok_or_else(|| Error::Setting {
            name: "labels",
            why: "this uncertainty set needs the class of each row, and none are given".to_owned(),
        })?;
        check_len("labels", self.rows, labels.len())?;
        Ok(renumbered(labels))
    }
}

/// The numbers that occur, in their order, renumbered from 0 without gaps.
pub(super) fn renumbered(numbers: &[u32]) -> Vec<u32> {
    let mut known = numbers.to_vec();
    known.sort_unstable();
    known.dedup();
    numbers.iter().map(|n| known.partition_point(|k| k < n) as u32).collect()
}

/// Fails unless these are nominal weights: positive, with the sum 1.
fn check_nominal(q: &[f64]) -> Result<()> {
    check_finite("nominal weights", q)?;
    let bad = |why: String| Err(Error::Setting { name: "weights", why });
    if let Some(i) = q.iter().position(|q| *q <= 0.0) {
        return bad(format!("nominal weight {i} is {}; leave out rows without weight", q[i]));
    }
    let sum = accurate_sum_of(q);
    if (sum - 1.0).abs() > 1e-12 {
        return bad(format!("nominal weights add up to {sum}, and not to 1"));
    }
    Ok(())
}

/// Rows whose losses are added up at a time.
const SUMMED: usize = 256;

/// How concave the penalty is, as far as that is known.
#[derive(Clone, Copy, Debug)]
pub struct Moduli {
    /// The modulus of strong concavity.
    pub mu: Option<f64>,
    /// The smoothness in `y`.
    pub lyy: Option<f64>,
}

/// How `y` weighs the rows. Weights are at least zero and add up to 1 over all rows, for every `y` of the set.
#[derive(Clone, Debug, PartialEq)]
pub enum RowWeights {
    /// `y` has an entry for each row, which is its weight.
    PerRow,
    /// Rows share entries: row `i` has the weight `share_i y_{entry_i}`, with shares in [0, 1].
    Shared {
        /// The entry of `y` for each row.
        entry: Arc<[u32]>,
        /// Its share for each row.
        share: Arc<[f64]>,
    },
}

impl RowWeights {
    /// Fails unless these are the weights of `rows` rows by `dim` entries of `y`.
    pub(super) fn check(&self, rows: usize, dim: usize) -> Result<()> {
        const WHAT: &str = "rows of the uncertainty set";
        let RowWeights::Shared { entry, share } = self else {
            return check_len(WHAT, rows, dim);
        };
        check_len(WHAT, rows, entry.len())?;
        check_len(WHAT, rows, share.len())?;
        let is_wrong = |i: &usize| entry[*i] as usize >= dim || !(0.0..=1.0).contains(&share[*i]);
        match (0..rows).find(is_wrong) {
            None => Ok(()),
            Some(i) => Err(Error::Setting {
                name: "uncertainty",
                why: format!(
                    "row {i} has the share {} in entry {} of {dim}; shares lie between 0 and 1",
                    share[i], entry[i]
                ),
            }),
        }
    }

    /// Lends the weight of every row; `room` has as many numbers.
    pub(super) fn with_weights<T>(
        &self,
        y: &[f64],
        room: &mut [f64],
        work: impl FnOnce(&[f64]) -> T,
    ) -> T {
        let RowWeights::Shared { entry, share } = self else { return work(y) };
        for ((w, e), share) in room.iter_mut().zip(&**entry).zip(&**share) {
            *w = share * y[*e as usize];
        }
        work(room)
    }

    /// Lends the sums of the losses of the rows that each entry of `y` weighs, times their shares; `room` has a number for
    /// each entry.
    pub(super) fn with_sums<T>(
        &self,
        losses: &[f64],
        room: &mut [f64],
        work: impl FnOnce(&[f64]) -> T,
    ) -> T {
        let RowWeights::Shared { entry, share } = self else { return work(losses) };
        room.fill(0.0);
        // sums of many rows, piece by piece, so that rounding does not grow with their number
        let piece = SUMMED.max(room.len());
        let mut sums = vec![0.0; room.len()];
        for (k, losses) in losses.chunks(piece).enumerate() {
            sums.fill(0.0);
            let rows = k * piece..k * piece + losses.len();
            for ((l, e), share) in losses.iter().zip(&entry[rows.clone()]).zip(&share[rows]) {
                sums[*e as usize] += share * l;
            }
            room.iter_mut().zip(&sums).for_each(|(o, s)| *o += s);
        }
        work(room)
    }

    /// The entry of `y` that weighs a row, and the row's share in it.
    #[inline]
    pub(super) fn of(&self, row: usize) -> (usize, f64) {
        match self {
            RowWeights::PerRow => (row, 1.0),
            RowWeights::Shared { entry, share } => (entry[row] as usize, share[row]),
        }
    }
}

/// A set of `y`, how `y` weighs the rows, and the penalty on it.
pub trait Uncertainty: Send + Sync + std::fmt::Debug {
    /// The name by which a fit chooses it.
    fn name(&self) -> &'static str;

    /// The set of `y`.
    fn y_set(&self) -> &dyn Domain;

    /// How `y` weighs the rows.
    fn row_weights(&self) -> RowWeights;

    /// The `y` to start from, unless it is the centre of the set: where the penalty is zero.
    fn start(&self) -> Option<Vec<f64>> {
        None
    }

    /// What the objective adds to the weighted losses: minus the penalty.
    fn value(&self, y: &[f64]) -> f64;

    /// Writes the gradient of [`value`](Self::value).
    fn slopes(&self, y: &[f64], out: &mut [f64]);

    /// A bound `t` of what is added up or subtracted in any entry of the gradient of [`value`](Self::value), where that is known: a slope
    /// then errs by `64 t` units of rounding (2^-53) at the most, and the value by `64` times `t` and its own size, besides a plain sum
    /// over the entries. Certificates are charged with it.
    fn largest_term(&self, y: &[f64]) -> Option<f64> {
        let _ = y;
        None
    }

    /// Writes the maximiser of `<losses, y>` and [`value`](Self::value), and returns a bound of what it misses. `losses` has
    /// a number for each entry of `y`, the sum over its rows; `room` is as long as `y`.
    fn best_response(&self, losses: &[f64], room: &mut [f64], y: &mut [f64]) -> f64;

    /// The change of `<losses, y>` and [`value`](Self::value) between two points, without cancellation.
    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured;

    /// The moduli that are known.
    fn moduli(&self) -> Moduli;

    /// Notes its level, and whatever else tells it from others of its name.
    fn fingerprint(&self, print: &mut Fingerprint);
}
