"""The compiled half of the package; nothing here is for users."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "__version__",
    "auto_tau",
    "check_gradient",
    "check_set",
    "fit_completion",
    "fit_robust",
    "methods",
    "path_robust",
    "ready_game",
    "set_diameter",
    "set_dim",
    "set_lmo",
    "solve",
    "solve_game",
    "write_fit_page",
]

_Floats = NDArray[np.float64]

__version__: str

def fit_completion(
    rows: NDArray[np.uint32],
    columns: NDArray[np.uint32],
    values: _Floats,
    settings: dict[str, Any],
    groups: NDArray[np.uint32] | None = None,
) -> dict[str, Any]: ...
def fit_robust(
    x: Any,
    centre: _Floats,
    factor: _Floats,
    answers: NDArray[np.uint32] | _Floats,
    classes: int,
    settings: dict[str, Any],
    start: tuple[_Floats, _Floats, _Floats | None] | None = None,
    progress: Callable[[int, float, float], None] | None = None,
    checkpoints: dict[str, Any] | None = None,
    weights: _Floats | None = None,
    groups: NDArray[np.uint32] | None = None,
) -> dict[str, Any]: ...
def path_robust(
    folds: list[dict[str, Any]],
    classes: int,
    settings: dict[str, Any],
    taus: list[float],
    levels: list[float | None],
) -> list[list[list[list[float]]]]: ...
def auto_tau(
    x: Any,
    centre: _Floats,
    factor: _Floats,
    classes: int,
    ball: str,
    weights: _Floats | None = None,
) -> float: ...
def solve(
    functions: dict[str, Any],
    x_set: tuple[Any, ...],
    y_set: tuple[Any, ...],
    rules: dict[str, Any],
    x0: _Floats | None = None,
    y0: _Floats | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    checkpoints: dict[str, Any] | None = None,
) -> dict[str, Any]: ...
def check_gradient(
    functions: dict[str, Any], x: _Floats, y: _Floats
) -> tuple[float, float]: ...
def ready_game(name: str, sizes: list[int]) -> dict[str, Any]: ...
def solve_game(
    payoffs: dict[str, Any],
    x_set: tuple[Any, ...],
    y_set: tuple[Any, ...],
    weights: tuple[float, float],
    rules: dict[str, Any],
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> dict[str, Any]: ...
def methods() -> list[tuple[str, str, bool]]: ...
def set_lmo(set: tuple[Any, ...], g: _Floats) -> _Floats: ...
def check_set(
    set: tuple[Any, ...], trials: int, nonnegative: bool, seed: int
) -> tuple[list[str], int, float, bool, bool]: ...
def set_dim(set: tuple[Any, ...]) -> int: ...
def set_diameter(set: tuple[Any, ...]) -> float: ...
def write_fit_page(record: str, details: dict[str, Any], path: str) -> None: ...
