//! The sets of the package, as Python describes them, and sets of the user's own.

use couloir::domain::{
    Affine, Birkhoff, BoxBudget, BoxSet, CappedSimplex, ConvexHull, Directions, Domain, Ellipsoid,
    Fantope, Flows, Graph, GroupL1Ball, Hypersimplex, InformationSet, KSupportBall, L1Ball, L2Ball,
    LinfBall, LoSet, LpBall, Matchings, NuclearBall, OrderedL1Ball, Paths, Permutahedron, Product,
    SetCheck, Simplex, SimplexBudget, SpanningTrees, Spectrahedron, SpectralBall, TraceBound,
    Treeplex,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::callbacks::{Argument, Callbacks};
use crate::failure::to_python;
use crate::guard::{not_forked, room};

/// A set as `python/couloir/_sets.py` describes it.
#[derive(FromPyObject)]
pub enum Described<'py> {
    Box(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>),
    Named(String, usize, usize, f64),
    /// A set of the catalogue, with its parameters by name.
    Catalogued(String, Bound<'py, PyDict>),
    /// `lmo(g)`, diameter, start.
    Own(Py<PyAny>, f64, PyReadonlyArray1<'py, f64>),
    /// The same with `violation(p)`.
    OwnWithTest(Py<PyAny>, f64, PyReadonlyArray1<'py, f64>, Py<PyAny>),
}

/// The entry of that name, as what the place needs.
macro_rules! get {
    ($parameters:expr, $name:literal) => {
        $parameters
            .get_item($name)?
            .ok_or_else(|| PyValueError::new_err(concat!("no parameter ", $name)))?
            .extract()?
    };
}

/// A set of the catalogue.
fn catalogued<'a>(
    kind: &str,
    of: &Bound<'_, PyDict>,
    callbacks: &'a Callbacks,
) -> PyResult<Box<dyn Domain + 'a>> {
    let made: couloir::Result<Box<dyn Domain + 'a>> = match kind {
        "linf" => LinfBall::new(get!(of, "n"), get!(of, "radius")).map(boxed),
        "lp" => LpBall::new(get!(of, "n"), get!(of, "power"), get!(of, "radius")).map(boxed),
        "k-support" => {
            KSupportBall::new(get!(of, "n"), get!(of, "k"), get!(of, "radius")).map(boxed)
        }
        "group l1" => GroupL1Ball::new(get!(of, "groups"), get!(of, "radius")).map(boxed),
        "ordered l1" => OrderedL1Ball::new(get!(of, "weights"), get!(of, "radius")).map(boxed),
        "ellipsoid" => {
            Ellipsoid::new(get!(of, "center"), get!(of, "matrix"), get!(of, "radius")).map(boxed)
        }
        "hypersimplex" => Hypersimplex::new(get!(of, "n"), get!(of, "k")).map(boxed),
        "capped simplex" => CappedSimplex::new(get!(of, "caps"), get!(of, "total")).map(boxed),
        "box budget" => {
            let bounds = BoxSet::new(get!(of, "lower"), get!(of, "upper")).map_err(to_python)?;
            BoxBudget::new(bounds, get!(of, "costs"), get!(of, "budget")).map(boxed)
        }
        "simplex budget" => {
            let simplex = Simplex::scaled(get!(of, "n"), get!(of, "total")).map_err(to_python)?;
            SimplexBudget::new(simplex, get!(of, "costs"), get!(of, "budget")).map(boxed)
        }
        "permutahedron" => Permutahedron::new(get!(of, "values")).map(boxed),
        "birkhoff" => Birkhoff::rectangular(get!(of, "rows"), get!(of, "columns")).map(boxed),
        "convex hull" => {
            let points: Vec<Vec<f64>> = get!(of, "points");
            ConvexHull::new(&points).map(boxed)
        }
        "paths" => Paths::new(graph(of)?, get!(of, "source"), get!(of, "target")).map(boxed),
        "flows" => {
            let (source, target) = (get!(of, "source"), get!(of, "target"));
            Flows::new(graph(of)?, get!(of, "capacities"), source, target, get!(of, "value"))
                .map(boxed)
        }
        "spanning trees" => SpanningTrees::new(get!(of, "nodes"), get!(of, "arcs")).map(boxed),
        "matchings" => {
            Matchings::new(get!(of, "left"), get!(of, "right"), get!(of, "edges")).map(boxed)
        }
        "spectral" => {
            SpectralBall::new(get!(of, "rows"), get!(of, "columns"), get!(of, "radius")).map(boxed)
        }
        "spectrahedron" => {
            let exactly: bool = get!(of, "exactly");
            let bound = if exactly { TraceBound::Exactly } else { TraceBound::AtMost };
            Spectrahedron::new(get!(of, "n"), get!(of, "trace"), bound).map(boxed)
        }
        "fantope" => Fantope::new(get!(of, "n"), get!(of, "k")).map(boxed),
        "treeplex" => {
            let sets: Vec<(usize, usize)> = get!(of, "information_sets");
            let sets = sets.into_iter().map(|(parent, actions)| InformationSet { parent, actions });
            Treeplex::new(sets.collect()).map(boxed)
        }
        "game" => {
            let game = crate::games::ready(get!(of, "game"), get!(of, "sizes"))?;
            let (x_set, y_set, _) = game.into_parts();
            let is_y: bool = get!(of, "is_y");
            Ok(if is_y { y_set } else { x_set })
        }
        "product" => {
            let parts: Vec<Described<'_>> = get!(of, "parts");
            let parts: PyResult<Vec<_>> =
                parts.into_iter().map(|part| part.set(callbacks)).collect();
            Product::new(parts?).map(boxed)
        }
        "shifted" => {
            let inner: Described<'_> = get!(of, "set");
            Affine::shifted(inner.set(callbacks)?, get!(of, "offset")).map(boxed)
        }
        "scaled" => {
            let inner: Described<'_> = get!(of, "set");
            Affine::scaled(inner.set(callbacks)?, get!(of, "factor")).map(boxed)
        }
        other => return Err(PyValueError::new_err(format!("no set `{other}`"))),
    };
    made.map_err(to_python)
}

