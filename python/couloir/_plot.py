"""Certificates over time, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Trace = Mapping[str, NDArray[Any]]

# what can be on the lower axis: the array of the trace, and how it is called
_AXES = {
    "iteration": ("iteration", "iterations"),
    "seconds": ("seconds", "seconds"),
    "gradients": ("grads", "gradients in x"),
}


def plot(trace: Any, against: str = "iteration", *, bound: bool = True, ax: Axes | None = None) -> Axes:
    """Draws certified gaps, on a logarithmic scale.

    Needs matplotlib, which ``pip install 'couloir[plot]'`` brings.

    Parameters
    ----------
    trace : trace, Solution, fitted estimator, or a dict of several of them by name
        ``trace_`` of an estimator or the estimator itself, the result of :func:`couloir.solve` or its ``trace``.
        Each of several gets a line with its name in the legend.
    against : {"iteration", "seconds", "gradients"}, default="iteration"
        What the gap is drawn against.
    bound : bool, default=True
        Whether to draw, dashed, what theory promises of the gap, where it does.
    ax : matplotlib Axes, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    A gap of zero has no place on a logarithmic scale and is left out.
    """
    if against not in _AXES:
        raise ValueError(f"against must be one of {list(_AXES)}, got {against!r}")
    traces = _traces(trace)
    if ax is None:
        ax = _new_axes()
    column, label = _AXES[against]
    for name, one in traces.items():
        x = np.asarray(one[column], dtype=np.float64)
        (line,) = ax.plot(*_shown(x, one["gap"]), label=name or "certified gap")
        promised = _shown(x, one["bound"])
        if bound and len(promised[0]):
            bound_name = f"{name}, bound" if name else "bound"
            ax.plot(*promised, linestyle="--", color=line.get_color(), label=bound_name)
    ax.set_yscale("log")
    ax.set_xlabel(label)
    ax.set_ylabel("certified gap")
    ax.legend()
    return ax


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("couloir.plot needs matplotlib: pip install 'couloir[plot]'") from error
    axes: Axes = pyplot.figure().add_subplot()
    return axes


def _traces(given: Any) -> dict[str, Trace]:
    """Traces by name; one alone has no name."""
    one = _trace(given)
    if one is not None:
        return {"": one}
    if not isinstance(given, Mapping) or not given:
        raise TypeError(
            "trace must be a trace, a Solution, a fitted estimator, or a dict of them by name, "
            f"got {type(given).__name__}"
        )
    traces = {str(name): _trace(value) for name, value in given.items()}
    for name, trace in traces.items():
        if trace is None:
            raise TypeError(f"trace[{name!r}] is no trace, Solution or fitted estimator")
    return {name: trace for name, trace in traces.items() if trace is not None}


def _trace(given: Any) -> Trace | None:
    trace = getattr(given, "trace_", getattr(given, "trace", given))
    needed = {"gap", "bound", *(column for column, _ in _AXES.values())}
    return trace if isinstance(trace, Mapping) and needed <= set(trace) else None


def _shown(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """What a logarithmic scale has a place for."""
    seen = np.isfinite(y) & (y > 0)
    return x[seen], y[seen]
