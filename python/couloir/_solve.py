"""Saddle problems of one's own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from . import _couloir
from ._checkpoints import checkpoint_options, warn_of
from ._factors import Factors, factors_of
from ._matrix_operator import FactoredProblem
from ._problem import ImagedProblem, SaddleProblem, flat, functions
from ._records import certificate
from ._sets import LinearSet, _CoreSet
from ._trust import check_start

Floats = NDArray[np.float64]


def _shown(point: Floats) -> str:
    """A point on one line."""
    shape = " x ".join(map(str, point.shape))
    entries = ", ".join(f"{v:.4g}" for v in point.ravel()[:6])
    more = ", ..." if point.size > 6 else ""
    return f"{shape}: [{entries}{more}], {np.count_nonzero(point)} entries other than zero"


@dataclass(frozen=True, repr=False)
class Solution:
    """The best certified pair, and how the run went."""

    y: Floats
    status: str
    solved: bool
    n_iter: int
    certificate: dict[str, Any]
    trace: dict[str, NDArray[Any]]
    #: the name of the method that ran
    method: str
    #: linear minimisations over X and over Y, those for the certificate included
    oracle_calls: tuple[int, int]
    #: What went wrong, where the status is "numerical trouble" or "contradiction".
    trouble: str | None = None
    #: how often the test at the start called each function; not in ``oracle_calls``
    check_calls: dict[str, int] = field(default_factory=dict)
    #: ``U``, ``s`` and ``V`` of ``x = (U * s) @ V.T``, where the method has kept nothing else of it
    factors: Factors | None = None
    _x: Floats | None = field(default=None, repr=False)

    @cached_property
    def x(self) -> Floats:
        """The point; formed when it is first asked for where there are ``factors``."""
        if self.factors is not None:
            left, s, right = self.factors
            return (left * s) @ right.T
        assert self._x is not None
        return self._x

    def __str__(self) -> str:
        bounds = self.certificate
        calls = f"{self.oracle_calls[0]} over X, {self.oracle_calls[1]} over Y"
        lines = [
            f"status                {self.status}" + ("" if self.solved else " (not solved)"),
            f"value                 between {bounds['lower']:.9g} and {bounds['upper']:.9g}",
            f"certified gap         {bounds['gap']:.3g} (confidence: {bounds['confidence']})",
            f"method                {self.method}, {self.n_iter} iterations",
            f"linear minimisations  {calls}",
            f"x                     {self._shown_x()}",
            f"y                     {_shown(self.y)}",
        ]
        if self.trouble is not None:
            lines.append(f"trouble               {self.trouble}")
        return "\n".join(lines)

    __repr__ = __str__

    def _shown_x(self) -> str:
        if self.factors is None:
            return _shown(self.x)
        left, s, right = self.factors
        return f"{len(left)} x {len(right)}, by factors of rank {len(s)}"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a solve; ``solution`` is the best pair up to there."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(f"interrupted at a certified gap of {solution.certificate['gap']:.3g}")
        self.solution = solution


@dataclass(frozen=True)
class GradientCheck:
    """Relative errors of the two gradients; below about 1e-5 for right ones.

    ``batches`` is the relative difference between the mean over all samples and the whole, where a problem has both.
    """

    grad_x: float
    grad_y: float
    batches: float | None = None

    @property
    def worst(self) -> float:
        """The largest of them."""
        return max(self.grad_x, self.grad_y, self.batches or 0.0)


def solve(
    problem: SaddleProblem | ImagedProblem | FactoredProblem,
    X: LinearSet,
    Y: LinearSet,
    method: str | None = None,
    tol: float | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    *,
    relative_tol: float | None = None,
    max_time: float | None = None,
    max_iter: int | None = 10_000,
    x0: ArrayLike | None = None,
    y0: ArrayLike | None = None,
    seed: int = 0,
    inner: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    resume: str | os.PathLike[str] | None = None,
    whole_trace: bool = False,
    check: bool = True,
    verbose: bool = False,
) -> Solution:
    """Solves ``min over x in X, max over y in Y`` of the problem's function.

    If no ``method`` is named, the structure of the problem decides: ``"certified"`` if X has an exact projection,
    ``"corrective"`` if X has none, as a set of your own with its ``lmo`` alone. ``solution.method`` says which. An ``lmo`` returns a point of
    its set as an array, as a sparse array or matrix of SciPy, or as ``(indices, values)`` of the entries that are not zero (of
    the flat point). What the method keeps of it is sparse wherever that takes less memory.

    It ends when the certified gap is at most ``tol``, or ``relative_tol`` times the gap at the start (1e-6 where
    neither is given). ``callback`` is called with a dict of ``iteration``, ``seconds``, ``gap``, ``lower`` and
    ``upper`` after every iteration; it ends the run by returning True. Exceptions in the problem, the sets or the
    callback are raised as they are. Points have the shape of their set.

    ``inner`` says how a method that leaves a choice solves its inner problems: ``"exact"`` by projections, ``"atoms"`` by
    quadratic programs over the points that the linear minimisations have returned so far, ``"slide"`` by conditional
    gradient steps as in the paper, ``"auto"`` exactly where that is possible and otherwise over atoms. Without it the
    method has its own way, which for ``certified`` is ``"auto"``.

    ``checkpoint`` names a file that keeps the state of the run, every ``checkpoint_every`` seconds and at the end;
    ``resume`` goes on from one with the same bits (and keeps checkpoints there unless ``checkpoint`` names another
    file). Problem, sets, method, seed and start points must be the same; of a problem the core can tell no more than
    its value at the start.

    ``check`` tests the problem before it is solved, at two points of each set: gradients against differences of values, an adjoint
    against its image, a best response against other points, convexity in x and concavity in y between two points. A function that
    is clearly wrong is a ``ValueError`` that names it, an entry and both numbers; ``solution.check_calls`` has what the test
    cost. ``verbose`` prints progress about once a second.

    The trace has one record for each evaluation. With more than 16,384 of them every other record is dropped, as often as
    it takes; the first and the last stay. ``whole_trace`` keeps them all.

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
        "inner": inner,
        "seed": seed,
        "tol": tol,
        "relative_tol": relative_tol,
        "max_time": max_time,
        "max_iter": max_iter,
        "whole_trace": whole_trace,
    }
    _check_seed(seed)
    asked = functions(problem, x_shape, y_shape, method or "")
    calls: dict[str, int] = {}
    # points of a problem by factors may be too large to be formed
    if check and resume is None and asked["factored"] is None:
        imaged = asked["image"] is not None
        calls = check_start(asked, x_set, y_set, ("grad_image" if imaged else "grad_x", "grad_y"), seed)
    if verbose:
        callback = _printing(callback)
    checkpoints = checkpoint_options(checkpoint, checkpoint_every, resume)
    answer = _couloir.solve(asked, x_set, y_set, rules, x_start, y_start, callback, checkpoints)
    return solution_of(answer, x_shape, y_shape, calls, verbose)


