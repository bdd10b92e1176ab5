"""Small robust models with every uncertainty set, with nominal weights, and their optima by a conic solver.

Writes instances and optima to standard output: the fixture of crates/couloir/tests/uncertainty_optima.rs. CVXPY states each
problem by the scalar form of its maximum over the weights of the rows (docs/theory.md, section 16), and Clarabel, an interior-point
method and no code of ours, solves it:

    min over |X|_* <= tau   max over p in P   sum_i p_i l_i(X) - penalty(p)

with multinomial logistic losses l_i, or half the squared distance of the scores from targets, and nominal weights q.
"""

import cvxpy as cp
import numpy as np
from reference_optima import rows_and_labels

# gap and residuals, absolute and relative, that Clarabel is asked for: the first that it reaches
TOLERANCES = (1e-9, 1e-8, 1e-7)

#  name         levels
SETS = [
    ("chi2", [0.1, 1.0, 4.0]),
    ("kl", [0.1, 0.5, 3.0]),
    ("group", [0.02, 0.3, 2.0]),
    ("label", [0.02, 0.3, 2.0]),
    ("none", [1.0, 1.0, 1.0]),
    ("cvar", [0.15, 0.4, 0.8]),
    ("chi2-ball", [0.05, 0.5, 3.0]),
    ("kl-ball", [0.02, 0.3, 1.0]),
    ("tv-ball", [0.05, 0.2, 0.6]),
]
#         h  d   n  tau
SHAPES = [(2, 2, 16, 1.0), (3, 3, 20, 3.0), (2, 4, 24, 8.0)]
# targets, features, rows, tau
SQUARED_SHAPES = [(1, 2, 16, 0.5), (2, 3, 20, 1.0), (1, 4, 24, 3.0)]


def worst_groups(losses, q, groups, centre, level):
    """max over w in the simplex of sum_g w_g L_g - c/2 G |w - centre|^2, by its dual."""
    count = len(centre)
    within = np.array([np.where(groups == g, q, 0) / q[groups == g].sum() for g in range(count)])
    strength = level * count
    nu, w = cp.Variable(), cp.Variable(count)
    value = nu + strength / 2 * (cp.sum_squares(w) - (centre**2).sum())
    return value, [w >= 0, strength * (w - centre) >= within @ losses - nu]


def worst_case(name, level, losses, q, groups, labels):
    """A convex expression of losses (variables) that its constraints hold above the maximum over the weights."""
    n, nu = len(q), cp.Variable()
    above = cp.pos(losses - nu)
    if name == "none":
        return q @ losses, []
    if name == "chi2":
        r = cp.Variable(n)
        value = nu + level / 2 * (2 * (q @ r) + cp.sum_squares(cp.multiply(np.sqrt(q), r)))
        return value, [r >= -1, level * r >= losses - nu]
    if name == "kl":
        return level * cp.log_sum_exp(losses / level + np.log(q)), []
    if name == "group":
        count = groups.max() + 1
        return worst_groups(losses, q, groups, np.full(count, 1 / count), level)
    if name == "label":
        return worst_groups(losses, q, labels, np.bincount(labels, q), level)
    if name == "cvar":
        return nu + (q @ above) / level, []
    if name == "chi2-ball":
        return nu + np.sqrt(1 + level) * cp.norm(cp.multiply(np.sqrt(q), above)), []
    if name == "tv-ball":
        return level * cp.max(losses) + (1 - level) * nu + q @ above, []
    if name == "kl-ball":
        # lambda rho + s with sum_i q_i lambda exp((l_i - s)/lambda) <= lambda
        lam, s, t = cp.Variable(), cp.Variable(), cp.Variable(n)
        cone = cp.constraints.ExpCone(losses - s, lam * np.ones(n), t)
        return lam * level + s, [cone, q @ t <= lam, lam >= 1e-9]
    raise ValueError(name)


def solve(name, level, rows, labels, classes, groups, q, tau, targets=None):
    n, d = rows.shape
    x, losses = cp.Variable((classes, d)), cp.Variable(n)
    scores = rows @ x.T
    value, constraints = worst_case(name, level, losses, q, groups, labels)
    if targets is None:
        own = cp.sum(cp.multiply(scores, np.eye(classes)[labels]), axis=1)
        constraints.append(losses >= cp.log_sum_exp(scores, axis=1) - own)
    else:
        constraints.append(losses >= cp.sum(cp.square(scores - targets), axis=1) / 2)
    constraints.append(cp.normNuc(x) <= tau)
    problem = cp.Problem(cp.Minimize(value), constraints)
    names = ["tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio"]
    for tolerance in TOLERANCES:
        problem.solve(solver=cp.CLARABEL, max_iter=500, **dict.fromkeys(names, tolerance))
        if problem.status == cp.OPTIMAL:
            return problem.value, tolerance
    raise SystemExit(f"{name} at {level}: Clarabel: {problem.status}")


def main():
    print("# Written by scripts/reference_optima: do not edit.")
    print(f"# CVXPY {cp.__version__} with Clarabel. An instance is: set, loss, level, classes (or targets of a row), tau, optimum, tolerance; a row: label, group, weight, targets of the squared loss, entries.")
    rng = np.random.default_rng(21)
    for name, levels in SETS:
        for level, (classes, features, n, tau) in zip(levels, SHAPES, strict=True):
            rows, labels = rows_and_labels(rng, classes, features, n)
            groups = rng.permutation(np.arange(n) % 3)
            weights = rng.integers(1, 6, size=n) / 2
            q = weights / weights.sum()
            optimum, tolerance = solve(name, level, rows, labels, classes, groups, q, tau)
            print(f"\ninstance {name} logistic {level:g} {classes} {tau:g} {optimum:.11f} {tolerance:g}")
            for label, group, weight, row in zip(labels, groups, weights, rows, strict=True):
                print("row", label, group, f"{weight:g}", *(f"{v:g}" for v in row))
    # drawn after all others, which keep their numbers
    for name, levels in SETS:
        for level, (width, features, n, tau) in zip(levels, SQUARED_SHAPES, strict=True):
            rows, labels = rows_and_labels(rng, 3, features, n)
            rows = np.round(rows / 3, 3)
            targets = np.round(rows @ rng.normal(size=(features, width)) + rng.normal(size=(n, width)), 3)
            groups = rng.permutation(np.arange(n) % 3)
            weights = rng.integers(1, 6, size=n) / 2
            q = weights / weights.sum()
            optimum, tolerance = solve(name, level, rows, labels, width, groups, q, tau, targets)
            print(f"\ninstance {name} squared {level:g} {width} {tau:g} {optimum:.11f} {tolerance:g}")
            for i in range(n):
                numbers = [*targets[i], *rows[i]]
                print("row", labels[i], groups[i], f"{weights[i]:g}", *(f"{v:g}" for v in numbers))


if __name__ == "__main__":
    main()
