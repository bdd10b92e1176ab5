"""scikit-learn's LogisticRegression on an 80/20 split of a file: `split` writes the two parts, `fit` fits and measures."""

import json
import sys
import time
import warnings

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

RARE = 5  # classes with fewer rows cannot be split in proportion: all of them train
MAX_ITER = 100  # scikit-learn's default


def split(rows, labels):
    """Stratified; rows of rare classes train, and so do those with the last feature, that both parts be as wide."""
    counts = dict(zip(*np.unique(labels, return_counts=True)))
    last = rows[:, [rows.shape[1] - 1]].toarray().ravel() != 0
    fixed = np.array([counts[b] < RARE for b in labels]) | last
    free = np.flatnonzero(~fixed)
    train, test = train_test_split(free, test_size=0.2, random_state=0, stratify=labels[free])
    return np.sort(np.concatenate([train, np.flatnonzero(fixed)])), np.sort(test)


def cvar(losses, share=0.1):
    """The mean of the largest tenth, the last row in part: as `couloir evaluate` has it."""
    falling, size = np.sort(losses)[::-1], share * len(losses)
    whole = int(size)
    return (falling[:whole].sum() + (size - whole) * falling[whole]) / size


def fit(rows, labels, max_iter):
    """The model, its seconds, and whether it converged."""
    model = LogisticRegression(max_iter=max_iter)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(rows, labels)
        seconds = time.perf_counter() - start
    return model, seconds, not any(issubclass(w.category, ConvergenceWarning) for w in caught)


def main():
    source, train_file, test_file = sys.argv[1:]
    rows, labels = load_svmlight_file(source)
    train, test = split(rows, labels)
    max_iter, by_default = MAX_ITER, None
    for line in sys.stdin:
        if line.split() == ["split"]:
            for part, file in ((train, train_file), (test, test_file)):
                dump_svmlight_file(rows[part], labels[part].astype(int), file, zero_based=False)
            print(json.dumps({"train": len(train), "test": len(test)}))
            continue
        model, seconds, converged = fit(rows[train], labels[train], max_iter)
        if by_default is None:
            by_default = converged
        while not converged:
            max_iter *= 10
            model, seconds, converged = fit(rows[train], labels[train], max_iter)
        chances = model.predict_log_proba(rows[test])
        own = np.searchsorted(model.classes_, labels[test])
        losses = -chances[np.arange(len(test)), own]
        print(json.dumps({
            "seconds": seconds, "iterations": int(model.n_iter_.max()), "max_iter": max_iter,
            "converged_by_default": by_default, "mean_loss": losses.mean(), "cvar_10": cvar(losses),
            "accuracy": float((model.classes_[chances.argmax(axis=1)] == labels[test]).mean()),
        }))


if __name__ == "__main__":
    main()
