"""The robust regressor, by the conventions of scikit-learn."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _couloir
from ._checkpoints import warn_of
from ._linear import (
    Floats,
    RobustLinear,
    check_number,
    core_rows,
    group_numbers,
    print_progress,
    weights_of,
)
from ._rows import canonical


class RobustRegressor(RegressorMixin, RobustLinear):  # type: ignore[misc]
    """Linear regression that is fitted to its hardest rows, with one or several targets.

    It minimises, over matrices of weights of norm at most ``tau``, the losses of the rows as an adversary weighs them::

        max over y in the uncertainty set of  sum_i y_i loss_i - penalty(y),   loss_i = sum_j l(score_ij - target_ij)

    Targets are centred and divided by their standard deviation while fitting, each by its own, so that ``tau``, ``tol``, ``level``
    and ``threshold`` do not depend on their units; ``coef_`` and ``intercept_`` are for targets as they came. Every fit comes
    with a certificate: an upper bound on the distance from the optimal value.

    Parameters
    ----------
    tau : float or str, default="auto"
        The radius of the ball, for scaled columns and targets. "auto" takes ``sqrt(n h)`` over the mean length of a row, for n rows and h
        targets (for the l1 balls: over the mean of the largest entry of a row), which leaves the fit almost free; "0.5auto"
        takes half of it.
    ball : {"nuclear", "l2", "l1", "group-l1"}, default="nuclear"
        The norm of the ball: "nuclear" for weights of low rank (with one target the same as "l2"), "l2" for small weights, as in
        ridge regression, "l1" for few weights, "group-l1" for few features.
    loss : {"squared", "huber"}, default="squared"
        The loss of a residual r: ``r^2/2``, or the same up to ``threshold`` and linear from there on.
    threshold : float, default=1.35
        The residual at which the Huber loss turns linear, in standard deviations of the target.
    uncertainty : {"chi2", "kl", "cvar", "chi2-ball", "kl-ball", "tv-ball", "group", "none"}, default="chi2"
        What the adversary may do, as for :class:`RobustClassifier`.
    level : float or None, default=None
        How far it goes, as for :class:`RobustClassifier`.
    tol : float, default=1e-3
        Stop when the certified gap is at most this, in units of the loss of scaled targets: the loss of predicting the mean is 0.5
        for each target.
    method, max_time, max_iter, fit_intercept, scale, random_state, n_jobs, verbose
        As for :class:`RobustClassifier`.

    Attributes
    ----------
    coef_ : array of shape (n_features,), or (n_targets, n_features) for targets in columns
    intercept_ : float, or array of shape (n_targets,)
    sample_weights_ : array of shape (n_samples,)
        The adversary's weights, of mean 1: the larger, the harder the row. Rows of weight zero have none.
    n_iter_, certificate_, trace_, tau_, rank_, singular_values_, n_features_in_, feature_names_in_
        As for :class:`RobustClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from couloir import RobustRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RobustRegressor().fit(X, y)
    >>> model.certificate_["gap"] <= model.tol and model.score(X, y) > 0.45
    True
    """

    def __init__(
        self,
        tau: float | str = "auto",
        ball: str = "nuclear",
        loss: str = "squared",
        threshold: float = 1.35,
        uncertainty: str = "chi2",
        level: float | None = None,
        method: str = "certified",
        tol: float = 1e-3,
        max_time: float | None = None,
        max_iter: int | None = 10_000,
        fit_intercept: bool = True,
        scale: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.tau = tau
        self.ball = ball
        self.loss = loss
        self.threshold = threshold
        self.uncertainty = uncertainty
        self.level = level
        self.method = method
        self.tol = tol
        self.max_time = max_time
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> RobustRegressor:
        """Fits the weights to rows and their targets.

        ``sample_weight`` says what each row weighs: whole numbers count it so often, and rows of weight zero are left out.
        ``groups`` has a label for each row, which ``uncertainty="group"`` needs.
        """
        check_number("threshold", self.threshold)
        settings = self._settings(self.tau, self.level)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            accept_large_sparse=True,
            ensure_min_samples=2,
            multi_output=True,
            y_numeric=True,
        )
        X = canonical(X)
        targets = np.ascontiguousarray(y, dtype=np.float64)
        flat = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        weights = weights_of(sample_weight, X)
        middle, spread = self._targets(targets, weights)
        centre, factor = self._columns(X, weights)
        answer = _couloir.fit_robust(
            core_rows(X),
            centre,
            factor,
            np.ascontiguousarray((targets - middle) / spread),
            targets.shape[1],
            settings,
            None,
            partial(print_progress, 1) if self.verbose else None,
            None,
            weights,
            group_numbers(groups, X),
        )
        entries = int(X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X))
        self._record = {**answer["record"], "entries": entries}
        coef = answer["weights"].reshape(targets.shape[1], X.shape[1]) * spread[:, None]
        bias = middle + (answer["bias"] * spread if self.fit_intercept else 0.0)
        self.coef_ = coef.ravel() if flat else coef
        self.intercept_ = float(bias[0]) if flat else bias
        self._keep_record(answer, X.shape[0])
        if answer["exception"] is not None:
            raise answer["exception"]
        warn_of(answer, stacklevel=2)
        if not self.certificate_["solved"]:
            self._warn()
        return self

    def _targets(self, targets: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """What is taken off each target, and what it is divided by."""
        if weights is not None:
            some = weights > 0.0
            targets, weights = targets[some], weights[some] / weights.max()
        middle = np.average(targets, axis=0, weights=weights)
        if not self.fit_intercept:
            middle = np.zeros_like(middle)
        spread = np.sqrt(np.average((targets - middle) ** 2, axis=0, weights=weights))
        largest = np.abs(targets).max(axis=0)
        # a target that is the same in every row but for rounding
        return middle, np.where(spread > 1e-12 * largest, spread, 1.0)

    def predict(self, X: Any) -> Floats:
        """The predicted targets of each row."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        predicted: Floats = np.asarray(X @ self.coef_.T) + self.intercept_
        return predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags
