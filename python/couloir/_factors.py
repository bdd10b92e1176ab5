"""Matrices of low rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Factors(NamedTuple):
    """A matrix ``(U * s) @ V.T`` of low rank: orthonormal columns in ``U`` and ``V``, singular values in ``s``."""

    U: Floats
    s: Floats
    V: Floats


def factors_of(answer: tuple[Floats, Floats, Floats], shape: tuple[int, ...]) -> Factors:
    """The factors that the core gives, of a matrix of this shape."""
    left, values, right = answer
    rank = len(values)
    return Factors(left.reshape(shape[0], rank), values, right.reshape(shape[1], rank))
