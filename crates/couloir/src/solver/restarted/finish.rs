//! The exact finish for games on simplices: the supports of an iterate are a guess of those of a saddle point, from which exchanges
//! lead to the exact ones. What comes out is certified like any other pair, so that a wrong guess costs time and nothing else.

use crate::error::Result;
use crate::linalg::{Ended, ExchangeTableau};
use crate::problem::Bilinear;
use crate::solver::Start;
use crate::state::Archive;
use crate::watch::Watch;

/// The iteration before which nobody looks for a solution; then after twice as many each time.
const FIRST: u64 = 32;
/// Entries of the largest tableau.
const MOST_ENTRIES: u64 = 1 << 25;
/// Products of matrices are about this much quicker per multiplication than those with a vector.
const BLOCKED: u64 = 16;
/// Small games may always take so many multiplications.
const FREE: u64 = 1 << 22;
/// Looks in a row that end with a solution, but with no better certificate since the look before, before the run ends.
const FRUITLESS: u64 = 2;

/// Looks for exact solutions at iterations 32, 64, 128, ..., with about as much work as the iterations have taken.
pub(super) struct Finish<'a> {
    game: &'a dyn Bilinear,
    totals: [f64; 2],
    slopes: [Vec<f64>; 2],
    due: u64,
    fruitless: u64,
    /// The certified gap after the last look.
    gap: f64,
}

impl<'a> Finish<'a> {
    /// None for games that are not played on simplices, or are too large.
    pub fn of(start: &Start<'a, '_>, slopes: [Vec<f64>; 2]) -> Option<Self> {
        let game = start.problem.capabilities().bilinear?;
        let totals = [start.x_set.simplex_total()?, start.y_set.simplex_total()?];
        let entries = slopes[0].len() as u64 * slopes[1].len() as u64;
        let fits = entries <= MOST_ENTRIES;
        fits.then_some(Finish {
            game,
            totals,
            slopes,
            due: FIRST,
            fruitless: 0,
            gap: f64::INFINITY,
        })
    }

    pub fn is_due(&self, iterations: u64) -> bool {
        iterations >= self.due
    }

    /// The solution that these supports point at, on the sets themselves, if it is found for the work that may be spent.
    pub fn look(
        &mut self,
        iterations: u64,
        [x, y]: [&[f64]; 2],
        watch: &Watch,
    ) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
        let (m, n) = (x.len(), y.len());
        let support = |point: &[f64]| (0..point.len()).filter(|&i| point[i] > 0.0).collect();
        let (in_x, in_y): (Vec<usize>, Vec<usize>) = (support(x), support(y));
        let (size, entries) = (in_x.len().min(in_y.len()) as u64, (m * n) as u64);
        let budget = FREE.max(2 * iterations * self.game.entries());
        let found = if size * entries <= BLOCKED * budget {
            self.exact([&in_x, &in_y], budget / entries, watch)?
        } else {
            None
        };
        // an interrupted look is due again
        self.due *= 2;
        Ok(found)
    }

    fn exact(
        &self,
        [in_x, in_y]: [&[usize]; 2],
        budget: u64,
        watch: &Watch,
    ) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
        let ([total_x, total_y], [slope_x, slope_y]) = (self.totals, &self.slopes);
        let (m, n) = (slope_x.len(), slope_y.len());
        let mut payoffs = vec![0.0; m * n];
        if !self.game.coupling(&mut payoffs) {
            return Ok(None);
        }
        // on unit simplices the linear parts are payoffs as well
        for (line, a) in payoffs.chunks_mut(n).zip(slope_x) {
            for (p, b) in line.iter_mut().zip(slope_y) {
                *p = total_x * total_y * *p + total_x * a + total_y * b;
            }
        }
        let mut tableau = ExchangeTableau::new(m, n, &payoffs);
        drop(payoffs);
        tableau.guess(in_x, in_y, watch)?;
        let (ended, _) = tableau.solve(budget, watch)?;
        let (mut x, mut y) = (vec![0.0; m], vec![0.0; n]);
        if ended != Ended::Optimal || !tableau.strategies(&mut x, &mut y) {
            return Ok(None);
        }
        x.iter_mut().for_each(|x| *x *= total_x);
        y.iter_mut().for_each(|y| *y *= total_y);
        Ok(Some((x, y)))
    }

    /// Hears the certified gap after a look; returns whether neither steps nor exact solutions improve it any more.
    pub fn judge(&mut self, gap: f64) -> bool {
        self.fruitless = if gap < self.gap { 0 } else { self.fruitless + 1 };
        self.gap = gap;
        self.fruitless >= FRUITLESS
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.count("due", &mut self.due)?;
        archive.count("fruitless", &mut self.fruitless)?;
        archive.number("gap", &mut self.gap)
    }
}
