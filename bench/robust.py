"""(ix) Robust models beside balanced logistic regression and the libraries dro and skwdro, in recall of the worst class and CVaR."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import COULOIR, PEERS, ROOT, data_files

VENV = ROOT / ".venv-bench-robust"
SETS = ["iris", "wine", "digits", "news20", "rcv1sub", "minority"]
# the one setting that is held against balanced logistic regression
SETTING = "couloir balanced"
BASE = "logistic balanced"


def run(goals, quick, seeds=5):
    if not VENV.is_dir():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    pip = [VENV / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", PEERS / "requirements-robust.txt"], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", ROOT], check=True)
    folders = {path.parent for path in data_files().values()}
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.json"
        command = [VENV / "bin" / "python", PEERS / "robust.py", "--json", answers, "--peers", "--command", COULOIR]
        command += ["--seeds", str(1 if quick else seeds), "--data", *(folders or {ROOT})]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
        tables = json.loads(answers.read_text())
    for name, rows in tables.items():
        ours, base = rows[SETTING], rows[BASE]
        recall, error = difference(ours, base, 0)
        goals.add(f"{SETTING}, worst recall, {name}", f"{recall:+.3f} +- {error:.3f}", "not below by more than the error",
                  recall >= -error)
        cvar, error = difference(ours, base, 2)
        goals.add(f"{SETTING}, CVaR 10 %, {name}", f"{cvar:+.3f} +- {error:.3f}", "below 0", cvar < 0)
    if "minority" in tables:
        rows = tables["minority"]
        better, error = difference(rows["couloir group"], rows["couloir plain"], 1)
        goals.add("group-robust over plain, worst group, minority", f"{100 * better:+.1f} +- {100 * error:.1f} points",
                  "at least 5", better >= 0.05)


def difference(ours, base, column):
    """The mean of the paired differences, and its standard error."""
    apart = [a[column] - b[column] for a, b in zip(ours, base)]
    mean = sum(apart) / len(apart)
    if len(apart) < 2:
        return mean, 0.0
    return mean, (sum((a - mean) ** 2 for a in apart) / (len(apart) - 1) / len(apart)) ** 0.5
