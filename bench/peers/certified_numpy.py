"""Certified MPCGS for robust multiclass classification in NumPy and SciPy: what the bench compares with.

The algorithm of docs/theory.md, "Certified MPCGS", as crates/couloir/src/solver/mpcgs/certified.rs has it: the same iteration
with `hull_points=5`; with 0 a plainer one, without the search for a better x, the mixed lower bound and the looks.

It is written to be fast. X lies by features (d x h), so that products with sparse matrices run along memory; A and A'
are both stored by rows. Points carry their scores, so that an iteration costs one product with A and one with A', and
inner products with a gradient A' W are taken with W in score space. Spectral work goes through h x h Gram matrices,
and those of combinations come from the blocks of their parts, without a pass.

With `tuned` the matrices are cut into one piece a thread (SciPy's products and NumPy's ufuncs run on one thread, but let
go of the interpreter's lock), and passes over long arrays go by blocks that stay in cache, into buffers that are there
already. Without, they are written as one writes them in NumPy: whole arrays and `@`, and threads only in BLAS.
"""

import numpy as np
import scipy.sparse as sp
from hull_search import HullSearch
from lower_bound import Combination, LowerBound, Minorant, least_linear
from numpy_kernels import Kernels
from plain_kernels import PlainKernels

ROUNDS, FIRST_GUESS, WORTH = 4, 1e-3, 0.01


def shrink(gram, tau):
    """F with M F the projection of M onto the nuclear ball, from M' M; none where M lies in the ball."""
    values, vectors = np.linalg.eigh(gram)
    singular = np.sqrt(np.maximum(values, 0))
    if singular.sum() <= tau:
        return None
    falling = singular[::-1]
    theta = ((np.cumsum(falling) - tau) / np.arange(1, len(falling) + 1)).max()
    kept = np.maximum(singular - theta, 0)
    factor = np.divide(kept, singular, out=np.zeros_like(kept), where=singular > 0)
    return (vectors * factor) @ vectors.T


class Model:
    """s <l(X), y> - lambda/2 |n y - 1|^2, with lambda = lambda_n / n, by losses."""

    def __init__(self, n, lambda_n, s):
        self.n, self.lambda_n, self.s, self.count = n, lambda_n, s, np.arange(1, n + 1)

    def respond(self, at):
        """The best y of the simplex."""
        shifted = at.losses * (self.s / self.lambda_n)
        falling = np.sort(shifted)[::-1]
        theta = ((np.cumsum(falling) - self.n) / self.count).max()
        shifted -= theta
        np.maximum(shifted, 0, out=shifted)
        shifted /= self.n
        return shifted

    def value(self, at, y):
        off = self.n * y - 1
        return self.s * (at.losses @ y) - self.lambda_n / (2 * self.n) * (off @ off)


