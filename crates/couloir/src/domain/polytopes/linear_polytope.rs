//! Polytopes given by linear constraints, with linear minimisation by HiGHS.

use crate::domain::plain::{PlainOracle, Work, excess};
use crate::domain::{Confidence, Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{SparseMatrix, distance_squared, dot, norm, sum_rounding};
use highs::{Col, ColProblem, HighsModelStatus, Model, RowProblem, Sense};

/// How far HiGHS may miss a constraint or a reduced cost, with costs of size 1.
const TOLERANCE: f64 = 1e-9;
/// A point misses constraints by no more than this where it counts as inside: what HiGHS allows after it has undone its scaling.
const INSIDE: f64 = 1e-7;

/// Linear constraints on numbers between bounds, from which a [`LinearPolytope`] is made.
#[derive(Clone, Debug)]
pub struct LinearConstraints {
    lower: Vec<f64>,
    upper: Vec<f64>,
    rows: Vec<Row>,
    integer: Vec<bool>,
    /// The first thing that was wrong.
    fault: Option<Error>,
}

/// `low <= sum_j coefficient_j x_j <= high`.
#[derive(Clone, Debug)]
struct Row {
    low: f64,
    high: f64,
    columns: Vec<u32>,
    coefficients: Vec<f64>,
}

impl Row {
    fn times(&self, x: &[f64]) -> f64 {
        self.columns.iter().zip(&self.coefficients).map(|(j, a)| a * x[*j as usize]).sum()
    }
}

impl LinearConstraints {
    /// Numbers between these bounds, which may be infinite.
    #[must_use]
    pub fn within(lower: Vec<f64>, upper: Vec<f64>) -> Self {
        let integer = vec![false; lower.len()];
        let mut made = LinearConstraints { lower, upper, rows: Vec::new(), integer, fault: None };
        made.fault = made.check_bounds().err();
        made
    }

    fn check_bounds(&self) -> Result<()> {
        if self.lower.is_empty() {
            return Err(Error::EmptySet { why: "a polytope of dimension 0".to_owned() });
        }
        check_len("upper bounds", self.lower.len(), self.upper.len())?;
        for (i, (low, high)) in self.lower.iter().zip(&self.upper).enumerate() {
            if !(low <= high && *low < f64::INFINITY && *high > f64::NEG_INFINITY) {
                let why = format!("entry {i} must lie between {low} and {high}");
                return Err(Error::EmptySet { why });
            }
        }
        Ok(())
    }

    /// Adds `A x <= b`.
    #[must_use]
    pub fn at_most(self, a: &SparseMatrix, b: &[f64]) -> Self {
        self.with_rows(a, b, false)
    }

    /// Adds `A x = b`.
    #[must_use]
    pub fn equal_to(self, a: &SparseMatrix, b: &[f64]) -> Self {
        self.with_rows(a, b, true)
    }

    fn with_rows(mut self, a: &SparseMatrix, b: &[f64], equal: bool) -> Self {
        let checked = check_len("columns of the constraints", self.lower.len(), a.columns())
            .and_then(|()| check_len("right-hand side of the constraints", a.rows(), b.len()))
            .and_then(|()| check_finite("right-hand side of the constraints", b));
        if let Err(fault) = checked {
            self.fault.get_or_insert(fault);
            return self;
        }
        self.rows.extend(b.iter().enumerate().map(|(i, b)| {
            let (columns, coefficients) = a.row(i);
            let low = if equal { *b } else { f64::NEG_INFINITY };
            Row { low, high: *b, columns: columns.to_vec(), coefficients: coefficients.to_vec() }
        }));
        self
    }

    /// Asks for whole numbers in the entries that are marked.
    #[must_use]
    pub fn integer(mut self, entries: Vec<bool>) -> Self {
        match check_len("marks of whole numbers", self.lower.len(), entries.len()) {
            Ok(()) => self.integer = entries,
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
        }
        self
    }
}

/// The polytope `A x <= b`, `A_eq x = b_eq`, `lower <= x <= upper`, or the convex hull of those of its points whose marked entries are
/// whole numbers. It needs the feature `highs`.
///
/// Linear minimisation is a linear or an integer program for [HiGHS](https://highs.dev), solved from scratch each time, so that an answer
/// depends on the linear function alone. The lower bound of a linear program comes from its dual solution, that of an integer program is
/// what HiGHS has proved. Points satisfy the constraints up to the tolerance of HiGHS, 1e-7 times their size, so that certificates are "as
/// given".
///
/// ```
/// use couloir::domain::{Domain, LinearConstraints, LinearPolytope};
/// use couloir::linalg::SparseMatrix;
/// // the knapsack 3 a + 5 b + 4 c <= 7 of things that are taken whole or not at all
/// let weights = SparseMatrix::from_rows(3, vec![0, 3], vec![0, 1, 2], vec![3.0, 5.0, 4.0])?;
/// let knapsack = LinearConstraints::within(vec![0.0; 3], vec![1.0; 3]).at_most(&weights, &[7.0]).integer(vec![true; 3]);
/// let set = LinearPolytope::new(knapsack)?;
/// let mut p = [0.0; 3];
/// assert_eq!(set.oracle().lmo(&[-3.0, -4.0, -2.0], &mut p)?.value, -5.0);
/// assert_eq!(p, [1.0, 0.0, 1.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinearPolytope {
    constraints: LinearConstraints,
    program: ColProblem,
    columns: Vec<Col>,
    /// A box around the set.
    ends: [Vec<f64>; 2],
    center: Vec<f64>,
}

