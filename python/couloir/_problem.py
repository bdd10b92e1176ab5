"""Saddle problems of one's own, and what the core asks of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _couloir
from ._matrix_operator import operator_of

Floats = NDArray[np.float64]
Shape = tuple[int, ...]

# what a problem that is a mean has besides n_samples
_BATCH_METHODS = ("batch_value", "batch_grad_x", "batch_grad_y")
# methods that need such a problem
SAMPLING = frozenset(name for name, _, samples in _couloir.methods() if samples)


class SaddleProblem(Protocol):
    """A function that is convex in x and strongly concave in y.

    It may have besides:

    ``best_response_y(x)``
        The maximiser over the set of y.
    ``lxx``, ``lxy``, ``lyy``, ``mu``, ``mu_x``
        Constants that some methods ask for: smoothness by blocks, the strong concavity in y and the strong convexity in
        x. With ``mu_x`` the default method converges linearly, and its certificate rests on it.
    ``n_samples``, ``batch_value(batch, x, y)``, ``batch_grad_x(batch, x, y)``, ``batch_grad_y(batch, x, y)``
        For a function that is a mean over samples: ``batch`` is an array of the numbers of some, from 0, and the
        methods give the mean over these. Methods that sample need it. ``n_samples`` is ``math.inf`` for an
        expectation; a sample is then any number of 64 bits, to be used as a seed.
    ``mean_smoothness``, ``sigma``, ``batch_constants(batch)``
        The smoothness in the mean square, the standard deviation of a sample's gradient, and a dict of the constants
        above for a batch, where they are known.
    """

    def value(self, x: Floats, y: Floats) -> float: ...

    def grad_x(self, x: Floats, y: Floats) -> ArrayLike: ...

    def grad_y(self, x: Floats, y: Floats) -> ArrayLike: ...


class ImagedProblem(Protocol):
    """A saddle problem that sees x only through a linear map, such as ``A @ x``.

    It gets the image in place of x everywhere but in batches. ``adjoint`` is the transposed map: the gradient in x is
    ``adjoint(grad_image(image, y))``.
    """

    def image(self, x: Floats) -> ArrayLike: ...

    def adjoint(self, s: Floats) -> ArrayLike: ...

    def value(self, image: Floats, y: Floats) -> float: ...

    def grad_image(self, image: Floats, y: Floats) -> ArrayLike: ...

    def grad_y(self, image: Floats, y: Floats) -> ArrayLike: ...


def functions(problem: Any, x_shape: Shape, y_shape: Shape, method: str = "") -> dict[str, Any]:
    """The problem's functions for the core: on flat arrays, checked for the shape of what they give."""
    operator = operator_of(problem, x_shape)
    imaged = operator is not None or _has_any(problem, "image", "adjoint", "grad_image")
    if operator is not None:
        who = "a problem with image_of_factors"
        _need(problem, who, "image_of_factors(left, right)", "adjoint(s)", "grad_image(image, y)")
    elif imaged:
        _need(problem, "a problem with an image", "image(x)", "adjoint(s)", "grad_image(image, y)")
    _need(problem, "a problem", "value(x, y)", *([] if imaged else ["grad_x(x, y)"]), "grad_y(x, y)")
    # what the function sees of x
    if operator is not None:
        seen = operator.image_shape
    else:
        seen = _image_shape(problem, x_shape) if imaged else x_shape

    def value(x: Floats, y: Floats) -> float:
        return one_number("problem.value", problem.value(x.reshape(seen), y.reshape(y_shape)))

    def of_pair(name: str, out: Shape) -> Callable[[Floats, Floats], Floats]:
        inner = getattr(problem, name)

        def call(x: Floats, y: Floats) -> Floats:
            return flat(f"problem.{name}", inner(x.reshape(seen), y.reshape(y_shape)), out)

        return call

    def of_point(name: str, point: Shape, out: Shape) -> Callable[[Floats], Floats]:
        inner = getattr(problem, name)

        def call(x: Floats) -> Floats:
            return flat(f"problem.{name}", inner(x.reshape(point)), out)

        return call

    image: Callable[[Floats], Floats] | None = None
    adjoint: Callable[[Floats], Floats] | None = None
    if operator is not None:
        image, adjoint = operator.image, operator.adjoint
    elif imaged:
        image, adjoint = of_point("image", x_shape, seen), of_point("adjoint", seen, x_shape)
    responds = hasattr(problem, "best_response_y")
    return {
        "dim_x": math.prod(x_shape),
        "dim_y": math.prod(y_shape),
        "dim_image": math.prod(seen),
        "value": value,
        "grad_image": of_pair("grad_image" if imaged else "grad_x", seen),
        "grad_y": of_pair("grad_y", y_shape),
        "image": image,
        "adjoint": adjoint,
        "factored": None if operator is None else operator.described(),
        "best_response_y": of_point("best_response_y", seen, y_shape) if responds else None,
        "batches": _batches(problem, x_shape, y_shape, method),
        **{name: getattr(problem, name, None) for name in ("lxx", "lxy", "lyy", "mu", "mu_x")},
    }