fn boxed<'a>(set: impl Domain + 'a) -> Box<dyn Domain + 'a> {
    Box::new(set)
}

fn graph(of: &Bound<'_, PyDict>) -> PyResult<Graph> {
    Graph::new(get!(of, "nodes"), get!(of, "arcs")).map_err(to_python)
}

impl Described<'_> {
    /// Numbers that are kept for a point at the least, as far as the parameters tell; arrays that Python made do not count.
    fn entries(&self) -> u64 {
        match self {
            Described::Named(kind, rows, columns, _) if kind == "nuclear" => {
                (*rows as u64).saturating_mul(*columns as u64)
            }
            Described::Named(_, n, ..) => *n as u64,
            Described::Catalogued(kind, of) => {
                let count = |name: &str| -> Option<u64> {
                    of.get_item(name).ok().flatten()?.extract().ok()
                };
                let side =
                    if kind == "spectrahedron" || kind == "fantope" { count("n") } else { None };
                let n = count("n").map(|n| n.saturating_mul(side.unwrap_or(1)));
                let product = |a: &str, b: &str| Some(count(a)?.saturating_mul(count(b)?));
                let sizes =
                    [n, product("rows", "columns"), count("nodes"), count("left"), count("right")];
                sizes.into_iter().flatten().max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// The set; `callbacks` hears of exceptions in the user's own.
    pub fn set<'a>(self, callbacks: &'a Callbacks) -> PyResult<Box<dyn Domain + 'a>> {
        room("a point of this set", self.entries().saturating_mul(8))?;
        Ok(match self {
            Described::Box(lower, upper) => {
                let (lower, upper) = (lower.as_slice()?.to_vec(), upper.as_slice()?.to_vec());
                Box::new(BoxSet::new(lower, upper).map_err(to_python)?)
            }
            Described::Named(kind, rows, cols, radius) => match kind.as_str() {
                "simplex" => Box::new(Simplex::scaled(rows, radius).map_err(to_python)?),
                "l1" => Box::new(L1Ball::new(rows, radius).map_err(to_python)?),
                "l2" => Box::new(L2Ball::new(rows, radius).map_err(to_python)?),
                "nuclear" => Box::new(NuclearBall::new(rows, cols, radius).map_err(to_python)?),
                other => return Err(PyValueError::new_err(format!("no set `{other}`"))),
            },
            Described::Catalogued(kind, parameters) => catalogued(&kind, &parameters, callbacks)?,
            Described::Own(lmo, diameter, start) => {
                Box::new(own(lmo, diameter, start.as_slice()?, callbacks)?)
            }
            Described::OwnWithTest(lmo, diameter, start, violation) => {
                let outside = move |p: &[f64]| callbacks.number(&violation, &[Argument::Point(p)]);
                Box::new(own(lmo, diameter, start.as_slice()?, callbacks)?.with_violation(outside))
            }
        })
    }
}

fn own<'a>(
    lmo: Py<PyAny>,
    diameter: f64,
    start: &[f64],
    callbacks: &'a Callbacks,
) -> PyResult<LoSet<'a>> {
    let call = move |g: &[f64], p: &mut [f64]| callbacks.vector(&lmo, &[Argument::Point(g)], p);
    LoSet::new(start.len(), diameter, start.to_vec(), call).map_err(to_python)
}

/// What the set checker says: the faults, linear minimisations, the largest distance seen, whether prox and away steps were
/// tried.
#[pyfunction]
pub fn check_set(
    set: Described<'_>,
    trials: usize,
    nonnegative: bool,
    seed: u64,
) -> PyResult<(Vec<String>, u64, f64, bool, bool)> {
    not_forked()?;
    let callbacks = Callbacks::default();
    let set = set.set(&callbacks)?;
    let directions = if nonnegative { Directions::NonNegative } else { Directions::Any };
    let report = SetCheck::default().trials(trials).directions(directions).seed(seed).run(&*set);
    match callbacks.take() {
        Some(error) => Err(error),
        None => Ok((
            report.faults,
            report.linear_minimisations,
            report.farthest,
            report.tried_prox,
            report.tried_away,
        )),
    }
}

/// A minimiser of `<g, .>` over a set of the package.
#[pyfunction]
pub fn set_lmo<'py>(
    py: Python<'py>,
    set: Described<'py>,
    g: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    not_forked()?;
    let callbacks = Callbacks::default();
    let set = set.set(&callbacks)?;
    let g = g.as_slice()?;
    if g.len() != set.dim() {
        let why = format!("g: expected {} entries, got {}", set.dim(), g.len());
        return Err(PyValueError::new_err(why));
    }
    let mut p = vec![0.0; g.len()];
    set.oracle().lmo(g, &mut p).map_err(to_python)?;
    Ok(PyArray1::from_vec(py, p))
}

/// The number of coordinates of a point of a set.
#[pyfunction]
pub fn set_dim(set: Described<'_>) -> PyResult<usize> {
    let callbacks = Callbacks::default();
    Ok(set.set(&callbacks)?.dim())
}

/// The Euclidean diameter of a set of the package.
#[pyfunction]
pub fn set_diameter(set: Described<'_>) -> PyResult<f64> {
    let callbacks = Callbacks::default();
    Ok(set.set(&callbacks)?.diameter())
}
