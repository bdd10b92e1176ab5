"""couloir.games: values that are known from elsewhere, within certified bounds."""

import numpy as np
import pytest
from scipy.optimize import linprog

import couloir
from couloir import games

# bench/peers/games/poker_lp.py
LEDUC = -0.085606424078


def holds(solution, value, tol):
    bounds = solution.certificate
    assert solution.solved and bounds["gap"] <= tol
    assert bounds["lower"] <= value + 1e-9 and value - 1e-9 <= bounds["upper"]


def test_kuhn_has_the_value_minus_one_eighteenth_and_leduc_that_of_the_linear_program():
    kuhn = games.kuhn()
    solution = kuhn.solve(tol=1e-9)
    holds(solution, -1 / 18, 1e-9)
    assert abs(solution.certificate["upper"] + 1 / 18) <= 1e-8
    assert kuhn.exploitability(solution.x, solution.y) <= 1.01e-9
    assert kuhn.support(solution.x, "x")[0] == ("start", 1.0)
    leduc = games.leduc()
    solution = leduc.solve(tol=1e-6)
    holds(solution, LEDUC, 1e-6)
    assert leduc.exploitability(solution.x, solution.y) <= 1.01e-6


def test_matrix_games_are_solved_as_by_a_linear_program():
    rng = np.random.default_rng(0)
    for rows, columns in ((4, 7), (12, 5)):
        payoffs = rng.normal(size=(rows, columns))
        # x >= 0 and t with payoffs' x <= t, sum x = 1
        above = np.hstack([payoffs.T, -np.ones((columns, 1))])
        reference = linprog(
            np.eye(rows + 1)[-1], above, np.zeros(columns), [[1.0] * rows + [0.0]], [1.0], [(0, None)] * rows + [(None, None)]
        )
        game = games.matrix(payoffs)
        solution = game.solve(tol=1e-9)
        holds(solution, reference.fun, 1e-9)
        assert game.exploitability(solution.x, solution.y) == pytest.approx(np.max(solution.x @ payoffs) - np.min(payoffs @ solution.y))


def test_blotto_is_fair_and_its_strategies_have_names():
    game = games.blotto(5, 3)
    solution = game.solve(tol=1e-6)
    holds(solution, 0.0, 1e-6)
    name, weight = game.support(solution.y, "y")[0]
    assert "on field" in name and 0.0 < weight <= 1.0 + 1e-9


def test_two_sets_of_any_kind_make_a_game():
    # x assigns, y is a path; and a set that is known by its linear minimisation alone
    rng = np.random.default_rng(1)
    arcs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    X, Y = couloir.Birkhoff(3), couloir.Paths(4, arcs, 0, 3)
    payoffs = rng.normal(size=(9, 5))

    class Assignments:
        shape, diameter = (3, 3), np.sqrt(6)

        def lmo(self, g):
            return X.lmo(g)

    own, known = games.Game(Assignments(), Y, payoffs).solve(1e-7), games.Game(X, Y, payoffs).solve(1e-7)
    assert own.x.shape == (3, 3) and own.solved and known.solved
    assert own.certificate["lower"] <= known.certificate["upper"] + 1e-9
    assert known.certificate["lower"] <= own.certificate["upper"] + 1e-9
    assert own.certificate["confidence"] == "as given"


def test_a_regularised_game_is_that_of_its_function():
    payoffs = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, -1.0]])
    solution = games.matrix(payoffs).solve(1e-9, x_weight=0.5, y_weight=0.25)

    class Function:
        mu = 0.25

        def value(self, x, y):
            return x @ payoffs @ y + 0.25 * x @ x - 0.125 * y @ y

        def grad_x(self, x, y):
            return payoffs @ y + 0.5 * x

        def grad_y(self, x, y):
            return payoffs.T @ x - 0.25 * y

    reference = couloir.solve(Function(), couloir.Simplex(2), couloir.Simplex(3), tol=1e-10)
    np.testing.assert_allclose(solution.x, reference.x, atol=1e-4)
    assert solution.certificate["lower"] <= reference.certificate["upper"] + 1e-12
    assert reference.certificate["lower"] <= solution.certificate["upper"] + 1e-12


def kuhn_by_hand():
    """Kuhn's poker, played through by hand; y acts first."""
    form = games.ExtensiveForm()
    for first in range(3):
        for second in range(3):
            if first == second:
                continue
            wins = 1 if first > second else -1
            y = form.act("y", f"{first}", 0, 2)  # check, bet
            x = form.act("x", f"{second} after a check", 0, 2)  # check, bet
            form.end(x, y, 1 / 6, wins)
            answer = form.act("y", f"{first} after a check and a bet", y, 2)  # fold, call
            form.end(x + 1, answer, 1 / 6, -1)
            form.end(x + 1, answer + 1, 1 / 6, 2 * wins)
            x = form.act("x", f"{second} after a bet", 0, 2)  # fold, call
            form.end(x, y + 1, 1 / 6, 1)
            form.end(x + 1, y + 1, 1 / 6, 2 * wins)
    return form


def test_a_tree_by_hand_is_the_same_game():
    game = kuhn_by_hand().game()
    assert game.payoffs.shape == (13, 13)
    solution = game.solve(tol=1e-9)
    holds(solution, -1 / 18, 1e-9)
    assert game.support(solution.y, "y", 0.99)[0][0] == "start"


def test_a_tree_that_makes_no_sense_says_why():
    form = kuhn_by_hand()
    with pytest.raises(ValueError, match="perfect recall needs information that tells them apart"):
        form.act("y", "0", 1, 2)
    with pytest.raises(ValueError, match="player must be 'x' or 'y'; got 'z'"):
        form.act("z", "0", 0, 2)
    with pytest.raises(ValueError, match="x must be a sequence from 0 to 12; got 99"):
        form.end(99, 0, 1.0, 1.0)
    with pytest.raises(ValueError, match="x never acts"):
        games.ExtensiveForm().game()


def test_a_callback_ends_a_game():
    seen = []
    solution = games.leduc().solve(tol=1e-12, callback=lambda record: seen.append(record["gap"]) or len(seen) == 3)
    assert solution.status == "stopped by observer" and len(seen) == 3
