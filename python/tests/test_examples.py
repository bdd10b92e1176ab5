"""The example scripts run, without a warning, and print what they should."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) == 12


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(script, rust_examples):
    rust_game = str(rust_examples / "diagonal_game")
    arguments = {
        "accuracy": ["1"],
        "callback_overhead": [rust_game],
        "rare_classes": ["1"],
    }.get(script.stem, [])
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        # the linear algebra of scikit-learn's models is faster on one thread where there are few cores
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    expected = {
        "accuracy": "digits         RobustClassifier     accuracy 9",
        "callback_overhead": "overhead of Python",
        "own_game": "worth between 0.133416",
        "own_set": "certified gap 0.0",
        "poker_and_blotto": "Kuhn's poker             value -0.0555556 to -0.0555556",
        "quadratic_models": "quadratic network: certified gap",
        "rare_classes": "digits   couloir balanced, tol 0.01",
        "robust_completion": "huber    certified gap",
        "robust_portfolio": "certified gap of the robust one",
        "robust_shortest_path": "robust mixture:",
        "security_game": "patrols of the game:",
        "text_against_logistic_regression": "certified gap of the robust fit",
    }
    assert expected[script.stem] in run.stdout
