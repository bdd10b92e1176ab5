"""Robust text classification beside LogisticRegression, where one topic is rare.

The documents are drawn from topics that share most of their words, so that the script needs no download.
"""

import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split

from couloir import RobustClassifier

TOPICS = ["crime", "economy", "health", "sport", "weather"]
SHARES = [0.3, 0.3, 0.2, 0.17, 0.03]


def documents(n, words=2000, length=40, seed=0):
    """Texts of made-up words, and their topics."""
    draw = np.random.default_rng(seed)
    common = draw.dirichlet(np.full(words, 0.1))
    habits = [0.85 * common + 0.15 * draw.dirichlet(np.full(words, 0.02)) for _ in TOPICS]
    topics = draw.choice(len(TOPICS), size=n, p=SHARES)
    texts = [
        " ".join(f"w{j}" for j in draw.choice(words, size=length, p=habits[topic]))
        for topic in topics
    ]
    return texts, np.array(TOPICS)[topics]


def hardest_tenth(model, rows, labels):
    """The mean of the largest tenth of the losses."""
    places = np.searchsorted(model.classes_, labels)
    losses = np.sort(-model.predict_log_proba(rows)[np.arange(len(labels)), places])
    return losses[-len(losses) // 10 :].mean()


def main():
    texts, labels = documents(3000)
    train, test, y_train, y_test = train_test_split(
        texts, labels, stratify=labels, test_size=0.3, random_state=0
    )
    vectorizer = TfidfVectorizer()
    X_train, X_test = vectorizer.fit_transform(train), vectorizer.transform(test)
    print(f"{'':20} accuracy  worst recall  hardest tenth  seconds")
    for model in (RobustClassifier(), LogisticRegression()):
        began = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - began
        worst = recall_score(y_test, model.predict(X_test), average=None).min()
        print(
            f"{type(model).__name__:20} {model.score(X_test, y_test):8.3f}  {worst:12.3f}  "
            f"{hardest_tenth(model, X_test, y_test):13.3f}  {seconds:7.2f}"
        )
        if isinstance(model, RobustClassifier):
            robust = model
    print(f"certified gap of the robust fit: {robust.certificate_['gap']:.2e}")
    print("its hardest training row:", train[robust.sample_weights_.argmax()][:60], "...")


if __name__ == "__main__":
    main()
