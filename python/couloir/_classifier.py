"""The robust classifier, by the conventions of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _couloir
from ._checkpoints import checkpoint_options, warn_of
from ._linear import Floats, RobustLinear, core_rows, group_numbers, print_progress, weights_of
from ._rows import canonical


class RobustClassifier(ClassifierMixin, RobustLinear):  # type: ignore[misc]
    """A linear classifier that is fitted to its hardest rows.

    It minimises, over matrices of weights of norm at most ``tau``, the losses of the rows as an adversary weighs them. The adversary starts from nominal weights q, which are equal unless ``sample_weight`` or
    ``class_weight`` say otherwise, and pays for moving away from them::

        max over y in the simplex of  sum_i y_i loss_i - penalty(y)

    Every fit comes with a certificate: an upper bound on the distance from the optimal value.

    Parameters
    ----------
    tau : float or str, default="auto"
        The radius of the ball. "auto" takes ``sqrt(n h)`` over the mean length of a row, for n rows and h classes (for the
        l1 balls: over the mean of the largest entry of a row), and "0.5auto" half of it.
    ball : {"nuclear", "l2", "l1", "group-l1"}, default="nuclear"
        The norm of the ball: "nuclear" for weights of low rank, "l2" for small weights, as in ridge regression, "l1" for few
        weights, "group-l1" for few features.
    loss : {"logistic", "hinge"}, default="logistic"
        The loss of a row: multinomial logistic, or a smoothed hinge, whose probabilities are the softmax of the scores all
        the same and are not calibrated.
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
    tol : float or None, default=None
        Stop when the certified gap is at most this, in units of the loss. None is 0.01 for dense data and 0.1 for sparse data: on text, test
        accuracy no longer changes below that, and the losses are far closer to their optimum than the gap can prove. Take
        1e-3 where the weights themselves matter; it takes up to five times as long.
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
    >>> model.certificate_["gap"] <= 0.01
    True
    """

    def __init__(
        self,
        tau: float | str = "auto",
        ball: str = "nuclear",
        loss: str = "logistic",
        uncertainty: str = "chi2",
        level: float | None = None,
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
        warm_start: bool = False,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: str | os.PathLike[str] | None = None,
    ) -> None:
        self.tau = tau
        self.ball = ball
        self.loss = loss
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
        weights = weights_of(sample_weight, X)
        settings["class_weight"] = _class_factors(self.class_weight, classes)
        settings["tol"] = self._tolerance(X)
        centre, factor = self._columns(X, weights)
        units = X.shape[0] if self.objective == "paper" else 1
        start = _start(before, classes, X.shape)
        answer = _couloir.fit_robust(
            core_rows(X),
            centre,
            factor,
            labels,
            len(classes),
            settings,
            start,
            partial(print_progress, units) if self.verbose else None,
            checkpoints,
            weights,
            group_numbers(groups, X),
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
        self._keep_record(answer, shape[0])


def _classes_and_labels(y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """The classes, and the place of each row's among them."""
    check_classification_targets(y)
    classes, labels = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes; it has one class only, {classes[0]!r}")
    return classes, labels.astype(np.uint32)


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
