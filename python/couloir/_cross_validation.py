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
    _check_level,
    _check_number,
    _class_factors,
    _classes_and_labels,
    _core_rows,
    _group_numbers,
    _weights,
)
from ._rows import canonical

# the measures of the core, in its order, and whether more is better
_MEASURES = {"accuracy": 1.0, "worst-recall": 1.0, "cvar": -1.0, "loss": -1.0}
# each radius of the automatic grid over the one before
_RATIO = 3.0


class RobustClassifierCV(RobustClassifier):
    """A :class:`RobustClassifier` that chooses ``tau`` and ``level`` by cross-validation.

    For every fold and every ``level`` the radii are fitted in growing order, each from the solution before it, and
    measured on the rows held back; folds run in parallel in the core. The chosen pair is then fitted to all rows.

    Parameters
    ----------
    taus : int or sequence of float, default=5
        The radii, or how many: a geometric grid around what ``RobustClassifier`` would choose, each 3 times the one
        before.
    levels : sequence of float or None, default=None
        The levels of the uncertainty set to choose from; None is its default alone.
    cv : int, splitter or None, default=None
        As everywhere in scikit-learn; None is 5-fold, stratified.
    criterion : {"accuracy", "worst-recall", "cvar", "loss"}, default="accuracy"
        What is best on average over the folds: accuracy, the recall of the worst class, the mean of the largest tenth
        of the losses, the mean loss. Ties go to the smaller radius, then to the first ``level``.

    The other parameters are those of :class:`RobustClassifier`; ``max_time`` and ``max_iter`` hold for every single
    fit. Fits in the folds do not warn when they fall short; the last one does.

    Attributes
    ----------
    taus_ : array of shape (n_taus,)
    cv_measures_ : dict of arrays of shape (n_levels, n_folds, n_taus)
        All four measures.
    level_ : float
        The choice; the radius chosen is ``tau_``.

    All attributes of :class:`RobustClassifier` are there too, of the last fit.
    """

    def __init__(
        self,
        taus: int | Sequence[float] = 5,
        levels: Sequence[float] | None = None,
        cv: Any = None,
        criterion: str = "accuracy",
        uncertainty: str = "chi2",
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
        verbose: int = 0,
    ) -> None:
        self.taus = taus
        self.levels = levels
        self.cv = cv
        self.criterion = criterion
        self.uncertainty = uncertainty
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
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> RobustClassifierCV:
        """Chooses by cross-validation and fits the choice to all rows.

        Weights and groups are those of :meth:`RobustClassifier.fit`. They count where rows are fitted; the measures on rows that
        are held back weigh all rows the same. A splitter that splits by groups gets them too.
        """
        if self.criterion not in _MEASURES:
            raise ValueError(f"criterion must be one of {list(_MEASURES)}, got {self.criterion!r}")
        levels: list[float | None] = [None]
        if self.levels is not None:
            for level in self.levels:
                _check_level("levels", level)
            levels = [float(level) for level in self.levels]
        if len(levels) == 0:
            raise ValueError("levels must not be empty")
        settings = self._settings("auto", None)
        checked, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        checked = canonical(checked)
        classes, labels = _classes_and_labels(y)
        weights, numbers = _weights(sample_weight, checked), _group_numbers(groups, checked)
        settings["class_weight"] = _class_factors(self.class_weight, classes)
        self.taus_ = self._grid(checked, len(classes), weights)
        splitter = check_cv(self.cv, labels, classifier=True)
        folds = [
            self._fold(checked, labels, train, held_back, weights, numbers)
            for train, held_back in splitter.split(checked, labels, groups)
        ]
        table = np.array(
            _couloir.path_robust(
                folds,
                len(classes),
                settings,
                self.taus_.tolist(),
                levels,
            )
        )
        self.cv_measures_ = {name: table[..., k] for k, name in enumerate(_MEASURES)}
        merit = _MEASURES[self.criterion] * self.cv_measures_[self.criterion].mean(axis=1)
        # by radius first, so that ties go to the smaller one
        tau, level = np.unravel_index(merit.T.argmax(), merit.T.shape)
        settings = self._settings(float(self.taus_[tau]), levels[level])
        self._fit(X, y, settings, None, None, sample_weight, groups)
        self.level_ = self._record["level"]
        return self

    def _grid(
        self, X: Any, classes: int, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        if isinstance(self.taus, (int, np.integer)):
            _check_count("taus", self.taus, least=1)
            columns = self._columns(X, weights)
            centre = _couloir.auto_tau(_core_rows(X), *columns, classes, weights)
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
        weights: NDArray[np.float64] | None,
        groups: NDArray[np.uint32] | None,
    ) -> dict[str, Any]:
        # scaled by the rows to train on alone, as the last fit is by all
        to_train_on = X[train]
        weights = None if weights is None else weights[train]
        centre, factor = self._columns(to_train_on, weights)
        if groups is not None:
            # a fold may lack a group
            groups = np.unique(groups[train], return_inverse=True)[1].astype(np.uint32)
        return {
            "train": _core_rows(to_train_on),
            "train_labels": labels[train],
            "held_back": _core_rows(X[held_back]),
            "held_back_labels": labels[held_back],
            "centre": centre,
            "factor": factor,
            "weights": weights,
            "groups": groups,
        }
