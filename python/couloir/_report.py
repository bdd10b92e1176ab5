"""The page about a fit that ``couloir fit --report`` writes, from Python."""

from __future__ import annotations

import json
import os
import platform
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from . import _couloir
from ._classifier import RobustClassifier


def report(
    model: RobustClassifier,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    data: str = "the data",
    groups: ArrayLike | None = None,
    test: tuple[Any, ...] | None = None,
) -> None:
    """Writes a page about a fit, for any browser: one HTML file that loads nothing from elsewhere.

    It has the certificate over time, the spectrum of the weights, the rows and classes that are hard, all settings and
    what is known of the machine. A file that is there is replaced whole, or left as it was where something goes wrong.

    Parameters
    ----------
    model : RobustClassifier or RobustClassifierCV
        Fitted.
    X, y : rows and labels
        Those of the fit: the estimator does not keep them.
    path : path
        The file to write.
    data : str, default="the data"
        How the page calls the data.
    groups : array of n labels, default=None
        The group of each row, for bars of every group.
    test : tuple, default=None
        Rows to measure on as well: ``(X, y)``, or ``(X, y, groups)``.
    """
    if not isinstance(model, RobustClassifier):
        raise TypeError(f"model must be a RobustClassifier, got {type(model).__name__}")
    check_is_fitted(model)
    scores = np.ascontiguousarray(model._scores(X))
    labels = _places(y, model.classes_)
    if len(labels) != len(scores) or len(labels) != len(model.sample_weights_):
        raise ValueError(
            f"X and y must be the rows of the fit: it had {len(model.sample_weights_)} rows, "
            f"X has {len(scores)} and y {len(labels)}"
        )
    details = {
        "names": [str(name) for name in model.classes_],
        "scores": scores,
        "labels": labels,
        "sample_weights": model.sample_weights_,
        "groups": _groups(groups, len(labels)),
        "test": _test(model, test),
        "singular_values": model.singular_values_,
        "trace": model.trace_,
        "settings": model._more_settings,
        "versions": [
            ("Python", platform.python_version()),
            ("NumPy", np.__version__),
            ("scikit-learn", sklearn.__version__),
        ],
    }
    record = json.dumps({**model._record, "data": data}, allow_nan=False)
    try:
        _couloir.write_fit_page(record, details, os.fspath(path))
    except OSError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from None


def _groups(groups: ArrayLike | None, rows: int) -> Any:
    """The number of each row's group, and the names of the groups."""
    if groups is None:
        return None
    names, numbers = np.unique(np.asarray(groups), return_inverse=True)
    if numbers.shape != (rows,):
        raise ValueError(f"groups must have one label for each of {rows} rows, got {numbers.shape}")
    return numbers.astype(np.uint32), [str(name) for name in names]


def _test(model: RobustClassifier, test: tuple[Any, ...] | None) -> Any:
    """The scores, the places of the labels and the groups of rows to test on."""
    if test is None:
        return None
    if len(test) not in (2, 3):
        raise ValueError("test must be (X, y) or (X, y, groups)")
    scores, labels = np.ascontiguousarray(model._scores(test[0])), _places(test[1], model.classes_)
    if len(scores) != len(labels):
        raise ValueError(f"test has {len(scores)} rows and {len(labels)} labels")
    return scores, labels, _groups(test[2] if len(test) == 3 else None, len(labels))


def _places(y: ArrayLike, classes: Any) -> Any:
    """The place of each label among the classes."""
    given = np.asarray(y)
    places = np.searchsorted(classes, given).clip(max=len(classes) - 1)
    strange = classes[places] != given
    if np.any(strange):
        raise ValueError(f"y has a label that the fit did not have: {given[strange].tolist()[0]!r}")
    return places.astype(np.uint32)
