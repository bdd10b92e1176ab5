//! Zero-sum games.

use couloir::linalg::SparseMatrix;
use couloir::model::games::{Game, RegularisedGame, suited};
use couloir::problem::{MatrixGame, SaddleProblem};
use couloir::run::WallClock;
use couloir::{Method, Solve};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::callbacks::Callbacks;
use crate::failure::to_python;
use crate::guard::not_forked;
use crate::sets::Described;
use crate::solve::{Rules, solved};

/// A game that comes with the library, by its name and sizes.
pub fn ready(name: String, sizes: Vec<usize>) -> PyResult<Game> {
    let game = match (&*name, &*sizes) {
        ("kuhn", []) => Game::kuhn(),
        ("leduc", []) => Game::leduc(),
        ("blotto", [soldiers, fields]) => Game::blotto(*soldiers, *fields),
        _ => return Err(PyValueError::new_err(format!("no game `{name}` of {sizes:?}"))),
    };
    game.map_err(to_python)
}

/// The payoffs of a ready game (rows, columns and values of those that are not zero), and what the strategies are called.
#[pyfunction]
pub fn ready_game<'py>(
    py: Python<'py>,
    name: String,
    sizes: Vec<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let game = ready(name, sizes)?;
    let payoffs = game.payoffs();
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (i, j, payoff) in payoffs.nonzeros() {
        rows.push(i as u64);
        columns.push(j as u64);
        values.push(payoff);
    }
    let answer = PyDict::new(py);
    answer.set_item("rows", PyArray1::from_vec(py, rows))?;
    answer.set_item("columns", PyArray1::from_vec(py, columns))?;
    answer.set_item("values", PyArray1::from_vec(py, values))?;
    let x_names: Vec<String> = (0..payoffs.dim_x()).map(|i| game.x_name(i)).collect();
    let y_names: Vec<String> = (0..payoffs.dim_y()).map(|j| game.y_name(j)).collect();
    answer.set_item("names", (x_names, y_names))?;
    Ok(answer)
}

/// Payoffs in compressed rows.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Payoffs<'py> {
    columns: usize,
    starts: Vec<usize>,
    indices: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
}

impl Payoffs<'_> {
    fn game(self) -> PyResult<MatrixGame> {
        let Payoffs { columns, starts, indices, values } = self;
        let rows = starts.len().saturating_sub(1);
        let (indices, values) = (indices.as_slice()?.to_vec(), values.as_slice()?.to_vec());
        let game = if rows > 0 && Some(values.len()) == rows.checked_mul(columns) {
            MatrixGame::from_rows(rows, columns, values)
        } else {
            SparseMatrix::from_rows(columns, starts, indices, values).and_then(MatrixGame::sparse)
        };
        game.map_err(to_python)
    }
}

/// Solves a game on two sets, with these weights of a quadratic penalty on `x` and on `y`, and returns a dict as `solve` does.
#[pyfunction]
#[pyo3(signature = (payoffs, x_set, y_set, weights, rules, callback=None))]
pub fn solve_game<'py>(
    py: Python<'py>,
    payoffs: Payoffs<'py>,
    x_set: Described<'py>,
    y_set: Described<'py>,
    weights: (f64, f64),
    rules: Rules,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    not_forked()?;
    let callbacks = Callbacks::default();
    let (x_set, y_set) = (x_set.set(&callbacks)?, y_set.set(&callbacks)?);
    let payoffs = payoffs.game()?;
    let regularised = RegularisedGame::on((&*x_set, &*y_set), &payoffs, weights.0, weights.1)
        .map_err(to_python)?;
    let (problem, own): (&dyn SaddleProblem, Method) = if weights == (0.0, 0.0) {
        (&payoffs, suited(&*x_set, &*y_set))
    } else {
        (&regularised, regularised.method())
    };
    let method = rules.method(|| own)?;
    let name = method.name();
    let stop = rules.stop(&method, None);
    let records = stop.trace_records;
    let run =
        Solve::new(problem, &*x_set, &*y_set).method(method).rules(stop).clock(WallClock::start());
    solved(py, run, &callbacks, &callback, (name, records))
}
