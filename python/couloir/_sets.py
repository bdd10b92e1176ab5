"""Sets that are cheap to minimise a linear function over."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _couloir

Floats = NDArray[np.float64]


def _count(name: str, value: Any, what: str) -> int:
    """A whole number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise TypeError(f"{name} must be a whole number, {what}; got {value!r}")
    return int(value)


def _two_counts(name: str, value: Any) -> tuple[int, int]:
    try:
        rows, columns = value
    except (TypeError, ValueError):
        message = f"{name} must be a pair (rows, columns), such as (3, 2); got {value!r}"
        raise TypeError(message) from None
    return _count(f"{name}[0]", rows, "the number of rows"), _count(f"{name}[1]", columns, "the number of columns")


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r}")
    return float(value)


def _numbers(name: str, value: Any, dimensions: int = 1) -> Floats:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers; got {value!r}") from None
    if array.ndim != dimensions:
        wanted = "a list of numbers" if dimensions == 1 else "a matrix"
        raise ValueError(f"{name} must be {wanted}, got an array of shape {array.shape}")
    return array


def _pairs(name: str, value: Any) -> list[tuple[int, int]]:
    """Pairs of nodes."""
    array = np.asarray(value)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer) or array.min() < 0:
        raise ValueError(f"{name} must be a list of pairs (from, to) of numbers of nodes, counted from 0")
    return [(int(a), int(b)) for a, b in array]


@runtime_checkable
class LinearSet(Protocol):
    """What a set of one's own has: a point of it where ``<g, .>`` is least, and its Euclidean diameter.

    It may have ``shape``, the shape of its points, which else comes from the start point given to ``solve``,
    ``start``, a point of it, which else is ``lmo`` of zeros, and ``violation(p)``, how far a point is outside of it, for
    ``check_set``.
    """

    @property
    def diameter(self) -> float: ...

    def lmo(self, g: Floats) -> ArrayLike: ...


class _CoreSet:
    """A set that the core knows."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    def _described(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def lmo(self, g: ArrayLike) -> Floats:
        """A point of the set at which ``<g, .>`` is least."""
        g = np.asarray(g, dtype=np.float64)
        if g.shape != self.shape:
            raise ValueError(f"g has shape {g.shape}, points of the set have {self.shape}")
        return _couloir.set_lmo(self._described(), g.ravel()).reshape(self.shape)

    @property
    def diameter(self) -> float:
        """The Euclidean diameter."""
        return _couloir.set_diameter(self._described())


@dataclass(frozen=True)
class _Round(_CoreSet):
    """n numbers within a radius."""

    n: int
    radius: float = 1.0
    _kind = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", _count("n", self.n, "the number of entries"))
        object.__setattr__(self, "radius", _number("radius", self.radius))
        self.diameter

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    def _described(self) -> tuple[Any, ...]:
        return (self._kind, self.n, 1, self.radius)


class Simplex(_Round):
    """Numbers that are not negative and sum to the radius."""

    _kind = "simplex"


class L1Ball(_Round):
    """Numbers whose absolute values sum to at most the radius."""

    _kind = "l1"


class L2Ball(_Round):
    """Numbers of Euclidean length at most the radius."""

    _kind = "l2"


@dataclass(frozen=True)
class NuclearBall(_CoreSet):
    """Matrices whose singular values sum to at most ``tau``."""

    size: tuple[int, int]
    tau: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _two_counts("size", self.size))
        object.__setattr__(self, "tau", _number("tau", self.tau))
        self.diameter

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.size)

    def _described(self) -> tuple[Any, ...]:
        return ("nuclear", *self.size, self.tau)


class Box(_CoreSet):
    """Points between a lower and an upper corner, entry by entry."""

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        self.lower: Floats = np.array(lower, dtype=np.float64)
        self.upper: Floats = np.array(upper, dtype=np.float64)
        if self.lower.shape != self.upper.shape:
            shapes = f"{self.lower.shape} and {self.upper.shape}"
            raise ValueError(f"lower and upper must have one shape, got {shapes}")
        self.diameter

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lower.shape

    def _described(self) -> tuple[Any, ...]:
        return (self.lower.ravel(), self.upper.ravel())

    def __repr__(self) -> str:
        return f"Box({self.lower!r}, {self.upper!r})"


class _Catalogued(_CoreSet):
    """A set that the core makes from parameters by name."""

    _kind = ""

    def _make(self, shape: tuple[int, ...], **parameters: Any) -> None:
        self._shape = shape
        self._parameters = {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in parameters.items()
        }
        self.diameter

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def _described(self) -> tuple[Any, ...]:
        return (self._kind, self._parameters)

    def __repr__(self) -> str:
        return f"<couloir.{type(self).__name__} with points of shape {self._shape}>"


class LinfBall(_Catalogued):
    """Numbers of which none is larger in magnitude than the radius."""

    _kind = "linf"

    def __init__(self, n: int, radius: float = 1.0) -> None:
        n = _count("n", n, "the number of entries")
        self._make((n,), n=n, radius=_number("radius", radius))


class LpBall(_Catalogued):
    """Numbers whose p-norm, for a ``power`` above 1, is at most the radius."""

    _kind = "lp"

    def __init__(self, n: int, power: float, radius: float = 1.0) -> None:
        n = _count("n", n, "the number of entries")
        self._make((n,), n=n, power=_number("power", power), radius=_number("radius", radius))


class KSupportBall(_Catalogued):
    """The convex hull of the vectors with at most ``k`` entries other than zero and length at most the radius."""

    _kind = "k-support"

    def __init__(self, n: int, k: int, radius: float = 1.0) -> None:
        n, k = _count("n", n, "the number of entries"), _count("k", k, "the entries other than zero")
        self._make((n,), n=n, k=k, radius=_number("radius", radius))


class GroupL1Ball(_Catalogued):
    """Numbers in groups, entry ``i`` in group ``groups[i]``, whose lengths of groups sum to at most the radius."""

    _kind = "group l1"

    def __init__(self, groups: ArrayLike, radius: float = 1.0) -> None:
        given = np.asarray(groups)
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or (given.size and given.min() < 0):
            raise ValueError("groups must be a list with the number of its group, from 0, for each entry")
        self._make((given.size,), groups=given, radius=_number("radius", radius))


class OrderedL1Ball(_Catalogued):
    """Numbers whose magnitudes, largest first, times falling weights sum to at most the radius."""

    _kind = "ordered l1"

    def __init__(self, weights: ArrayLike, radius: float = 1.0) -> None:
        given = _numbers("weights", weights)
        self._make(given.shape, weights=given, radius=_number("radius", radius))


class Ellipsoid(_Catalogued):
    """Points with ``(p - center)' matrix^-1 (p - center) <= radius^2``; the matrix may be a covariance."""

    _kind = "ellipsoid"

    def __init__(self, center: ArrayLike, matrix: ArrayLike, radius: float = 1.0) -> None:
        middle, form = _numbers("center", center), _numbers("matrix", matrix, 2)
        if form.shape != (middle.size, middle.size):
            raise ValueError(f"matrix must have shape {(middle.size,) * 2} to go with center, got {form.shape}")
        self._make(middle.shape, center=middle, matrix=form.ravel(), radius=_number("radius", radius))


