"""A check of sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _couloir
from ._solve import _side


@dataclass(frozen=True)
class SetCheck:
    """What :func:`check_set` found; ``faults`` has a sentence for each, and none where all is well."""

    faults: list[str]
    linear_minimisations: int
    #: the largest distance of two points of the set that were seen
    farthest: float
    tried_prox: bool
    tried_away: bool

    @property
    def is_clean(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def __str__(self) -> str:
        tried = f"{self.linear_minimisations} linear minimisations, largest distance seen {self.farthest:.6g}"
        if self.is_clean:
            return f"no fault found ({tried})"
        return "\n".join([f"{len(self.faults)} faults ({tried}):", *(f"- {fault}" for fault in self.faults)])


def check_set(set: Any, *, trials: int = 60, nonnegative: bool = False, seed: int = 0) -> SetCheck:
    """Checks a set by its own answers.

    Are the answers of ``lmo`` in the set (where it has ``violation``), and never worse than another point of it? Does the diameter
    bound all distances? Do projections and slides agree with ``lmo``? With ``nonnegative`` only linear functions without negative
    entries are tried, as shortest paths in a graph with cycles need.

    >>> import couloir
    >>> print(couloir.check_set(couloir.Simplex(3)).is_clean)
    True
    """
    shape, described, _ = _side("set", set, "start", None)
    violation = getattr(set, "violation", None)
    if callable(described[0]) and callable(violation):

        def outside(p: Any) -> float:
            return float(violation(np.reshape(p, shape)))

        described = (*described, outside)
    return SetCheck(*_couloir.check_set(described, trials, nonnegative, seed))
