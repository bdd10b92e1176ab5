"""Certified MPCGS for robust multiclass classification in NumPy and SciPy: what the bench compares with.

The algorithm of docs/theory.md, "Certified MPCGS", as crates/couloir/src/solver/certified.rs has it, but without the
search for a better x in the hull of the last points, which makes an iteration dearer and the iterations fewer.

It is written to be fast: X lies by features (d x h), so that products with sparse matrices run along memory; A and A'
are both stored by rows and cut into one piece a thread (SciPy's products and NumPy's ufuncs run on one thread, but
let go of the interpreter's lock); points carry their scores, so that an iteration costs one product with A and one
with A'; spectral work goes through the h x h Gram matrix; the best response is in closed form.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

ROUNDS, FIRST_GUESS = 4, 1e-3


def pieces(count, threads):
    return [slice(count * t // threads, count * (t + 1) // threads) for t in range(threads)]


class Kernels:
    """The four kernels, on a number of threads."""

    def __init__(self, rows, labels, classes, threads):
        n, d = rows.shape
        self.labels, self.classes, self.pool = labels, classes, ThreadPoolExecutor(threads)
        columns = rows.T.tocsr()
        self.by_row = [(s, rows[s]) for s in pieces(n, threads)]
        # as many non-zeros in every piece: text has features of any frequency
        cuts = np.searchsorted(columns.indptr, columns.nnz * np.arange(1, threads) / threads)
        ends = [0, *cuts.tolist(), d]
        self.by_column = [(slice(a, b), columns[a:b]) for a, b in zip(ends, ends[1:])]

    def run(self, work, parts):
        list(self.pool.map(work, parts))

    def scores(self, x):
        """A X, n x h."""
        out = np.empty((len(self.labels), self.classes))

        def work(part):
            out[part[0]] = part[1] @ x

        self.run(work, self.by_row)
        return out

    def adjoint(self, w):
        """A' W, d x h."""
        out = np.empty((self.by_column[-1][0].stop, self.classes))

        def work(part):
            out[part[0]] = part[1] @ w

        self.run(work, self.by_column)
        return out

    def softmax(self, scores):
        """The losses, and the slopes: softmax minus the label's indicator."""
        losses, slopes = np.empty(len(scores)), np.empty_like(scores)

        def work(part):
            s, q, b = scores[part], slopes[part], self.labels[part]
            rows = np.arange(len(b))
            own = s[rows, b]
            top = s.max(axis=1)
            np.subtract(s, top[:, None], out=q)
            np.exp(q, out=q)
            total = q.sum(axis=1)
            losses[part] = np.log(total) + (top - own)
            q /= total[:, None]
            q[rows, b] -= 1

        self.run(work, pieces(len(scores), len(self.by_row)))
        return losses, slopes

    @staticmethod
    def gram(x):
        """X' X, h x h: BLAS's syrk."""
        return x.T @ x


def project_to_nuclear_ball(m, tau):
    values, vectors = np.linalg.eigh(Kernels.gram(m))
    singular = np.sqrt(np.maximum(values, 0))
    if singular.sum() <= tau:
        return m
    falling = singular[::-1]
    theta = ((np.cumsum(falling) - tau) / np.arange(1, len(falling) + 1)).max()
    kept = np.maximum(singular - theta, 0)
    factor = np.divide(kept, singular, out=np.zeros_like(kept), where=singular > 0)
    return m @ ((vectors * factor) @ vectors.T)


def least_linear(g, tau):
    """min over the ball of <g, u>."""
    return -tau * np.sqrt(max(np.linalg.eigvalsh(Kernels.gram(g))[-1], 0))


def best_response(losses, s, lambda_n):
    """The maximiser of s <l, y> - lambda/2 |n y - 1|^2 over the simplex."""
    n = len(losses)
    shifted = losses * (s / lambda_n)
    falling = np.sort(shifted)[::-1]
    theta = ((np.cumsum(falling) - n) / np.arange(1, n + 1)).max()
    return np.maximum(shifted - theta, 0) / n