class Hypersimplex(_Catalogued):
    """Numbers from 0 to 1 with the sum ``k``: the convex hull of the subsets of ``k`` elements."""

    _kind = "hypersimplex"

    def __init__(self, n: int, k: int) -> None:
        n, k = _count("n", n, "the number of elements"), _count("k", k, "the elements of a subset")
        self._make((n,), n=n, k=k)


class CappedSimplex(_Catalogued):
    """Numbers from 0 to ``caps`` with the sum ``total``."""

    _kind = "capped simplex"

    def __init__(self, caps: ArrayLike, total: float = 1.0) -> None:
        given = _numbers("caps", caps)
        self._make(given.shape, caps=given, total=_number("total", total))


class BoxBudget(_Catalogued):
    """Points between two corners whose cost ``<costs, p>`` is at most the budget."""

    _kind = "box budget"

    def __init__(self, lower: ArrayLike, upper: ArrayLike, costs: ArrayLike, budget: float) -> None:
        low, high, price = _numbers("lower", lower), _numbers("upper", upper), _numbers("costs", costs)
        self._make(low.shape, lower=low, upper=high, costs=price, budget=_number("budget", budget))


class SimplexBudget(_Catalogued):
    """Numbers that are not negative, sum to ``total``, and cost at most the budget."""

    _kind = "simplex budget"

    def __init__(self, costs: ArrayLike, budget: float, total: float = 1.0) -> None:
        price = _numbers("costs", costs)
        self._make(
            price.shape, n=price.size, total=_number("total", total), costs=price, budget=_number("budget", budget)
        )


class Permutahedron(_Catalogued):
    """The convex hull of all permutations of the values."""

    _kind = "permutahedron"

    def __init__(self, values: ArrayLike) -> None:
        given = _numbers("values", values)
        self._make(given.shape, values=given)


class Birkhoff(_Catalogued):
    """Assignments of the shorter side to the longer one; square ones are the doubly stochastic matrices."""

    _kind = "birkhoff"

    def __init__(self, rows: int, columns: int | None = None) -> None:
        rows = _count("rows", rows, "the number of rows")
        columns = rows if columns is None else _count("columns", columns, "the number of columns")
        self._make((rows, columns), rows=rows, columns=columns)


class ConvexHull(_Catalogued):
    """The convex hull of the rows of a matrix."""

    _kind = "convex hull"

    def __init__(self, points: ArrayLike) -> None:
        given = _numbers("points", points, 2)
        self._make(given.shape[1:], points=given)


class Paths(_Catalogued):
    """Paths from ``source`` to ``target``, as ones on their arcs.

    Costs may have any sign where the graph has no cycles; with cycles no cycle may have a negative cost.
    """

    _kind = "paths"

    def __init__(self, nodes: int, arcs: ArrayLike, source: int, target: int) -> None:
        pairs = _pairs("arcs", arcs)
        source, target = _count("source", source, "a node"), _count("target", target, "a node")
        nodes = _count("nodes", nodes, "the number of nodes")
        self._make((len(pairs),), nodes=nodes, arcs=pairs, source=source, target=target)


