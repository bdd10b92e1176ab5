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


def _places(y: ArrayLike, classes: Any) -> Any:
    """The place of each label among the classes."""
    given = np.asarray(y)
    places = np.searchsorted(classes, given).clip(max=len(classes) - 1)
    strange = classes[places] != given
    if np.any(strange):
        raise ValueError(f"y has a label that the fit did not have: {given[strange].tolist()[0]!r}")
    return places.astype(np.uint32)
