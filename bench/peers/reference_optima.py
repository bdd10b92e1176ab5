"""Small instances of robust multiclass classification and their optima by a conic solver.

Writes the instances, the optima and what the solver says of its own accuracy to standard output: the
fixture of crates/couloir/tests/conic.rs. CVXPY states the problem, Clarabel (an interior-point method, no
code of ours) solves it.

The problem, in units of the loss (f over s), with c = lambda/s:

    min over |X|_* <= tau   max over y in the simplex   sum_i y_i l_i(X) - c/2 |n y - 1|^2

The inner maximum has a dual. With w = n y >= 0 and a multiplier nu for sum_i w_i = n,

    max_w sum_i w_i l_i/n - c/2 (w_i - 1)^2 = min_nu nu + sum_i max_{w_i >= 0} [ w_i u_i - c/2 (w_i - 1)^2 ],
    u_i = (l_i - nu)/n,

(no duality gap: a concave maximum over a polytope), and each of the n maxima is attained at
w_i = max(0, 1 + u_i/c) with the value c/2 (w_i^2 - 1). It grows with l_i and with w_i >= 0, so both may be replaced by
anything above them; with r_i = w_i - 1 this is the convex program that is solved,

    min   nu + c/2 sum_i (2 r_i + r_i^2)
    over  X, l, r, nu   with   r_i >= -1,   r_i >= (l_i - nu)/(n c),
          l_i >= log sum_j exp(x_j.a_i) - x_{b_i}.a_i      exponential cones
          |X|_* <= tau                                     semidefinite: [[P, X], [X', Q]] >= 0, tr P + tr Q <= 2 tau
"""

import cvxpy as cp
import numpy as np

TOLERANCE = 1e-10  # gap and residuals, absolute and relative, that Clarabel is asked for

#        name                  h  d   n  scaling  level  tau  intercept
INSTANCES = [
    ("two-classes-dro",        2, 3, 24, "dro",      1.0,    0.2, None),
    ("two-classes-paper-wide", 2, 2, 30, "paper",    1.0,   60.0, None),
    ("three-classes-dro",      3, 4, 30, "dro",      0.1,    0.8, 0.8),
    ("three-classes-paper",    3, 5, 27, "paper",    0.01,   5.0, None),
    ("four-classes-dro-wide",  4, 2, 48, "dro",     10.0,   80.0, 1.0),
    ("four-classes-few-rows",  4, 6, 32, "dro",      0.2,    3.0, None),
    ("five-classes-paper",     5, 4, 35, "paper",    1.0,   10.0, 0.5),
    ("six-classes-dro",        6, 5, 36, "dro",      1.0,    4.0, None),
    ("six-classes-dro-wide",   6, 2, 60, "dro",      0.5,  120.0, None),
    ("six-classes-paper",      6, 7, 42, "paper",    0.1,   20.0, 1.0),
]


def rows_and_labels(rng, classes, features, n):
    """Gaussian clouds that overlap, and a fifth of the labels at random: no margin, so that a
    wide ball is not active."""
    centres = rng.normal(size=(classes, features))
    centres[0] *= 4  # an easy class: where the adversary is strong its rows get no weight
    labels = np.arange(n) % classes
    rows = np.round(centres[labels] + rng.normal(size=(n, features)), 3)
    noisy = rng.random(n) < 0.2
    labels = np.where(noisy, rng.integers(classes, size=n), labels)
    return rows, labels


def solve(rows, labels, classes, c, tau):
    """Clarabel's primal and dual values, and the nuclear norm of its X."""
    n, d = rows.shape
    x = cp.Variable((classes, d))
    nu, r = cp.Variable(), cp.Variable(n)
    scores = rows @ x.T
    losses = cp.log_sum_exp(scores, axis=1) - cp.sum(cp.multiply(scores, np.eye(classes)[labels]), axis=1)
    constraints = [r >= -1, n * c * r >= losses - nu, cp.normNuc(x) <= tau]
    problem = cp.Problem(cp.Minimize(nu + c * cp.sum(r) + c / 2 * cp.sum_squares(r)), constraints)
    names = ["tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio"]
    problem.solve(solver=cp.CLARABEL, max_iter=500, **dict.fromkeys(names, TOLERANCE))
    if problem.status != cp.OPTIMAL:
        raise SystemExit(f"Clarabel: {problem.status}")
    return problem.value, x.value, 1 + r.value


def bracket(rows, labels, c, tau, x, w):
    """Bounds of the optimum that hold whatever the solver did: the value at its X drawn into the ball, and at its y
    the tangent plane of the losses, minimised over the ball."""
    n = len(labels)
    x = x * min(1, tau / np.linalg.norm(x, "nuc"))
    w = np.maximum(w, 0) * n / np.maximum(w, 0).sum()
    scores = rows @ x.T
    softmax = np.exp(scores - scores.max(axis=1, keepdims=True))
    softmax /= softmax.sum(axis=1, keepdims=True)
    losses = -np.log(softmax[np.arange(n), labels])
    # the best response: theta such that sum_i max(0, l_i/(n c) - theta) = n
    sorted_ = np.sort(losses / (n * c))[::-1]
    theta = ((np.cumsum(sorted_) - n) / np.arange(1, n + 1)).max()
    best = np.maximum(losses / (n * c) - theta, 0)
    value = lambda w: w @ losses / n - c / 2 * ((w - 1) ** 2).sum()
    softmax[np.arange(n), labels] -= 1
    gradient = (softmax * w[:, None] / n).T @ rows
    return value(w) - (gradient * x).sum() - tau * np.linalg.norm(gradient, 2), value(best)


def main():
    print("# Written by scripts/reference_optima: do not edit.")
    print(f"# CVXPY {cp.__version__} with Clarabel at tolerance {TOLERANCE:g}; optimum in units of the loss (f over s).")
    print("# attained: the exact value at its X drawn into the ball; up to 2e-10 below the optimum that it reports, whose")
    print("# variables l and r keep a little slack.")
    rng = np.random.default_rng(20)
    for name, classes, features, n, scaling, level, tau, intercept in INSTANCES:
        rows, labels = rows_and_labels(rng, classes, features, n)
        whole = rows if intercept is None else np.hstack([rows, np.full((n, 1), intercept)])
        c = level / n if scaling == "dro" else level
        optimum, x, w = solve(whole, labels, classes, c, tau)
        lower, upper = bracket(whole, labels, c, tau, x, w)
        print(f"\ninstance {name}")
        print(f"scaling {scaling}\nlevel {level:g}\ntau {tau:g}\nclasses {classes}")
        if intercept is not None:
            print(f"intercept {intercept:g}")
        if not (abs(upper - optimum) < 1e-9 and lower <= optimum + 1e-9):
            raise SystemExit(f"{name}: Clarabel says {optimum}, but it is in [{lower}, {upper}]")
        print(f"optimum {optimum:.12f}\nattained {upper:.13f}\ntolerance {TOLERANCE:g}")
        print(f"nuclear_norm {np.linalg.norm(x, 'nuc'):.9f}\nzero_weights {(w < 1e-4).sum()}")
        for label, row in zip(labels, rows):
            print("row", label, *(f"{v:g}" for v in row))


if __name__ == "__main__":
    main()
