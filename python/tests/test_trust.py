"""couloir.solve tests a problem before it solves it."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import couloir

A = np.random.default_rng(0).normal(size=(5, 4))
X, Y = couloir.Simplex(5), couloir.Simplex(4)


class Game:
    """Right in all of its parts."""

    mu = 1.0

    def value(self, x, y):
        return x @ A @ y + 0.5 * x @ x - 0.5 * y @ y

    def grad_x(self, x, y):
        return A @ y + x

    def grad_y(self, x, y):
        return A.T @ x - y


class Bowl(Game):
    mu_x = 1.0


class TooSteep(Game):
    mu_x = 2.0


def test_a_modulus_of_x_is_used_and_named_in_the_certificate():
    plain, bowl = (couloir.solve(problem, X, Y, tol=1e-8) for problem in (Game(), Bowl()))
    assert plain.solved and bowl.solved
    assert bowl.certificate["confidence"] == "as given"
    assert plain.certificate["lower"] <= bowl.certificate["upper"]
    assert bowl.certificate["lower"] <= plain.certificate["upper"]


def test_a_modulus_of_x_that_is_too_large_is_found():
    with pytest.raises(ValueError, match="problem.mu_x is too large"):
        couloir.solve(TooSteep(), X, Y)
    assert couloir.solve(TooSteep(), X, Y, tol=1e-8, check=False).status == "contradiction"


class Twice(Game):
    def grad_x(self, x, y):
        return 2 * super().grad_x(x, y)


class WrongSign(Game):
    def grad_y(self, x, y):
        return -super().grad_y(x, y)


class TurnedAround(Game):
    def value(self, x, y):
        return -super().value(x, y)

    def grad_x(self, x, y):
        return -super().grad_x(x, y)

    def grad_y(self, x, y):
        return -super().grad_y(x, y)


class Even(Game):
    def best_response_y(self, x):
        return np.full(4, 0.25)


class Imaged:
    mu = 1.0

    def image(self, x):
        return A.T @ x

    def adjoint(self, s):
        return A @ s

    def value(self, image, y):
        return image @ y - 0.5 * y @ y

    def grad_image(self, image, y):
        return y

    def grad_y(self, image, y):
        return image - y


class WrongAdjoint(Imaged):
    def adjoint(self, s):
        return 2 * (A @ s)


WRONG = [
    (Twice, r"problem.grad_x does not fit problem.value: .* the value changes by .* it should be .*; entry \d of grad_x is"),
    (WrongSign, "problem.grad_y does not fit problem.value"),
    (TurnedAround, "the problem is not (convex in x|concave in y)"),
    (Even, "problem.best_response_y does not maximise: its value is"),
    (WrongAdjoint, r"problem.adjoint is not the transpose of problem.image: <image\(x\), s> is"),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("problem, message", WRONG)
def test_a_wrong_function_is_named_with_both_numbers(problem, message, seed):
    with pytest.raises(ValueError, match=message):
        couloir.solve(problem(), X, Y, tol=1e-3, seed=seed)


@pytest.mark.parametrize("problem", [Game, Imaged])
def test_right_problems_pass_and_the_answer_does_not_depend_on_the_test(problem):
    with_check = couloir.solve(problem(), X, Y, tol=1e-8)
    without = couloir.solve(problem(), X, Y, tol=1e-8, check=False)
    np.testing.assert_array_equal(with_check.x, without.x)
    np.testing.assert_array_equal(with_check.y, without.y)
    assert with_check.oracle_calls == without.oracle_calls
    assert with_check.check_calls["value"] <= 75 and without.check_calls == {}
    assert max(with_check.check_calls[side] for side in ("lmo_x", "lmo_y")) <= 15


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_noise_in_the_values_is_not_accused(shift):
    noise = np.random.default_rng(1)

    class Noisy(Game):
        def value(self, x, y):
            return shift + super().value(x, y) + 1e-9 * noise.normal()

    for seed in range(20):
        assert couloir.solve(Noisy(), X, Y, tol=1e-3, seed=seed).solved


def test_a_seed_that_is_none_is_named_and_a_solution_fits_on_a_screen(capsys):
    with pytest.raises(ValueError, match="seed must be a whole number that is not negative; got -1"):
        couloir.solve(Game(), X, Y, seed=-1)
    with pytest.raises(TypeError, match="seed must be"):
        couloir.solve(Game(), X, Y, seed=0.5)
    with pytest.raises(TypeError, match="X must be a set, got the class Simplex: make one"):
        couloir.solve(Game(), couloir.Simplex, Y)
    solution = couloir.solve(Game(), X, Y, tol=1e-6, verbose=True)
    printed = capsys.readouterr().out
    assert "iteration" in printed and str(solution) in printed
    assert len(str(solution).splitlines()) == 7 and "certified gap" in repr(solution)


class OneEntry:
    """A game on larger sets, with one entry of one gradient that is twice what it should be."""

    def __init__(self, seed, dims, wrong):
        rng = np.random.default_rng(seed)
        self.A, self.shift = rng.normal(size=dims), rng.normal(size=dims[0])
        self.block, self.factors = wrong, np.ones(dims[wrong])
        self.factors[rng.integers(dims[wrong])] = 2.0

    def value(self, x, y):
        return x @ self.A @ y + 0.5 * np.sum((x - self.shift) ** 2) - 0.5 * y @ y

    def grad_x(self, x, y):
        grad = self.A @ y + x - self.shift
        return grad * self.factors if self.block == 0 else grad

    def grad_y(self, x, y):
        grad = self.A.T @ x - y
        return grad * self.factors if self.block == 1 else grad


@pytest.mark.parametrize(
    "make, dims, least",
    [
        # with as many entries as there are corners, or fewer, all of them are looked at
        (lambda n: couloir.Simplex(n), (5, 4), 0.99),
        (lambda n: couloir.Box(np.zeros(n), np.ones(n)), (10, 8), 0.95),
        (lambda n: couloir.L2Ball(n), (8, 10), 0.95),
    ],
    ids=["simplex", "box", "ball"],
)
def test_one_wrong_entry_is_found(make, dims, least):
    found = 0
    for seed in range(200):
        problem = OneEntry(seed, dims, seed % 2)
        try:
            couloir.solve(problem, make(dims[0]), make(dims[1]), tol=1e30, seed=seed)
        except ValueError as error:
            assert "does not fit problem.value" in str(error)
            found += 1
    print(f"{found} of 200")
    assert found >= 200 * least


def test_right_problems_of_many_kinds_are_not_accused():
    sets = [
        couloir.Simplex(30), couloir.L1Ball(30, 5.0), couloir.Permutahedron(np.arange(30.0)), couloir.Birkhoff(5, 6),
        couloir.NuclearBall((5, 6), 3.0), couloir.Hypersimplex(30, 4),
    ]
    for seed, X in enumerate(sets * 3):
        rng = np.random.default_rng(seed)
        Y = couloir.KSupportBall(7, 3) if seed % 2 else couloir.Simplex(7)
        A = rng.normal(size=(30, 7)) * 10.0 ** rng.uniform(-4, 4)

        class Problem:
            def value(self, x, y):
                return x.ravel() @ A @ y + np.sum(x**4) - np.sum(y**2)

            def grad_x(self, x, y):
                return (A @ y).reshape(x.shape) + 4 * x**3

            def grad_y(self, x, y):
                return A.T @ x.ravel() - 2 * y

        couloir.solve(Problem(), X, Y, tol=1e30, seed=seed)


class ConvexInY(Game):
    def value(self, x, y):
        return x @ A @ y + 0.5 * x @ x + 0.5 * y @ y

    def grad_y(self, x, y):
        return A.T @ x + y


class ConcaveInX(Game):
    def value(self, x, y):
        return x @ A @ y - 0.5 * x @ x - 0.5 * y @ y

    def grad_x(self, x, y):
        return A @ y - x


class Waves(Game):
    def value(self, x, y):
        return super().value(x, y) + np.sin(30 * x).sum()

    def grad_x(self, x, y):
        return super().grad_x(x, y) + 30 * np.cos(30 * x)


class Backwards:
    """A simplex that is maximised over."""

    shape, diameter, start = (5,), 1.5, np.full(5, 0.2)

    def lmo(self, g):
        return np.eye(5)[np.argmax(g)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "problem, x_set, sentence",
    [
        (Twice, X, "problem.grad_x does not fit problem.value"),
        (ConvexInY, X, "the problem is not concave in y: at two points of the set of y its values are"),
        (ConcaveInX, X, "the problem is not convex in x: at two points of the set of x its values are"),
        (Waves, X, "the problem is not convex in x"),
        (Waves, couloir.Box([-1.0] * 5, [1.0] * 5), "the problem is not convex in x|contradiction"),
        (Game, Backwards(), "X.lmo does not minimise: for one linear function it returned a point where this is"),
    ],
)
def test_five_mistakes_have_their_sentences(problem, x_set, sentence, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises((ValueError, ConvergenceWarning), match=sentence) as caught:
            couloir.solve(problem(), x_set, Y, tol=1e-4, seed=seed)
    print(f"{type(caught.value).__name__}: {caught.value}")
