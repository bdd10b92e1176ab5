"""The robust classifier, by the conventions of scikit-learn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _couloir
from ._checkpoints import checkpoint_options, warn_of
from ._rows import canonical
from ._records import certificate

Floats = NDArray[np.float64]

# columns that are looked at together when a dense array is scaled
_BLOCK = 64
# as for the command
_MOST_THREADS = 4096


class RobustClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier that is fitted to its hardest rows.

    It minimises, over matrices of weights of nuclear norm at most ``tau``, the softmax losses of the rows as an
    adversary weighs them. The adversary starts from nominal weights q, which are equal unless ``sample_weight`` or
    ``class_weight`` say otherwise, and pays for moving away from them::

        max over y in the simplex of  sum_i y_i loss_i - penalty(y)

    Every fit comes with a certificate: an upper bound on the distance from the optimal value.

    Parameters
    ----------
    tau : float or "auto", default="auto"
        The radius of the nuclear-norm ball. "auto" takes ``sqrt(n h)`` over the mean length of a row, for n rows
        and h classes.
    uncertainty : {"chi2", "kl", "cvar", "chi2-ball", "kl-ball", "tv-ball", "group", "label", "none"}, default="chi2"
        What the adversary may do, and what it costs, with c the ``level``:

        - "chi2": any weights, at the cost ``c/2 sum_i (y_i - q_i)^2 / q_i``;
        - "kl": any weights, at the cost ``c sum_i y_i log(y_i / q_i)``;
        - "cvar": weights ``y_i <= q_i / alpha``, so that the worst share alpha of the rows counts;
        - "chi2-ball", "kl-ball", "tv-ball": weights with ``sum_i (y_i - q_i)^2 / q_i``, ``sum_i y_i log(y_i / q_i)`` or
          ``1/2 sum_i |y_i - q_i|`` at most rho;
        - "group": weights w of the G groups that ``fit`` takes, at the cost ``c/2 G sum_g (w_g - 1/G)^2``; within a group rows
          keep their proportions;
        - "label": the same with the classes as groups, and their shares in q in place of 1/G;
        - "none": nothing, which is the plain model.
    level : float or None, default=None
        The strength c of the penalty: smaller values give the adversary more freedom, large ones leave the weights
        where the penalty is zero; for "group" and "label" 0 is the worst group alone. For "cvar" it is alpha, at most 1, and for
        the balls rho, where larger values give more freedom and 0 is the plain model. None is 1 for "chi2" and "kl", 0.1 for
        "group" and "label", 0.3 for "cvar" and "kl-ball", 0.5 for "chi2-ball" and 0.2 for "tv-ball".
    class_weight : None, "balanced" or dict, default=None
        Factors for the weights of the rows of each class. "balanced" gives all classes the same weight in total; classes that a
        dict does not name have the factor 1.
    objective : {"dro", "paper"}, default="dro"
        "paper" divides the losses by n, the scaling printed in the paper, with nearly uniform weights; for "chi2" alone.
    method : str, default="certified"
        The method of the core, by the name that the command line knows it by.
    tol : float, default=0.1
        Stop when the certified gap is at most this, in units of the loss. The default is that of the command: on text,
        test accuracy no longer changes below it, and the losses are far closer to their optimum than the gap can
        prove. Take 1e-3 where the weights themselves matter; it takes up to five times as long.
    max_time : float, default=None
        Stop after this many seconds of the method's own work.
    max_iter : int, default=10000
        Stop after this many iterations; None for no limit.
    fit_intercept : bool, default=True
        Whether each class has a constant of its own: the weight of one more feature, which has the same value in
        every row, that of the heaviest feature (by root mean square). It lies in the ball with all other weights.
    scale : {"auto", True, False}, default="auto"
        Whether to centre every column and divide it by its standard deviation (sparse columns: divide by the largest
        absolute value, which leaves zeros zero) while fitting. ``coef_`` and ``intercept_`` are for the data as they
        came. "auto" scales dense data and leaves sparse data, such as text, as they are. Without an intercept nothing
        is centred.
    random_state : int, RandomState or None, default=None
        The seed of methods that sample; "certified" draws nothing. None is seed 0.
    n_jobs : int or None, default=None
        Threads; None and -1 for as many as there are cores. The result does not depend on it.
    warm_start : bool, default=False
        Whether to start from the last fit, where it had the same classes and features.
    verbose : int, default=0
        Print the certificate about 20 times a second while fitting.
    checkpoint : path, default=None
        Keep the state of the fit in this file, to go on from.
    checkpoint_every : float, default=60.0
        Seconds from one checkpoint to the next; one is written at the end in any case.
    resume : path, default=None
        Go on from this checkpoint, with the same bits as if the fit had never stopped, and keep checkpoints there unless
        ``checkpoint`` names another file. Data and parameters must be the same, but for ``tol``, ``max_time``,
        ``max_iter`` and ``n_jobs``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : array of shape (n_classes,), or (1,)
    n_iter_ : int
    sample_weights_ : array of shape (n_samples,)
        The adversary's weights, of mean 1: the larger, the harder the row. Rows of weight zero have none.
    certificate_ : dict
        gap, gap_x, gap_y, lower, upper, bound, confidence, status, solved, and the ledger of oracle calls.
    trace_ : dict of arrays
        One entry for each look at the certificate, ready for ``pandas.DataFrame``.
    tau_ : float
        The radius, given or chosen.
    rank_ : int
        The rank of the matrix of weights.
    singular_values_ : array of shape (min(n_classes, n_features + 1),)
        Of the matrix of weights inside the ball, for scaled columns and with the intercept's; largest first.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the columns had names.

    Notes
    -----
    Ctrl-C ends a fit after the iteration under way. The estimator then holds the best point up to there, the checkpoint
    is written where there is one, and ``KeyboardInterrupt`` is raised.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from couloir import RobustClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RobustClassifier().fit(X, y)
    >>> model.certificate_["gap"] <= model.tol
    True
    """

    def __init__(
        self,
        tau: float | str = "auto",
        uncertainty: str = "chi2",
        level: float | None = None,
        class_weight: Any = None,
        objective: str = "dro",
        method: str = "certified",
        tol: float = 0.1,
        max_time: float | None = None,
        max_iter: int | None = 10_000,
        fit_intercept: bool = True,
        scale: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: str | os.PathLike[str] | None = None,
    ) -> None:
        self.tau = tau
        self.uncertainty = uncertainty
        self.level = level
        self.class_weight = class_weight
        self.objective = objective
        self.method = method
        self.tol = tol
        self.max_time = max_time
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.resume = resume

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> RobustClassifier:
        """Fits the weights to rows and their labels.

        ``sample_weight`` says what each row weighs: whole numbers count it so often, and rows of weight zero are left out.
        ``groups`` has a label for each row, which ``uncertainty="group"`` needs.
        """
        settings = self._settings(self.tau, self.level)
        before = self._last_fit() if self.warm_start else None
        checkpoints = checkpoint_options(self.checkpoint, self.checkpoint_every, self.resume)
        self._fit(X, y, settings, before, checkpoints, sample_weight, groups)
        return self

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        settings: dict[str, Any],
        before: tuple[NDArray[Any], Floats, Floats, Floats, int] | None,
        checkpoints: dict[str, Any] | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> None:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, accept_large_sparse=True
        )
        X = canonical(X)
        classes, labels = _classes_and_labels(y)
        weights = _weights(sample_weight, X)
        settings["class_weight"] = _class_factors(self.class_weight, classes)
        centre, factor = self._columns(X, weights)
        units = X.shape[0] if self.objective == "paper" else 1
        start = _start(before, classes, X.shape)
        answer = _couloir.fit_robust(
            _core_rows(X),
            centre,
            factor,
            labels,
            len(classes),
            settings,
            start,
            partial(_print_progress, units) if self.verbose else None,
            checkpoints,
            weights,
            _group_numbers(groups, X),
        )
        entries = int(X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X))
        self._record = {**answer["record"], "entries": entries}
        self._more_settings = [("scale", str(self.scale))]
        self._keep(answer, classes, X.shape)
        if answer["exception"] is not None:
            raise answer["exception"]
        warn_of(answer, stacklevel=3)
        if not self.certificate_["solved"]:
            self._warn()

    def decision_function(self, X: Any) -> Floats:
        """The scores: one for each class, or for two classes how much the second is ahead."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores: Floats = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[chosen]
        return predicted

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row."""
        probabilities: Floats = softmax(self._scores(X), axis=1)
        return probabilities

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the probabilities."""
        logarithms: Floats = log_softmax(self._scores(X), axis=1)
        return logarithms

    def _scores(self, X: Any) -> Floats:
        scores = self.decision_function(X)
        return scores if scores.ndim == 2 else np.column_stack([np.zeros_like(scores), scores])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _settings(self, tau: float | str, level: float | None) -> dict[str, Any]:
        auto = isinstance(tau, str) and tau == "auto"
        if not auto:
            _check_number("tau", tau, "a positive number or 'auto'")
        if level is not None:
            _check_level("level", level)
        _check_number("tol", self.tol)
        if self.max_time is not None:
            _check_number("max_time", self.max_time, "a positive number or None")
        if self.max_iter is not None:
            _check_count("max_iter", self.max_iter, least=1)
        if not (self.scale in (True, False) or self.scale == "auto"):
            raise ValueError(f"scale must be True, False or 'auto', got {self.scale!r}")
        return {
            "tau": None if auto else float(tau),
            "uncertainty": self.uncertainty,
            "level": None if level is None else float(level),
            "class_weight": None,
            "objective": self.objective,
            "method": self.method,
            "tol": float(self.tol),
            "max_time": self.max_time,
            "max_iter": self.max_iter,
            "fit_intercept": bool(self.fit_intercept),
            "seed": self._seed(),
            "threads": self._threads(),
        }

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, Integral) and int(self.random_state) >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _threads(self) -> int | None:
        if self.n_jobs is None or self.n_jobs == -1:
            return None
        _check_count("n_jobs", self.n_jobs, least=None)
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

    def _last_fit(self) -> tuple[NDArray[Any], Floats, Floats, Floats, int] | None:
        if not hasattr(self, "coef_"):
            return None
        coef, intercept = self.coef_, np.broadcast_to(self.intercept_, len(self.intercept_))
        if len(self.classes_) == 2:
            coef, intercept = _two_sided(coef), _two_sided(intercept)
        rows = len(self.sample_weights_)
        return self.classes_, coef, np.ascontiguousarray(intercept), self._adversary, rows

    def _keep(
        self, answer: dict[str, Any], classes: NDArray[Any], shape: tuple[int, int]
    ) -> None:
        weights, bias = answer["weights"].reshape(len(classes), shape[1]), answer["bias"]
        if len(classes) == 2:
            weights, bias = weights[1:] - weights[:1], bias[1:] - bias[:1]
        self.classes_ = classes
        self.coef_ = weights
        self.intercept_ = bias if self.fit_intercept else np.zeros_like(bias)
        self.sample_weights_ = shape[0] * answer["row_weights"]
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
            f"{c['gap']:.3g} (x: {c['gap_x']:.3g}, y: {c['gap_y']:.3g}); tol is {self.tol:.3g}"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=4)


def _classes_and_labels(y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """The classes, and the place of each row's among them."""
    check_classification_targets(y)
    classes, labels = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes; it has one class only, {classes[0]!r}")
    return classes, labels.astype(np.uint32)


