"""RobustClassifier and LogisticRegression on an 80/20 split of a file: `split` writes the two parts, the others fit."""

import json
import sys
import time
import warnings

import numpy as np
from logistic import cvar, split
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.linear_model import LogisticRegression

from couloir import RobustClassifier

MODELS = {"robust": RobustClassifier, "logistic": LogisticRegression}


def main():
    source, train_file, test_file = sys.argv[1:]
    rows, labels = load_svmlight_file(source)
    parts = split(rows, labels)
    for line in sys.stdin:
        word = line.strip()
        if word == "split":
            for part, file in zip(parts, (train_file, test_file)):
                dump_svmlight_file(rows[part], labels[part].astype(int), file, zero_based=False)
            print(json.dumps({}))
            continue
        (X, y), (X_test, y_test) = ((rows[part], labels[part]) for part in parts)
        model = MODELS[word]()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # whoever falls short says so
            start = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - start
        logs = model.predict_log_proba(X_test)
        losses = -logs[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]
        iterations = int(np.max(model.n_iter_))
        accuracy = model.score(X_test, y_test)
        answer = {"seconds": seconds, "iterations": iterations, "accuracy": accuracy, "cvar_10": cvar(losses)}
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
