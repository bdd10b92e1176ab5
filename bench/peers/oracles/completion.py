"""Robust matrix completion on a large nuclear ball in NumPy and SciPy: X = U S V' with few columns.

Each round asks ARPACK for the leading singular pairs of the sparse gradient, adds them to U and V, and minimises phi over
{U S V' : |S|_* <= tau} by accelerated projected gradients. The lower bound trusts ARPACK's largest singular value.
"""

import numpy as np
import scipy.sparse as sp
from instances import project_to_simplex
from progress import Progress
from scipy.sparse.linalg import svds

GAPS = (1e-1, 1e-2, 1e-3, 1e-4)
PAIRS = 4  # singular pairs that a round adds
MOST_STEPS = 60  # of one restricted problem
SHARE = 1e-3  # a restricted problem ends when a step gains less than this share of the gap


class Completion:
    """The problem of kind `completion` of instances.py."""

    def __init__(self, instance):
        self.sides = tuple(map(int, instance.settings["sides"].split()))
        self.tau, self.mu = instance.number("tau"), instance.number("mu")
        row, column = (instance.arrays[name].astype(int) for name in ("row", "column"))
        order = np.lexsort((column, row))
        self.row, self.column, self.target = row[order], column[order], instance.arrays["target"][order]
        self.n = len(order)
        self.ends = np.append(0, np.cumsum(np.bincount(self.row, minlength=self.sides[0])))

    def image(self, left, right):
        """The observed entries of left right'."""
        return np.einsum("ij,ij->i", left[self.row], right[self.column])

    def phi(self, image):
        """max over y of f, and its gradient in the image."""
        losses = 0.5 * (image - self.target) ** 2
        y = project_to_simplex(1 / self.n + losses / self.mu)
        return losses @ y - self.mu / 2 * ((y - 1 / self.n) ** 2).sum(), y * (image - self.target)

    def matrix(self, entries):
        """The sparse matrix with these entries; repeated places add up."""
        return sp.csr_matrix((entries, self.column, self.ends), shape=self.sides)


def project_to_nuclear_ball(s, tau):
    u, values, v = np.linalg.svd(s)
    return s if values.sum() <= tau else (u * (project_to_simplex(values / tau) * tau)) @ v


class Restricted:
    """min over |S|_* <= tau of phi(U S V'); remembers the curvature between calls."""

    def __init__(self, problem):
        self.problem, self.curvature, self.evaluations = problem, 1e-6, 0

    def evaluate(self, u, s, v):
        self.evaluations += 1
        value, slope = self.problem.phi(self.problem.image(u @ s, v))
        return value, u.T @ (self.problem.matrix(slope) @ v)

    def solve(self, u, s, v, gain):
        """Steps until one gains less than `gain`."""
        value, gradient = self.evaluate(u, s, v)
        at, at_value, at_gradient, momentum = s, value, gradient, 1.0
        for step in range(MOST_STEPS):
            while True:
                trial = project_to_nuclear_ball(at - at_gradient / self.curvature, self.problem.tau)
                move = trial - at
                trial_value, trial_gradient = self.evaluate(u, trial, v)
                allowed = at_value + (at_gradient * move).sum() + self.curvature / 2 * (move**2).sum()
                if trial_value <= allowed + 1e-14 * abs(at_value):
                    break
                self.curvature *= 2
            self.curvature *= 0.9
            if trial_value > value and momentum > 1:
                at, at_value, at_gradient, momentum = s, value, gradient, 1.0
                continue
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            at = trial + (momentum - 1) / following * (trial - s)
            gained = value - trial_value
            s, value, gradient, momentum = trial, trial_value, trial_gradient, following
            if gained < gain and step > 5:
                break
            at_value, at_gradient = self.evaluate(u, at, v)
        return s


def solve(problem, most_calls=200, seconds=np.inf, gaps=GAPS):
    progress, restricted = Progress(gaps), Restricted(problem)
    u, v, s = np.zeros((problem.sides[0], 0)), np.zeros((problem.sides[1], 0)), np.zeros((0, 0))
    image = np.zeros(problem.n)
    while progress.calls < most_calls and progress.elapsed < seconds:
        value, slope = problem.phi(image)
        gradient = problem.matrix(slope)
        left, values, right = svds(gradient, k=PAIRS, rng=progress.calls)
        progress.calls += 1
        progress.gradients += 1
        progress.evaluations = restricted.evaluations
        progress.certify(value, value - slope @ image - problem.tau * values.max())
        if progress.done:
            break
        new_u, new_v = np.linalg.qr(np.hstack([u, left]))[0], np.linalg.qr(np.hstack([v, right.T]))[0]
        s = (new_u.T @ u) @ s @ (v.T @ new_v)
        s = restricted.solve(new_u, s, new_v, SHARE * progress.gap)
        rotate_u, values, rotate_v = np.linalg.svd(s)
        keep = values > 1e-8 * values.max()
        u, v, s = new_u @ rotate_u[:, keep], new_v @ rotate_v[keep].T, np.diag(values[keep])
        image = problem.image(u * values[keep], v)
    return progress.report("low rank (NumPy)")
