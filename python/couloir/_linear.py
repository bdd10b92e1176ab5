"""What the robust linear models share: their settings, the scaling of columns, and what they keep of a fit."""

from __future__ import annotations

import os
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from ._records import certificate

Floats = NDArray[np.float64]

# columns that are looked at together when a dense array is scaled
_BLOCK = 64
# as for the command
_MOST_THREADS = 4096
# the tolerance where none is set
_DENSE_TOL, _SPARSE_TOL = 0.01, 0.1
_RADIUS = "a positive number, 'auto' or a multiple of it like '0.5auto'"


class RobustLinear(BaseEstimator):  # type: ignore[misc]
    """A linear model that is fitted under the worst weights of its rows."""

    def _settings(self, tau: float | str, level: float | None) -> dict[str, Any]:
        given, times = radius(tau)
        if level is not None:
            check_level("level", level)
        if self.tol is not None:
            check_number("tol", self.tol, "a positive number or None")
        if self.max_time is not None:
            check_number("max_time", self.max_time, "a positive number or None")
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter, least=1)
        if not (self.scale in (True, False) or self.scale == "auto"):
            raise ValueError(f"scale must be True, False or 'auto', got {self.scale!r}")
        return {
            "ball": self.ball,
            "loss": self.loss,
            "threshold": float(getattr(self, "threshold", 1.0)),
            "tau": given,
            "tau_times": times,
            "uncertainty": self.uncertainty,
            "level": None if level is None else float(level),
            "class_weight": None,
            "objective": getattr(self, "objective", "dro"),
            "method": self.method,
            # set when the rows are known
            "tol": float(self.tol or _DENSE_TOL),
            "max_time": self.max_time,
            "max_iter": self.max_iter,
            "fit_intercept": bool(self.fit_intercept),
            "seed": self._seed(),
            "threads": self._threads(),
        }

    def _tolerance(self, X: Any) -> float:
        if self.tol is not None:
            return float(self.tol)
        return _SPARSE_TOL if sp.issparse(X) else _DENSE_TOL

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, Integral) and int(self.random_state) >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _threads(self) -> int | None:
        if self.n_jobs is None or self.n_jobs == -1:
            return None
        check_count("n_jobs", self.n_jobs, least=None)
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0")
        if self.n_jobs < 0:
            return max(1, (os.cpu_count() or 1) + 1 + int(self.n_jobs))
        if self.n_jobs > _MOST_THREADS:
            raise ValueError(f"n_jobs must be at most {_MOST_THREADS}, got {self.n_jobs!r}")
        return int(self.n_jobs)

    def _columns(self, X: Any, weights: Floats | None) -> tuple[Floats, Floats]:
        """What to take off each column, and what to multiply it by."""
        if weights is not None:
            some = weights > 0.0
            X, weights = (X, weights) if some.all() else (X[some], weights[some])
            # all the same are none
            weights = None if np.ptp(weights) == 0.0 else weights / weights.max()
        centre, size = np.zeros(X.shape[1]), np.ones(X.shape[1])
        scaled = not sp.issparse(X) if isinstance(self.scale, str) else self.scale
        if scaled and sp.issparse(X):
            size = abs(X).max(axis=0).toarray().ravel()
        elif scaled:
            # some columns at a time, so that no copy of the whole is made
            for first in range(0, X.shape[1], _BLOCK):
                block = slice(first, first + _BLOCK)
                centre[block], size[block] = self._centre_and_size(X[:, block], weights)
        factor = 1.0 / np.where(size > 0.0, size, 1.0)
        return centre, np.where(np.isfinite(factor), factor, 1.0)

    def _centre_and_size(self, X: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of dense columns, by these weights of the rows."""
        # in one order, for the same bits however X lies
        shares = np.array(X, order="C")
        # numbers near the ends of the range must not overflow on the way
        largest = np.maximum(shares.max(axis=0), -shares.min(axis=0))
        largest[largest == 0.0] = 1.0
        shares /= largest
        if self.fit_intercept:
            middle = np.average(shares, axis=0, weights=weights)
            centre = middle * largest
            if weights is None:
                spread = shares.std(axis=0)
            else:
                spread = np.sqrt(np.average((shares - middle) ** 2, axis=0, weights=weights))
        else:
            centre = np.zeros(X.shape[1])
            spread = np.sqrt(np.average(shares**2, axis=0, weights=weights))
        # a column that is the same in every row but for rounding says nothing
        return centre, np.where(spread > 1e-12, spread * largest, largest)

    def _keep_record(self, answer: dict[str, Any], rows: int) -> None:
        """The attributes that every model has."""
        self.sample_weights_ = rows * answer["row_weights"]
        self._adversary = answer["y"]
        self.certificate_ = certificate(self._record)
        self.trace_ = answer["trace"]
        self.tau_ = self._record["tau"]
        self.rank_ = self._record["rank"]
        self.singular_values_ = answer["singular_values"]
        self.n_iter_ = self._record["iterations"]

    def _warn(self) -> None:
        c = self.certificate_
        message = (
            f"the fit ended with status '{c['status']}' after {self.n_iter_} iterations at a certified gap of "
            f"{c['gap']:.3g} (x: {c['gap_x']:.3g}, y: {c['gap_y']:.3g}); tol is {self._record['tol']:.3g}"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=4)


def weights_of(sample_weight: ArrayLike | None, X: Any) -> Floats | None:
    """The weights of the rows, checked as everywhere in scikit-learn."""
    if sample_weight is None:
        return None
    weights: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero; at least one must be positive")
    return np.ascontiguousarray(weights)


def group_numbers(groups: ArrayLike | None, X: Any) -> NDArray[np.uint32] | None:
    """The groups of the rows, numbered in the order of their labels."""
    if groups is None:
        return None
    labels = column_or_1d(groups)
    check_consistent_length(X, labels)
    _, numbers = np.unique(labels, return_inverse=True)
    return numbers.astype(np.uint32)


def core_rows(X: Any) -> Any:
    """Rows as the core takes them."""
    return (X.indptr, X.indices, X.data) if sp.issparse(X) else X


def print_progress(units: int, iteration: int, seconds: float, gap: float) -> None:
    """Prints the gap in units of the loss, as in the certificate."""
    print(f"iteration {iteration}, {seconds:.2f} s, certified gap {units * gap:.3e}", flush=True)


def check_number(name: str, value: Any, what: str = "a positive number") -> None:
    if isinstance(value, (bool, str)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {what}, got {value!r}")
    if not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be {what}, got {value!r}")


def check_level(name: str, value: Any) -> None:
    """Which levels a set takes is the core's to say."""
    if isinstance(value, (bool, str)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number or None, got {value!r}")


def check_count(name: str, value: Any, least: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer or None, got {value!r}")
    if least is not None and value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")


def radius(value: Any, name: str = "tau") -> tuple[float | None, float]:
    """A radius, or none and the multiple of the one that is chosen from the data."""
    if isinstance(value, str):
        factor = value.removesuffix("auto").strip().removesuffix("*")
        try:
            times = float(factor) if factor else 1.0
        except ValueError:
            times = float("nan")
        if not value.endswith("auto") or not 0 < times < float("inf"):
            raise ValueError(f"{name} must be {_RADIUS}, got {value!r}")
        return None, times
    check_number(name, value, _RADIUS)
    return float(value), 1.0
