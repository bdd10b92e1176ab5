"""Sets that are cheap to minimise a linear function over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _couloir

Floats = NDArray[np.float64]


@runtime_checkable
class LinearSet(Protocol):
    """What a set of one's own has: a point of it where ``<g, .>`` is least, and its Euclidean diameter.

    It may have ``shape``, the shape of its points, which else comes from the start point given to ``solve``, and
    ``start``, a point of it, which else is ``lmo`` of zeros.
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
