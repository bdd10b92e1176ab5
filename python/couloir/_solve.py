"""Saddle problems of one's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from . import _couloir
from ._sets import LinearSet, _CoreSet

Floats = NDArray[np.float64]


class SaddleProblem(Protocol):
    """A function that is convex in x and strongly concave in y.

    It may have ``best_response_y(x)``, the maximiser over the set of y, and the constants ``lxx``, ``lxy``, ``lyy``
    and ``mu`` that some methods ask for.
    """

    def value(self, x: Floats, y: Floats) -> float: ...

    def grad_x(self, x: Floats, y: Floats) -> ArrayLike: ...

    def grad_y(self, x: Floats, y: Floats) -> ArrayLike: ...


@dataclass(frozen=True)
class Solution:
    """The best certified pair, and how the run went."""

    x: Floats
    y: Floats
    status: str
    solved: bool
    n_iter: int
    certificate: dict[str, Any]
    trace: dict[str, NDArray[Any]]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a solve; ``solution`` is the best pair up to there."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(f"interrupted at a certified gap of {solution.certificate['gap']:.3g}")
        self.solution = solution


@dataclass(frozen=True)
class GradientCheck:
    """Relative errors of the two gradients; below about 1e-5 for right ones."""

    grad_x: float
    grad_y: float

    @property
    def worst(self) -> float:
        """The larger of the two."""
        return max(self.grad_x, self.grad_y)


def solve(
    problem: SaddleProblem,
    X: LinearSet,
    Y: LinearSet,
    method: str = "certified",
    tol: float | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    *,
    relative_tol: float | None = None,
    max_time: float | None = None,
    max_iter: int | None = 10_000,
    x0: ArrayLike | None = None,
    y0: ArrayLike | None = None,
    seed: int = 0,
) -> Solution:
    """Solves ``min over x in X, max over y in Y`` of the problem's function.

    It ends when the certified gap is at most ``tol``, or ``relative_tol`` times the gap at the start (1e-6 where
    neither is given). ``callback`` is called with a dict of ``iteration``, ``seconds``, ``gap``, ``lower`` and
    ``upper`` after every iteration; it ends the run by returning True. Exceptions in the problem, the sets or the
    callback are raised as they are. Points have the shape of their set.

    Warns
    -----
    ConvergenceWarning
        The run ended before the tolerance was met, other than by the callback.

    Raises
    ------
    Interrupted
        Ctrl-C; it is a ``KeyboardInterrupt`` that holds the best pair.
    """
    x_shape, x_set, x_start = _side("X", X, "x0", x0)
    y_shape, y_set, y_start = _side("Y", Y, "y0", y0)
    if tol is None and relative_tol is None:
        relative_tol = 1e-6
    rules = {
        "method": method,
        "seed": seed,
        "tol": tol,
        "relative_tol": relative_tol,
        "max_time": max_time,
        "max_iter": max_iter,
    }
    functions = _functions(problem, x_shape, y_shape)
    answer = _couloir.solve(functions, x_set, y_set, rules, x_start, y_start, callback)
    certificate = answer["certificate"]
    solution = Solution(
        x=answer["x"].reshape(x_shape),
        y=answer["y"].reshape(y_shape),
        status=certificate["status"],
        solved=certificate["solved"],
        n_iter=answer["iterations"],
        certificate=certificate,
        trace=answer["trace"],
    )
    if answer["exception"] is not None:
        raise Interrupted(solution) from answer["exception"]
    if not solution.solved and solution.status != "stopped by observer":
        message = (
            f"the solve ended with status '{solution.status}' after {solution.n_iter} iterations at a certified "
            f"gap of {certificate['gap']:.3g}"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return solution


def check_gradient(problem: SaddleProblem, x: ArrayLike, y: ArrayLike) -> GradientCheck:
    """Compares the problem's gradients at ``(x, y)`` with differences of its values.

    The points tried lie off the sets by a small step: ``value`` must be defined there.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    functions = _functions(problem, x.shape, y.shape)
    return GradientCheck(*_couloir.check_gradient(functions, x.ravel(), y.ravel()))


def _functions(
    problem: Any, x_shape: tuple[int, ...], y_shape: tuple[int, ...]
) -> dict[str, Any]:
    for name in ("value", "grad_x", "grad_y"):
        if not callable(getattr(problem, name, None)):
            raise TypeError(f"problem must have a method {name}(x, y)")

    def value(x: Floats, y: Floats) -> float:
        return float(problem.value(x.reshape(x_shape), y.reshape(y_shape)))

    def grad_x(x: Floats, y: Floats) -> Floats:
        gradient = problem.grad_x(x.reshape(x_shape), y.reshape(y_shape))
        return _flat("problem.grad_x", gradient, x_shape)

    def grad_y(x: Floats, y: Floats) -> Floats:
        gradient = problem.grad_y(x.reshape(x_shape), y.reshape(y_shape))
        return _flat("problem.grad_y", gradient, y_shape)

    def best_response_y(x: Floats) -> Floats:
        response = problem.best_response_y(x.reshape(x_shape))
        return _flat("problem.best_response_y", response, y_shape)

    constants = {name: getattr(problem, name, None) for name in ("lxx", "lxy", "lyy", "mu")}
    return {
        "dim_x": int(np.prod(x_shape)),
        "dim_y": int(np.prod(y_shape)),
        "value": value,
        "grad_x": grad_x,
        "grad_y": grad_y,
        "best_response_y": best_response_y if hasattr(problem, "best_response_y") else None,
        **constants,
    }


def _side(
    name: str, given: Any, start_name: str, start: ArrayLike | None
) -> tuple[tuple[int, ...], tuple[Any, ...], Floats | None]:
    """The shape of a set's points, the set for the core, and the start point."""
    point = None if start is None else np.asarray(start, dtype=np.float64)
    if isinstance(given, _CoreSet):
        return given.shape, given._described(), _flat_or_none(start_name, point, given.shape)
    if not isinstance(given, LinearSet):
        raise TypeError(f"{name} must be a set: an object with lmo(g) and diameter, got {given!r}")
    said = getattr(given, "shape", None if point is None else point.shape)
    if said is None:
        raise ValueError(f"{name} has no shape: give it one, or pass the start point {start_name}")
    shape: tuple[int, ...] = (said,) if isinstance(said, int) else tuple(said)

    def lmo(g: Floats) -> Floats:
        return _flat(f"{name}.lmo", given.lmo(g.reshape(shape)), shape)

    own_start = getattr(given, "start", point)
    if own_start is None:
        own_start = given.lmo(np.zeros(shape))
    described = (lmo, float(given.diameter), _flat(f"{name}.start", own_start, shape))
    return shape, described, _flat_or_none(start_name, point, shape)


def _flat(name: str, array: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(array, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} gave an array of shape {array.shape}, expected {shape}")
    return np.ascontiguousarray(array).ravel()


def _flat_or_none(name: str, array: Floats | None, shape: tuple[int, ...]) -> Floats | None:
    return None if array is None else _flat(name, array, shape)
