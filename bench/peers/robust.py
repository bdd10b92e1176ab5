"""Robust models beside balanced logistic regression and the libraries `dro` and `skwdro`: worst-class recall, worst-group accuracy, CVaR 10 %,
accuracy and seconds, means over seeds with paired standard errors of the difference to balanced logistic regression.

`scripts/bench robust` runs it. iris, wine and digits are imbalanced subsamples (every class has a part of the rows of the one before), with standardised columns for
all; news20 and rcv1sub are split at random, where their files are at hand; `minority` is the text of `couloir data generate --minority`, with 5 % of
the rows of the minority to train on and half of the rows to test on. Peers run where they can be imported.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_svmlight_file, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from couloir import RobustClassifier

SMALL = {"iris": (load_iris, 0.4), "wine": (load_wine, 0.4), "digits": (load_digits, 0.8)}
TEXT = {"news20": "news20.scale.bz2", "rcv1sub": "rcv1sub.multiclass.bz2"}
BASE = "logistic balanced"


def fewer_and_fewer(y, share, seed):
    """Places of rows, with fewer of every class than of the one before."""
    draw = np.random.default_rng(seed)
    places = [draw.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    return np.concatenate([p[: max(6, int(len(p) * share**k))] for k, p in enumerate(places)])


def small(name, seed):
    load, share = SMALL[name]
    X, y = load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    few = fewer_and_fewer(y, share, seed)
    scaler = StandardScaler().fit(X[few])
    return scaler.transform(X[few]), y[few], None, scaler.transform(X_test), y_test, None


def text(name, seed, folder):
    X, y = load_svmlight_file(str(folder / TEXT[name]))
    counts = {label: np.sum(y == label) for label in np.unique(y)}
    keep = np.array([counts[label] >= 5 for label in y])
    X, y = sp.csr_array(X[keep]), y[keep]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return X, y, None, X_test, y_test, None


def minority(seed, command):
    """Text with a minority, made by the command."""
    sets = []
    with tempfile.TemporaryDirectory() as folder:
        for sample, rows, share in [(0, 8000, 0.05), (1, 4000, 0.5)]:
            data, groups = Path(folder, "data.svm"), Path(folder, "groups.txt")
            shape = f"--rows {rows} --features 20000 --classes 12 --imbalance 1 --label-noise 0.02"
            drawn = f"--minority {share} --seed {seed} --sample {sample}"
            subprocess.run(
                [command, "data", "generate", *shape.split(), *drawn.split(), "--groups", groups, "-o", data],
                check=True, capture_output=True,
            )
            X, y = load_svmlight_file(str(data), n_features=20_000)
            sets += [sp.csr_array(X), y, np.array(groups.read_text().split())]
    return sets


def ours(**settings):
    return lambda X, y, groups: RobustClassifier(**settings).fit(X, y, groups=groups)


def group_robust(X, y, groups):
    """By the groups of the rows; where there are none, by classes."""
    if groups is None:
        return RobustClassifier(uncertainty="label", class_weight="balanced").fit(X, y)
    return RobustClassifier(uncertainty="group").fit(X, y, groups=groups)


def logistic(**settings):
    return lambda X, y, groups: LogisticRegression(max_iter=1000, **settings).fit(X, y)


MODELS = {
    BASE: logistic(class_weight="balanced"),
    "logistic": logistic(),
    "couloir plain": ours(uncertainty="none"),
    "couloir default": ours(),
    "couloir balanced": ours(class_weight="balanced"),
    "couloir cvar": ours(uncertainty="cvar"),
    "couloir group": group_robust,
}


def one_against_rest(make):
    """A classifier of several classes from peers that tell two apart."""

    def fit(X, y, groups):
        classes = np.unique(y)
        models = [make().fit(X, np.where(y == label, 1, -1)) for label in classes]

        class Model:
            classes_ = classes

            def predict_proba(self, X):
                scores = np.column_stack([np.ravel(m.decision_function(X)) for m in models])
                odds = np.exp(np.clip(scores, -30, 30))
                return odds / odds.sum(axis=1, keepdims=True)

        return Model()

    return fit


def peers():
    """What of the peers can be imported."""
    found = {}
    try:
        from dro.linear_model.chi2_dro import Chi2DRO

        class Dro:
            def fit(self, X, y):
                self.model = Chi2DRO(input_dim=X.shape[1], model_type="logistic", solver="CLARABEL")
                self.model.update({"eps": 0.5})
                self.model.fit(X, y)
                return self

            def decision_function(self, X):
                return X @ np.ravel(self.model.theta) + float(np.ravel(self.model.b)[0])

        found["dro chi2"] = one_against_rest(Dro)
    except Exception as error:
        print(f"dro does not run: {type(error).__name__}: {error}", file=sys.stderr)
    try:
        from skwdro.linear_models import LogisticRegression as Wasserstein

        class Skwdro:
            def fit(self, X, y):
                self.model = Wasserstein(rho=0.01).fit(X, y)
                return self

            def decision_function(self, X):
                odds = np.clip(self.model.predict_proba(X)[:, 1], 1e-12, 1 - 1e-12)
                return np.log(odds / (1 - odds))

        found["skwdro"] = one_against_rest(Skwdro)
    except Exception as error:
        print(f"skwdro does not run: {type(error).__name__}: {error}", file=sys.stderr)
    return found


def measure(fit, X, y, groups, X_test, y_test, groups_test):
    began = time.perf_counter()
    model = fit(X, y, groups)
    seconds = time.perf_counter() - began
    probabilities = model.predict_proba(X_test)
    labels = np.searchsorted(model.classes_, y_test)
    losses = np.sort(-np.log(np.maximum(probabilities[np.arange(len(labels)), labels], 1e-300)))
    right = probabilities.argmax(axis=1) == labels
    recalls = recall_score(labels, probabilities.argmax(axis=1), average=None, labels=np.unique(labels))
    of_groups = [1.0] if groups_test is None else [right[groups_test == g].mean() for g in np.unique(groups_test)]
    worst_group = min(of_groups) if groups_test is not None else np.nan
    return recalls.min(), worst_group, losses[-max(1, len(losses) // 10):].mean(), right.mean(), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", default="iris,wine,digits,news20,rcv1sub,minority")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("COULOIR_DATA", "data")))
    parser.add_argument("--command", default=os.environ.get("COULOIR_COMMAND", "couloir"))
    parser.add_argument("--peers", action="store_true", help="also the libraries dro and skwdro, on the small sets")
    parser.add_argument("--models", help="only these, by commas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {}
    for name in options.sets.split(","):
        if name in TEXT and not (options.data / TEXT[name]).exists():
            print(f"{name}: no {options.data / TEXT[name]}, left out", file=sys.stderr)
            continue
        models = dict(MODELS, **(peers() if options.peers and name in SMALL else {}))
        if options.models:
            wanted = [BASE, *options.models.split(",")]
            models = {model: fit for model, fit in models.items() if model in wanted}
        rows, broken = {model: [] for model in models}, set()
        for seed in range(options.seeds):
            if name in SMALL:
                data = small(name, seed)
            elif name in TEXT:
                data = text(name, seed, options.data)
            else:
                data = minority(seed, options.command)
            for model, fit in models.items():
                if model in broken:
                    continue
                try:
                    rows[model].append(measure(fit, *data))
                except Exception as error:
                    print(f"{name}, {model}: {type(error).__name__}: {error}", file=sys.stderr)
                    broken.add(model)
        tables[name] = {model: np.array(values).tolist() for model, values in rows.items()}
        report(name, rows)
    if options.json:
        options.json.write_text(json.dumps(tables))


def report(name, rows):
    base = np.array(rows[BASE])
    print(f"\n| {name} | worst recall | - balanced logistic | worst group | CVaR 10 % | - balanced logistic | accuracy | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for model, values in rows.items():
        if len(values) != len(base):
            print(f"| {model} | failed on {len(base) - len(values)} of {len(base)} seeds | | | | | | |")
            continue
        values = np.array(values)
        recall, group, cvar, accuracy, seconds = values.mean(axis=0)

        def apart(k, values=values):
            difference = values[:, k] - base[:, k]
            error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
            return f"{difference.mean():+.3f} +- {error:.3f}"

        group = "" if np.isnan(group) else f"{group:.3f}"
        told = ["", ""] if model == BASE else [apart(0), apart(2)]
        print(f"| {model} | {recall:.3f} | {told[0]} | {group} | {cvar:.3f} | {told[1]} | {accuracy:.3f} | {seconds:.3f} |", flush=True)


if __name__ == "__main__":
    main()
