"""What couloir.plot promises."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_iris

import couloir

matplotlib.use("Agg")


class Game:
    """x . y + |x|^2 / 2 - |y|^2 / 2."""

    lxx, lxy, lyy, mu = 1.0, 1.0, 1.0, 1.0

    def value(self, x, y):
        return x @ y + 0.5 * x @ x - 0.5 * y @ y

    def grad_x(self, x, y):
        return y + x

    def grad_y(self, x, y):
        return x - y


@pytest.fixture(scope="module")
def model():
    return couloir.RobustClassifier(tol=1e-4).fit(*load_iris(return_X_y=True))


@pytest.fixture(scope="module")
def solution():
    return couloir.solve(Game(), couloir.Simplex(5), couloir.L2Ball(5), method="mpcgs", tol=0.1)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("against", "column"), [("iteration", "iteration"), ("seconds", "seconds"), ("gradients", "grads")]
)
def test_the_line_has_the_numbers_of_the_trace(model, against, column):
    ax = couloir.plot(model.trace_, against, bound=False)
    (line,) = ax.get_lines()
    seen = model.trace_["gap"] > 0
    assert seen.sum() > 3
    np.testing.assert_array_equal(line.get_xdata(), model.trace_[column][seen])
    np.testing.assert_array_equal(line.get_ydata(), model.trace_["gap"][seen])
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "certified gap" and ax.get_xlabel()


def test_the_bound_is_dashed_and_only_where_there_is_one(solution):
    gap, bound = couloir.plot(solution).get_lines()
    finite = np.isfinite(solution.trace["bound"])
    assert finite.any()
    np.testing.assert_array_equal(bound.get_ydata(), solution.trace["bound"][finite])
    assert bound.get_linestyle() == "--" and gap.get_linestyle() == "-"
    # the method without a promise
    plain = couloir.solve(Game(), couloir.Simplex(5), couloir.L2Ball(5), method="spfw", tol=0.1)
    assert not np.isfinite(plain.trace["bound"]).any()
    assert len(couloir.plot(plain).get_lines()) == 1


def test_several_are_drawn_by_name_into_axes_of_ones_own(model, solution):
    ax = matplotlib.pyplot.figure().add_subplot()
    drawn = couloir.plot({"iris": model, "game": solution.trace}, "seconds", bound=False, ax=ax)
    assert drawn is ax
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["iris", "game"]
    np.testing.assert_array_equal(ax.get_lines()[1].get_ydata(), solution.trace["gap"])


def test_a_gap_of_zero_is_left_out():
    trace = {"iteration": np.arange(3), "seconds": np.arange(3.0), "grads": np.arange(3)}
    trace |= {"gap": np.array([1.0, 0.5, 0.0]), "bound": np.array([np.inf, 2.0, 1.0])}
    gap, bound = couloir.plot(trace).get_lines()
    np.testing.assert_array_equal(gap.get_xdata(), [0, 1])
    np.testing.assert_array_equal(bound.get_xdata(), [1, 2])


def test_wrong_arguments_are_named(model):
    with pytest.raises(ValueError, match="against must be one of"):
        couloir.plot(model, "hours")
    with pytest.raises(TypeError, match="trace must be a trace"):
        couloir.plot([1, 2])
    with pytest.raises(TypeError, match=r"trace\['other'\]"):
        couloir.plot({"iris": model, "other": couloir.RobustClassifier()})


def test_without_matplotlib_the_error_names_the_extra():
    script = """
import sys
sys.modules["matplotlib"] = None
import numpy as np, couloir
trace = {name: np.ones(2) for name in ("iteration", "seconds", "grads", "gap", "bound")}
try:
    couloir.plot(trace)
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'couloir[plot]'" in run.stdout
