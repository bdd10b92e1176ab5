"""The problems of the README of DSP (cvxgrp/dsp): its matrix game, its saddle problem, and one for each of its other atoms.

    pip install -r bench/peers/requirements-dsp.txt
    python bench/peers/dsp_readme.py

prints the values below, to which python/tests/test_dsp.py holds couloir. That test imports this file and needs NumPy alone.
"""

import numpy as np

# DSP 0.4.2, cvxpy 1.6.7, Clarabel 0.11.1
VALUES = {
    "inner": 1.6666666667,
    "saddle_max": 1.6666666667,
    "weighted_norm2": 0.1749412143,
    "weighted_log_sum_exp": -0.1864025542,
    "quasidef_quad_form": 0.1949453587,
    "saddle_quad_form": 0.3333333333,
}


def data():
    rng = np.random.default_rng(0)
    root, other = rng.normal(size=(3, 3)), rng.normal(size=(2, 2))
    return {
        "C": np.array([[1.0, 2.0], [3.0, 1.0]]),
        "A": rng.normal(size=(4, 3)),
        "b": rng.normal(size=4),
        "P": root @ root.T,
        "Q": -other @ other.T - 0.1 * np.eye(2),
        "S": rng.normal(size=(3, 2)),
    }


def solve(name):
    import cvxpy as cp
    import dsp
    from dsp.saddle_atoms import quasidef_quad_form

    given = data()
    C, A, b = given["C"], given["A"], given["b"]
    x3 = cp.Variable(3, name="x")
    y4 = cp.Variable(4, name="y", nonneg=True)
    cube, weights = [x3 >= -1, x3 <= 1], [cp.sum(y4) == 1]
    if name == "inner":
        x, y = cp.Variable(2), cp.Variable(2)
        objective = dsp.MinimizeMaximize(dsp.inner(x, C @ y))
        problem = dsp.SaddlePointProblem(objective, [x >= 0, cp.sum(x) == 1, y >= 0, cp.sum(y) == 1])
    elif name == "saddle_max":
        x, y = cp.Variable(2, nonneg=True), dsp.LocalVariable(2, nonneg=True)
        worst = dsp.saddle_max(dsp.saddle_inner(C @ x, y), [cp.sum(y) == 1])
        problem = cp.Problem(cp.Minimize(worst), [cp.sum(x) == 1])
    elif name == "weighted_norm2":
        # the atom takes a convex argument that is not negative
        t = cp.Variable(4, nonneg=True)
        objective = dsp.MinimizeMaximize(dsp.weighted_norm2(t, y4))
        problem = dsp.SaddlePointProblem(objective, [*cube, t >= cp.abs(A @ x3 - b), *weights], [x3, t], [y4])
    elif name == "weighted_log_sum_exp":
        objective = dsp.MinimizeMaximize(dsp.weighted_log_sum_exp(A @ x3 - b, y4))
        problem = dsp.SaddlePointProblem(objective, [*cube, *weights], [x3], [y4])
    elif name == "quasidef_quad_form":
        y = cp.Variable(2)
        objective = dsp.MinimizeMaximize(quasidef_quad_form(x3, y, given["P"], given["Q"], given["S"]))
        problem = dsp.SaddlePointProblem(objective, [x3 >= 0, cp.sum(x3) == 1, y >= -1, y <= 1], [x3], [y])
    elif name == "saddle_quad_form":
        Y = cp.Variable((3, 3), PSD=True)
        objective = dsp.MinimizeMaximize(dsp.saddle_quad_form(x3, Y))
        problem = dsp.SaddlePointProblem(objective, [x3 >= 0, cp.sum(x3) == 1, cp.trace(Y) == 1], [x3], [Y])
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    problem.solve(solver=cp.CLARABEL, **tight)
    return float(problem.value)


def main():
    for name in VALUES:
        print(f'    "{name}": {solve(name):.10f},', flush=True)


if __name__ == "__main__":
    main()
