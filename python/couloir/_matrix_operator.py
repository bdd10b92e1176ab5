"""Problems that see a large matrix only through thin factors of it."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Shape = tuple[int, ...]


class FactoredProblem(Protocol):
    """A saddle problem in a large matrix, which is never formed.

    ``image_of_factors(left, right)`` is the image of the matrix ``left @ right.T`` under the problem's linear map, and
    ``adjoint(s)`` the transposed map, which gives the gradient in the matrix as one of

    * a matrix of scipy.sparse,
    * a pair ``(left, right)``, which stands for ``left @ right.T``,
    * an array,
    * any other object with a ``shape``, products ``M @ block`` and a transpose ``M.T``, such as a LinearOperator of SciPy. The
      problem then has a method ``adjoint_norm(s)`` too: an upper bound of the Frobenius norm of ``adjoint(s)``.

    The other functions get the image in place of the matrix.
    """

    def image_of_factors(self, left: Floats, right: Floats) -> ArrayLike: ...

    def adjoint(self, s: Floats) -> Any: ...

    def value(self, image: Floats, y: Floats) -> float: ...

    def grad_image(self, image: Floats, y: Floats) -> ArrayLike: ...

    def grad_y(self, image: Floats, y: Floats) -> ArrayLike: ...


class MatrixOperator:
    """The linear map of a `FactoredProblem` as the core asks for it, on flat arrays."""

    def __init__(self, problem: Any, shape: Shape) -> None:
        if len(shape) != 2:
            raise ValueError(f"a problem with image_of_factors needs X to be a set of matrices, not of shape {shape}")
        self.problem, self.rows, self.columns = problem, shape[0], shape[1]
        zeros = self.problem.image_of_factors(np.zeros((self.rows, 1)), np.zeros((self.columns, 1)))
        image = np.asarray(zeros, dtype=np.float64)
        if np.any(image != 0):
            raise ValueError("problem.image_of_factors must be linear, but its image of zeros is not zero")
        self.image_shape = image.shape
        self._last: tuple[Floats, Any] | None = None

    def described(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "columns": self.columns,
            "image_of_product": self._image_of_product,
            "adjoint_times": self._adjoint_times,
            "adjoint_transposed_times": self._adjoint_transposed_times,
            "adjoint_norm": self._adjoint_norm,
        }

    def image(self, x: Floats) -> Floats:
        """The image of a whole matrix, for methods that form one."""
        x = x.reshape(self.rows, self.columns)
        if self.rows <= self.columns:
            return self._image(np.eye(self.rows), np.ascontiguousarray(x.T))
        return self._image(np.ascontiguousarray(x), np.eye(self.columns))

    def adjoint(self, s: Floats) -> Floats:
        """The whole gradient, for methods that form one."""
        matrix = self._gradient(s)
        if isinstance(matrix, tuple):
            matrix = matrix[0] @ matrix[1].T
        elif not isinstance(matrix, np.ndarray):
            matrix = matrix @ np.eye(self.columns)
        return np.ascontiguousarray(matrix, dtype=np.float64).ravel()

    def _image_of_product(self, left: Floats, right: Floats) -> Floats:
        return self._image(left.reshape(self.rows, -1), right.reshape(self.columns, -1))

    def _image(self, left: Floats, right: Floats) -> Floats:
        image = np.asarray(self.problem.image_of_factors(left, right), dtype=np.float64)
        if image.shape != self.image_shape:
            raise ValueError(
                f"problem.image_of_factors gave an array of shape {image.shape}, expected {self.image_shape}"
            )
        return np.ascontiguousarray(image).ravel()

    def _adjoint_times(self, s: Floats, block: Floats) -> Floats:
        matrix, block = self._gradient(s), block.reshape(self.columns, -1)
        if isinstance(matrix, tuple):
            return _flat(matrix[0] @ (matrix[1].T @ block))
        return _flat(matrix @ block)

    def _adjoint_transposed_times(self, s: Floats, block: Floats) -> Floats:
        matrix, block = self._gradient(s), block.reshape(self.rows, -1)
        if isinstance(matrix, tuple):
            return _flat(matrix[1] @ (matrix[0].T @ block))
        return _flat(matrix.T @ block)

    def _adjoint_norm(self, s: Floats) -> float:
        matrix = self._gradient(s)
        own = getattr(self.problem, "adjoint_norm", None)
        if callable(own):
            return float(own(s.reshape(self.image_shape)))
        if isinstance(matrix, tuple):
            return float(np.linalg.norm(matrix[0]) * np.linalg.norm(matrix[1]))
        if isinstance(matrix, np.ndarray):
            return float(np.linalg.norm(matrix))
        if callable(getattr(matrix, "tocsr", None)):
            # entries of one place, which may be stored several times, by the sum of their sizes
            return math.sqrt(float((abs(matrix).tocsr().data ** 2).sum()))
        raise TypeError(
            f"problem.adjoint gave a {type(matrix).__name__}, whose norm is not known: add a method adjoint_norm(s) "
            "that gives an upper bound of its Frobenius norm"
        )

    def _gradient(self, s: Floats) -> Any:
        """``adjoint(s)``, which is asked for many products in a row."""
        if self._last is None or not np.array_equal(self._last[0], s):
            self._last = s, self._checked(self.problem.adjoint(s.reshape(self.image_shape)))
        return self._last[1]

    def _checked(self, matrix: Any) -> Any:
        if isinstance(matrix, tuple):
            left, right = (np.asarray(part, dtype=np.float64) for part in matrix)
            if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[1]:
                raise ValueError("problem.adjoint gave a tuple that is no pair of factors with equally many columns")
            matrix, shape = (left, right), (left.shape[0], right.shape[0])
        else:
            if not hasattr(matrix, "shape") or not hasattr(matrix, "__matmul__"):
                matrix = np.asarray(matrix, dtype=np.float64)
            shape = tuple(matrix.shape)
        if shape != (self.rows, self.columns):
            raise ValueError(
                f"problem.adjoint gave a matrix of shape {shape}, expected {(self.rows, self.columns)}"
            )
        return matrix


def _flat(product: Any) -> Floats:
    return np.ascontiguousarray(product, dtype=np.float64).ravel()


def operator_of(problem: Any, shape: Shape) -> MatrixOperator | None:
    """The operator of a problem that has one."""
    if callable(getattr(problem, "image_of_factors", None)):
        return MatrixOperator(problem, shape)
    return None
