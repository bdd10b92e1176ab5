"""Sets that are known by their lmo alone: the default method, atoms by their entries, oracles that fail."""

import time

import couloir
import numpy as np
import pytest
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


def test_a_set_of_ones_own_is_solved_by_the_corrective_method():
    subsets = Subsets()
    solution = couloir.solve(Robust(), subsets, couloir.Simplex(SCENARIOS), tol=1e-8)
    assert solution.solved and solution.method == "corrective"
    assert solution.oracle_calls[0] == subsets.calls - solution.check_calls["lmo_x"] < 60
    by_entries = couloir.solve(Robust(), SubsetsByEntries(), couloir.Simplex(SCENARIOS), tol=1e-8)
    np.testing.assert_array_equal(by_entries.x, solution.x)
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


def test_an_lmo_that_raises_is_heard():
    class Bad(Subsets):
        def lmo(self, g):
            if self.calls == 3:
                raise LookupError("no more")
            return super().lmo(g)

    with pytest.raises(LookupError, match="no more"):
        couloir.solve(Robust(), Bad(), couloir.Simplex(SCENARIOS), tol=1e-12)


def test_max_time_ends_within_one_slow_call():
    class Slow(Subsets):
        def lmo(self, g):
            time.sleep(0.05)
            return super().lmo(g)

    before = time.perf_counter()
    with pytest.warns(ConvergenceWarning):
        solution = couloir.solve(Robust(), Slow(), couloir.Simplex(SCENARIOS), tol=1e-14, max_time=0.15)
    assert solution.status in ("time limit", "no more progress")
    assert time.perf_counter() - before < 1.3
