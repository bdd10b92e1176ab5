//! Products of sets.

use crate::domain::{Cndg, Confidence, Domain, LinearMin, Oracle, SlideReport, SlideTask, cndg};
use crate::error::{Error, Result};
use crate::state::Archive;
use crate::watch::Watch;

/// The product of sets: points whose consecutive pieces lie in one set each.
///
/// Linear minimisation asks every set for its own piece; where all of them project, so does the product.
///
/// ```
/// use couloir::domain::{Domain, L2Ball, Product, Simplex};
/// let set = Product::new(vec![Box::new(Simplex::new(2)?), Box::new(L2Ball::new(1, 3.0)?)])?;
/// let mut p = [0.0; 3];
/// let minimum = set.oracle().lmo(&[2.0, 1.0, 1.0], &mut p)?;
/// assert_eq!((p, minimum.value), ([0.0, 1.0, -3.0], -2.0));
/// # Ok::<(), couloir::Error>(())
/// ```
pub struct Product<'a> {
    parts: Vec<Box<dyn Domain + 'a>>,
}

impl<'a> Product<'a> {
    /// The product of these sets, in this order.
    ///
    /// # Errors
    /// No sets.
    pub fn new(parts: Vec<Box<dyn Domain + 'a>>) -> Result<Self> {
        if parts.is_empty() {
            return Err(Error::EmptySet { why: "a product of no sets".to_owned() });
        }
        Ok(Product { parts })
    }

    /// The sets.
    pub fn parts(&self) -> impl Iterator<Item = &(dyn Domain + 'a)> {
        self.parts.iter().map(|part| &**part)
    }

    fn pieces<'p>(&self, p: &'p [f64]) -> impl Iterator<Item = (&(dyn Domain + 'a), &'p [f64])> {
        let mut rest = p;
        self.parts.iter().map(move |part| {
            let (piece, others) = rest.split_at(part.dim());
            rest = others;
            (&**part, piece)
        })
    }
}

impl std::fmt::Debug for Product<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Product").field(&self.describe()).finish()
    }
}

impl Domain for Product<'_> {
    fn dim(&self) -> usize {
        self.parts.iter().map(|part| part.dim()).sum()
    }

    fn diameter(&self) -> f64 {
        self.parts.iter().map(|part| part.diameter().powi(2)).sum::<f64>().sqrt()
    }

    /// The largest of its parts.
    fn violation(&self, p: &[f64]) -> f64 {
        self.pieces(p).map(|(part, piece)| part.violation(piece)).fold(0.0, f64::max)
    }

    fn center(&self, out: &mut [f64]) {
        let mut rest = out;
        for part in &self.parts {
            let (piece, others) = rest.split_at_mut(part.dim());
            part.center(piece);
            rest = others;
        }
    }

    fn repair(&self, p: &mut [f64]) -> f64 {
        let (mut rest, mut square) = (p, 0.0);
        for part in &self.parts {
            let (piece, others) = rest.split_at_mut(part.dim());
            square += part.repair(piece).powi(2);
            rest = others;
        }
        square.sqrt()
    }

    fn needs_no_repair(&self, p: &[f64]) -> bool {
        self.pieces(p).all(|(part, piece)| part.needs_no_repair(piece))
    }

    fn slack(&self) -> [f64; 2] {
        let slacks = self.parts.iter().map(|part| part.slack());
        let [squares, sum] =
            slacks.fold([0.0; 2], |[squares, sum], [s, t]| [squares + s * s, sum + t]);
        [squares.sqrt(), sum]
    }

    fn repairs_quickly(&self) -> bool {
        self.parts.iter().all(|part| part.repairs_quickly())
    }

    fn describe(&self) -> String {
        let names: Vec<String> = self.parts.iter().map(|part| part.describe()).collect();
        format!("the product of {}", names.join(", "))
    }

    fn is_polytope(&self) -> Option<bool> {
        let is = |answer: Option<bool>| self.parts.iter().any(|part| part.is_polytope() == answer);
        if is(Some(false)) {
            Some(false)
        } else if is(None) {
            None
        } else {
            Some(true)
        }
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let parts = self.parts.iter().map(|part| (part.dim(), part.oracle())).collect();
        Box::new(ProductOracle { parts, scratch: Some(Cndg::new(self.dim())) })
    }
}

struct ProductOracle<'a> {
    parts: Vec<(usize, Box<dyn Oracle + 'a>)>,
    scratch: Option<Cndg>,
}

impl Oracle for ProductOracle<'_> {
    fn confidence(&self) -> Confidence {
        let parts = self.parts.iter().map(|(_, part)| part.confidence());
        parts.fold(Confidence::Exact, Confidence::and)
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let mut sum = LinearMin::exact(0.0);
        let mut at = 0;
        for (dim, part) in &mut self.parts {
            let minimum = part.lmo(&g[at..at + *dim], &mut p[at..at + *dim])?;
            sum.value += minimum.value;
            sum.lower += minimum.lower;
            sum.products += minimum.products;
            sum.confidence = sum.confidence.and(minimum.confidence);
            at += *dim;
        }
        Ok(sum)
    }

    fn has_prox(&self) -> bool {
        self.parts.iter().all(|(_, part)| part.has_prox())
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        let (mut gap, mut at) = (0.0, 0);
        for (dim, part) in &mut self.parts {
            let piece = at..at + *dim;
            gap += part.prox(&g[piece.clone()], &q[piece.clone()], beta, &mut out[piece])?;
            at += *dim;
        }
        Ok(gap)
    }

    fn attend(&mut self, watch: &Watch) {
        self.scratch.iter_mut().for_each(|scratch| scratch.attend(watch));
        self.parts.iter_mut().for_each(|(_, part)| part.attend(watch));
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = self.scratch.take().unwrap_or_else(|| Cndg::new(out.len()));
        let report = cndg(self, task, &mut scratch, out);
        self.scratch = Some(scratch);
        report
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        self.parts.iter_mut().try_for_each(|(_, part)| part.state(archive))
    }
}
