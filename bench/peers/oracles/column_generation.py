"""Column generation: restricted problems solved to full accuracy by Clarabel through CVXPY, no vertex ever dropped.

The oracle is asked at the y of the restricted saddle point, so that mu = 0 works too. With the multiplier nu of
sum_i y_i = 1 the maximum over y has a dual (docs: bench/peers/reference_optima.py derives it), and with p = m y

    min over w in the simplex, nu, p >= 0   nu + mu/(2 m^2) (sum p_i^2 - m)   with   mu p_i >= mu + m (loss_i(K w)_i - nu)
"""

import cvxpy as cp
import numpy as np
from progress import Progress


def restricted_linear(images, mu):
    """Weights and y of the restricted saddle point where losses are linear: by the dual, a problem in y."""
    m = images.shape[0]
    if mu == 0:
        w, top = cp.Variable(images.shape[1], nonneg=True), cp.Variable()
        below = images @ w <= top
        cp.Problem(cp.Minimize(top), [below, cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
        return clean(w.value), clean(below.dual_value)
    y, least = cp.Variable(m, nonneg=True), cp.Variable()
    above = images.T @ y >= least
    objective = cp.Maximize(least - mu / 2 * cp.sum_squares(y - 1 / m))
    cp.Problem(objective, [above, cp.sum(y) == 1]).solve(solver=cp.CLARABEL)
    return clean(above.dual_value), clean(y.value)


def restricted_squared(images, target, mu):
    m = images.shape[0]
    w, nu, p = cp.Variable(images.shape[1], nonneg=True), cp.Variable(), cp.Variable(m, nonneg=True)
    losses = 0.5 * cp.square(images @ w - target)
    objective = cp.Minimize(nu + mu / (2 * m**2) * (cp.sum_squares(p) - m))
    cp.Problem(objective, [mu * p >= mu + m * (losses - nu), cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    return clean(w.value), clean(p.value)


def clean(v):
    v = np.maximum(v, 0)
    return v / v.sum()


def solve(problem, start, most_calls=2000, seconds=np.inf, **options):
    progress = Progress(**options)
    images = (problem.matrix @ start)[:, None]
    while progress.calls < most_calls and progress.elapsed < seconds:
        if problem.squared:
            w, y = restricted_squared(images, problem.target, problem.mu)
        else:
            w, y = restricted_linear(images, problem.mu)
        image = images @ w
        slope = y * problem.slopes(image)
        vertex = problem.set.vertex(problem.matrix.T @ slope)
        progress.gradients += 1
        progress.calls += 1
        new = problem.matrix @ vertex
        upper = problem.phi(image)[0]
        progress.certify(upper, problem.value(image, y) + slope @ (new - image))
        if progress.done:
            break
        images = np.column_stack([images, new])
    return progress.report("column generation (Clarabel)")


def restricted_game(payoff):
    """Both sides' optimal mixtures of a matrix game: the row player pays."""
    w, top = cp.Variable(payoff.shape[0], nonneg=True), cp.Variable()
    below = payoff.T @ w <= top
    cp.Problem(cp.Minimize(top), [below, cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    return clean(w.value), clean(below.dual_value)


def double_oracle(matrix, x_set, y_set, start, other_start, most_calls=2000, seconds=np.inf, **options):
    """Both blocks by oracle; a call here is one in each block."""
    progress = Progress(**options)
    xs, ys = start[None, :], other_start[None, :]
    while progress.calls < most_calls and progress.elapsed < seconds:
        w, v = restricted_game(xs @ matrix @ ys.T)
        slope_x, slope_y = matrix @ (v @ ys), (w @ xs) @ matrix
        new_x, new_y = x_set.vertex(slope_x), y_set.vertex(-slope_y)
        progress.gradients += 1
        progress.calls += 1
        progress.certify(slope_y @ new_y, slope_x @ new_x)
        if progress.done:
            break
        xs, ys = np.vstack([xs, new_x]), np.vstack([ys, new_y])
    return progress.report("double oracle (Clarabel)")
