"""What couloir.solve promises."""

import os
import signal
import threading
import time
import traceback

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning

import couloir
from couloir import Box, L1Ball, L2Ball, NuclearBall, Simplex


class Game:
    """<x, A y> + a/2 |x|^2 - b/2 |y|^2 with points of any shape."""

    def __init__(self, x_shape, y_shape, seed=0):
        sizes = (int(np.prod(x_shape)), int(np.prod(y_shape)))
        self.A = np.random.default_rng(seed).normal(size=sizes)
        self.x_shape, self.y_shape = x_shape, y_shape

    def value(self, x, y):
        assert x.shape == self.x_shape and y.shape == self.y_shape
        return x.ravel() @ self.A @ y.ravel() + 0.5 * np.sum(x**2) - 0.5 * np.sum(y**2)

    def grad_x(self, x, y):
        return (self.A @ y.ravel()).reshape(self.x_shape) + x

    def grad_y(self, x, y):
        return (x.ravel() @ self.A).reshape(self.y_shape) - y


def onto_simplex(p, total=1.0):
    falling = np.sort(p)[::-1]
    levels = (np.cumsum(falling) - total) / np.arange(1, p.size + 1)
    return np.maximum(p - levels[falling > levels][-1], 0)


def onto_l2_ball(p, radius=1.0):
    return p * min(1.0, radius / np.linalg.norm(p))


def onto_l1_ball(p, radius):
    if np.abs(p).sum() <= radius:
        return p
    return np.sign(p) * onto_simplex(np.abs(p), radius)


def onto_nuclear_ball(p, radius):
    left, values, right = np.linalg.svd(p, full_matrices=False)
    return left @ np.diag(onto_l1_ball(values, radius)) @ right


def gap_by_hand(game, onto_X, onto_Y, x, y):
    """The primal-dual gap of a game: both best responses are projections, which the core has no part in."""
    best_x, best_y = onto_X(x - game.grad_x(x, y)), onto_Y(y + game.grad_y(x, y))
    return game.value(x, best_y) - game.value(best_x, y)


@pytest.mark.parametrize(
    ("X", "onto_X"),
    [
        (Simplex(6), onto_simplex),
        (L1Ball(6, 2.0), lambda p: onto_l1_ball(p, 2.0)),
        (L2Ball(6, 2.0), lambda p: p * min(1, 2 / np.linalg.norm(p))),
        (Box([-1.0] * 6, [2.0] * 6), lambda p: np.clip(p, -1, 2)),
        (NuclearBall((2, 3), 2.0), lambda p: onto_nuclear_ball(p, 2.0)),
    ],
    ids=repr,
)
def test_a_game_is_solved_on_every_set(X, onto_X):
    Y, game = Simplex(5), Game(X.shape, (5,))
    solution = couloir.solve(game, X, Y, tol=1e-6)
    assert solution.solved and solution.status == "solved"
    assert solution.x.shape == X.shape and solution.y.shape == (5,)
    assert solution.certificate["gap"] <= 1e-6
    value = game.value(solution.x, solution.y)
    assert solution.certificate["lower"] <= value <= solution.certificate["upper"]
    gap = gap_by_hand(game, onto_X, onto_simplex, solution.x, solution.y)
    assert -1e-14 < gap <= solution.certificate["gap"]
    assert solution.trace["gap"][-1] == solution.certificate["gap"]


def test_the_inner_solve_can_be_chosen():
    X, Y, game = Simplex(6), Simplex(5), Game((6,), (5,))
    solutions = {inner: couloir.solve(game, X, Y, tol=1e-5, inner=inner) for inner in ("auto", "exact", "atoms", None)}
    assert all(solution.solved for solution in solutions.values())
    assert np.array_equal(solutions["auto"].x, solutions["exact"].x) and np.array_equal(solutions[None].x, solutions["exact"].x)
    atoms, exact = (solutions[inner].certificate for inner in ("atoms", "exact"))
    assert max(atoms["lower"], exact["lower"]) <= min(atoms["upper"], exact["upper"])
    assert not np.array_equal(solutions["atoms"].x, solutions["exact"].x)
    with pytest.raises(ValueError, match="there is no `quick`"):
        couloir.solve(game, X, Y, inner="quick")
    with pytest.raises(ValueError, match="leaves no choice"):
        couloir.solve(game, X, Y, method="spfw", inner="atoms")