def one_number(name: str, given: Any) -> float:
    """A number that someone gave."""
    if given is None:
        raise TypeError(f"{name} gave None; it must return a number (is a `return` missing?)")
    if np.size(given) != 1:
        raise TypeError(f"{name} must return a number; it gave an array of shape {np.shape(given)}")
    try:
        return float(np.asarray(given).reshape(()))
    except (TypeError, ValueError):
        raise TypeError(f"{name} must return a number; it gave {given!r}") from None


def flat(name: str, array: ArrayLike, shape: Shape) -> Floats:
    """An array that someone gave, as numbers in a row."""
    if array is None:
        raise TypeError(f"{name} gave None; it must return an array of shape {shape} (is a `return` missing?)")
    array = np.asarray(array, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} gave an array of shape {array.shape}, expected {shape}")
    return np.ascontiguousarray(array).ravel()


def _has_any(problem: Any, *methods: str) -> bool:
    """Whether it has one of these methods; data of the same name are the problem's own affair."""
    return any(callable(getattr(problem, name, None)) for name in methods)


def _need(problem: Any, who: str, *signatures: str) -> None:
    for signature in signatures:
        if not callable(getattr(problem, signature.split("(")[0], None)):
            raise TypeError(f"{who} must have a method {signature}; problem has none")


def _image_shape(problem: Any, x_shape: Shape) -> Shape:
    image = np.asarray(problem.image(np.zeros(x_shape)), dtype=np.float64)
    if np.any(image != 0):
        raise ValueError("problem.image must be linear, but its image of zeros is not zero")
    return image.shape


def _batches(problem: Any, x_shape: Shape, y_shape: Shape, method: str) -> dict[str, Any] | None:
    if not _has_any(problem, *_BATCH_METHODS):
        if method in SAMPLING:
            raise TypeError(
                f"method {method!r} samples: problem must be a mean, with n_samples and the methods "
                f"{', '.join(_BATCH_METHODS)}"
            )
        return None
    _need(problem, "a problem with batches", *(f"{name}(batch, x, y)" for name in _BATCH_METHODS))
    n_samples = _sample_count(problem)

    def numbers(batch: NDArray[np.uint64]) -> NDArray[Any]:
        return batch if n_samples is None else batch.view(np.int64)

    def value(batch: NDArray[np.uint64], x: Floats, y: Floats) -> float:
        given = problem.batch_value(numbers(batch), x.reshape(x_shape), y.reshape(y_shape))
        return one_number("problem.batch_value", given)

    def gradient(name: str, shape: Shape) -> Callable[..., Floats]:
        inner = getattr(problem, name)

        def call(batch: NDArray[np.uint64], x: Floats, y: Floats) -> Floats:
            given = inner(numbers(batch), x.reshape(x_shape), y.reshape(y_shape))
            return flat(f"problem.{name}", given, shape)

        return call

    def constants(batch: NDArray[np.uint64]) -> tuple[float | None, ...]:
        given = problem.batch_constants(numbers(batch))
        return tuple(given.get(name) for name in ("lxx", "lxy", "lyy", "mu", "mu_x"))

    return {
        "n_samples": n_samples,
        "value": value,
        "grad_x": gradient("batch_grad_x", x_shape),
        "grad_y": gradient("batch_grad_y", y_shape),
        "constants": constants if hasattr(problem, "batch_constants") else None,
        "mean_smoothness": getattr(problem, "mean_smoothness", None),
        "sigma": getattr(problem, "sigma", None),
    }


def _sample_count(problem: Any) -> int | None:
    """None for an expectation."""
    n = getattr(problem, "n_samples", None)
    if n == math.inf:
        return None
    if isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 1:
        return int(n)
    raise TypeError(f"problem.n_samples must be a positive integer or math.inf, got {n!r}")
