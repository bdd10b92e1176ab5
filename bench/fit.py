"""(iii) `couloir fit` with defaults against scikit-learn's LogisticRegression on an 80/20 split."""

import tempfile
from pathlib import Path

from common import Peer, couloir, data_files, in_turn, median, show


def run(goals, quick):
    rows = []
    for name, path in data_files().items():
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            train, test, model = folder / "train.svm", folder / "test.svm", folder / "model.safetensors"
            peer = Peer("logistic.py", path, train, test)
            split = peer("split")
            print(f"{name}: {split['train']} rows to train, {split['test']} to test")

            def ours():
                answer, wall = couloir("fit", train, "--quiet", "--output", model)
                return {**answer, "wall": wall}

            answers = in_turn(1 if quick else 3, ours=ours, theirs=lambda: peer("fit"))
            peer.close()
            quality, _ = couloir("evaluate", model, test)
        ours, theirs = answers["ours"][0], answers["theirs"][0]
        seconds, wall = median(answers["ours"], "seconds"), median(answers["ours"], "wall")
        their_seconds = median(answers["theirs"], "seconds")
        ratio = their_seconds / seconds
        note = "" if theirs["converged_by_default"] else f" (max_iter {theirs['max_iter']})"
        rows.append([name, "couloir fit", f"{seconds:.2f}", f"{wall:.2f}", ours["iterations"],
                     f"{100 * quality['accuracy']:.2f}", f"{quality['mean_loss']:.3f}", f"{quality['cvar']:.3f}"])
        rows.append([name, f"LogisticRegression{note}", f"{their_seconds:.2f}", "", theirs["iterations"],
                     f"{100 * theirs['accuracy']:.2f}", f"{theirs['mean_loss']:.3f}", f"{theirs['cvar_10']:.3f}"])
        if not theirs["converged_by_default"]:
            print(f"{name}: LogisticRegression does not converge in its 100 iterations; with {theirs['max_iter']} it does")
        below = 100 * (theirs["accuracy"] - quality["accuracy"])
        goals.add(f"fit time, {name}", f"1/{ratio:.1f}", "at most 1/10", ratio >= 10)
        goals.add(f"test accuracy, {name}", f"{below:.2f} points lower", "at most 0.5", below <= 0.5)
        goals.add(f"CVaR 10%, {name}", f"{quality['cvar']:.3f} against {theirs['cvar_10']:.3f}", "lower",
                  quality["cvar"] < theirs["cvar_10"])
    print("seconds: the fit alone; wall: the whole command, with reading and writing")
    show(["data", "", "seconds", "wall", "iterations", "accuracy %", "mean loss", "CVaR 10%"], rows)
