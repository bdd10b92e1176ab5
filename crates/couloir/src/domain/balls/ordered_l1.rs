//! The ball of the ordered weighted l1 norm.

use super::{check_ball, falling_magnitudes};
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite};

/// The ball `{p : sum of w_i |p|_(i) <= radius}` of the ordered weighted l1 norm (OWL, SLOPE), where `|p|_(i)` is the i-th largest
/// magnitude and the weights fall.
///
/// Its vertices have, for some `k`, `k` entries of the same magnitude `radius/(w_1 + ... + w_k)`. Linear minimisation sorts and
/// takes the best `k`, in `O(n log n)`. There is no projection.
///
/// ```
/// use couloir::domain::{Domain, OrderedL1Ball};
/// let ball = OrderedL1Ball::new(vec![2.0, 1.0, 1.0], 6.0)?;
/// let mut p = [0.0; 3];
/// ball.oracle().lmo(&[1.0, -4.0, 3.0], &mut p)?;
/// assert_eq!(p, [0.0, 2.0, -2.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedL1Ball {
    weights: Vec<f64>,
    radius: f64,
}

impl OrderedL1Ball {
    /// The ball of these weights, largest first, and this radius.
    ///
    /// # Errors
    /// No weights, weights that are negative, rise or are all zero, a radius that is not positive and finite.
    pub fn new(weights: Vec<f64>, radius: f64) -> Result<Self> {
        check_ball(weights.len(), radius)?;
        check_finite("weights of the ball", &weights)?;
        let why = if !(weights[0] > 0.0) {
            Some(format!("the first weight must be positive, got {}", weights[0]))
        } else if let Some(i) = (1..weights.len()).find(|i| weights[*i] > weights[i - 1]) {
            Some(format!("must not rise, but entry {i} is larger than the one before it"))
        } else if weights[weights.len() - 1] < 0.0 {
            Some("must not be negative".to_owned())
        } else {
            None
        };
        match why {
            Some(why) => Err(Error::Setting { name: "weights", why }),
            None => Ok(OrderedL1Ball { weights, radius }),
        }
    }

    /// The Euclidean length of the longest vertex.
    fn reach(&self) -> f64 {
        let mut sum = 0.0;
        let lengths = self.weights.iter().enumerate().map(|(i, w)| {
            sum += w;
            self.radius * ((i + 1) as f64).sqrt() / sum
        });
        lengths.fold(0.0, f64::max)
    }
}

impl Domain for OrderedL1Ball {
    fn dim(&self) -> usize {
        self.weights.len()
    }

    fn diameter(&self) -> f64 {
        2.0 * self.reach()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        let sizes = falling_magnitudes(p);
        excess(sizes.iter().zip(&self.weights).map(|(p, w)| p * w).sum::<f64>() - self.radius)
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        format!(
            "the ordered weighted l1 ball of radius {} in dimension {}",
            self.radius,
            self.dim()
        )
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let work = BestCount { set: self, reach: self.reach(), order: Vec::new() };
        Box::new(PlainOracle::new(work, self.dim(), self.diameter()))
    }
}

struct BestCount<'a> {
    set: &'a OrderedL1Ball,
    reach: f64,
    order: Vec<usize>,
}

impl Work for BestCount<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.order.clear();
        self.order.extend(0..g.len());
        self.order.sort_unstable_by(|i, j| g[*j].abs().total_cmp(&g[*i].abs()));
        let (mut sum, mut weight) = (0.0, 0.0);
        let (mut best, mut count, mut size) = (f64::NEG_INFINITY, 0, 0.0);
        for (k, i) in self.order.iter().enumerate() {
            sum += g[*i].abs();
            weight += self.set.weights[k];
            if sum / weight > best {
                (best, count, size) = (sum / weight, k + 1, self.set.radius / weight);
            }
        }
        p.fill(0.0);
        self.order[..count].iter().for_each(|i| p[*i] = -size.copysign(g[*i]));
        Ok(found(g, p, 2 * g.len(), self.reach))
    }
}
