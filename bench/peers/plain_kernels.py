"""The kernels of certified MPCGS as one writes them in NumPy and SciPy: whole arrays, `@`, and threads only in BLAS.

The same interface as numpy_kernels.py, which is tuned by hand. Results go to arrays that are there already, by `out=`
where the function has it; that takes one copy more of a sparse product than a new array would.
"""

import numpy as np
from numpy_kernels import Point


class PlainKernels:
    def __init__(self, rows, labels, classes, threads):
        self.n, self.classes, self.labels, self.numbers = len(labels), classes, labels, np.arange(len(labels))
        self.rows, self.columns = rows, rows.T.tocsr()

    def scores(self, x, out):
        """A X, n x h."""
        out[:] = self.rows @ x

    def adjoint(self, w, out):
        """A' W, d x h."""
        out[:] = self.columns @ w

    def point(self):
        shape = (self.n, self.classes)
        return Point(np.zeros(shape), np.empty(self.n), np.empty(shape), np.empty(self.n))

    def combine(self, weights, scores, out):
        """The point with these weights of scores."""
        out.scores = sum(w * s for w, s in zip(weights, scores) if w != 0)
        top = out.scores.max(axis=1)
        out.powers = np.exp(out.scores - top[:, None])
        out.totals = out.powers.sum(axis=1)
        out.losses = np.log(out.totals) + top - out.scores[self.numbers, self.labels]

    def weighted_slopes(self, at, weights, out):
        """Row by row, softmax minus the label's indicator, with these weights."""
        np.multiply(at.powers, (weights / at.totals)[:, None], out=out)
        out[self.numbers, self.labels] -= weights

    def dot(self, a, b):
        return np.vdot(a, b)

    def dots(self, pairs):
        """The inner products of pairs of scores."""
        return np.array([np.vdot(a, b) for a, b in pairs])

    def gram(self, x):
        """X' X, h x h: BLAS's syrk."""
        return x.T @ x

    def grams(self, many, x):
        """M' X, h x h, for many M."""
        return [m.T @ x for m in many]

    def shrunk_step(self, v, g, alpha, factor, out):
        """out = (v - g / alpha) factor, where there is one; returns |out - v|^2."""
        to = v - g / alpha
        if factor is None:
            out[:] = to
        else:
            np.matmul(to, factor, out=out)
        step = out - v
        return np.vdot(step, step)

    def toward(self, x, weight, target):
        """x += weight (target - x)."""
        x += weight * (target - x)

    def move(self, x, weights, others):
        """x = weights[0] x + the sum of the others with theirs."""
        x *= weights[0]
        for w, m in zip(weights[1:], others):
            if w != 0:
                x += w * m
