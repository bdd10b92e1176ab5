"""(v) Cost against n, d, h and tau, each doubled a few times, on generated data."""

import math
import subprocess
import tempfile
from pathlib import Path

from common import COULOIR, couloir, median, show

BASE = {"n": 8000, "d": 20000, "h": 10, "tau": 50}
FIRST = {"n": 4000, "d": 10000, "h": 5, "tau": 25}
TOL = 1e-2


def fits(file, tau, rounds):
    return [couloir("fit", file, "--quiet", "--tau", tau, "--tol", TOL)[0] for _ in range(rounds)]


def exponent(xs, ys):
    """The slope of the least-squares line through the logarithms."""
    u, v = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mu, mv = sum(u) / len(u), sum(v) / len(v)
    return sum((a - mu) * (b - mv) for a, b in zip(u, v)) / sum((a - mu) ** 2 for a in u)


def run(goals, quick):
    steps, rounds = (3, 1) if quick else (5, 3)
    print(f"base {BASE}, 80 non-zeros a row, dro, level 1, gap/s <= {TOL:g}; medians of {rounds}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for which in BASE:
            sizes = [FIRST[which] * 2**step for step in range(steps)]
            series = []
            for size in sizes:
                at = {**BASE, which: size}
                file = Path(folder) / "generated.svm"
                generate = ["--rows", at["n"], "--features", at["d"], "--classes", at["h"], "--seed", 1]
                subprocess.run([COULOIR, "data", "generate", *map(str, generate), "-o", file], check=True,
                               capture_output=True)
                answers = fits(file, at["tau"], rounds)
                file.unlink()
                seconds, iterations = median(answers, "seconds"), median(answers, "iterations")
                ratio = f"{seconds / series[-1][0]:.2f}" if series else ""
                each = median(answers, "method_seconds") / iterations
                series.append((seconds, each))
                rows.append([f"{which} = {size}", f"{seconds:.3f}", ratio, int(iterations), int(median(answers, "grads")),
                             f"{1e3 * each:.2f}", answers[0]["status"]])
            total, each = (exponent(sizes, [s[i] for s in series]) for i in (0, 1))
            rows.append([f"exponent in {which}", f"{total:.2f}", "", "", "", f"{each:.2f}", ""])
    show(["", "seconds", "ratio to the last", "iterations", "grads", "ms/iteration", "status"], rows)
