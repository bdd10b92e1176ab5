//! How much memory a fit takes, estimated before anything is allocated.

use super::RobustFit;
use crate::solver::{Inner, Method};

impl RobustFit {
    /// About how many bytes a fit of this size takes at its peak, the data included: an upper estimate,
    /// so that a fit can be refused before anything is allocated.
    #[must_use]
    pub fn memory(&self, rows: usize, features: usize, classes: usize, entries: usize) -> u64 {
        let big = |v: usize| v as u128;
        let (n, h) = (big(rows), big(classes));
        let intercept = u128::from(self.intercept);
        let (d, entries) = (big(features) + intercept, big(entries) + n * intercept);
        let (points, images) = self.vectors();
        // by rows and by columns, a number and a place for each entry; both twice where they are copied
        let copied = matches!(self.method, Method::Mpscgs(_));
        // a column more may move the numbers of one order
        let moved = if self.intercept { 8 } else { 0 };
        // frequent columns once more by tiles, where there are many
        let tiled = if 8 * n * h >= 4 << 20 { if copied { 28 } else { 14 } } else { 0 };
        let sparse = entries * (if copied { 52 } else { 32 } + moved + tiled) + 16 * (n + d);
        // the products of columns of three entries or fewer, of nine each
        let exact = matches!(&self.method, Method::Certified(s) if s.inner_x != Inner::Slide);
        let short_columns = if exact { 36 * entries.min(3 * d) + 16 * n } else { 0 };
        // Gram matrices of the smaller side, where it is small
        let side = h.min(d).min(512);
        let small = 8 * (24 * n + 8 * side * side + 8 * d);
        let bytes = 8 * (points * h * d + images * n * h) + sparse + short_columns + small;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Vectors of `h d` and of `n h` numbers that the method keeps, with what its oracles need.
    fn vectors(&self) -> (u128, u128) {
        match &self.method {
            Method::Certified(settings) => {
                let history = settings.hull_points.saturating_sub(3) as u128;
                // exact steps keep points by weights as long as images, until rounding makes them form all vectors
                let points = if settings.inner_x == Inner::Slide { 14 } else { 19 };
                (points + history, 21 + 2 * history)
            }
            Method::Mpscgs(_) => (29, 26),
            _ => (13, 12),
        }
    }
}
