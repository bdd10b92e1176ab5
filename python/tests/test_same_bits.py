"""A fit from Python and from the command line gives the same bits."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits

from couloir import RobustClassifier

# scripts/test says where it built the command; without it, where cargo puts it. A command that is missing is a failure.
BUILT = Path(__file__).parents[2] / "target" / "debug" / "couloir"
COMMAND = Path(os.environ.get("COULOIR_COMMAND", BUILT)).resolve()


def tensors(path):
    """The arrays of a safetensors file."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F64"
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(content[start:end], dtype="<f8").reshape(entry["shape"])
    return arrays


@pytest.mark.parametrize("method", ["certified", "mpscgs"])
def test_python_and_the_command_give_the_same_bits(tmp_path: Path, method):
    X, y = load_digits(return_X_y=True)
    X = np.delete(X, np.flatnonzero(X.max(axis=0) == 0), axis=1)
    data, model = tmp_path / "digits.libsvm", tmp_path / "model.safetensors"
    dump_svmlight_file(X, y, str(data), zero_based=False)
    settings = ["--method", method, "--seed", "7", "--tol", "0.01", "--intercept"]
    subprocess.run(
        [COMMAND, "fit", str(data), "-o", str(model), *settings],
        check=True,
        capture_output=True,
    )
    stored = tensors(model)
    ours = RobustClassifier(method=method, random_state=7, tol=0.01, scale=False).fit(X, y)
    assert np.array_equal(stored["weights"], ours.coef_)
    assert np.array_equal(stored["bias"], ours.intercept_)
