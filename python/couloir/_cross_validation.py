"""The choice of radius and level by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.validation import validate_data

from . import _couloir
from ._classifier import RobustClassifier, _class_factors, _classes_and_labels
from ._linear import check_count, check_level, core_rows, group_numbers, radius, weights_of
from ._rows import canonical

# the measures of the core, in its order, and whether more is better
_MEASURES = {
    "accuracy": 1.0,
    "worst-recall": 1.0,
    "balanced-accuracy": 1.0,
    "worst-group": 1.0,
    "cvar": -1.0,
    "loss": -1.0,
}
# each radius of the automatic grid over the one before
_RATIO = 3.0


class RobustClassifierCV(RobustClassifier):
    """A :class:`RobustClassifier` that chooses ``tau`` and ``level`` by cross-validation.

    For every fold and every ``level`` the radii are fitted in growing order, each from the solution before it, and
    measured on the rows held back; folds run in parallel in the core. The chosen pair is then fitted to all rows.

    Parameters
    ----------
    taus : int or sequence of float or str, default=5
        The radii, or how many: a geometric grid around what ``RobustClassifier`` would choose, each 3 times the one
        before. "auto" stands for what it would choose, and "0.5auto" for half of it.
    levels : sequence of float or None, default=None
        The levels of the uncertainty set to choose from; None is its default alone.
    cv : int, splitter or None, default=None
        As everywhere in scikit-learn; None is 5-fold, stratified.
    scoring : str or callable, default="accuracy"
        What is best on average over the folds. "accuracy", "worst-recall" (recall of the worst class), "balanced-accuracy",
        "worst-group" (accuracy on the worst of the ``groups`` that ``fit`` takes), "cvar" (the mean of the largest tenth of
        the losses) and "loss" (the mean loss) are measured in the core, all folds in parallel; any other scorer of scikit-learn, by
        its name or as a callable, is asked in Python, one fit at a time. Ties go to the smaller radius, then to the first
        ``level``.
    verbose : int, default=0
        Print a line for each level and radius, and the certificate of the last fit while it runs.

    A choice at the edge of the grid of radii or levels warns: a better one may lie beyond. The other parameters are those of :class:`RobustClassifier`; ``max_time`` and ``max_iter`` hold for every single
    fit. Fits in the folds do not warn when they fall short; the last one does.

    Attributes
    ----------
    taus_ : array of shape (n_taus,)
    cv_measures_ : dict of arrays of shape (n_levels, n_folds, n_taus)
        The measures of the core; for a scorer of scikit-learn its scores, under "score".
    level_ : float
        The choice; the radius chosen is ``tau_``.

    All attributes of :class:`RobustClassifier` are there too, of the last fit.
    """

    def __init__(
        self,
        taus: int | Sequence[float | str] = 5,
        levels: Sequence[float] | None = None,
        cv: Any = None,
        scoring: str | Callable[..., float] = "accuracy",
        ball: str = "nuclear",
        loss: str = "logistic",
        uncertainty: str = "chi2",
        class_weight: Any = None,
        objective: str = "dro",
        method: str = "certified",
        tol: float | None = None,
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
        self.scoring = scoring
        self.ball = ball
        self.loss = loss
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
        levels: list[float | None] = [None]
        if self.levels is not None:
            if np.ndim(self.levels) != 1:
                raise TypeError(f"levels must be a list of levels to choose from, such as [0.1, 1.0], or None; got {self.levels!r}")
            for level in self.levels:
                check_level("levels", level)
            levels = [float(level) for level in self.levels]
        if len(levels) == 0:
            raise ValueError("levels must not be empty")
        settings = self._settings("auto", None)
        checked, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        checked = canonical(checked)
        classes, labels = _classes_and_labels(y)
        weights, numbers = weights_of(sample_weight, checked), group_numbers(groups, checked)
        settings["class_weight"] = _class_factors(self.class_weight, classes)
        settings["tol"] = self._tolerance(checked)
        self.taus_ = self._grid(checked, len(classes), weights)
        splits = list(check_cv(self.cv, labels, classifier=True).split(checked, labels, groups))
        if isinstance(self.scoring, str) and self.scoring in _MEASURES:
            if self.scoring == "worst-group" and groups is None:
                raise ValueError("scoring='worst-group' needs groups: fit(X, y, groups=...)")
            folds = [
                self._fold(checked, labels, train, held_back, weights, numbers)
                for train, held_back in splits
            ]
            table = self._measure(folds, len(classes), settings, levels)
            self.cv_measures_ = {name: table[..., k] for k, name in enumerate(_MEASURES)}
            merit = _MEASURES[self.scoring] * self.cv_measures_[self.scoring].mean(axis=1)
        else:
            scores = self._score(checked, classes[labels], splits, levels, weights, numbers)
            self.cv_measures_ = {"score": scores}
            merit = scores.mean(axis=1)
        # by radius first, so that ties go to the smaller one
        tau, level = np.unravel_index(merit.T.argmax(), merit.T.shape)
        self._warn_at_the_edge(int(tau), levels, int(level))
        settings = self._settings(float(self.taus_[tau]), levels[level])
        self._fit(X, y, settings, None, None, sample_weight, groups)
        self.level_ = self._record["level"]
        return self

    def _measure(
        self,
        folds: list[dict[str, Any]],
        classes: int,
        settings: dict[str, Any],
        levels: list[float | None],
    ) -> NDArray[np.float64]:
        """The measures of the core by level, fold and radius."""
        taus = self.taus_.tolist()
        if not self.verbose:
            return np.array(_couloir.path_robust(folds, classes, settings, taus, levels))
        tables = []
        for level in levels:
            tables += _couloir.path_robust(folds, classes, settings, taus, [level])
            for tau, means in zip(taus, np.mean(tables[-1], axis=0), strict=True):
                told = ", ".join(f"{n} {m:.4f}" for n, m in zip(_MEASURES, means, strict=True))
                print(f"level {_named(level)}, tau {tau:.4g}: {told}", flush=True)
        return np.array(tables)

    def _score(
        self,
        X: Any,
        y: NDArray[Any],
        splits: list[tuple[NDArray[np.intp], NDArray[np.intp]]],
        levels: list[float | None],
        weights: NDArray[np.float64] | None,
        groups: NDArray[np.uint32] | None,
    ) -> NDArray[np.float64]:
        """What a scorer of scikit-learn says, by level, fold and radius."""
        own = set(RobustClassifier().get_params())
        shared = {name: value for name, value in self.get_params().items() if name in own}
        scorer = check_scoring(RobustClassifier(), scoring=self.scoring)
        scores = np.empty((len(levels), len(splits), len(self.taus_)))
        for i, level in enumerate(levels):
            for j, (train, held_back) in enumerate(splits):
                model = RobustClassifier(**{**shared, "warm_start": True, "verbose": 0})
                of_train = [None if w is None else w[train] for w in (weights, groups)]
                for k, tau in enumerate(self.taus_):
                    model.set_params(tau=float(tau), level=level)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", ConvergenceWarning)
                        model.fit(X[train], y[train], of_train[0], of_train[1])
                    scores[i, j, k] = scorer(model, X[held_back], y[held_back])
            if self.verbose:
                for tau, mean in zip(self.taus_, scores[i].mean(axis=0), strict=True):
                    print(f"level {_named(level)}, tau {tau:.4g}: score {mean:.4f}", flush=True)
        return scores

    def _warn_at_the_edge(self, tau: int, levels: list[float | None], level: int) -> None:
        """Warns if the choice is the smallest or the largest of what was tried."""
        tried = {"tau": (self.taus_.tolist(), tau), "level": (levels, level)}
        for name, (grid, place) in tried.items():
            chosen, rank = grid[place], sorted(grid, key=float).index(grid[place]) if len(grid) > 1 else 1
            if len(grid) > 2 and rank in (0, len(grid) - 1):
                edge = "smallest" if rank == 0 else "largest"
                message = (
                    f"the best {name}, {chosen:.4g}, is the {edge} of the grid; a better one may lie beyond: extend {name}s"
                )
                warnings.warn(message, UserWarning, stacklevel=4)

    def _grid(
        self, X: Any, classes: int, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        def auto() -> float:
            columns = self._columns(X, weights)
            return _couloir.auto_tau(core_rows(X), *columns, classes, self.ball, weights)

        if isinstance(self.taus, (int, np.integer)):
            check_count("taus", self.taus, least=1)
            powers = np.arange(self.taus) - 0.5 * (self.taus - 1)
            return np.asarray(auto() * _RATIO**powers, dtype=np.float64)
        if np.ndim(self.taus) != 1:
            raise TypeError(f"taus must be a positive integer or a list of increasing radii; got {self.taus!r}")
        radii = [radius(tau, "taus") for tau in self.taus]
        centre = auto() if any(given is None for given, _ in radii) else 1.0
        taus = np.array([times * centre if given is None else given for given, times in radii])
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
        of_held_back = None if groups is None else np.ascontiguousarray(groups[held_back])
        if groups is not None:
            # a fold may lack a group
            groups = np.unique(groups[train], return_inverse=True)[1].astype(np.uint32)
        return {
            "train": core_rows(to_train_on),
            "train_labels": labels[train],
            "held_back": core_rows(X[held_back]),
            "held_back_labels": labels[held_back],
            "held_back_groups": of_held_back,
            "centre": centre,
            "factor": factor,
            "weights": weights,
            "groups": groups,
        }


def _named(level: float | None) -> str:
    return "by default" if level is None else f"{level:g}"
