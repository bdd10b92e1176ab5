"""Robust matrix completion from Python."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from couloir import MatrixCompletion, _couloir


def ratings(shape=(80, 70), rank=2, n=3000, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(shape[0], rank)), rng.normal(size=(shape[1], rank))
    rows, cols = rng.integers(0, shape[0], n), rng.integers(0, shape[1], n)
    return rows, cols, (u[rows] * v[cols]).sum(axis=1) + noise * rng.normal(size=n)


def robust_loss(losses, level):
    """max over y of sum y_i loss_i - level/(2n) sum (n y_i - 1)^2, by bisection on the multiplier."""
    n = len(losses)
    low, high = losses.min() - level * n, losses.max() + level
    for _ in range(200):
        middle = (low + high) / 2
        total = np.maximum(0, 1 + (losses - middle) / level).sum() / n
        low, high = (middle, high) if total > 1 else (low, middle)
    y = np.maximum(0, 1 + (losses - low) / level) / n
    return y @ losses - level / (2 * n) * ((n * y - 1) ** 2).sum(), n * y


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_the_certificate_brackets_the_objective_of_the_factors(loss):
    rows, cols, values = ratings()
    model = MatrixCompletion((80, 70), tau=120.0, loss=loss, threshold=0.5, tol=1e-3).fit(rows, cols, values)
    residual = model.predict(rows, cols) - values
    inner = residual if loss == "squared" else np.clip(residual, -0.5, 0.5)
    value, weights = robust_loss(inner * (residual - inner / 2), 1.0)
    certificate = model.certificate_
    assert certificate["gap"] <= 1e-3 and certificate["solved"]
    assert value == pytest.approx(certificate["upper"], abs=1e-9)
    assert certificate["lower"] <= value
    u, s, v = model.factors_
    assert s.sum() <= 120.0 * (1 + 1e-12) and (np.diff(s) <= 0).all() and model.rank_ == len(s)
    assert np.allclose(u.T @ u, np.eye(len(s))) and np.allclose(v.T @ v, np.eye(len(s)))
    # the weights are of the last response, the factors of the best point: both are near the optimum
    assert model.observation_weights_.mean() == pytest.approx(1.0)
    assert np.corrcoef(model.observation_weights_, weights)[0, 1] > 0.9


def test_the_order_of_observations_does_not_matter_and_held_out_entries_are_predicted():
    rows, cols, values = ratings(n=4000)
    seen, held = slice(0, 3500), slice(3500, 4000)
    order = np.random.default_rng(1).permutation(3500)
    one = MatrixCompletion((80, 70), tau=120.0).fit(rows[seen], cols[seen], values[seen])
    other = MatrixCompletion((80, 70), tau=120.0).fit(rows[seen][order], cols[seen][order], values[seen][order])
    assert one.certificate_["upper"] == pytest.approx(other.certificate_["upper"], abs=1e-9)
    assert np.allclose(one.observation_weights_[order], other.observation_weights_, atol=1e-6)
    missed = ((one.predict(rows[held], cols[held]) - values[held]) ** 2).mean()
    assert missed < 0.1 * ((values[seen].mean() - values[held]) ** 2).mean()


def test_groups_of_observations_are_weighed_together():
    rows, cols, values = ratings(n=1000)
    groups = np.where(np.arange(1000) % 3 == 0, "hard", "easy")
    values[groups == "hard"] *= 2
    model = MatrixCompletion((80, 70), tau=60.0, uncertainty="group", level=1.0).fit(rows, cols, values, groups)
    weights = model.observation_weights_
    assert len(set(np.round(weights[groups == "hard"], 9))) == 1
    assert weights[groups == "hard"][0] > weights[groups == "easy"][0]


def test_a_fit_that_runs_out_of_time_keeps_its_best_point_and_warns():
    rows, cols, values = ratings((1500, 1500), n=60_000)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = MatrixCompletion((1500, 1500), tau=2500.0, tol=1e-9, max_time=0.02).fit(rows, cols, values)
    assert np.isfinite(model.certificate_["gap"]) and not model.certificate_["solved"]


def test_ctrl_c_ends_a_fit_with_its_best_point(monkeypatch):
    rows, cols, values = ratings((1500, 1500), n=200_000)
    values += 3 * np.random.default_rng(5).normal(size=len(values))
    model = MatrixCompletion((1500, 1500), tau=2500.0, tol=1e-12)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    fit, began = _couloir.fit_completion, []

    def fit_and_interrupt(*arguments):
        timer.start()
        began.append(time.monotonic())
        return fit(*arguments)

    monkeypatch.setattr(_couloir, "fit_completion", fit_and_interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(rows, cols, values)
    finally:
        timer.cancel()
    # far less than the fit takes, with room for a busy machine
    assert time.monotonic() - began[0] < 20
    assert "gap" in model.certificate_ and len(model.factors_.s) == model.rank_


def test_rounding_charged_in_many_dimensions_is_no_fault_of_the_best_response():
    rows, cols, values = ratings((1500, 1500), n=60_000)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = MatrixCompletion((1500, 1500), tau=2500.0, tol=1e-9, max_iter=4).fit(rows, cols, values)
    assert model.n_iter_ == 4


def test_threads_do_not_change_the_result():
    rows, cols, values = ratings((300, 200), n=20_000)
    fits = [MatrixCompletion((300, 200), tau=300.0, n_jobs=jobs).fit(rows, cols, values) for jobs in (1, 2)]
    for one, other in zip(fits[0].factors_, fits[1].factors_, strict=True):
        assert (one == other).all()


def test_bad_arguments_are_refused_by_name():
    rows, cols, values = ratings(n=50)
    model = MatrixCompletion((80, 70), tau=100.0)
    with pytest.raises(NotFittedError):
        model.predict(rows, cols)
    with pytest.raises(ValueError, match=r"rows\[0\] is 80"):
        model.fit([80], [0], [1.0])
    with pytest.raises(ValueError, match="whole numbers"):
        model.fit([0.5], [0], [1.0])
    with pytest.raises(ValueError, match="1 rows and 2 cols"):
        model.fit([0], [0, 1], [1.0])
    with pytest.raises(ValueError, match="values"):
        model.fit(rows, cols, values[:-1])
    with pytest.raises(ValueError, match="NaN"):
        model.fit([0], [0], [np.nan])
    for settings in ({"tau": -1.0}, {"level": 0.0}, {"loss": "cubic"}, {"uncertainty": "mars"}, {"tol": 0.0}):
        with pytest.raises(ValueError):
            MatrixCompletion(**{"shape": (80, 70), "tau": 100.0, **settings}).fit(rows, cols, values)


@pytest.mark.parametrize(
    ("loss", "level", "tau", "optimum"),
    [
        ("squared", 1.0, 8.0, 0.15936176),
        ("squared", 0.3, 8.0, 0.20282115),
        ("huber", 1.0, 8.0, 0.11625708),
        ("squared", 1.0, 3.0, 0.79458145),
    ],
)
def test_a_conic_solver_finds_the_same_optima(loss, level, tau, optimum):
    """The optima are Clarabel's, of ``min over X, nu of nu + level / 2n sum_i (max(0, 1 + (loss_i - nu) / level)^2 - 1)``
    with the nuclear norm as a semidefinite constraint: the maximum over the weights in closed form."""
    rng = np.random.default_rng(3)
    u, v = rng.normal(size=(9, 2)), rng.normal(size=(7, 2))
    rows, cols = rng.integers(0, 9, 60), rng.integers(0, 7, 60)
    values = (u[rows] * v[cols]).sum(axis=1) + 0.3 * rng.normal(size=60)
    model = MatrixCompletion((9, 7), tau, loss=loss, level=level, threshold=0.5, tol=1e-6).fit(rows, cols, values)
    # what an interior-point method leaves
    assert model.certificate_["lower"] <= optimum + 1e-7
    assert model.certificate_["upper"] >= optimum - 1e-7
    assert model.certificate_["gap"] <= 1e-6