def _weights(sample_weight: ArrayLike | None, X: Any) -> Floats | None:
    """The weights of the rows, checked as everywhere in scikit-learn."""
    if sample_weight is None:
        return None
    weights: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero; at least one must be positive")
    return np.ascontiguousarray(weights)


def _group_numbers(groups: ArrayLike | None, X: Any) -> NDArray[np.uint32] | None:
    """The groups of the rows, numbered in the order of their labels."""
    if groups is None:
        return None
    labels = column_or_1d(groups)
    check_consistent_length(X, labels)
    _, numbers = np.unique(labels, return_inverse=True)
    return numbers.astype(np.uint32)


def _class_factors(class_weight: Any, classes: NDArray[Any]) -> Any:
    """What the core takes for the weights of the classes."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    unknown = [key for key in class_weight if key not in classes.tolist()]
    if unknown:
        raise ValueError(f"class_weight names {unknown}, but the classes are {classes.tolist()}")
    return [float(class_weight.get(name, 1.0)) for name in classes.tolist()]


def _core_rows(X: Any) -> Any:
    """Rows as the core takes them."""
    return (X.indptr, X.indices, X.data) if sp.issparse(X) else X


def _start(
    before: tuple[NDArray[Any], Floats, Floats, Floats, int] | None,
    classes: NDArray[Any],
    shape: tuple[int, int],
) -> tuple[Floats, Floats, Floats | None] | None:
    if before is None:
        return None
    old, coef, intercept, adversary, rows = before
    if coef.shape != (len(classes), shape[1]) or not np.array_equal(old, classes):
        return None
    if intercept.shape != (len(classes),) or not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            f"warm_start: coef_ and intercept_ must hold finite numbers, intercept_ one for each of the {len(classes)} classes "
            f"(one for two), but its shape is {intercept.shape}; set warm_start=False, or leave them as fit made them"
        )
    return coef, intercept, adversary if rows == shape[0] else None


def _two_sided(difference: Floats) -> Floats:
    """Weights of two classes with this difference and the smallest norm."""
    return np.concatenate([-0.5 * difference, 0.5 * difference])


def _print_progress(units: int, iteration: int, seconds: float, gap: float) -> None:
    """Prints the gap in units of the loss, as in the certificate."""
    print(f"iteration {iteration}, {seconds:.2f} s, certified gap {units * gap:.3e}", flush=True)


def _check_number(name: str, value: Any, what: str = "a positive number") -> None:
    if isinstance(value, (bool, str)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {what}, got {value!r}")
    if not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be {what}, got {value!r}")


def _check_level(name: str, value: Any) -> None:
    """Which levels a set takes is the core's to say."""
    if isinstance(value, (bool, str)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number or None, got {value!r}")


def _check_count(name: str, value: Any, least: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer or None, got {value!r}")
    if least is not None and value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
