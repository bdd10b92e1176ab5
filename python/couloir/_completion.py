"""Robust matrix completion."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _couloir
from ._linear import check_count, check_number
from ._factors import factors_of
from ._records import certificate

Floats = NDArray[np.float64]


class MatrixCompletion(BaseEstimator):  # type: ignore[misc]
    """A matrix of low rank, fitted to those of its entries that are known, and to the hardest of them.

    It minimises, over matrices X of nuclear norm at most ``tau``, the losses of the observations as an adversary weighs them,
    who pays for moving away from equal weights::

        max over y in the simplex of  sum_i y_i loss_i - level / (2 n) sum_i (n y_i - 1)^2

    where ``loss_i`` is ``(X[row_i, col_i] - value_i)^2 / 2`` or its Huber version. A place that is observed several times counts as
    several observations. X is kept as thin factors and never formed, so that both sides may be large.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of the matrix.
    tau : float
        The radius of the nuclear-norm ball: an upper bound on the sum of the singular values of the matrix. Its true value for
        an m x k matrix of rank r with entries of size one is about ``sqrt(m k r)``.
    loss : {"squared", "huber"}, default="squared"
    uncertainty : {"chi2", "kl", "group", "none"}, default="chi2"
        What the adversary may do with the weights, as for :class:`RobustClassifier`. "group" needs the group of each observation in ``fit``.
    level : float, default=1.0
        What the adversary pays. The larger, the closer the weights stay to equal.
    threshold : float, default=1.0
        The residual at which the Huber loss turns linear.
    tol : float, default=1e-2
        Stop when the certified gap is at most this, in units of the loss.
    max_time : float, default=None
        Stop after this many seconds.
    max_iter : int, default=10000
        Stop after this many iterations; None for no limit.
    random_state : int, default=0
        The seed of the random vectors on which the certificate rests.
    n_jobs : int or None, default=None
        Threads; None and -1 for as many as there are cores. The result does not depend on it.

    Attributes
    ----------
    factors_ : tuple (U, s, V)
        The matrix is ``(U * s) @ V.T``.
    certificate_ : dict
        gap, gap_x, gap_y, lower, upper, bound, confidence, failure_probability, status, solved, and the ledger of oracle calls.
    observation_weights_ : array of shape (n_observations,)
        The adversary's weights, of mean 1: the larger, the harder the observation.
    trace_ : dict of arrays
        One entry for each look at the certificate.
    n_iter_ : int
    rank_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from couloir import MatrixCompletion
    >>> rng = np.random.default_rng(0)
    >>> u, v = rng.normal(size=(60, 2)), rng.normal(size=(50, 2))
    >>> rows, cols = rng.integers(0, 60, 1500), rng.integers(0, 50, 1500)
    >>> values = (u[rows] * v[cols]).sum(axis=1)
    >>> model = MatrixCompletion((60, 50), tau=110.0, tol=1e-2).fit(rows, cols, values)
    >>> bool(model.certificate_["gap"] <= 1e-2)
    True
    >>> model.predict([0, 1], [2, 3]).shape
    (2,)
    """

    def __init__(
        self,
        shape: tuple[int, int],
        tau: float,
        loss: str = "squared",
        uncertainty: str = "chi2",
        level: float = 1.0,
        *,
        threshold: float = 1.0,
        tol: float = 1e-2,
        max_time: float | None = None,
        max_iter: int | None = 10_000,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.shape = shape
        self.tau = tau
        self.loss = loss
        self.uncertainty = uncertainty
        self.level = level
        self.threshold = threshold
        self.tol = tol
        self.max_time = max_time
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        rows: ArrayLike,
        cols: ArrayLike,
        values: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> MatrixCompletion:
        """Fits the matrix to the entries ``values`` at ``(rows, cols)``."""
        settings = self._settings()
        row, column = self._places(rows, cols)
        value = np.asarray(values, dtype=np.float64)
        if value.shape != row.shape:
            raise ValueError(f"there are {len(row)} places and values of shape {value.shape}")
        # entries of one row side by side are quicker to work on
        order = np.lexsort((column, row))
        group = None
        if groups is not None:
            group = np.asarray(groups)
            if group.shape != row.shape:
                raise ValueError(f"there are {len(row)} places and groups of shape {group.shape}")
            group = np.ascontiguousarray(np.unique(group, return_inverse=True)[1][order], dtype=np.uint32)
        answer = _couloir.fit_completion(row[order], column[order], value[order], settings, group)
        self.factors_ = factors_of((answer["left"], answer["values"], answer["right"]), settings["shape"])
        self.rank_ = len(self.factors_.s)
        self.observation_weights_ = np.empty(len(order))
        self.observation_weights_[order] = len(order) * answer["weights"]
        record = answer["record"]
        self.certificate_ = certificate(record)
        self.trace_ = answer["trace"]
        self.n_iter_ = record["iterations"]
        if answer["exception"] is not None:
            raise answer["exception"]
        if not record["solved"]:
            message = (
                f"the fit ended with status '{record['status']}' after {self.n_iter_} iterations at a certified gap of "
                f"{self.certificate_['gap']:.3g}; the tolerance is {self.tol:g}"
            )
            if record.get("trouble") is not None:
                message += f": {record['trouble']}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, rows: ArrayLike, cols: ArrayLike) -> Floats:
        """The entries of the matrix at ``(rows, cols)``."""
        check_is_fitted(self, "factors_")
        row, column = self._places(rows, cols)
        left, s, right = self.factors_
        predicted: Floats = np.einsum("ij,ij->i", left[row] * s, right[column])
        return predicted

    def _places(self, rows: ArrayLike, cols: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows and columns as the core takes them, after a check that they are places of the matrix."""
        places = []
        for what, given, size in zip(("rows", "cols"), (rows, cols), self.shape, strict=True):
            index = np.asarray(given)
            if index.ndim != 1 or not (index.size == 0 or np.issubdtype(index.dtype, np.integer)):
                raise ValueError(f"{what} must be a list of whole numbers, got {index.dtype} of shape {index.shape}")
            outside = (index < 0) | (index >= size)
            if outside.any():
                at = int(outside.argmax())
                raise ValueError(f"{what}[{at}] is {index[at]}; the shape is {self.shape}")
            places.append(np.ascontiguousarray(index, dtype=np.uint32))
        if len(places[0]) != len(places[1]):
            raise ValueError(f"there are {len(places[0])} rows and {len(places[1])} cols")
        return places[0], places[1]

    def _settings(self) -> dict[str, Any]:
        m, k = self.shape
        for name in ("tau", "level", "threshold", "tol"):
            check_number(name, getattr(self, name))
        if self.max_time is not None:
            check_number("max_time", self.max_time, "a positive number or None")
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter, least=1)
        return {
            "shape": (int(m), int(k)),
            "tau": float(self.tau),
            "loss": self.loss,
            "threshold": float(self.threshold),
            "uncertainty": self.uncertainty,
            "level": float(self.level),
            "tol": float(self.tol),
            "max_time": self.max_time,
            "max_iter": self.max_iter,
            "seed": int(self.random_state),
            "threads": None if self.n_jobs in (None, -1) else int(self.n_jobs),
        }
