"""Checkpoints: what the user says of them, for the core."""

from __future__ import annotations

import os
import warnings
from typing import Any


def checkpoint_options(
    checkpoint: str | os.PathLike[str] | None,
    checkpoint_every: float,
    resume: str | os.PathLike[str] | None,
) -> dict[str, Any]:
    """The file to write, the seconds between two checkpoints and the file to resume from."""
    if isinstance(checkpoint_every, (bool, str)) or not 0 <= checkpoint_every < float("inf"):
        raise ValueError(f"checkpoint_every must be zero or more seconds, got {checkpoint_every!r}")
    return {
        "checkpoint": None if checkpoint is None else os.fspath(checkpoint),
        "checkpoint_every": float(checkpoint_every),
        "resume": None if resume is None else os.fspath(resume),
    }


def warn_of(answer: dict[str, Any], stacklevel: int) -> None:
    """A checkpoint that could not be written ends no run, but it must not go unseen."""
    if answer["checkpoint_error"] is not None:
        message = f"no checkpoint: {answer['checkpoint_error']}"
        warnings.warn(message, RuntimeWarning, stacklevel=stacklevel + 1)
