"""Optima of small convex-concave problems without strong concavity, by CVXPY and Clarabel (an interior-point method, no code of ours).

Writes the fixture of crates/couloir/tests/convex_concave.rs to standard output. The instances are those of
crates/couloir/tests/worst_of/mod.rs, drawn by the same generator. Every problem is min over x of the worst mixture of losses:
the largest loss where the weights are a simplex, the mean of the worst share (conditional value at risk) where they are capped.
"""

import cvxpy as cp
import numpy as np


class Draw:
    def __init__(self, state):
        self.state = state

    def number(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 11) / 2**52 - 1.0

    def numbers(self, count, scale=1.0):
        return np.array([scale * self.number() for _ in range(count)])


def squares(dim, groups, size, l1):
    draw = Draw(1)
    common = draw.numbers(dim)
    x, losses = cp.Variable(dim), []
    for _ in range(groups):
        own = common + 0.5 * draw.numbers(dim)
        rows, targets = [], []
        for _ in range(size):
            rows.append(draw.numbers(dim))
            targets.append(rows[-1] @ own + 0.3 * draw.number())
        losses.append(cp.sum_squares(np.array(rows) @ x - np.array(targets)) / (2 * size))
    inside = cp.norm1(x) <= 0.25 * dim if l1 else cp.norm2(x) <= 0.3 * dim**0.5
    return cp.Problem(cp.Minimize(cp.maximum(*losses)), [inside])


def cvar(dim, count, share, l1):
    draw = Draw(2)
    rule = draw.numbers(dim)
    rows = []
    for _ in range(count):
        a = draw.numbers(dim)
        rows.append(a if a @ rule + 0.3 * draw.number() > 0 else -a)
    x, nu = cp.Variable(dim), cp.Variable()
    worst = nu + cp.sum(cp.pos(cp.logistic(-np.array(rows) @ x) - nu)) / (share * count)
    return cp.Problem(cp.Minimize(worst), [cp.norm1(x) <= 5 if l1 else cp.norm2(x) <= 3])


def bowls(dim, count):
    draw = Draw(3)
    x, losses = cp.Variable(dim), []
    for _ in range(count):
        bends, centres = draw.numbers(dim) ** 2, draw.numbers(dim, 2.0)
        losses.append(cp.sum_squares(cp.multiply(np.sqrt(bends), x - centres)) / 2 + 0.3 * draw.number())
    return cp.Problem(cp.Minimize(cp.maximum(*losses)), [cp.abs(x) <= 1])


INSTANCES = {
    "squares_l2": squares(8, 5, 12, False),
    "squares_l1": squares(12, 4, 10, True),
    "cvar_l2": cvar(6, 80, 0.2, False),
    "cvar_l1": cvar(10, 120, 0.1, True),
    "bowls_small": bowls(5, 8),
    "bowls": bowls(10, 20),
}

print("# name, optimum: written by bench/peers/reference_convex_concave.py")
for name, problem in INSTANCES.items():
    problem.solve(cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status == "optimal", (name, problem.status)
    print(name, repr(float(problem.value)))
