"""The choice of the radius by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.validation import validate_data

from . import _couloir
from ._classifier import (
    RobustClassifier,
    _check_count,
    _check_number,
    _classes_and_labels,
    _core_rows,
)

# the measures of the core, in its order, and whether more is better
_MEASURES = {"accuracy": 1.0, "worst-recall": 1.0, "cvar": -1.0, "loss": -1.0}
# each radius of the automatic grid over the one before
_RATIO = 3.0


class RobustClassifierCV(RobustClassifier):
    """A :class:`RobustClassifier` that chooses ``tau`` and ``lambda_n`` by cross-validation.

    For every fold and every ``lambda_n`` the radii are fitted in growing order, each from the solution before it, and
    measured on the rows held back; folds run in parallel in the core. The chosen pair is then fitted to all rows.

    Parameters
    ----------
    taus : int or sequence of float, default=5
        The radii, or how many: a geometric grid around what ``RobustClassifier`` would choose, each 3 times the one
        before.
    lambda_ns : sequence of float, default=(1.0,)
        The prices of the adversary.
    cv : int, splitter or None, default=None
        As everywhere in scikit-learn; None is 5-fold, stratified.
    criterion : {"accuracy", "worst-recall", "cvar", "loss"}, default="accuracy"
        What is best on average over the folds: accuracy, the recall of the worst class, the mean of the largest tenth
        of the losses, the mean loss. Ties go to the smaller radius, then to the first ``lambda_n``.

    The other parameters are those of :class:`RobustClassifier`; ``max_time`` and ``max_iter`` hold for every single
    fit. Fits in the folds do not warn when they fall short; the last one does.

    Attributes
    ----------
    taus_ : array of shape (n_taus,)
    cv_measures_ : dict of arrays of shape (n_lambda_ns, n_folds, n_taus)
        All four measures.
    lambda_n_ : float
        The choice; the radius chosen is ``tau_``.

    All attributes of :class:`RobustClassifier` are there too, of the last fit.
    """

    def __init__(
        self,
        taus: int | Sequence[float] = 5,
        lambda_ns: Sequence[float] = (1.0,),
        cv: Any = None,
        criterion: str = "accuracy",
        objective: str = "dro",
        method: str = "certified",
        tol: float = 0.1,
        max_time: float | None = None,
        max_iter: int | None = 10_000,
        fit_intercept: bool = True,
        scale: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.taus = taus
        self.lambda_ns = lambda_ns
        self.cv = cv
        self.criterion = criterion
        self.objective = objective
        self.method = method
        self.tol = tol
        self.max_time = max_time
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike) -> RobustClassifierCV:
        """Chooses by cross-validation and fits the choice to all rows."""
        if self.criterion not in _MEASURES:
            raise ValueError(f"criterion must be one of {list(_MEASURES)}, got {self.criterion!r}")
        for lambda_n in self.lambda_ns:
            _check_number("lambda_ns", lambda_n, "positive numbers")
        if len(self.lambda_ns) == 0:
            raise ValueError("lambda_ns must not be empty")
        settings = self._settings("auto", 1.0)
        checked, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        classes, labels = _classes_and_labels(y)
        self.taus_ = self._grid(checked, len(classes))
        folds = [
            self._fold(checked, labels, train, held_back)
            for train, held_back in check_cv(self.cv, labels, classifier=True).split(checked, labels)
        ]
        table = np.array(
            _couloir.path_robust(
                folds,
                len(classes),
                settings,
                self.taus_.tolist(),
                [float(lambda_n) for lambda_n in self.lambda_ns],
            )
        )
        self.cv_measures_ = {name: table[..., k] for k, name in enumerate(_MEASURES)}
        merit = _MEASURES[self.criterion] * self.cv_measures_[self.criterion].mean(axis=1)
        # by radius first, so that ties go to the smaller one
        tau, lambda_n = np.unravel_index(merit.T.argmax(), merit.T.shape)
        self.lambda_n_ = float(self.lambda_ns[lambda_n])
        self._fit(X, y, self._settings(float(self.taus_[tau]), self.lambda_n_), None)
        return self

    def _grid(self, X: Any, classes: int) -> NDArray[np.float64]:
        if isinstance(self.taus, (int, np.integer)):
            _check_count("taus", self.taus, least=1)
            centre = _couloir.auto_tau(_core_rows(X), *self._columns(X), classes)
            powers = np.arange(self.taus) - 0.5 * (self.taus - 1)
            return np.asarray(centre * _RATIO**powers, dtype=np.float64)
        for tau in self.taus:
            _check_number("taus", tau, "a positive integer or increasing positive numbers")
        taus = np.array(self.taus, dtype=np.float64)
        if len(taus) == 0 or np.any(np.diff(taus) <= 0):
            raise ValueError(f"taus must increase, and there must be one, got {self.taus!r}")
        return taus

    def _fold(
        self,
        X: Any,
        labels: NDArray[np.uint32],
        train: NDArray[np.intp],
        held_back: NDArray[np.intp],
    ) -> dict[str, Any]:
        # scaled by the rows to train on alone, as the last fit is by all
        to_train_on = X[train]
        centre, factor = self._columns(to_train_on)
        return {
            "train": _core_rows(to_train_on),
            "train_labels": labels[train],
            "held_back": _core_rows(X[held_back]),
            "held_back_labels": labels[held_back],
            "centre": centre,
            "factor": factor,
        }
