"""What is said to every wrong argument that newcomers were seen to give: which argument it is, what it is, and what it should be."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import couloir
from couloir import games

A = np.random.default_rng(0).normal(size=(3, 2))
X, Y = couloir.Simplex(3), couloir.Simplex(2)


class Game:
    def value(self, x, y):
        return float(x @ A @ y + x @ x - y @ y)

    def grad_x(self, x, y):
        return A @ y + 2 * x

    def grad_y(self, x, y):
        return A.T @ x - 2 * y


class Own:
    """A simplex of one's own."""

    shape, diameter, start = (3,), 1.5, np.array([1.0, 0.0, 0.0])

    def lmo(self, g):
        return np.eye(3)[np.argmin(g)]


def game_with(**methods):
    return type("Changed", (Game,), {name: (lambda f: lambda self, x, y: f(x, y))(f) for name, f in methods.items()})()


def set_with(**changes):
    return type("Changed", (Own,), changes)()


def late_nan():
    calls = [0]

    def value(x, y):
        calls[0] += 1
        return np.nan if calls[0] > 90 else Game.value(None, x, y)

    couloir.solve(game_with(value=value), X, Y, tol=1e-12, method="spfw", max_iter=10_000)


def report_nowhere():
    model = couloir.RobustClassifier(max_iter=1, tol=1e3).fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1])
    couloir.report(model, [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1], "/no/such/folder/fit.html")


def solve(problem=None, x_set=X, **settings):
    return lambda: couloir.solve(problem or Game(), x_set, Y, **settings)


def fit_cv(**settings):
    return lambda: couloir.RobustClassifierCV(**settings).fit(np.eye(6), [0, 1] * 3)


MESSAGES = [
    (lambda: couloir.Simplex(2.5), "n must be a whole number, the number of entries; got 2.5"),
    (lambda: couloir.Simplex((3, 4)), "n must be a whole number, the number of entries; got (3, 4)"),
    (lambda: couloir.NuclearBall(3, 2), "size must be a pair (rows, columns), such as (3, 2); got 3"),
    (solve(seed=-1), "seed must be a whole number that is not negative; got -1"),
    (solve(seed=1.5), "seed must be a whole number that is not negative; got 1.5"),
    (solve(x_set=couloir.Simplex), "X must be a set, got the class Simplex: make one, as in Simplex(...)"),
    (solve(x_set=[0, 1]), "X must be a set: an object with lmo(g) and diameter, got [0, 1]"),
    (solve(game_with(value=lambda x, y: None)), "problem.value gave None; it must return a number (is a `return` missing?)"),
    (solve(game_with(value=lambda x, y: x)), "problem.value must return a number; it gave an array of shape (3,)"),
    (solve(game_with(value=lambda x, y: "1.0x")), "problem.value must return a number; it gave '1.0x'"),
    (
        solve(game_with(grad_x=lambda x, y: None)),
        "problem.grad_x gave None; it must return an array of shape (3,) (is a `return` missing?)",
    ),
    (solve(game_with(grad_x=lambda x, y: y)), "problem.grad_x gave an array of shape (2,), expected (3,)"),
    (
        solve(x_set=set_with(diameter=None)),
        "X.diameter must be a positive number, an upper bound of the Euclidean distance of two points of the set; got None",
    ),
    (solve(x_set=set_with(diameter=-1.0)), "X.diameter must be a positive number"),
    (
        solve(x_set=set_with(lmo=lambda self, g: np.argmin(g))),
        "it must return a point of the set, as an array of shape (3,) or as (indices, values)",
    ),
    (solve(x_set=set_with(lmo=lambda self, g: None)), "X.lmo gave None; it must return an array of shape (3,)"),
    (solve(x_set=set_with(lmo=lambda self, g: np.eye(3)[np.argmax(g)])), "does not minimise"),
    (fit_cv(levels=1.0), "levels must be a list of levels to choose from, such as [0.1, 1.0], or None; got 1.0"),
    (fit_cv(taus=1.5), "taus must be a positive integer or a list of increasing positive numbers; got 1.5"),
    (late_nan, "every entry must be a finite number"),
    (
        solve(game_with(grad_x=lambda x, y: -(A @ y + 2 * x))),
        "problem.grad_x does not fit problem.value: from one point of the set of x to another the value changes by",
    ),
    (report_nowhere, "/no/such/folder"),
    (lambda: games.matrix([1.0, 2.0]), "payoffs must be a matrix with rows and columns, got an array of shape (2,)"),
    (lambda: games.matrix([[1.0, np.nan]]), "payoffs must be finite numbers"),
    (lambda: games.blotto(2.5, 3), "soldiers must be a whole number, the number of soldiers; got 2.5"),
    (lambda: games.Game(X, Y, np.eye(3)), "payoffs must have a row for each of the 3 entries of a point of X and a column"),
    (lambda: games.kuhn().solve(y_weight=-1.0), "y_weight must be finite and not negative; got -1.0"),
]


@pytest.mark.parametrize("wrong, message", MESSAGES, ids=[message[:50] for _, message in MESSAGES])
def test_a_message_names_the_argument_and_what_it_should_be(wrong, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises((TypeError, ValueError, OSError, ArithmeticError, ConvergenceWarning)) as caught:
            wrong()
    print(f"{type(caught.value).__name__}: {caught.value}")
    assert message in str(caught.value)
