"""Rare classes: balanced logistic regression against robust models, as in docs/choosing-the-model.md on fewer splits.

Of three data sets of scikit-learn a part of the rows is taken to train on, of every class fewer than of the one before. Means over
seeds (5, or the first argument) of the recall of the worst class and of the mean loss of the worst tenth of the test rows (CVaR 10 %),
with the paired standard error of the difference in recall to balanced logistic regression.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from couloir import RobustClassifier

# each class has this share of the rows of the one before
SETS = [("wine", load_wine, 0.4), ("iris", load_iris, 0.4), ("digits", load_digits, 0.8)]


def logistic(**settings):
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, **settings))


MODELS = {
    "logistic balanced": lambda: logistic(class_weight="balanced"),
    "logistic": logistic,
    "couloir plain": lambda: RobustClassifier(uncertainty="none"),
    "couloir default": RobustClassifier,
    "couloir balanced": lambda: RobustClassifier(class_weight="balanced"),
    "couloir balanced, tol 0.01": lambda: RobustClassifier(class_weight="balanced", tol=0.01),
    "couloir label": lambda: RobustClassifier(uncertainty="label"),
    "couloir kl balanced": lambda: RobustClassifier(uncertainty="kl", class_weight="balanced"),
}


def fewer_and_fewer(y, share, seed):
    """Places of rows, with fewer of every class than of the one before."""
    draw = np.random.default_rng(seed)
    places = [draw.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    return np.concatenate([p[: max(6, int(len(p) * share**k))] for k, p in enumerate(places)])


def measure(model, train, test):
    probabilities = model.fit(*train).predict_proba(test[0])
    labels = test[1]
    losses = np.sort(-np.log(np.maximum(probabilities[np.arange(len(labels)), labels], 1e-300)))
    recall = recall_score(labels, probabilities.argmax(axis=1), average=None).min()
    return recall, losses[-len(losses) // 10 :].mean(), np.mean(probabilities.argmax(1) == labels)


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for data, load, share in SETS:
        X, y = load(return_X_y=True)
        rows = {name: [] for name in MODELS}
        for seed in range(seeds):
            train, test, y_train, y_test = train_test_split(
                X, y, test_size=0.4, stratify=y, random_state=seed
            )
            few = fewer_and_fewer(y_train, share, seed)
            for name, model in MODELS.items():
                rows[name].append(measure(model(), (train[few], y_train[few]), (test, y_test)))
        peer = np.array(rows["logistic balanced"])
        for name, values in rows.items():
            recall, cvar, accuracy = np.mean(values, axis=0)
            apart = np.array(values)[:, 0] - peer[:, 0]
            error = apart.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
            print(
                f"{data:8} {name:27} worst recall {recall:.3f} ({apart.mean():+.3f} +- {error:.3f}), "
                f"CVaR 10 % {cvar:.3f}, accuracy {accuracy:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