def solution_of(
    answer: dict[str, Any],
    x_shape: tuple[int, ...],
    y_shape: tuple[int, ...],
    check_calls: dict[str, int] | None = None,
    verbose: bool = False,
) -> Solution:
    """What the core answered; raises or warns where it must."""
    record = answer["record"]
    factors = answer["factors"]
    solution = Solution(
        y=answer["y"].reshape(y_shape),
        status=record["status"],
        solved=record["solved"],
        n_iter=record["iterations"],
        certificate=certificate(record),
        trace=answer["trace"],
        method=answer["method"],
        oracle_calls=answer["oracle_calls"],
        trouble=record.get("trouble"),
        factors=None if factors is None else factors_of(factors, x_shape),
        _x=None if factors is not None else answer["x"].reshape(x_shape),
        check_calls={} if check_calls is None else check_calls,
    )
    if verbose:
        print(solution)
    if answer["exception"] is not None:
        raise Interrupted(solution) from answer["exception"]
    warn_of(answer, stacklevel=3)
    if not solution.solved and solution.status != "stopped by observer":
        message = (
            f"the solve ended with status '{solution.status}' after {solution.n_iter} iterations at a certified "
            f"gap of {solution.certificate['gap']:.3g}"
        )
        if solution.trouble is not None:
            message += f": {solution.trouble}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return solution


def _check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise TypeError(f"seed must be a whole number that is not negative; got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be a whole number that is not negative; got {seed}")


def _printing(callback: Callable[[dict[str, Any]], Any] | None) -> Callable[[dict[str, Any]], Any]:
    """A callback that prints progress about once a second."""
    last = [-1.0]

    def call(record: dict[str, Any]) -> Any:
        if record["seconds"] - last[0] >= 1.0 or last[0] < 0.0:
            last[0] = record["seconds"]
            print(
                f"{record['seconds']:8.1f} s  iteration {record['iteration']:<8} gap {record['gap']:.3e}  "
                f"value {record['lower']:.6g} to {record['upper']:.6g}",
                flush=True,
            )
        return None if callback is None else callback(record)

    return call


