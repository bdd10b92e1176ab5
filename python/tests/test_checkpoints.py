"""Checkpoints: fits and solves that go on with the same bits."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import couloir
from couloir import RobustClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Game:
    """f(x, y) = x^T M y + c^T x - |y|^2/2."""

    def __init__(self, shift=0.0):
        self.m = np.sin(np.arange(20.0)).reshape(4, 5)
        self.c = np.cos(np.arange(4.0)) + shift

    def value(self, x, y):
        return x @ self.m @ y + self.c @ x - 0.5 * y @ y

    def grad_x(self, x, y):
        return self.m @ y + self.c

    def grad_y(self, x, y):
        return self.m.T @ x - y


def solve(game, **options):
    return couloir.solve(game, couloir.L2Ball(4, 1.0), couloir.Simplex(5), tol=1e-9, **options)


@pytest.mark.parametrize("method", ["certified", "batched", "svre", "spfw"])
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(tmp_path, method):
    X, y = load_digits(return_X_y=True)
    file = tmp_path / "fit.checkpoint"
    settings = {"tol": 1e-3, "method": method, "random_state": 3}
    whole = RobustClassifier(max_iter=40, **settings).fit(X, y)
    RobustClassifier(max_iter=7, checkpoint=file, **settings).fit(X, y)
    resumed = RobustClassifier(max_iter=40, resume=str(file), **settings).fit(X, y)
    assert resumed.n_iter_ == whole.n_iter_ > 7
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert np.array_equal(resumed.sample_weights_, whole.sample_weights_)
    assert resumed.certificate_ == whole.certificate_
    assert np.array_equal(resumed.trace_["gap"], whole.trace_["gap"])


def test_a_solve_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    file = tmp_path / "solve.checkpoint"
    whole = solve(Game())
    solve(Game(), max_iter=3, checkpoint=file, checkpoint_every=0)
    resumed = solve(Game(), resume=file)
    assert np.array_equal(resumed.x, whole.x) and np.array_equal(resumed.y, whole.y)
    assert resumed.certificate == whole.certificate and resumed.n_iter == whole.n_iter > 3


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(tmp_path):
    file = tmp_path / "solve.checkpoint"

    def interrupt(record):
        if record["iteration"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(couloir.Interrupted) as caught:
        solve(Game(), checkpoint=file, callback=interrupt)
    assert len(caught.value.solution.trace["gap"]) == 3
    assert np.array_equal(solve(Game(), resume=file).x, solve(Game()).x)


def test_a_checkpoint_that_does_not_fit_is_refused_with_what_differs(tmp_path):
    file = tmp_path / "solve.checkpoint"
    solve(Game(), max_iter=3, checkpoint=file)
    with pytest.raises(ValueError, match="method is certified in the checkpoint and spfw here"):
        solve(Game(), method="spfw", resume=file)
    with pytest.raises(ValueError, match="f at the start is"):
        couloir.solve(Game(1.0), couloir.L2Ball(4, 1.0), couloir.Simplex(5), x0=[0.5, 0, 0, 0], resume=file)
    with pytest.raises(FileNotFoundError, match="no such file"):
        solve(Game(), resume=tmp_path / "missing")
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(ValueError, match="damaged"):
        solve(Game(), resume=file)
    with pytest.raises(ValueError, match="checkpoint_every"):
        solve(Game(), checkpoint=file, checkpoint_every=-1)


def test_a_checkpoint_that_cannot_be_written_is_an_error_before_the_work(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        solve(Game(), checkpoint=tmp_path / "missing" / "file")
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises((OSError, ValueError), match="it is a link to elsewhere"):
        solve(Game(), checkpoint=tmp_path / "link")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        solve(Game(), checkpoint=tmp_path / "file")
