"""The problems of the README of DSP (cvxgrp/dsp), one for each of its atoms, solved by couloir.

The values are those of DSP 0.4.2 with Clarabel (bench/peers/dsp_readme.py prints them); with COULOIR_DSP=1 and DSP installed both solve in the same test.
"""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import couloir

PEER = Path(__file__).parents[2] / "bench" / "peers" / "dsp_readme.py"


def peer():
    spec = importlib.util.spec_from_file_location("dsp_readme", PEER)
    module = importlib.util.module_from_spec(spec)
    sys.modules["dsp_readme"] = module
    spec.loader.exec_module(module)
    return module


class Inner:
    """x'C y: the matrix game of the README."""

    def __init__(self, data):
        self.C = data["C"]

    X, Y = couloir.Simplex(2), couloir.Simplex(2)

    def value(self, x, y):
        return x @ self.C @ y

    def grad_x(self, x, y):
        return self.C @ y

    def grad_y(self, x, y):
        return self.C.T @ x


class SaddleMax(Inner):
    """min over x of max over y of (C x)'y, with the maximum as a function of its own."""

    def __init__(self, data):
        self.C = data["C"].T


class WeightedNorm:
    """sqrt(sum_i y_i z_i^2) for z = A x - b."""

    X, Y = couloir.Box([-1.0] * 3, [1.0] * 3), couloir.Simplex(4)

    def __init__(self, data):
        self.A, self.b = data["A"], data["b"]

    def value(self, x, y):
        return np.sqrt(y @ (self.A @ x - self.b) ** 2)

    def grad_x(self, x, y):
        return self.A.T @ (y * (self.A @ x - self.b)) / self.value(x, y)

    def grad_y(self, x, y):
        return 0.5 * (self.A @ x - self.b) ** 2 / self.value(x, y)


class WeightedLogSumExp(WeightedNorm):
    """log(sum_i y_i exp(z_i)) for z = A x - b."""

    def value(self, x, y):
        return np.log(y @ np.exp(self.A @ x - self.b))

    def shares(self, x, y):
        return np.exp(self.A @ x - self.b - self.value(x, y))

    def grad_x(self, x, y):
        return self.A.T @ (y * self.shares(x, y))

    def grad_y(self, x, y):
        return self.shares(x, y)


class QuadraticForm:
    """x'Px + 2 x'Sy + y'Qy, convex in x and concave in y."""

    X, Y = couloir.Simplex(3), couloir.Box([-1.0] * 2, [1.0] * 2)

    def __init__(self, data):
        self.P, self.Q, self.S = data["P"], data["Q"], data["S"]
        self.mu = float(-2 * np.linalg.eigvalsh(self.Q)[-1])

    def value(self, x, y):
        return x @ self.P @ x + 2 * x @ self.S @ y + y @ self.Q @ y

    def grad_x(self, x, y):
        return 2 * (self.P @ x + self.S @ y)

    def grad_y(self, x, y):
        return 2 * (self.S.T @ x + self.Q @ y)


class SaddleQuadraticForm:
    """x'Yx: the worst covariance of trace 1."""

    X, Y = couloir.Simplex(3), couloir.Spectrahedron(3, 1.0)

    def __init__(self, data):
        pass

    def value(self, x, y):
        return x @ y @ x

    def grad_x(self, x, y):
        return (y + y.T) @ x

    def grad_y(self, x, y):
        return np.outer(x, x)


PROBLEMS = {
    "inner": (Inner, 5 / 3),
    "saddle_max": (SaddleMax, 5 / 3),
    "weighted_norm2": (WeightedNorm, None),
    "weighted_log_sum_exp": (WeightedLogSumExp, None),
    "quasidef_quad_form": (QuadraticForm, None),
    "saddle_quad_form": (SaddleQuadraticForm, 1 / 3),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_problems_of_dsp_have_its_values(name):
    kind, known = PROBLEMS[name]
    module = peer()
    problem = kind(module.data())
    solution = couloir.solve(problem, problem.X, problem.Y, tol=1e-6)
    bounds = solution.certificate
    assert solution.solved
    expected = module.VALUES[name]
    assert known is None or abs(expected - known) < 1e-7
    if os.environ.get("COULOIR_DSP"):
        assert module.solve(name) == pytest.approx(expected, abs=1e-7)
    assert bounds["lower"] - 1e-8 <= expected <= bounds["upper"] + 1e-8
    assert bounds["upper"] - bounds["lower"] <= 1e-6
