"""(vi) `RobustClassifier()` against the core behind `couloir fit --intercept` and against LogisticRegression, on news20."""

import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, Peer, couloir, data_files, in_turn, median, show

NAME = "news20"


def run(goals, quick):
    path = data_files().get(NAME)
    if path is None:
        return
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*install, "--force-reinstall", str(ROOT)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder) / "train.svm", Path(folder) / "test.svm"
        peer = Peer("estimators.py", path, train, test)
        peer("split")
        answers = in_turn(
            1 if quick else 5,
            core=lambda: couloir("fit", train, "--quiet", "--intercept")[0],
            robust=lambda: peer("robust"),
            logistic=lambda: peer("logistic"),
        )
        peer.close()
    seconds = {side: median(all_of_them, "seconds") for side, all_of_them in answers.items()}
    robust, logistic = answers["robust"][0], answers["logistic"][0]
    rows = [["couloir fit --intercept, without reading", f"{seconds['core']:.2f}", answers["core"][0]["iterations"], "", ""]]
    for side, name in (("robust", "RobustClassifier()"), ("logistic", "LogisticRegression()")):
        one = answers[side][0]
        rows.append([name, f"{seconds[side]:.2f}", one["iterations"], f"{100 * one['accuracy']:.2f}", f"{one['cvar_10']:.3f}"])
    show(["", "seconds", "iterations", "accuracy %", "CVaR 10%"], rows)
    over, ratio = seconds["robust"] / seconds["core"], seconds["logistic"] / seconds["robust"]
    below = 100 * (logistic["accuracy"] - robust["accuracy"])
    goals.add("RobustClassifier over the core", f"{over:.2f}", "at most 1.1", over <= 1.1)
    goals.add("RobustClassifier, time", f"1/{ratio:.1f}", "at most 1/10", ratio >= 10)
    goals.add("RobustClassifier, accuracy", f"{below:.2f} points lower", "at most 0.5", below <= 0.5)