@dataclass
class Point:
    """A point of X by its scores, losses and slopes."""

    scores: np.ndarray
    losses: np.ndarray
    slopes: np.ndarray


class Certified:
    def __init__(self, rows, labels, classes, tau, lambda_n, paper, threads=2):
        n, d = rows.shape
        self.kernels = Kernels(rows, labels, classes, threads)
        self.n, self.tau, self.lambda_n, self.s = n, tau, lambda_n, 1 / n if paper else 1.0
        self.diameter, self.lhat, self.k, self.grads = 2 * tau, 0.0, 0, 0
        self.x, self.v = np.zeros((d, classes)), np.zeros((d, classes))
        self.v_scores = np.zeros((n, classes))
        self.at_x = self.prepare(np.zeros((n, classes)))
        self.minorant_slope, self.minorant_constant = np.zeros((d, classes)), 0.0
        self.upper, self.lower = self.value(self.at_x, self.respond(self.at_x)), -np.inf

    def prepare(self, scores):
        return Point(scores, *self.kernels.softmax(scores))

    def respond(self, at):
        return best_response(at.losses, self.s, self.lambda_n)

    def value(self, at, y):
        return self.s * (at.losses @ y) - self.lambda_n / (2 * self.n) * ((self.n * y - 1) ** 2).sum()

    def grad_x(self, at, y):
        self.grads += 1
        return self.kernels.adjoint(at.slopes * (self.s * y)[:, None])

    @property
    def gap(self):
        """The certified gap over s."""
        return (self.upper - self.lower) / self.s

    def step(self):
        k = self.k = self.k + 1
        gamma = 3 / (k + 2)
        z = self.prepare((1 - gamma) * self.at_x.scores + gamma * self.v_scores)
        y = self.respond(z)
        g = self.grad_x(z, y)
        if self.lhat == 0:
            self.lhat = FIRST_GUESS * np.linalg.norm(g) / self.diameter
        most_rounds, failed = ROUNDS + int(0.5 * np.log2(k)), 0
        while True:
            alpha = 6 * self.lhat / (k + 1)
            v = project_to_nuclear_ball(self.v - g / alpha, self.tau)
            v_scores = self.kernels.scores(v)
            x = self.prepare((1 - gamma) * self.at_x.scores + gamma * v_scores)
            step = v - self.v
            slope, square = np.vdot(g, step), np.vdot(step, step)
            # (c): how far f(., y) bends between z and x
            value_z, value = self.value(z, y), self.value(x, y)
            bend = value - value_z - gamma * slope
            allowed = 0.5 * gamma * alpha * square
            needed = self.lhat * bend / allowed if allowed > 0 else 0
            if bend - allowed > 1e-14 * abs(value):
                self.lhat = np.clip(1.05 * needed, 1.4 * self.lhat, 16 * self.lhat)
                continue
            # (a): y answers x nearly as well as the best response does
            y_hat = self.respond(x)
            best = self.value(x, y_hat)
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
            y = y_hat
            g = self.grad_x(z, y)
        # f(u, y_k) >= constant + <g, u>, alone and on average
        constant = value - bend - ((1 - gamma) * np.vdot(g, self.x) + gamma * np.vdot(g, v))
        self.minorant_slope *= 1 - gamma
        self.minorant_slope += gamma * g
        self.minorant_constant += gamma * (constant - self.minorant_constant)
        single = constant + least_linear(g, self.tau)
        average = self.minorant_constant + least_linear(self.minorant_slope, self.tau)
        self.upper, self.lower = min(self.upper, best), max(self.lower, single, average)
        self.x *= 1 - gamma
        self.x += gamma * v
        self.v, self.v_scores, self.at_x = v, v_scores, x
        if needed < 0.7 * self.lhat:
            self.lhat *= k / (k + 1)


def from_file(path):
    """Rows, labels numbered from 0, and how many classes."""
    from sklearn.datasets import load_svmlight_file

    rows, labels = load_svmlight_file(path)
    classes, labels = np.unique(labels, return_inverse=True)
    return sp.csr_array(rows), labels, len(classes)
