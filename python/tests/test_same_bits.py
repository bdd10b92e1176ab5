"""A fit from a Rust program, from the command and from Python gives the same bits."""

import json
import subprocess
import warnings

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.exceptions import ConvergenceWarning

from couloir import RobustClassifier


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


def from_rust(program, data, method, seed, tol):
    """The bits of the weights by classes, then of the intercepts."""
    run = subprocess.run(
        [program, str(data), method, str(seed), str(tol)], check=True, capture_output=True, text=True
    )
    return np.array([int(line, 16) for line in run.stdout.split()], dtype=np.uint64)


def from_the_command(command, data, method, seed, tol):
    model = data.with_suffix(".safetensors")
    settings = ["--method", method, "--seed", str(seed), "--tol", str(tol), "--intercept", "--scale", "off"]
    subprocess.run(
        [command, "fit", str(data), "-o", str(model), *settings], check=True, capture_output=True
    )
    stored = tensors(model)
    return bits(stored["weights"], stored["bias"])


def from_python(X, y, method, seed, tol):
    model = RobustClassifier(method=method, random_state=seed, tol=tol, scale=False).fit(X, y)
    return bits(model.coef_, model.intercept_)


def bits(weights, bias):
    return np.concatenate([weights.ravel(), bias]).view(np.uint64)


@pytest.mark.parametrize("method", ["certified", "batched"])
def test_rust_the_command_and_python_give_the_same_bits(command, rust_examples, tmp_path, method):
    X, y = load_digits(return_X_y=True)
    X = np.delete(X, np.flatnonzero(X.max(axis=0) == 0), axis=1)
    data = tmp_path / "digits.libsvm"
    dump_svmlight_file(X, y, str(data), zero_based=False)
    rust = from_rust(rust_examples / "fit_bits", data, method, 7, 0.01)
    assert rust.shape == (10 * X.shape[1] + 10,)
    # numbers of a real fit, not zeros
    assert np.count_nonzero(rust.view(np.float64)) > 0.9 * len(rust)
    assert np.array_equal(from_the_command(command, data, method, 7, 0.01), rust)
    assert np.array_equal(from_python(X, y, method, 7, 0.01), rust)
    # so that equal bits say something: another seed, or where nothing is drawn another tolerance, gives others
    other = (8, 0.01) if method == "batched" else (7, 0.05)
    assert not np.array_equal(from_python(X, y, method, *other), rust)


@pytest.mark.parametrize("method", ["certified", "spfw"])
def test_the_command_and_python_have_the_same_record(command, tmp_path, method):
    X, y = load_digits(return_X_y=True)
    X = np.delete(X, np.flatnonzero(X.max(axis=0) == 0), axis=1)
    data = tmp_path / "digits.libsvm"
    dump_svmlight_file(X, y, str(data), zero_based=False)
    settings = ["--method", method, "--max-iters", "20", "--intercept", "--scale", "off", "--json"]
    run = subprocess.run([command, "fit", str(data), *settings], check=True, capture_output=True)
    theirs = json.loads(run.stdout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RobustClassifier(method=method, max_iter=20, scale=False).fit(X, y)
    ours = model._record
    assert list(ours) == list(theirs)
    own = {"data", "seconds", "method_seconds"}
    assert {k: v for k, v in ours.items() if k not in own} == {
        k: v for k, v in theirs.items() if k not in own
    }
    certificate = model.certificate_
    assert {k: v for k, v in certificate.items() if k != "bound"} == {
        k: theirs[k] for k in certificate if k != "bound"
    }
    # JSON has no infinity, and spfw no bound
    assert certificate["bound"] == (float("inf") if theirs["bound"] is None else theirs["bound"])
    assert (theirs["bound"] is None) == (method == "spfw")
    for name in ("grads", "lo_calls", "certificate_lo_calls"):
        assert model.trace_[name][-1] == theirs[name]