@pytest.mark.parametrize("method", ["certified", "spfw", "extragradient", "apg"])
def test_methods_agree(method):
    X, Y = L2Ball(4), Simplex(3)
    game = Game((4,), (3,))
    best = couloir.solve(game, X, Y, tol=1e-9)
    with_method = couloir.solve(game, X, Y, method=method, tol=1e-2, max_iter=200_000)
    assert with_method.solved
    for solution in (best, with_method):
        true_gap = gap_by_hand(game, onto_l2_ball, onto_simplex, solution.x, solution.y)
        assert -1e-14 <= true_gap <= solution.certificate["gap"]
        assert solution.certificate["confidence"] == "estimated"
    # f is strongly convex and concave with constant 1, so the gap bounds the distance
    distance = np.linalg.norm(with_method.x - best.x)
    assert distance <= np.sqrt(2 * with_method.certificate["gap"]) + np.sqrt(2 * best.certificate["gap"])


class Assignments:
    """Convex combinations of permutation matrices."""

    def __init__(self, n):
        self.shape, self.diameter, self.calls = (n, n), np.sqrt(2 * n), 0

    def lmo(self, g):
        self.calls += 1
        p = np.zeros(self.shape)
        p[linear_sum_assignment(g)] = 1
        return p


def test_a_set_of_ones_own_needs_only_its_linear_minimisation():
    X, Y = Assignments(4), Simplex(3)
    game = Game(X.shape, (3,))
    solution = couloir.solve(game, X, Y, tol=1e-3)
    assert solution.solved and X.calls > 0
    np.testing.assert_allclose(solution.x.sum(axis=0), 1)
    np.testing.assert_allclose(solution.x.sum(axis=1), 1)
    assert solution.certificate["confidence"] == "as given"


def test_a_best_response_is_used_where_there_is_one():
    class Responding(Game):
        calls = 0

        def best_response_y(self, x):
            self.calls += 1
            y = x.ravel() @ self.A
            return np.clip(y, -1, 1)

    game = Responding((4,), (3,))
    Y = Box([-1.0] * 3, [1.0] * 3)
    solution = couloir.solve(game, Simplex(4), Y, tol=1e-6)
    assert solution.solved and game.calls > 0
    # f is strongly concave in y with constant 1, so the gap bounds the distance
    distance = np.linalg.norm(solution.y - game.best_response_y(solution.x))
    assert distance <= np.sqrt(2 * solution.certificate["gap_y"]) + 1e-12


@pytest.mark.parametrize("where", ["value", "grad_x", "grad_y"])
def test_an_exception_comes_through_with_its_traceback(where):
    class Broken(Game):
        pass

    def fail(self, x, y):
        raise LookupError("no such thing")

    setattr(Broken, where, fail)
    with pytest.raises(LookupError, match="no such thing") as caught:
        couloir.solve(Broken((3,), (3,)), Simplex(3), Simplex(3), tol=1e-6)
    assert "fail" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_an_exception_in_a_set_comes_through():
    class Broken(Assignments):
        def lmo(self, g):
            raise LookupError("no assignment")

    X = Broken(3)
    X.start = np.eye(3)
    with pytest.raises(LookupError, match="no assignment"):
        couloir.solve(Game((3, 3), (2,)), X, Simplex(2))


def test_the_callback_sees_every_record_and_can_end_the_run():
    records = []

    def callback(record):
        records.append(record)
        return record["iteration"] == 3

    game = Game((4,), (3,))
    solution = couloir.solve(game, Simplex(4), Simplex(3), tol=1e-12, callback=callback)
    assert [r["iteration"] for r in records] == [0, 1, 2, 3]
    assert solution.status == "stopped by observer" and solution.n_iter == 3


def test_an_exception_in_the_callback_comes_through():
    def callback(record):
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        couloir.solve(Game((4,), (3,)), Simplex(4), Simplex(3), callback=callback)


def test_ctrl_c_keeps_the_best_pair():
    class Slow(Game):
        def value(self, x, y):
            time.sleep(0.002)
            return super().value(x, y)

    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.perf_counter()
    with pytest.raises(couloir.Interrupted) as caught:
        couloir.solve(
            Slow((40,), (30,)), Simplex(40), Simplex(30), method="spfw", tol=1e-12, max_time=20, check=False
        )
    assert time.perf_counter() - began < 1.5
    assert isinstance(caught.value, KeyboardInterrupt)
    solution = caught.value.solution
    assert solution.status == "interrupted" and np.isclose(solution.x.sum(), 1)
    assert np.isfinite(solution.certificate["gap"])


def test_a_run_that_falls_short_warns():
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        couloir.solve(Game((4,), (3,)), Simplex(4), Simplex(3), tol=1e-12, max_iter=1)


def test_start_points_are_used_and_checked():
    game, X, Y = Game((4,), (3,)), Simplex(4), Simplex(3)
    good = couloir.solve(game, X, Y, tol=1e-8)
    again = couloir.solve(game, X, Y, tol=1e-6, x0=good.x, y0=good.y)
    assert again.n_iter < good.n_iter
    with pytest.raises(ValueError, match="start point for x lies outside"):
        couloir.solve(game, X, Y, x0=np.ones(4))
    with pytest.raises(ValueError, match=r"x0 .* shape \(3,\), expected \(4,\)"):
        couloir.solve(game, X, Y, x0=np.ones(3))


