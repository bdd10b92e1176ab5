//! The ball of the group lasso.

use super::check_ball;
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::threshold::project_onto_simplex;
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result};

/// The ball `{p : sum over groups of |p_group| <= radius}` of the norm of the group lasso, with the Euclidean length in each group.
///
/// Linear minimisation takes the group with the longest gradient; the projection shortens the groups as the projection on the
/// simplex shortens their lengths. Both take `O(n)`.
///
/// ```
/// use couloir::domain::{Domain, GroupL1Ball};
/// // the first two entries are a group, the third is one of its own
/// let ball = GroupL1Ball::new(vec![0, 0, 1], 5.0)?;
/// let mut p = [0.0; 3];
/// ball.oracle().lmo(&[3.0, -4.0, 4.5], &mut p)?;
/// assert_eq!(p, [-3.0, 4.0, 0.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GroupL1Ball {
    group_of: Vec<usize>,
    groups: usize,
    radius: f64,
}

impl GroupL1Ball {
    /// The ball where entry `i` belongs to group `group_of[i]`, counted from 0.
    ///
    /// # Errors
    /// No entries, a radius that is not positive and finite, numbers of groups that leave one out.
    pub fn new(group_of: Vec<usize>, radius: f64) -> Result<Self> {
        check_ball(group_of.len(), radius)?;
        let mut named = vec![false; group_of.len()];
        for (i, group) in group_of.iter().enumerate() {
            let Some(named) = named.get_mut(*group) else {
                let why = format!(
                    "entry {i} belongs to group {group}, but {} entries have groups 0 to {} at most",
                    group_of.len(),
                    group_of.len() - 1
                );
                return Err(Error::Setting { name: "groups", why });
            };
            *named = true;
        }
        let groups = group_of.iter().max().map_or(0, |last| last + 1);
        if let Some(empty) = named[..groups].iter().position(|named| !named) {
            let why = format!("group {empty} has no entry; number the groups from 0 without gaps");
            return Err(Error::Setting { name: "groups", why });
        }
        Ok(GroupL1Ball { group_of, groups, radius })
    }

    /// The length of every group.
    fn lengths(&self, p: &[f64]) -> Vec<f64> {
        let mut lengths = vec![0.0f64; self.groups];
        for (p, group) in p.iter().zip(&self.group_of) {
            lengths[*group] = lengths[*group].hypot(*p);
        }
        lengths
    }
}

impl Domain for GroupL1Ball {
    fn dim(&self) -> usize {
        self.group_of.len()
    }

    fn diameter(&self) -> f64 {
        2.0 * self.radius
    }

    fn violation(&self, p: &[f64]) -> f64 {
        excess(self.lengths(p).iter().sum::<f64>() - self.radius)
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        let GroupL1Ball { group_of, groups, radius } = self;
        format!("the ball of radius {radius} of {groups} groups of {} entries", group_of.len())
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(self.groups == self.group_of.len())
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let work = LongestGroup { set: self, scratch: Vec::new() };
        Box::new(PlainOracle::new(work, self.dim(), self.diameter()))
    }
}

struct LongestGroup<'a> {
    set: &'a GroupL1Ball,
    scratch: Vec<f64>,
}

impl Work for LongestGroup<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let lengths = self.set.lengths(g);
        let longest =
            (0..lengths.len()).fold(0, |best, k| if lengths[k] > lengths[best] { k } else { best });
        for ((p, g), group) in p.iter_mut().zip(g).zip(&self.set.group_of) {
            let is_in = *group == longest && lengths[longest] > 0.0;
            *p = if is_in { -self.set.radius * (g / lengths[longest]) } else { 0.0 };
        }
        Ok(found(g, p, g.len(), self.set.radius))
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        let lengths = self.set.lengths(v);
        let mut shortened = lengths.clone();
        if lengths.iter().sum::<f64>() > self.set.radius {
            let zero = vec![0.0; lengths.len()];
            let scratch = &mut self.scratch;
            project_onto_simplex(&zero, &lengths, 1.0, self.set.radius, scratch, &mut shortened);
        }
        for ((o, v), group) in out.iter_mut().zip(v).zip(&self.set.group_of) {
            let length = lengths[*group];
            *o = if length > 0.0 { v * (shortened[*group] / length) } else { 0.0 };
        }
        Ok(())
    }
}