def check_gradient(
    problem: SaddleProblem | ImagedProblem | FactoredProblem, x: ArrayLike, y: ArrayLike
) -> GradientCheck:
    """Compares the problem's gradients at ``(x, y)`` with differences of its values, and batches with the whole.

    The points tried lie off the sets by a small step: ``value`` must be defined there.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    asked = functions(problem, x.shape, y.shape)
    errors = _couloir.check_gradient(asked, x.ravel(), y.ravel())
    return GradientCheck(*errors, batches=_batch_error(asked, x.ravel(), y.ravel()))


def _batch_error(asked: dict[str, Any], x: Floats, y: Floats) -> float | None:
    """How far the batch of all samples is from the whole, relative to it."""
    batches = asked["batches"]
    if batches is None or batches["n_samples"] is None:
        return None
    samples = np.arange(batches["n_samples"], dtype=np.uint64)
    seen = x if asked["image"] is None else asked["image"](x)
    slope = asked["grad_image"](seen, y)
    pairs = (
        (batches["value"](samples, x, y), asked["value"](seen, y)),
        (batches["grad_x"](samples, x, y), slope if asked["adjoint"] is None else asked["adjoint"](slope)),
        (batches["grad_y"](samples, x, y), asked["grad_y"](seen, y)),
    )
    tiny = np.finfo(np.float64).tiny
    return max(
        float(np.linalg.norm(np.subtract(by_batch, whole)) / max(np.linalg.norm(whole), tiny))
        for by_batch, whole in pairs
    )


def _side(
    name: str, given: Any, start_name: str, start: ArrayLike | None
) -> tuple[tuple[int, ...], tuple[Any, ...], Floats | None]:
    """The shape of a set's points, the set for the core, and the start point."""
    point = None if start is None else np.asarray(start, dtype=np.float64)
    if isinstance(given, type):
        raise TypeError(f"{name} must be a set, got the class {given.__name__}: make one, as in {given.__name__}(...)")
    if isinstance(given, _CoreSet):
        return given.shape, given._described(), _flat_or_none(start_name, point, given.shape)
    if not isinstance(given, LinearSet):
        raise TypeError(f"{name} must be a set: an object with lmo(g) and diameter, got {given!r}")
    said = getattr(given, "shape", None if point is None else point.shape)
    if said is None:
        raise ValueError(f"{name} has no shape: give it one, or pass the start point {start_name}")
    shape: tuple[int, ...] = (said,) if isinstance(said, int) else tuple(said)

    def lmo(g: Floats) -> Floats:
        return _point(f"{name}.lmo", given.lmo(g.reshape(shape)), shape)

    own_start = getattr(given, "start", point)
    if own_start is None:
        own_start = given.lmo(np.zeros(shape))
    described = (lmo, _diameter(name, given.diameter), _point(f"{name}.start", own_start, shape))
    return shape, described, _flat_or_none(start_name, point, shape)


def _diameter(name: str, given: Any) -> float:
    try:
        diameter = float(given)
    except (TypeError, ValueError):
        diameter = np.nan
    if not 0.0 < diameter < np.inf:
        raise ValueError(
            f"{name}.diameter must be a positive number, an upper bound of the Euclidean distance of two points of the set; got {given!r}"
        )
    return diameter


def _point(name: str, answer: Any, shape: tuple[int, ...]) -> Floats:
    """A point, flat, that may have come sparse: from SciPy, or as indices and values of the entries that are not zero."""
    if sp.issparse(answer):
        if answer.shape not in (shape, (1, *shape), (*shape, 1)):
            raise ValueError(f"{name} returned shape {answer.shape}, expected {shape}")
        return flat(name, answer.toarray().reshape(shape), shape)
    if not isinstance(answer, tuple):
        if answer is not None and np.ndim(answer) == 0 and shape != ():
            raise ValueError(
                f"{name} returned the number {answer!r}; it must return a point of the set, as an array of shape {shape} or as "
                "(indices, values) of the entries that are not zero"
            )
        return flat(name, answer, shape)
    indices, values = (np.asarray(part) for part in answer)
    dim = int(np.prod(shape))
    if indices.ndim != 1 or indices.shape != values.shape or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"{name} returned a tuple that is not (indices, values) of one length")
    if len(indices) and not (0 <= indices.min() and indices.max() < dim):
        raise ValueError(f"{name} returned indices outside of 0 to {dim - 1}")
    point = np.zeros(dim)
    np.add.at(point, indices, values)
    return point


def _flat_or_none(name: str, array: Floats | None, shape: tuple[int, ...]) -> Floats | None:
    return None if array is None else flat(name, array, shape)
