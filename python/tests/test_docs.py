"""The code in docs/python.md runs, from top to bottom."""

import re
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_iris

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


class Game:
    """A game on matrices of 3 by 40 and mixtures of 100."""

    A = np.random.default_rng(0).normal(size=(3, 40, 100))

    def value(self, x, y):
        return np.einsum("ij,ijk,k", x, self.A, y) - 0.5 * y @ y

    def grad_x(self, x, y):
        return self.A @ y

    def grad_y(self, x, y):
        return np.einsum("ij,ijk", x, self.A) - y


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    # what the page takes for granted
    weights = {"w": 1.0 + y, "hospital": X[:, 0] > 6, "targets": X[:, :2]}
    names = {"X": X, "y": y, **weights, "X_new": X[::10], "problem": Game(), "other": {}}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 11
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
        names["other"] = names["model"]
    # the gap and the rank of the completion, and then whether gradients are right
    completed, checked = capsys.readouterr().out.splitlines()[:2]
    assert float(completed.split()[0]) <= 1e-2 and checked == "True"
    assert names["thin"].solved and names["thin"].factors is not None
    assert names["solution"].solved and (tmp_path / "fit.html").exists()
    assert len(matplotlib.pyplot.get_fignums()) == 2
    matplotlib.pyplot.close("all")


def test_the_code_of_the_pages_on_problems_and_sets_runs(capsys):
    for name, count, shown in (
        ("your-own-problem.md", 2, "grad_x does not fit problem.value"),
        ("your-own-set.md", 2, "no fault found"),
        ("games.md", 1, "value                 between 1.5"),
    ):
        blocks = re.findall(r"```python\n(.*?)```", PAGE.with_name(name).read_text(), re.DOTALL)
        assert len(blocks) == count
        names = {}
        for block in blocks:
            exec(compile(block, name, "exec"), names)
        assert shown in capsys.readouterr().out
