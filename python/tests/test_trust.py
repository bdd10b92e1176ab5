"""couloir.solve tests a problem before it solves it."""

import numpy as np
import pytest

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
    assert with_check.check_calls["value"] <= 20 and without.check_calls == {}


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