class Certified:
    def __init__(self, rows, labels, classes, tau, lambda_n, paper, hull_points, tuned=True, threads=2):
        n, d = rows.shape
        self.kernels = kernels = (Kernels if tuned else PlainKernels)(rows, labels, classes, threads)
        self.model = Model(n, lambda_n, 1 / n if paper else 1.0)
        self.tau, self.diameter, self.lhat, self.k = tau, 2 * tau, 0.0, 0
        self.x, self.at_x, self.z, self.trial = np.zeros((d, classes)), *(kernels.point() for _ in range(3))
        # every v with its scores
        self.v, self.trial_v = ((np.zeros((d, classes)), np.zeros((n, classes))) for _ in range(2))
        self.v_gram = np.zeros((classes, classes))
        self.g, self.w = np.empty((d, classes)), np.empty((n, classes))
        self.average = Combination(kernels, d, classes, tau)
        self.search = HullSearch(kernels, self.model, hull_points, d) if hull_points else None
        self.floor = LowerBound(kernels, d, classes, tau) if hull_points else None
        # the certificate at the start
        kernels.combine([1.0], [np.zeros((n, classes))], self.at_x)
        y = self.model.respond(self.at_x)
        self.gradient(self.at_x, y)
        self.grads, self.looks, self.next_look = 0, 1, 2
        self.upper = self.model.value(self.at_x, y)
        self.lower = self.constant(self.at_x, y) + least_linear(kernels.gram(self.g), tau)

    def gradient(self, at, y):
        """The gradient in `g`, and in `w` what it is the adjoint product of."""
        self.kernels.weighted_slopes(at, self.model.s * y, self.w)
        self.kernels.adjoint(self.w, self.g)

    def constant(self, at, y):
        """f(u, y) >= constant + <g, u> for all u, where g is the gradient at that point."""
        return self.model.value(at, y) - self.kernels.dot(self.w, at.scores)

    @property
    def gap(self):
        """The certified gap over s."""
        return (self.upper - self.lower) / self.model.s

    def project(self, alpha, grams):
        """The trial v: the projection of v - g / alpha. Its Gram matrix, and how far it went, squared."""
        of_g, of_v_and_g = grams
        gram = self.v_gram - (of_v_and_g + of_v_and_g.T) / alpha + of_g / alpha**2
        factor = shrink(gram, self.tau)
        square = self.kernels.shrunk_step(self.v[0], self.g, alpha, factor, self.trial_v[0])
        return gram if factor is None else factor.T @ gram @ factor, square

    def step(self):
        k = self.k = self.k + 1
        gamma = 3 / (k + 2)
        kernels, model, x, z, mix = self.kernels, self.model, self.trial, self.z, [1 - gamma, gamma]
        kernels.combine(mix, [self.at_x.scores, self.v[1]], z)
        y, most_rounds, failed, fresh = model.respond(z), ROUNDS + int(0.5 * np.log2(k)), 0, True
        while True:
            if fresh:
                self.gradient(z, y)
                self.grads += 1
                grams = kernels.grams([self.g, self.v[0]], self.g)
                value_z, at_v, fresh = model.value(z, y), kernels.dot(self.w, self.v[1]), False
            if self.lhat == 0:
                self.lhat = FIRST_GUESS * np.sqrt(np.trace(grams[0])) / self.diameter
            alpha = 6 * self.lhat / (k + 1)
            v_gram, square = self.project(alpha, grams)
            kernels.scores(*self.trial_v)
            kernels.combine(mix, [self.at_x.scores, self.trial_v[1]], x)
            # (c): how far f(., y) bends between z and x
            value = model.value(x, y)
            bend = value - value_z - gamma * (kernels.dot(self.w, self.trial_v[1]) - at_v)
            allowed = 0.5 * gamma * alpha * square
            needed = self.lhat * bend / allowed if allowed > 0 else 0
            if bend - allowed > 1e-14 * abs(value):
                self.lhat = np.clip(1.05 * needed, 1.4 * self.lhat, 16 * self.lhat)
                continue
            # (a): y answers x nearly as well as the best response does
            y_hat = model.respond(x)
            best = model.value(x, y_hat)
            eps = max(best - value, 0)
            if eps <= max(self.lhat * self.diameter**2 / (k * (k + 1) * (k + 2)), 1e-14 * abs(value)):
                break
            curvature = (max(bend, 0) + eps) / (gamma * gamma * square)
            if failed == 0 and self.lhat < 0.5 * curvature:
                self.lhat = np.clip(curvature, 1.4 * self.lhat, 16 * self.lhat)
                continue
            failed += 1
            if failed % most_rounds == 0:
                self.lhat *= 2
            y, fresh = y_hat, True
        new = Minorant(self.g, grams[0], self.constant(z, y))
        worth = WORTH * self.gap * model.s
        y_hat, best = self.move(mix, y_hat, best)
        self.v_gram, self.upper = v_gram, min(self.upper, best)
        self.bound(k, gamma, new, y_hat, worth)
        if needed < 0.7 * self.lhat:
            self.lhat *= k / (k + 1)

    def move(self, mix, y_hat, best):
        """On to the accepted point, or to a better one in the hull of the last ones."""
        points, weights = [(self.x, self.at_x.scores), self.trial_v, self.v], mix
        if self.search:
            points += self.search.history
            if self.search.is_due():
                self.trial, y_hat, best, weights = self.search.run(points, weights, self.trial, y_hat, best, self.gap)
        self.kernels.move(self.x, weights, [x for x, _ in points[1:]])
        self.at_x, self.trial = self.trial, self.at_x
        self.v, self.trial_v = self.trial_v, self.v
        if self.search:
            self.trial_v = self.search.push(self.trial_v)
        return y_hat, best

    def bound(self, k, gamma, new, y_hat, worth):
        """The lower bounds of the gradients so far."""
        if not self.floor:
            (cross,) = self.kernels.grams([self.average.slope], new.slope)
            self.average.mix(gamma, new, cross)
            self.lower = max(self.lower, new.constant + least_linear(new.gram, self.tau), self.average.bound())
            return
        with_average, with_floor = self.kernels.grams([self.average.slope, self.floor.slope], new.slope)
        self.average.mix(gamma, new, with_average)
        self.floor.absorb(new, with_floor, worth)
        average = self.average.bound()
        if average > self.floor.value:
            self.floor.take(self.average, average)
        # the minorant at (x, yhat) costs a gradient: a quarter of the method's at the most
        if k >= self.next_look and 4 * (self.looks + 1) <= self.grads:
            self.looks += 1
            before = self.floor.value
            self.gradient(self.at_x, y_hat)
            gram, cross = self.kernels.grams([self.g, self.floor.slope], self.g)
            self.floor.absorb(Minorant(self.g, gram, self.constant(self.at_x, y_hat)), cross, worth)
            self.next_look = k + 1 if self.floor.value - before > 0.1 * (self.upper - before) else 2 * k
        self.lower = max(self.lower, self.floor.value)


def from_file(path):
    """Rows, labels numbered from 0, and how many classes."""
    from sklearn.datasets import load_svmlight_file

    rows, labels = load_svmlight_file(path)
    classes, labels = np.unique(labels, return_inverse=True)
    # scikit-learn's indices are of 64 bits, which the products would have to read
    rows = sp.csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape)
    return rows, labels, len(classes)
