//! What a method that certifies by FW-gaps has seen, to hold what it sees next against it.

use crate::certificate::Certificate;
use crate::error::Result;
use crate::oracles::{FirstOrder, Oracles, check_order};
use crate::state::Archive;

/// Pairs that are compared at the start, and from then on one of so many.
const COMPARED: u64 = 16;

/// The best bounds of the value of the game, and one pair with its gradients.
pub(super) struct History {
    looks: u64,
    lower: f64,
    upper: f64,
    /// The largest size of a value and of gradients times points.
    size: f64,
    /// The pair, `f`, `grad_x f` and `-grad_y f` there.
    x: Vec<f64>,
    y: Vec<f64>,
    value: f64,
    gx: Vec<f64>,
    gy: Vec<f64>,
}

impl History {
    pub fn new(dim_x: usize, dim_y: usize) -> Self {
        History {
            looks: 0,
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            size: 0.0,
            x: vec![0.0; dim_x],
            y: vec![0.0; dim_y],
            value: 0.0,
            gx: vec![0.0; dim_x],
            gy: vec![0.0; dim_y],
        }
    }

    /// Fails where the bounds of a pair, or its gradients, contradict what was seen before.
    pub fn compare(
        &mut self,
        oracles: &Oracles<'_>,
        bounds: &Certificate,
        now: &FirstOrder<'_>,
    ) -> Result<()> {
        self.looks += 1;
        let is_due = self.looks <= COMPARED || self.looks.is_multiple_of(COMPARED);
        if is_due {
            let diameters = oracles.diameters;
            self.size = self.size.max(now.size(diameters));
            if self.looks > 1 {
                self.seen().check_against(now, self.size, diameters)?;
            }
        }
        if self.looks.is_power_of_two() {
            self.value = now.value;
            self.x.copy_from_slice(now.x);
            self.y.copy_from_slice(now.y);
            self.gx.copy_from_slice(now.gx);
            self.gy.copy_from_slice(now.gy);
        }
        self.take_bounds(bounds)
    }

    /// Fails where a lower bound of the value of the game is clearly above an upper bound.
    pub fn take_bounds(&mut self, bounds: &Certificate) -> Result<()> {
        self.lower = self.lower.max(bounds.lower);
        self.upper = self.upper.min(bounds.upper);
        if !(self.lower > self.upper) {
            return Ok(());
        }
        check_order(
            "f is not convex in x and concave in y, or a gradient or a minimum is none",
            ("a lower bound of the value of the game", self.lower),
            ("an upper bound of it from another pair,", self.upper),
            self.size,
        )
    }

    fn seen(&self) -> FirstOrder<'_> {
        let History { x, y, value, gx, gy, .. } = self;
        FirstOrder { value: *value, x, y, gx, gy }
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.count("looks", &mut self.looks)?;
        archive.number("lower", &mut self.lower)?;
        archive.number("upper", &mut self.upper)?;
        archive.number("size", &mut self.size)?;
        archive.number("value", &mut self.value)?;
        archive.numbers("x", &mut self.x)?;
        archive.numbers("y", &mut self.y)?;
        archive.numbers("gx", &mut self.gx)?;
        archive.numbers("gy", &mut self.gy)
    }
}
