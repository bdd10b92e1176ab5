"""The search for a better x in the hull of the last points, as crates/couloir/src/solver/mpcgs/hull_search.rs has it."""

import numpy as np

EVALUATIONS, WORTH, STEP_WORTH, LONGEST_WAIT, ACTIVE_SET_STEPS, RIDGE = 8, 0.1, 0.01, 32, 64, 1e-10
TINY = np.finfo(float).tiny


class HullSearch:
    def __init__(self, kernels, model, points, d):
        shapes = (d, kernels.classes), (kernels.n, kernels.classes)
        self.kernels, self.model = kernels, model
        self.spare = [tuple(np.zeros(shape) for shape in shapes) for _ in range(points - 3)]
        self.history = []  # the v's before the current one with their scores, newest last
        self.point, self.w = kernels.point(), np.empty(shapes[1])
        self.known = {}  # inner products of the v's scores, by the ids of the two arrays
        self.wait = self.waited = 0

    def push(self, v):
        """Takes a v into the history, and hands back buffers for another."""
        self.waited += 1
        self.history.append(v)
        free = self.spare.pop() if self.spare else self.history.pop(0)
        self.known = {pair: dot for pair, dot in self.known.items() if id(free[1]) not in pair}
        return free

    def is_due(self):
        return bool(self.history) and self.waited > self.wait

    def gram(self, scores):
        """Of the differences to the first point, with a ridge; the inner products of two v's are taken once."""
        m = len(scores)
        pairs = {(i, j): (id(scores[i]), id(scores[j])) for i in range(m) for j in range(i, m)}
        missing = [(i, j) for (i, j), ids in pairs.items() if i == 0 or not {ids, ids[::-1]} & self.known.keys()]
        dots = self.kernels.dots([(scores[i], scores[j]) for i, j in missing])
        found = dict(zip(missing, dots))
        gram = np.empty((m, m))
        for (i, j), ids in pairs.items():
            dot = found[i, j] if (i, j) in found else self.known.get(ids, self.known.get(ids[::-1]))
            gram[i, j] = gram[j, i] = dot
            if i > 0:
                self.known[ids] = dot
        gram = gram - gram[0] - gram[:, :1] + gram[0, 0]
        gram[np.diag_indices(m)] += RIDGE * gram.diagonal().max()
        return gram

    def slope(self, scores, at, y):
        """What the model's value changes by towards each point, relative to the first."""
        self.kernels.weighted_slopes(at, self.model.s * y, self.w)
        slope = self.kernels.dots([(self.w, s) for s in scores])
        return slope - slope[0]

    def run(self, points, weights, at, y_hat, upper, gap):
        """From the point with these weights: the best one found with its response, upper bound and weights."""
        model, best = self.model, upper
        gap = gap * model.s
        scores = [s for _, s in points]
        weights = np.array([*weights, *[0.0] * (len(points) - 2)])
        gram, slope = self.gram(scores), self.slope(scores, at, y_hat)
        # the scale of the quadratic model: a step about as far as the best vertex, then f's curvature
        away = -weights
        away[slope.argmin()] += 1
        beta = -(slope @ away) / max(away @ gram @ away, TINY)
        for _ in range(EVALUATIONS if beta > 0 and np.isfinite(beta) else 0):
            trial = least_on_simplex(slope / beta - gram @ weights, gram, weights)
            total = trial.sum()
            if not 0.5 < total < 2:
                break  # the model has broken down
            trial /= total
            step = trial - weights
            predicted = slope @ step
            if -predicted <= STEP_WORTH * WORTH * gap / (1 + self.wait):
                break
            self.kernels.combine(trial, scores, self.point)
            y = model.respond(self.point)
            value = model.value(self.point, y)
            change = value - best
            curvature = max(2 * (change - predicted) / max(step @ gram @ step, TINY), 1e-3 * beta)
            if change < 0:
                best, y_hat, weights, beta = value, y, trial, curvature
                at, self.point = self.point, at
                slope = self.slope(scores, at, y_hat)
            else:
                beta = max(curvature, 2 * beta)
        self.wait = 0 if upper - best >= WORTH * gap else min(2 * self.wait + 1, LONGEST_WAIT)
        self.waited = 0
        return at, y_hat, best, weights


def least_on_simplex(linear, gram, start):
    """argmin <linear, w> + 1/2 w' gram w over the simplex, by the primal active-set method."""
    w, active = start.copy(), start > 0
    for _ in range(ACTIVE_SET_STEPS):
        face = np.flatnonzero(active)
        try:
            ones, right = np.linalg.solve(gram[np.ix_(face, face)], np.stack([np.ones(len(face)), -linear[face]]).T).T
        except np.linalg.LinAlgError:
            return w
        target = right + (1 - right.sum()) / ones.sum() * ones
        # as far towards the minimiser on this face as the set allows
        at, step, blocking = w[face], 1.0, None
        if target.min() < 0:
            below = target < 0
            far = np.full(len(face), np.inf)
            far[below] = at[below] / (at[below] - target[below])
            blocking = far.argmin()
            step = far[blocking]
        w[face] = np.maximum(at + step * (target - at), 0)
        if blocking is not None:
            w[face[blocking]], active[face[blocking]] = 0, False
            continue
        # the face that would gain most, if any
        slope = linear + gram @ w
        level = w @ slope
        outside = np.where(active, np.inf, slope)
        j = outside.argmin()
        if not outside[j] < level - 1e-14 * abs(level):
            return w
        active[j] = True
    return w
