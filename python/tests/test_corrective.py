"""Sets that are known by their lmo alone: the default method, atoms by their entries, oracles that fail."""

import os
import signal
import threading
import time

import couloir
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

DIM, SCENARIOS, MU = 12, 5, 0.1
COSTS = np.random.default_rng(0).uniform(size=(SCENARIOS, DIM))


class Robust:
    """``<y, C x> - mu/2 |y - 1/m|^2``."""

    def value(self, x, y):
        return y @ COSTS @ x - MU / 2 * ((y - 1 / SCENARIOS) ** 2).sum()

    def grad_x(self, x, y):
        return COSTS.T @ y

    def grad_y(self, x, y):
        return COSTS @ x - MU * (y - 1 / SCENARIOS)

    mu = MU


class Subsets:
    """Indicators of 4 of 12 things."""

    shape, diameter = (DIM,), 8**0.5
    start = np.array([1.0] * 4 + [0.0] * 8)

    def __init__(self):
        self.calls = 0

    def chosen(self, g):
        self.calls += 1
        return np.argsort(g, kind="stable")[:4]

    def lmo(self, g):
        x = np.zeros(DIM)
        x[self.chosen(g)] = 1
        return x


class SubsetsByEntries(Subsets):
    def lmo(self, g):
        return self.chosen(g), np.ones(4)


class SubsetsOfSciPy(Subsets):
    def lmo(self, g):
        chosen = self.chosen(g)
        return sp.csr_array((np.ones(4), (np.zeros(4, dtype=int), chosen)), shape=(1, DIM))


class Game:
    """``<x, B y>``."""

    matrix = np.random.default_rng(1).normal(size=(DIM, DIM))

    def value(self, x, y):
        return x @ self.matrix @ y

    def grad_x(self, x, y):
        return self.matrix @ y

    def grad_y(self, x, y):
        return self.matrix.T @ x


def runs_with(oracle, **options):
    """Solves with this set for x alone, for x in a game, and for y in a game; one after the other.

    Faults are to come up while the solve runs, not in the checks before it.
    """
    options["check"] = False
    yield lambda: couloir.solve(Robust(), oracle(), couloir.Simplex(SCENARIOS), tol=1e-12, **options)
    yield lambda: couloir.solve(Game(), oracle(), Subsets(), tol=1e-12, **options)
    yield lambda: couloir.solve(Game(), Subsets(), oracle(), tol=1e-12, **options)


def test_a_set_of_ones_own_is_solved_by_the_corrective_method():
    subsets = Subsets()
    solution = couloir.solve(Robust(), subsets, couloir.Simplex(SCENARIOS), tol=1e-8)
    assert solution.solved and solution.method == "corrective"
    assert solution.oracle_calls[0] == subsets.calls - solution.check_calls["lmo_x"] < 60
    for sparse in (SubsetsByEntries, SubsetsOfSciPy):
        same = couloir.solve(Robust(), sparse(), couloir.Simplex(SCENARIOS), tol=1e-8)
        np.testing.assert_array_equal(same.x, solution.x)
    # against the other method, on the same oracle
    other = couloir.solve(Robust(), Subsets(), couloir.Simplex(SCENARIOS), "certified", tol=1e-2)
    assert other.method == "certified"
    assert other.certificate["lower"] <= solution.certificate["upper"]
    assert solution.certificate["lower"] <= other.certificate["upper"]


def test_a_set_of_the_package_is_solved_by_the_certified_method():
    solution = couloir.solve(Robust(), couloir.Simplex(DIM), couloir.Simplex(SCENARIOS), tol=1e-3)
    assert solution.method == "certified"


@pytest.mark.parametrize("answer", [([0, 99], [1.0, 1.0]), ([0.5], [1.0]), ([0, 1], [1.0])])
def test_entries_that_are_none_are_an_error(answer):
    class Bad(Subsets):
        def lmo(self, g):
            return answer

    with pytest.raises(ValueError, match="lmo returned"):
        couloir.solve(Robust(), Bad(), couloir.Simplex(SCENARIOS))


def test_a_sparse_answer_of_another_shape_is_an_error():
    class Bad(Subsets):
        def lmo(self, g):
            return sp.csr_array((1, DIM + 1))

    with pytest.raises(ValueError, match=r"lmo returned shape \(1, 13\)"):
        couloir.solve(Robust(), Bad(), couloir.Simplex(SCENARIOS))


def spoiled(spoil):
    """A set whose third answer is spoiled."""

    class Bad(Subsets):
        def lmo(self, g):
            x = super().lmo(g)
            return spoil(x) if self.calls == 3 else x

    return Bad


def test_games_over_sets_of_ones_own_are_solved():
    solution = couloir.solve(Game(), Subsets(), SubsetsByEntries(), tol=1e-9)
    assert solution.solved and solution.method == "corrective"
    assert min(solution.oracle_calls) > 1
    # against all answers: the best of 12 over 4 is a sort
    above, below = np.sort(Game.matrix.T @ solution.x)[-4:].sum(), np.sort(Game.matrix @ solution.y)[:4].sum()
    assert -1e-12 <= above - below <= 1e-9 + 1e-12


def test_an_lmo_that_raises_is_heard():
    def fail(x):
        raise LookupError("no more")

    for run in runs_with(spoiled(fail)):
        with pytest.raises(LookupError, match="no more"):
            run()


@pytest.mark.parametrize("length", [DIM - 1, DIM + 1])
def test_an_answer_of_the_wrong_length_is_an_error(length):
    for run in runs_with(spoiled(lambda x: np.zeros(length))):
        with pytest.raises(ValueError, match="lmo gave an array of shape"):
            run()


def test_nan_is_named():
    for run in runs_with(spoiled(lambda x: np.full(DIM, np.nan))):
        with pytest.warns(ConvergenceWarning, match="(?i)nan|finite"):
            solution = run()
        # what was certified before stays
        assert np.isfinite(solution.certificate["gap"])


def test_an_answer_beyond_the_diameter_is_named():
    for run in runs_with(spoiled(lambda x: x + 9.0)):
        with pytest.raises(ValueError, match="diameter"):
            run()


def test_an_answer_worse_than_an_earlier_one_is_named():
    class Lazy(Subsets):
        def lmo(self, g):
            x = super().lmo(g)
            return x if self.calls < 4 else np.array(self.start)

    for run in runs_with(Lazy):
        with pytest.warns(ConvergenceWarning, match="earlier answer|start point"):
            assert run().status == "contradiction"


class Slow(Subsets):
    def lmo(self, g):
        time.sleep(0.05)
        return super().lmo(g)


def test_max_time_ends_within_one_slow_call():
    for run in runs_with(Slow, max_time=0.15):
        before = time.perf_counter()
        with pytest.warns(ConvergenceWarning):
            solution = run()
        assert solution.status in ("time limit", "no more progress")
        assert time.perf_counter() - before < 1.3
        assert np.isfinite(solution.certificate["gap"])


def test_ctrl_c_ends_within_one_slow_call():
    class VerySlow(Subsets):
        def lmo(self, g):
            time.sleep(0.3)
            return super().lmo(g)

    for run in runs_with(VerySlow, max_time=30):
        pressed = []

        def press():
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(0.75, press).start()
        with pytest.raises(couloir.Interrupted) as caught:
            run()
        assert time.perf_counter() - pressed[0] < 1.3
        assert np.isfinite(caught.value.solution.certificate["gap"])