def test_wrong_arguments_are_named():
    game = Game((4,), (3,))
    with pytest.raises(TypeError, match="X must be a set"):
        couloir.solve(game, 4, Simplex(3))
    with pytest.raises(TypeError, match="problem must have a method value"):
        couloir.solve(object(), Simplex(4), Simplex(3))
    with pytest.raises(ValueError, match="there is no `newton`; there are certified, corrective, restarted, mpcgs,"):
        couloir.solve(game, Simplex(4), Simplex(3), method="newton")
    with pytest.raises(ValueError, match="`mpscgs-printed` is now called `mpscgs`"):
        couloir.solve(game, Simplex(4), Simplex(3), method="mpscgs-printed")
    with pytest.raises(ValueError, match="radius"):
        L2Ball(3, -1.0)
    with pytest.raises(ValueError, match="dimension 0"):
        Simplex(0)

    class Misshapen(Game):
        def grad_x(self, x, y):
            return np.zeros(7)

    with pytest.raises(ValueError, match=r"problem.grad_x gave an array of shape \(7,\)"):
        couloir.solve(Misshapen((4,), (3,)), Simplex(4), Simplex(3))


def test_gradients_are_checked():
    class Wrong(Game):
        def grad_y(self, x, y):
            return super().grad_y(x, y) + 0.5 * y

    x, y = np.full((2, 2), 0.3), np.full(3, 0.7)
    right = couloir.check_gradient(Game((2, 2), (3,)), x, y)
    wrong = couloir.check_gradient(Wrong((2, 2), (3,)), x, y)
    assert right.worst < 1e-6
    assert wrong.grad_x < 1e-6 and wrong.grad_y > 1e-2


def test_a_problem_in_python_costs_little_over_its_callbacks():
    n, spent = 1000, [0.0]

    def timed(function):
        def inner(*points):
            began = time.perf_counter()
            answer = function(*points)
            spent[0] += time.perf_counter() - began
            return answer

        return inner

    class Diagonal:
        value = staticmethod(timed(lambda x, y: x @ y + 0.5 * x @ x - 0.5 * y @ y))
        grad_x = staticmethod(timed(lambda x, y: y + x))
        grad_y = staticmethod(timed(lambda x, y: x - y))

    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning):
        solution = couloir.solve(
            Diagonal(), Simplex(n), L2Ball(n), method="spfw", tol=1e-15, max_iter=3000
        )
    overhead = (time.perf_counter() - began - spent[0]) / max(1, solution.n_iter)
    print(f"{1e6 * overhead:.0f} microseconds over the callbacks in each of {solution.n_iter} iterations")
    assert solution.n_iter > 100
    assert overhead < 100e-6


def test_a_long_trace_is_thinned_unless_all_of_it_is_wanted():
    def run(**settings):
        with pytest.warns(ConvergenceWarning):
            return couloir.solve(
                Game((6,), (5,)), Simplex(6), Simplex(5), method="spfw", tol=1e-15, max_iter=17_000, **settings
            )

    thinned, whole = run(), run(whole_trace=True)
    assert len(whole.trace["gap"]) == 17_001
    assert 8_192 <= len(thinned.trace["gap"]) <= 16_384
    for trace in (thinned.trace, whole.trace):
        assert (trace["iteration"][0], trace["iteration"][-1]) == (0, 17_000)
    assert np.array_equal(thinned.x, whole.x)


def test_a_gradient_that_contradicts_the_value_is_named_with_both_numbers():
    class Halved(Game):
        def value(self, x, y):
            return 2 * x.ravel() @ self.A @ y.ravel() + np.sum(x**2) - 0.5 * np.sum(y**2)

        def grad_y(self, x, y):
            return 2 * (x.ravel() @ self.A).reshape(self.y_shape) - y

    game = Halved((4,), (3,))
    X, Y = Box([-1.0] * 4, [0.5] * 4), Box([-1.0] * 3, [1.0] * 3)
    for method in ["certified", "extragradient", "spfw"]:
        with pytest.warns(ConvergenceWarning, match="contradiction.*grad"):
            solution = couloir.solve(game, X, Y, tol=1e-6, method=method)
        assert not solution.solved and solution.status == "contradiction"
        assert "was seen" in solution.trouble and solution.certificate["gap"] == np.inf
    right = couloir.solve(Game((4,), (3,)), X, Y, tol=1e-6)
    assert right.solved and right.trouble is None
