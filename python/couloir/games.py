"""Zero-sum games: two sets of strategies and a bilinear payoff.

``x`` pays ``x' A y`` to ``y``. The certified gap of a pair of strategies is its *exploitability*: what the two could gain together if each
changed to a best response to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from . import _couloir
from ._rows import canonical
from ._sets import LinearSet, Simplex, Treeplex, _Catalogued, _count, _number
from ._solve import Solution, _check_seed, _side, solution_of

__all__ = ["ExtensiveForm", "Game", "blotto", "kuhn", "leduc", "matrix"]

Floats = NDArray[np.float64]


class Game:
    """A game by the strategies of both players and the payoffs: ``x`` from ``X`` pays ``x' A y`` to ``y`` from ``Y``.

    Parameters
    ----------
    X, Y : sets
        Of the package, or of your own (an object with ``lmo(g)`` and ``diameter``).
    payoffs : array or sparse matrix
        One row for each entry of a point of X and one column for each of Y; points that are matrices are taken row by row.
    names : pair of lists of str, optional
        What the entries of ``x`` and of ``y`` stand for.

    Examples
    --------
    >>> import couloir
    >>> game = couloir.games.matrix([[3, 0], [1, 2]])
    >>> solution = game.solve(tol=1e-9)
    >>> round(solution.certificate["lower"], 6), solution.x.round(6)
    (1.5, array([0.25, 0.75]))
    """

    def __init__(
        self, X: LinearSet, Y: LinearSet, payoffs: Any, names: tuple[Sequence[str], Sequence[str]] | None = None
    ) -> None:
        self.X, self.Y = X, Y
        #: the payoffs, as a sparse matrix
        self.payoffs = _sparse(payoffs)
        (self._x_shape, _, _), (self._y_shape, _, _) = _side("X", X, "start", None), _side("Y", Y, "start", None)
        wanted = (int(np.prod(self._x_shape)), int(np.prod(self._y_shape)))
        if self.payoffs.shape != wanted:
            raise ValueError(
                f"payoffs must have a row for each of the {wanted[0]} entries of a point of X and a column for each of the "
                f"{wanted[1]} of Y; their shape is {self.payoffs.shape}"
            )
        self.names = None if names is None else (list(names[0]), list(names[1]))
        if self.names is not None and (len(self.names[0]), len(self.names[1])) != wanted:
            raise ValueError(f"names must be two lists of {wanted[0]} and {wanted[1]} strings")

    def solve(
        self,
        tol: float = 1e-6,
        *,
        x_weight: float = 0.0,
        y_weight: float = 0.0,
        method: str | None = None,
        max_time: float | None = None,
        max_iter: int | None = 1_000_000,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        seed: int = 0,
    ) -> Solution:
        """A pair of strategies whose exploitability is at most ``tol``, with certified bounds of the value.

        ``x_weight`` and ``y_weight`` add ``x_weight/2 |x|^2 - y_weight/2 |y|^2`` to what ``x`` pays: mixed strategies are favoured, and
        the pair is unique where both are positive. Without a ``method`` the sets decide: restarted primal-dual steps where both have a
        projection, and otherwise corrective steps on both sides, the double oracle.
        """
        x_shape, x_set, _ = _side("X", self.X, "start", None)
        y_shape, y_set, _ = _side("Y", self.Y, "start", None)
        _check_seed(seed)
        weights = (_weight("x_weight", x_weight), _weight("y_weight", y_weight))
        rules = {
            "method": method,
            "inner": None,
            "seed": seed,
            "tol": tol,
            "relative_tol": None,
            "max_time": max_time,
            "max_iter": max_iter,
            "whole_trace": False,
        }
        payoffs = {
            "columns": self.payoffs.shape[1],
            "starts": self.payoffs.indptr.tolist(),
            "indices": self.payoffs.indices.astype(np.uint32),
            "values": self.payoffs.data,
        }
        answer = _couloir.solve_game(payoffs, x_set, y_set, weights, rules, callback)
        return solution_of(answer, x_shape, y_shape)

    def exploitability(self, x: ArrayLike, y: ArrayLike) -> float:
        """What best responses to ``x`` and ``y`` gain together, by one linear minimisation over each set."""
        gains = []
        for name, point, shape in (("x", x, self._x_shape), ("y", y, self._y_shape)):
            array = np.asarray(point, dtype=np.float64)
            if array.shape != shape:
                raise ValueError(f"{name} has shape {array.shape}, points of its set have {shape}")
            gains.append(array.ravel())
        to_y, to_x = self.payoffs.T @ gains[0], self.payoffs @ gains[1]
        best_y = np.asarray(self.Y.lmo(-to_y.reshape(self._y_shape))).ravel()
        best_x = np.asarray(self.X.lmo(to_x.reshape(self._x_shape))).ravel()
        return float(to_y @ best_y - to_x @ best_x)

    def support(self, point: ArrayLike, player: Literal["x", "y"], least: float = 1e-9) -> list[tuple[str, float]]:
        """The entries of a strategy above ``least`` by name, the largest first."""
        if player not in ("x", "y"):
            raise ValueError(f"player must be 'x' or 'y'; got {player!r}")
        weights = np.asarray(point, dtype=np.float64).ravel()
        size = self.payoffs.shape[0 if player == "x" else 1]
        if len(weights) != size:
            raise ValueError(f"a strategy of {player} has {size} entries, got {len(weights)}")
        names = None if self.names is None else self.names[0 if player == "x" else 1]
        order = [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > least]
        return [(str(i) if names is None else names[i], float(weights[i])) for i in order]

    def __repr__(self) -> str:
        return f"<couloir.games.Game of {self.payoffs.shape[0]} x {self.payoffs.shape[1]} payoffs>"


def _sparse(payoffs: Any) -> Any:
    if not sp.issparse(payoffs):
        try:
            payoffs = np.asarray(payoffs, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"payoffs must be a matrix of numbers; got {payoffs!r}") from None
        if payoffs.ndim != 2 or payoffs.size == 0:
            raise ValueError(f"payoffs must be a matrix with rows and columns, got an array of shape {payoffs.shape}")
    matrix = canonical(sp.csr_array(payoffs, dtype=np.float64))
    if not np.isfinite(matrix.data).all():
        raise ValueError("payoffs must be finite numbers")
    return matrix


def _weight(name: str, given: Any) -> float:
    weight = _number(name, given)
    if not 0.0 <= weight < np.inf:
        raise ValueError(f"{name} must be finite and not negative; got {given!r}")
    return weight


def matrix(payoffs: ArrayLike) -> Game:
    """The matrix game: ``x`` chooses a row and pays the entry, ``y`` chooses a column."""
    table = _sparse(payoffs)
    return Game(Simplex(table.shape[0]), Simplex(table.shape[1]), table)


class _Strategies(_Catalogued):
    """The strategies of one player of a game that comes with the package."""

    _kind = "game"

    def __init__(self, game: str, sizes: list[int], is_y: bool, entries: int) -> None:
        self._make((entries,), game=game, sizes=sizes, is_y=is_y)


def _ready(name: str, *sizes: int) -> Game:
    given = _couloir.ready_game(name, list(sizes))
    shape = (len(given["names"][0]), len(given["names"][1]))
    payoffs = sp.csr_array((given["values"], (given["rows"], given["columns"])), shape=shape)
    X, Y = (_Strategies(name, list(sizes), is_y, shape[is_y]) for is_y in (False, True))
    return Game(X, Y, payoffs, given["names"])


def kuhn() -> Game:
    """Kuhn's poker: three cards, one round, one bet of 1. The first player is ``y``, and the value is -1/18."""
    return _ready("kuhn")


