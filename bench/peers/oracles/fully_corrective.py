"""Fully corrective Frank-Wolfe in NumPy on phi(x) = max over y of f(x, y), where x is known by its oracle alone.

Restricted problems, over the weights of the vertices found so far, are solved in image space by accelerated projected
gradients with restarts and a step found by backtracking. The lower bound is the best Frank-Wolfe minorant so far.
"""

import numpy as np
from instances import project_to_simplex
from progress import Progress

SHARE = 0.1  # of the certified gap, to which the restricted problem is solved
MOST_STEPS = 3000  # of one restricted problem
ZERO = 1e-12  # weights up to this leave


class Restricted:
    """min over the simplex of phi(K w); remembers the curvature between calls."""

    def __init__(self, phi):
        self.phi, self.curvature, self.evaluations = phi, 1e-3, 0

    def evaluate(self, image):
        self.evaluations += 1
        return self.phi(image)

    def solve(self, images, w, accuracy):
        """Weights whose Frank-Wolfe gap over the atoms is at most `accuracy`, if the steps suffice."""
        value, slope = self.evaluate(images @ w)
        gradient = images.T @ slope
        at, at_value, at_gradient, momentum = w, value, gradient, 1.0
        for _ in range(MOST_STEPS):
            if gradient @ w - gradient.min() <= accuracy:
                break
            while True:
                trial = project_to_simplex(at - at_gradient / self.curvature)
                step = trial - at
                trial_value, slope = self.evaluate(images @ trial)
                allowed = at_value + at_gradient @ step + self.curvature / 2 * (step @ step)
                trial_gradient = images.T @ slope
                # the second test is sufficient for the first, and rounding of values does not disturb it
                bend = (trial_gradient - at_gradient) @ step
                if trial_value <= allowed or bend <= self.curvature / 2 * (step @ step):
                    break
                self.curvature *= 2
            self.curvature *= 0.95
            if trial_value > value and momentum > 1:  # a restart from the best point
                at, at_value, at_gradient, momentum = w, value, gradient, 1.0
                continue
            turned = (at - trial) @ (trial - w) > 0
            following = 1.0 if turned else (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            at = trial if turned else trial + (momentum - 1) / following * (trial - w)
            w, value, gradient, momentum = trial, trial_value, trial_gradient, following
            at_value, at_gradient = value, gradient
            if at is not trial:
                at_value, slope = self.evaluate(images @ at)
                at_gradient = images.T @ slope
        return w


def solve(problem, start, most_calls=2000, seconds=np.inf, gaps=None):
    progress = Progress(*([gaps] if gaps else []))
    restricted = Restricted(problem.phi)
    images, w = (problem.matrix @ start)[:, None], np.ones(1)
    while progress.calls < most_calls and progress.elapsed < seconds:
        image = images @ w
        value, slope = problem.phi(image)
        vertex = problem.set.vertex(problem.matrix.T @ slope)
        progress.gradients += 1
        progress.calls += 1
        progress.evaluations = restricted.evaluations
        new = problem.matrix @ vertex
        progress.certify(value, value + slope @ (new - image))
        if progress.done:
            break
        keep = w > ZERO
        images, w = np.column_stack([images[:, keep], new]), np.append(w[keep] / w[keep].sum(), 0.0)
        w = restricted.solve(images, w, SHARE * progress.gap)
    return progress.report("fully corrective (NumPy)")
