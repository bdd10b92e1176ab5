"""The record of a run, and what users see of it."""

from __future__ import annotations

from typing import Any

_CERTIFICATE = (
    "gap",
    "gap_x",
    "gap_y",
    "lower",
    "upper",
    "bound",
    "confidence",
    "failure_probability",
    "status",
    "solved",
    "ledger",
)


def certificate(record: dict[str, Any]) -> dict[str, Any]:
    """The certificate of a run, from its record."""
    # JSON has no infinity
    infinite = {"lower": -float("inf")}
    return {
        name: infinite.get(name, float("inf")) if record[name] is None else record[name]
        for name in _CERTIFICATE
    }