def leduc() -> Game:
    """Leduc poker: two suits of three ranks, two rounds with bets of 2 and 4, and at most two bets in a round. The first player is ``y``."""
    return _ready("leduc")


def blotto(soldiers: int, fields: int) -> Game:
    """Colonel Blotto: both place their soldiers on the fields, and who sends more to a field wins it.

    ``x`` pays ``y`` the number of fields that ``y`` wins less that of those that ``x`` wins. A strategy is a path through the fields.
    """
    return _ready("blotto", _count("soldiers", soldiers, "the number of soldiers"), _count("fields", fields, "the number of fields"))


class ExtensiveForm:
    """A game tree of two players with perfect recall, as it is gone through.

    Tell it of information sets as they are met, with :meth:`act`, and of payoffs where the game ends, with :meth:`end`.

    Examples
    --------
    ``y`` hides a coin in one of two hands, and ``x`` guesses:

    >>> import couloir
    >>> form = couloir.games.ExtensiveForm()
    >>> for hidden in range(2):
    ...     y = form.act("y", "hides", 0, 2) + hidden
    ...     for guess in range(2):
    ...         x = form.act("x", "guesses", 0, 2) + guess
    ...         form.end(x, y, 1.0, 0.0 if guess == hidden else 1.0)
    >>> round(form.game().solve(tol=1e-9).certificate["upper"], 6)
    0.5
    """

    def __init__(self) -> None:
        # for each player the information sets (parent, actions), and what is known as (number of the set, first sequence)
        self._sets: dict[str, list[tuple[int, int]]] = {"x": [], "y": []}
        self._known: dict[str, dict[str, tuple[int, int]]] = {"x": {}, "y": {}}
        self._sequences = {"x": 0, "y": 0}
        self._payoffs: dict[tuple[int, int], float] = {}

    def act(self, player: Literal["x", "y"], information: str, last: int, actions: int) -> int:
        """Lets ``player`` act. ``information`` names everything that the player knows at this point (its information set), and ``last`` is
        the player's own last sequence, 0 for none. Returns the sequence of the first action; those of the others follow."""
        if player not in ("x", "y"):
            raise ValueError(f"player must be 'x' or 'y'; got {player!r}")
        met = (_count("last", last, "the player's last sequence, 0 for none"), _count("actions", actions, "how many actions there are"))
        if met[1] == 0:
            raise ValueError(f"actions must be at least 1; got 0 at {information!r}")
        if met[0] > self._sequences[player]:
            raise ValueError(f"last must be a sequence of {player}, from 0 to {self._sequences[player]}; got {last}")
        known = self._known[player]
        if information in known:
            number, first = known[information]
            before = self._sets[player][number]
            if before != met:
                raise ValueError(
                    f"information {information!r} was met with last sequence {before[0]} and {before[1]} actions, and now with "
                    f"{met[0]} and {met[1]}: perfect recall needs information that tells them apart"
                )
            return first
        first = self._sequences[player] + 1
        known[information] = (len(self._sets[player]), first)
        self._sets[player].append(met)
        self._sequences[player] += met[1]
        return first

    def end(self, x: int, y: int, probability: float, payoff: float) -> None:
        """The game ends after these last sequences of ``x`` and ``y``, chance has done what it did with this probability, and ``x``
        pays ``payoff``."""
        for name, sequence in (("x", x), ("y", y)):
            if _count(name, sequence, "the player's last sequence, 0 for none") > self._sequences[name]:
                raise ValueError(f"{name} must be a sequence from 0 to {self._sequences[name]}; got {sequence}")
        amount = _number("probability", probability) * _number("payoff", payoff)
        if not np.isfinite(amount):
            raise ValueError(f"probability and payoff must be finite; got {probability} and {payoff}")
        self._payoffs[int(x), int(y)] = self._payoffs.get((int(x), int(y)), 0.0) + amount

    def game(self) -> Game:
        """The game in sequence form: the strategies are treeplexes, and the payoffs are between sequences."""
        for player, sets in self._sets.items():
            if not sets:
                raise ValueError(f"{player} never acts")
        places = np.array(list(self._payoffs), dtype=np.int64).reshape(-1, 2)
        shape = (self._sequences["x"] + 1, self._sequences["y"] + 1)
        payoffs = sp.csr_array((np.array(list(self._payoffs.values())), (places[:, 0], places[:, 1])), shape=shape)
        names = tuple(self._names(player) for player in ("x", "y"))
        return Game(Treeplex(self._sets["x"]), Treeplex(self._sets["y"]), payoffs, (names[0], names[1]))

    def _names(self, player: str) -> list[str]:
        names = ["start"]
        for information, (number, _) in self._known[player].items():
            names += [f"{information}: action {action + 1}" for action in range(self._sets[player][number][1])]
        return names