impl LinearPolytope {
    /// The set of these constraints. It must have a point and be bounded: two linear programs for each entry without finite bounds find
    /// its range.
    ///
    /// # Errors
    /// Constraints that do not fit each other, no points, an unbounded entry, or trouble in HiGHS.
    pub fn new(constraints: LinearConstraints) -> Result<Self> {
        if let Some(fault) = constraints.fault {
            return Err(fault);
        }
        let n = constraints.lower.len();
        let mut program = RowProblem::new();
        let bounds = constraints.lower.iter().zip(&constraints.upper).zip(&constraints.integer);
        let columns: Vec<Col> = bounds
            .map(|((low, high), integer)| {
                program.add_column_with_integrality(0.0, *low..=*high, *integer)
            })
            .collect();
        for row in &constraints.rows {
            let entries = row.columns.iter().zip(&row.coefficients);
            program.add_row(row.low..=row.high, entries.map(|(j, a)| (columns[*j as usize], *a)));
        }
        let ends = [constraints.lower.clone(), constraints.upper.clone()];
        let program = ColProblem::from(program);
        let mut set = LinearPolytope { constraints, program, columns, ends, center: vec![0.0; n] };
        let mut center = vec![0.0; n];
        set.minimise(&vec![0.0; n], &mut center)?;
        let (mut unit, mut p) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            for (end, sign) in [(0, 1.0), (1, -1.0)] {
                if !set.ends[end][i].is_finite() {
                    unit[i] = sign;
                    // the lower bound, where there is one: a box around the set must not be too small
                    let least = set.minimise(&unit, &mut p)?;
                    set.ends[end][i] = sign * (least.value - TOLERANCE * (1.0 + p[i].abs()));
                    unit[i] = 0.0;
                }
            }
        }
        set.center = center;
        Ok(set)
    }

    fn minimise(&self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let size = g.iter().fold(0.0f64, |size, g| size.max(g.abs()));
        let mut program = self.program.clone();
        for (column, g) in self.columns.iter().zip(g) {
            program.change_column_cost(*column, if size > 0.0 { g / size } else { 0.0 });
        }
        let trouble = |why: String| Error::Numerical { what: "HiGHS", why };
        let failed = |status| trouble(format!("it refuses the program ({status:?})"));
        let mut model = Model::try_new(program).map_err(failed)?;
        model.set_sense(Sense::Minimise);
        let numbers = [
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
            ("mip_feasibility_tolerance", TOLERANCE),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", TOLERANCE),
        ];
        for (name, value) in numbers {
            model.try_set_option(name, value).map_err(|error| trouble(error.to_string()))?;
        }
        // one thread, so that the answer is the same on every machine
        model.try_set_option("parallel", "off").map_err(|error| trouble(error.to_string()))?;
        let solved = model.try_solve().map_err(failed)?;
        match solved.status() {
            HighsModelStatus::Optimal => {}
            HighsModelStatus::Infeasible => {
                let why = "no point satisfies all constraints of the polytope".to_owned();
                return Err(Error::EmptySet { why });
            }
            HighsModelStatus::Unbounded | HighsModelStatus::UnboundedOrInfeasible => {
                let why = "the polytope is unbounded (or has no points): give every entry bounds";
                return Err(Error::Setting { name: "polytope", why: why.to_owned() });
            }
            status => return Err(trouble(format!("it ended with the status {status:?}"))),
        }
        let solution = solved.get_solution();
        let found = solution.columns().iter().zip(&self.constraints.integer);
        let bounds = self.constraints.lower.iter().zip(&self.constraints.upper);
        for ((out, (value, integer)), (low, high)) in p.iter_mut().zip(found).zip(bounds) {
            let value = value.clamp(*low, *high);
            *out = if *integer { value.round() } else { value };
        }
        check_finite("point returned by HiGHS", p)?;
        let value = dot(g, p);
        let bound = if self.constraints.integer.contains(&true) {
            let proved = solved.double_info_value(c"mip_dual_bound");
            size * proved.map_err(failed)?
        } else {
            self.dual_bound(g, size, solution.dual_rows())
        };
        let lower = if bound.is_nan() { f64::NEG_INFINITY } else { bound.min(value) };
        Ok(LinearMin { lower, confidence: Confidence::AsGiven, ..LinearMin::exact(value) })
    }

    /// What any multipliers of the rows prove of the minimum of `<g, .>`: the least value of `g - A'y` on the box, plus `y` times the
    /// sides of the rows, less the rounding of these sums.
    fn dual_bound(&self, g: &[f64], size: f64, multipliers: &[f64]) -> f64 {
        let (mut reduced, mut sizes) = (g.to_vec(), g.iter().map(|g| g.abs()).collect::<Vec<_>>());
        let (mut bound, mut terms, mut longest) = (0.0, 0.0, 0);
        for (row, y) in self.constraints.rows.iter().zip(multipliers) {
            let y = y * size;
            let side = if y > 0.0 { row.low } else { row.high };
            if y == 0.0 || !side.is_finite() {
                continue;
            }
            bound += y * side;
            terms += (y * side).abs();
            longest += 1;
            for (j, a) in row.columns.iter().zip(&row.coefficients) {
                reduced[*j as usize] -= y * a;
                sizes[*j as usize] += (y * a).abs();
            }
        }
        for (j, (d, size)) in reduced.iter().zip(&sizes).enumerate() {
            let (low, high) = (self.ends[0][j], self.ends[1][j]);
            let end = if *d > 0.0 { low } else { high };
            bound += if *d == 0.0 { 0.0 } else { d * end };
            terms += size * low.abs().max(high.abs());
        }
        bound - f64::EPSILON * (longest + reduced.len() + 8) as f64 * terms
    }
}

