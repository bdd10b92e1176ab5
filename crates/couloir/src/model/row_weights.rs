//! The nominal weights of rows: from weights of the rows, and weights of their classes.

use super::uncertainty::renumbered;
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::accurate_sum_of;

/// Rows lighter than this share of the heaviest are left out, as those of weight zero are: sums cannot tell.
const LIGHTEST: f64 = 1e-50;

/// What the rows of each class weigh, on top of their own weights.
///
/// ```
/// use couloir::model::ClassWeight;
/// // three rows of one class and one of the other: as much weight for each
/// let weights = ClassWeight::Balanced.of_rows(&[0, 0, 0, 1], 2, None)?;
/// assert_eq!(weights, Some(vec![2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0]));
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum ClassWeight {
    /// All classes the same.
    #[default]
    None,
    /// Every class that has rows the same weight in total.
    Balanced,
    /// This factor for each class.
    PerClass(Vec<f64>),
}

impl ClassWeight {
    /// The weights of rows with these labels, which have these weights of their own; none if all weigh 1.
    ///
    /// # Errors
    /// Another number of weights than rows or classes; weights that are negative or not finite, or all zero.
    pub fn of_rows(
        &self,
        labels: &[u32],
        classes: usize,
        weights: Option<&[f64]>,
    ) -> Result<Option<Vec<f64>>> {
        if let Some(weights) = weights {
            check_len("weights", labels.len(), weights.len())?;
            check_weights("weights", weights)?;
        }
        if let Some(i) = labels.iter().position(|&b| b as usize >= classes) {
            let why = format!("label {i} is {}; there are {classes} classes", labels[i]);
            return Err(Error::Setting { name: "labels", why });
        }
        let own = |i: usize| weights.map_or(1.0, |w| w[i]);
        let factors = match self {
            ClassWeight::None => return Ok(weights.map(<[f64]>::to_vec)),
            ClassWeight::PerClass(factors) => {
                check_len("class weights", classes, factors.len())?;
                check_weights("class weights", factors)?;
                factors.clone()
            }
            ClassWeight::Balanced => {
                let mut sums = vec![0.0; classes];
                labels.iter().enumerate().for_each(|(i, &b)| sums[b as usize] += own(i));
                let present = sums.iter().filter(|sum| **sum > 0.0).count();
                let each = sums.iter().sum::<f64>() / present as f64;
                sums.iter().map(|sum| if *sum > 0.0 { each / sum } else { 0.0 }).collect()
            }
        };
        let weighted: Vec<f64> =
            labels.iter().enumerate().map(|(i, &b)| own(i) * factors[b as usize]).collect();
        check_weights("weights of rows times those of their classes", &weighted)?;
        Ok(Some(weighted))
    }
}

/// Fails for weights that are negative or not finite, or all zero.
fn check_weights(what: &'static str, weights: &[f64]) -> Result<()> {
    check_finite(what, weights)?;
    let bad = |why: String| Err(Error::Setting { name: what, why });
    if let Some(i) = weights.iter().position(|w| *w < 0.0) {
        return bad(format!("entry {i} is {}; weights are zero or more", weights[i]));
    }
    if weights.iter().all(|w| *w == 0.0) {
        return bad("all are zero; at least one must be positive".to_owned());
    }
    Ok(())
}

/// The rows of a fit, and what they weigh.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Nominal {
    /// The rows that weigh something, where some do not.
    pub kept: Option<Vec<u64>>,
    /// The weights of the rows kept, which add up to 1; none if they are all the same.
    pub weights: Option<Vec<f64>>,
}

impl Nominal {
    /// What these weights, which are zero or more and not all zero, make of the rows.
    pub fn new(weights: Option<&[f64]>) -> Self {
        let Some(weights) = weights else { return Nominal::default() };
        let most = weights.iter().fold(0.0f64, |most, w| most.max(*w));
        let counts = |w: f64| w > 0.0 && w >= LIGHTEST * most;
        let kept: Vec<u64> =
            (0..weights.len()).filter(|&i| counts(weights[i])).map(|i| i as u64).collect();
        // over the largest first, so that the sum does not overflow
        let mut q: Vec<f64> = kept.iter().map(|&i| weights[i as usize] / most).collect();
        let kept = (kept.len() < weights.len()).then_some(kept);
        if q.iter().all(|q| *q == 1.0) {
            return Nominal { kept, weights: None };
        }
        let sum = accurate_sum_of(&q);
        q.iter_mut().for_each(|q| *q /= sum);
        Nominal { kept, weights: Some(q) }
    }

    /// What belongs to the rows kept.
    pub fn keep<T: Copy>(&self, all: Vec<T>) -> Vec<T> {
        match &self.kept {
            None => all,
            Some(kept) => kept.iter().map(|&i| all[i as usize]).collect(),
        }
    }

    /// The groups of the rows kept, renumbered where a group has lost all of its rows.
    pub fn keep_groups(&self, groups: &[u32]) -> Vec<u32> {
        match &self.kept {
            None => groups.to_vec(),
            // a gap from the start is an error, which is found where the set is made
            Some(_) if renumbered(groups) != groups => groups.to_vec(),
            Some(_) => renumbered(&self.keep(groups.to_vec())),
        }
    }
}