class Flows(_Catalogued):
    """Flows of a given value from ``source`` to ``target``, within the capacities of the arcs."""

    _kind = "flows"

    def __init__(
        self, nodes: int, arcs: ArrayLike, capacities: ArrayLike, source: int, target: int, value: float
    ) -> None:
        pairs = _pairs("arcs", arcs)
        self._make(
            (len(pairs),),
            nodes=_count("nodes", nodes, "the number of nodes"),
            arcs=pairs,
            capacities=_numbers("capacities", capacities),
            source=_count("source", source, "a node"),
            target=_count("target", target, "a node"),
            value=_number("value", value),
        )


class SpanningTrees(_Catalogued):
    """Spanning trees of an undirected graph, as ones on their edges."""

    _kind = "spanning trees"

    def __init__(self, nodes: int, edges: ArrayLike) -> None:
        pairs = _pairs("edges", edges)
        self._make((len(pairs),), nodes=_count("nodes", nodes, "the number of nodes"), arcs=pairs)


class Matchings(_Catalogued):
    """Matchings of a bipartite graph, as ones on its edges, each a pair (left node, right node)."""

    _kind = "matchings"

    def __init__(self, left: int, right: int, edges: ArrayLike) -> None:
        pairs = _pairs("edges", edges)
        left, right = _count("left", left, "the nodes on the left"), _count("right", right, "those on the right")
        self._make((len(pairs),), left=left, right=right, edges=pairs)


class SpectralBall(_Catalogued):
    """Matrices whose largest singular value is at most the radius."""

    _kind = "spectral"

    def __init__(self, size: tuple[int, int], radius: float = 1.0) -> None:
        rows, columns = _two_counts("size", size)
        self._make((rows, columns), rows=rows, columns=columns, radius=_number("radius", radius))


class Spectrahedron(_Catalogued):
    """Positive semidefinite n x n matrices whose trace is ``trace``, or with ``at_most=True`` at most that."""

    _kind = "spectrahedron"

    def __init__(self, n: int, trace: float = 1.0, *, at_most: bool = False) -> None:
        n = _count("n", n, "the number of rows")
        self._make((n, n), n=n, trace=_number("trace", trace), exactly=not at_most)


class Fantope(_Catalogued):
    """Symmetric n x n matrices with eigenvalues from 0 to 1 and trace ``k``."""

    _kind = "fantope"

    def __init__(self, n: int, k: int) -> None:
        n, k = _count("n", n, "the number of rows"), _count("k", k, "the trace")
        self._make((n, n), n=n, k=k)


class Treeplex(_Catalogued):
    """The strategies of a player with perfect recall, in sequence form.

    ``information_sets`` is a list of pairs (parent, actions): the player's own last sequence before it, 0 for none, and the
    number of its actions. Sequence 0 is the empty one, and each information set adds one sequence for each of its actions.
    """

    _kind = "treeplex"

    def __init__(self, information_sets: ArrayLike) -> None:
        sets = _pairs("information_sets", information_sets)
        self._make((1 + sum(actions for _, actions in sets),), information_sets=sets)


def _described(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, type):
        raise TypeError(f"{name} must be a set, got the class {given.__name__}: make one, as in {given.__name__}(...)")
    if not isinstance(given, _CoreSet):
        raise TypeError(f"{name} must be a set of the package, got {given!r}")
    return given._described()


class Product(_Catalogued):
    """The product of sets of the package. Its points are flat: the points of the sets, one after the other."""

    _kind = "product"

    def __init__(self, *sets: _CoreSet) -> None:
        parts = [_described(f"set {i}", given) for i, given in enumerate(sets)]
        self.sets = sets
        self._make((sum(int(np.prod(given.shape)) for given in sets),), parts=parts)

    def split(self, p: ArrayLike) -> list[Floats]:
        """The pieces of a point, in the shapes of the sets."""
        ends = np.cumsum([int(np.prod(given.shape)) for given in self.sets])
        pieces = np.split(np.asarray(p, dtype=np.float64), ends[:-1])
        return [piece.reshape(given.shape) for piece, given in zip(pieces, self.sets)]


class Shifted(_Catalogued):
    """A set of the package, moved by an offset of the shape of its points."""

    _kind = "shifted"

    def __init__(self, set: _CoreSet, offset: ArrayLike) -> None:
        inner, move = _described("set", set), np.asarray(offset, dtype=np.float64)
        if move.shape != set.shape:
            raise ValueError(f"offset must have the shape {set.shape} of the points, got {move.shape}")
        self._make(set.shape, set=inner, offset=move.ravel())


class Scaled(_Catalogued):
    """A set of the package times a number."""

    _kind = "scaled"

    def __init__(self, set: _CoreSet, factor: float) -> None:
        self._make(_shape_of(set), set=_described("set", set), factor=_number("factor", factor))


def _shape_of(given: Any) -> tuple[int, ...]:
    _described("set", given)
    return tuple(given.shape)