impl Domain for LinearPolytope {
    fn dim(&self) -> usize {
        self.columns.len()
    }

    /// The diagonal of the box around the set.
    fn diameter(&self) -> f64 {
        distance_squared(&self.ends[0], &self.ends[1]).sqrt()
    }

    /// By how much a constraint or a bound is missed, 0 within the tolerance of HiGHS.
    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let LinearConstraints { lower, upper, rows, .. } = &self.constraints;
        let bounds = p.iter().zip(lower.iter().zip(upper));
        let missed = bounds.map(|(p, (low, high))| excess(low - p).max(excess(p - high)));
        let worst = missed.fold(0.0, f64::max);
        let of_row = |row: &Row| {
            let sum = row.times(p);
            excess(row.low - sum).max(excess(sum - row.high))
        };
        let worst = rows.iter().map(of_row).fold(worst, f64::max);
        let size = p.iter().fold(1.0f64, |size, p| size.max(p.abs()));
        if worst <= INSIDE * size { 0.0 } else { worst }
    }

    /// A point that HiGHS finds.
    fn center(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.center);
    }

    fn describe(&self) -> String {
        let (rows, n) = (self.constraints.rows.len(), self.dim());
        let whole = self.constraints.integer.iter().filter(|integer| **integer).count();
        let whole = if whole > 0 { format!(", {whole} of them whole") } else { String::new() };
        format!("a polytope of {rows} linear constraints on {n} numbers{whole}")
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(Programs { set: self }, self.dim(), self.diameter()))
    }
}

struct Programs<'a> {
    set: &'a LinearPolytope,
}

impl Work for Programs<'_> {
    fn confidence(&self) -> Confidence {
        Confidence::AsGiven
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let minimum = self.set.minimise(g, p)?;
        let rounding = sum_rounding(g.len()) * norm(g) * norm(p);
        Ok(LinearMin { lower: minimum.lower - rounding, ..minimum })
    }
}
