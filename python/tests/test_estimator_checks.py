"""scikit-learn finds nothing wrong with the estimators, and skips no check."""

import json
import os
import subprocess
import sys

import pytest

CHECKS = """
import json, sys, warnings
from sklearn.utils.estimator_checks import check_estimator
import couloir
warnings.simplefilter("ignore")
estimator = eval(sys.argv[1], vars(couloir))
results = check_estimator(estimator, on_fail=None, on_skip=None)
print(json.dumps([[r["check_name"], r["status"], str(r["exception"])] for r in results]))
"""


@pytest.mark.parametrize("estimator", ["RobustClassifier()", "RobustClassifierCV(taus=3)", "RobustRegressor()"]
)
def test_every_check_of_scikit_learn_is_made_and_passes(estimator):
    run = subprocess.run(
        [sys.executable, "-c", CHECKS, estimator],
        capture_output=True,
        text=True,
        # SciPy reads this when it is imported; without it the check of array API input is skipped
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )
    assert run.returncode == 0, run.stderr
    results = json.loads(run.stdout.splitlines()[-1])
    assert len(results) > 50
    assert [result for result in results if result[1] != "passed"] == []
