"""Accuracy with all defaults against LogisticRegression with all of its: the table of docs/python.md.

Takes about a minute. An argument sets how often the 5-fold cross-validation is repeated, 10 by default.
"""

import sys
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold

from couloir import RobustClassifier


def measure(model, X, y, repeats):
    """Mean accuracy, and the mean loss of the worst tenth of the rows."""
    accuracy, worst = [], []
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    for train, test in folds.split(X, y):
        model.fit(X[train], y[train])
        accuracy.append(model.score(X[test], y[test]))
        losses = np.sort(-model.predict_log_proba(X[test])[np.arange(len(test)), y[test]])
        worst.append(losses[-int(np.ceil(len(losses) / 10)) :].mean())
    return 100 * np.mean(accuracy), np.mean(worst)


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    # the defaults of LogisticRegression do not suffice for data that are not scaled
    warnings.simplefilter("ignore", ConvergenceWarning)
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        for model in (RobustClassifier(), LogisticRegression()):
            accuracy, worst = measure(model, X, y, repeats)
            name = f"{load.__name__[5:]:14} {type(model).__name__:20}"
            print(f"{name} accuracy {accuracy:.2f} %, CVaR 10 % {worst:.3f}", flush=True)


if __name__ == "__main__":
    main()
