"""The sets of the catalogue from Python, the set checker, and what is said to wrong arguments."""

import numpy as np
import pytest

import couloir

ARCS = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]

# every set, what its least value over <g, .> is by a formula or brute force, and the shape of its points
SETS = [
    (couloir.Simplex(4, 2.0), lambda g: 2 * g.min()),
    (couloir.L1Ball(4, 2.0), lambda g: -2 * np.abs(g).max()),
    (couloir.L2Ball(4, 2.0), lambda g: -2 * np.linalg.norm(g)),
    (couloir.LinfBall(4, 2.0), lambda g: -2 * np.abs(g).sum()),
    (couloir.LpBall(4, 3.0, 2.0), lambda g: -2 * np.linalg.norm(g, 1.5)),
    (couloir.KSupportBall(5, 2, 2.0), lambda g: -2 * np.linalg.norm(np.sort(np.abs(g))[-2:])),
    (
        couloir.GroupL1Ball([0, 1, 0, 1], 2.0),
        lambda g: -2 * max(np.linalg.norm(g[[0, 2]]), np.linalg.norm(g[[1, 3]])),
    ),
    (
        couloir.OrderedL1Ball([2.0, 1.0, 0.5], 2.0),
        lambda g: -2 * max(np.cumsum(np.sort(np.abs(g))[::-1]) / np.cumsum([2.0, 1.0, 0.5])),
    ),
    (
        couloir.Ellipsoid([1.0, 0.0], [[2.0, 0.5], [0.5, 1.0]], 2.0),
        lambda g: g[0] - 2 * np.sqrt(g @ np.array([[2.0, 0.5], [0.5, 1.0]]) @ g),
    ),
    (couloir.Box([-1.0, 0.0], [1.0, 2.0]), lambda g: -abs(g[0]) + min(0, 2 * g[1])),
    (couloir.Hypersimplex(5, 2), lambda g: np.sort(g)[:2].sum()),
    (couloir.CappedSimplex([0.5, 0.5, 0.5], 1.0), lambda g: 0.5 * np.sort(g)[:2].sum()),
    (couloir.Permutahedron([1.0, 2.0, 4.0]), lambda g: np.sort(g)[::-1] @ [1.0, 2.0, 4.0]),
    (couloir.Birkhoff(2, 3), lambda g: min(g[0, i] + g[1, j] for i in range(3) for j in range(3) if i != j)),
    (couloir.ConvexHull([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), lambda g: min(0, 2 * g[0], g[1])),
    (
        couloir.Paths(4, ARCS, 0, 3),
        lambda g: min(g[0] + g[3], g[1] + g[4], g[0] + g[2] + g[4]),
    ),
    (
        couloir.SpanningTrees(3, [(0, 1), (1, 2), (2, 0)]),
        lambda g: g.sum() - g.max(),
    ),
    (
        couloir.Matchings(2, 2, [(0, 0), (0, 1), (1, 0)]),
        lambda g: min(0, g[0], g[1], g[2], g[1] + g[2]),
    ),
    (couloir.SpectralBall((2, 3), 2.0), lambda g: -2 * np.linalg.norm(g, "nuc")),
    (couloir.NuclearBall((2, 3), 2.0), lambda g: -2 * np.linalg.norm(g, 2)),
    (couloir.Spectrahedron(3, 2.0), lambda g: 2 * np.linalg.eigvalsh(g + g.T)[0] / 2),
    (couloir.Spectrahedron(3, 2.0, at_most=True), lambda g: min(0, np.linalg.eigvalsh(g + g.T)[0])),
    (couloir.Fantope(3, 2), lambda g: np.linalg.eigvalsh(g + g.T)[:2].sum() / 2),
    (couloir.Treeplex([(0, 2), (1, 2)]), lambda g: g[0] + min(g[1] + min(g[3], g[4]), g[2])),
    (
        couloir.Product(couloir.Simplex(2), couloir.L2Ball(3)),
        lambda g: g[:2].min() - np.linalg.norm(g[2:]),
    ),
    (couloir.Shifted(couloir.Simplex(2), [1.0, -1.0]), lambda g: g.min() + g[0] - g[1]),
    (couloir.Scaled(couloir.NuclearBall((2, 3)), -2.0), lambda g: -2 * np.linalg.norm(g, 2)),
    (
        couloir.Flows(4, ARCS, np.ones(5), 0, 3, 1.0),
        lambda g: min(g[0] + g[3], g[1] + g[4], g[0] + g[2] + g[4]),
    ),
]


@pytest.mark.parametrize("set, least", SETS, ids=lambda value: type(value).__name__)
def test_every_set_minimises_and_passes_its_check(set, least):
    rng = np.random.default_rng(3)
    for _ in range(50):
        g = rng.normal(size=set.shape)
        p = set.lmo(g)
        assert p.shape == set.shape
        assert np.sum(g * p) == pytest.approx(least(g), abs=1e-10)
    report = couloir.check_set(set)
    assert report.is_clean, str(report)
    assert 0 < report.farthest <= set.diameter * (1 + 1e-9)
    assert "no fault" in str(report)


def test_budgets_are_kept():
    rng = np.random.default_rng(5)
    from scipy.optimize import linprog

    box = couloir.BoxBudget(np.zeros(4), np.ones(4), [1.0, 2.0, 3.0, 1.0], 2.5)
    simplex = couloir.SimplexBudget([1.0, 2.0, 3.0, 0.5], 1.2)
    for set, equal in ((box, None), (simplex, np.ones((1, 4)))):
        costs = [1.0, 2.0, 3.0, 1.0] if set is box else [1.0, 2.0, 3.0, 0.5]
        budget = 2.5 if set is box else 1.2
        for _ in range(30):
            g = rng.normal(size=4)
            reference = linprog(g, [costs], [budget], equal, None if equal is None else [1.0], (0, 1))
            assert g @ set.lmo(g) == pytest.approx(reference.fun, abs=1e-9)
        assert couloir.check_set(set).is_clean


def test_linear_polytopes_by_highs():
    pytest.importorskip("highspy")
    from scipy.optimize import linprog

    rng = np.random.default_rng(7)
    A, b = rng.uniform(size=(6, 8)), np.ones(6)
    set = couloir.LinearPolytope(A, b, [[1.0] * 8], [0.8])
    for _ in range(50):
        g = rng.normal(size=8)
        reference = linprog(g, A, b, [[1.0] * 8], [0.8])
        assert g @ set.lmo(g) == pytest.approx(reference.fun, abs=1e-7)
    report = couloir.check_set(set)
    assert report.is_clean, str(report)
    whole = couloir.LinearPolytope([[2.0, 3.0, 4.0]], [5.0], upper=1.0, integer=True)
    points = [np.array(p) for p in np.ndindex(2, 2, 2) if np.dot([2, 3, 4], p) <= 5]
    for _ in range(50):
        g = rng.normal(size=3)
        assert g @ whole.lmo(g) == pytest.approx(min(g @ p for p in points), abs=1e-9)
    assert couloir.check_set(whole).is_clean
    with pytest.raises(ValueError, match="empty"):
        couloir.LinearPolytope([[1.0]], [-1.0], upper=1.0)
    with pytest.raises(ValueError, match="unbounded"):
        couloir.LinearPolytope([[1.0, -1.0]], [1.0])


class Maximiser:
    """A square that is maximised over."""

    shape, diameter, start = (2,), 3.0, np.zeros(2)

    def lmo(self, g):
        return np.where(g > 0, 1.0, -1.0)


class Outside(Maximiser):
    def lmo(self, g):
        return np.where(g > 0, -1.0, 1.1)

    def violation(self, p):
        return max(0.0, np.abs(p).max() - 1.0)


def test_planted_faults_are_found():
    assert "does not minimise" in couloir.check_set(Maximiser()).faults[0]
    assert any("outside of the set by" in fault for fault in couloir.check_set(Outside()).faults)
    small = Outside()
    small.diameter = 0.5
    assert any("diameter was given as 0.5" in fault for fault in couloir.check_set(small).faults)


WRONG = [
    (lambda: couloir.Simplex(2.5), TypeError, "n must be a whole number, the number of entries; got 2.5"),
    (lambda: couloir.Simplex((3, 4)), TypeError, r"n must be a whole number, the number of entries; got \(3, 4\)"),
    (lambda: couloir.Simplex(3, "1"), TypeError, "radius must be a number; got '1'"),
    (lambda: couloir.NuclearBall(3, 2), TypeError, r"size must be a pair \(rows, columns\), such as \(3, 2\); got 3"),
    (lambda: couloir.Simplex(0), ValueError, "dimension 0"),
    (lambda: couloir.L2Ball(3, -1.0), ValueError, "radius must be a positive finite number, got -1"),
    (lambda: couloir.Paths(3, [0, 1], 0, 1), ValueError, "arcs must be a list of pairs"),
    (lambda: couloir.Paths(3, [(0, 1)], 0, 2), ValueError, "no path from node 0 to node 2"),
    (lambda: couloir.Ellipsoid([0.0], [[1.0, 2.0]]), ValueError, "matrix must have shape"),
    (lambda: couloir.Scaled(couloir.Simplex, 2.0), TypeError, "set must be a set, got the class Simplex: make one"),
    (lambda: couloir.Shifted(couloir.Simplex(2), [1.0]), ValueError, "offset must have the shape"),
    (lambda: couloir.Hypersimplex(3, 4), ValueError, "k: must be from 1 to the dimension 3, got 4"),
    (lambda: couloir.check_set(couloir.Simplex), TypeError, "must be a set, got the class Simplex"),
]


@pytest.mark.parametrize("make, kind, message", WRONG)
def test_a_wrong_argument_is_named(make, kind, message):
    with pytest.raises(kind, match=message):
        make()
