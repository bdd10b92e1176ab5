"""The kernels of certified MPCGS in NumPy and SciPy, tuned by hand, on a number of threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.sparse._sparsetools import csr_matvecs  # what `@` calls, but it adds to an array that is there already

BLOCK = 65536  # numbers in a block: two or three blocks fit a core's cache


def pieces(first, last, count):
    size = last - first
    return [slice(first + size * t // count, first + size * (t + 1) // count) for t in range(count)]


def multiply(matrix, x, out):
    """out = matrix x, for a matrix by rows."""
    out[:] = 0
    csr_matvecs(*matrix.shape, x.shape[1], matrix.indptr, matrix.indices, matrix.data, x.ravel(), out.ravel())


@dataclass
class Point:
    """A point of X by its scores, losses, the exponentials of its scores up to a factor a row, and their sums."""

    scores: np.ndarray
    losses: np.ndarray
    powers: np.ndarray
    totals: np.ndarray


class Kernels:
    def __init__(self, rows, labels, classes, threads):
        n, d = rows.shape
        self.n, self.classes, self.pool = n, classes, ThreadPoolExecutor(threads)
        columns = rows.T.tocsr()
        self.by_row = [(s, rows[s]) for s in pieces(0, n, threads)]
        # as many non-zeros in every piece: text has features of any frequency
        cuts = np.searchsorted(columns.indptr, columns.nnz * np.arange(1, threads) / threads)
        ends = [0, *cuts.tolist(), d]
        self.by_column = [(slice(a, b), columns[a:b]) for a, b in zip(ends, ends[1:])]
        size = BLOCK // classes

        def blocks(count):
            lanes = pieces(0, count, threads)
            return [pieces(s.start, s.stop, -(-(s.stop - s.start) // size)) for s in lanes]

        self.row_blocks, self.feature_blocks = blocks(n), blocks(d)
        self.scratch = [np.empty((size + 1, classes)) for _ in range(threads)]
        self.ones = np.ones(classes)
        self.own = np.arange(n) * classes + labels  # where the label's entry of each row lies

    def over(self, blocks, work):
        """The sum of what work(block, scratch) returns over all blocks, where it returns something."""

        def lane(blocks, scratch):
            total = 0
            for block in blocks:
                part = work(block, scratch)
                total = total if part is None else total + part
            return total

        return sum(self.pool.map(lane, blocks, self.scratch))

    def over_rows(self, work):
        return self.over(self.row_blocks, work)

    def over_features(self, work):
        return self.over(self.feature_blocks, work)

    def product(self, parts, x, out):
        list(self.pool.map(lambda part: multiply(part[1], x, out[part[0]]), parts))

    def scores(self, x, out):
        """A X, n x h."""
        self.product(self.by_row, x, out)

    def adjoint(self, w, out):
        """A' W, d x h."""
        self.product(self.by_column, w, out)

    def point(self):
        shape = (self.n, self.classes)
        return Point(np.zeros(shape), np.empty(self.n), np.empty(shape), np.empty(self.n))

    def combine(self, weights, scores, out):
        """The point with these weights of scores."""
        (weight, first), *rest = [(w, s) for w, s in zip(weights, scores) if w != 0]

        def work(block, scratch):
            to, part = out.scores[block], scratch[: block.stop - block.start]
            np.multiply(first[block], weight, out=to)
            for w, s in rest:
                to += np.multiply(s[block], w, out=part)
            self.softmax(block, out)

        self.over_rows(work)

    def softmax(self, block, at):
        """The losses of a block of rows from its scores."""
        s, q, total = at.scores[block], at.powers[block], at.totals[block]
        top = s.max(axis=1)
        np.subtract(s, top[:, None], out=q)
        np.exp(q, out=q)
        np.dot(q, self.ones, out=total)
        losses = np.log(total, out=at.losses[block])
        losses += top
        losses -= at.scores.reshape(-1)[self.own[block]]

    def weighted_slopes(self, at, weights, out):
        """Row by row, softmax minus the label's indicator, with these weights."""

        def work(block, _):
            np.multiply(at.powers[block], (weights[block] / at.totals[block])[:, None], out=out[block])
            out.reshape(-1)[self.own[block]] -= weights[block]

        self.over_rows(work)

    def dot(self, a, b):
        return self.over_rows(lambda block, _: np.vdot(a[block], b[block]))

    def dots(self, pairs):
        """The inner products of pairs of scores."""
        return self.over_rows(lambda block, _: np.array([np.vdot(a[block], b[block]) for a, b in pairs]))

    def gram(self, x):
        """X' X, h x h: BLAS's syrk."""
        return self.over_features(lambda block, _: x[block].T @ x[block])

    def grams(self, many, x):
        """M' X, h x h, for many M at once."""
        return self.over_features(lambda block, _: np.stack([m[block].T @ x[block] for m in many]))

    def shrunk_step(self, v, g, alpha, factor, out):
        """out = (v - g / alpha) factor, where there is one; returns |out - v|^2."""

        def work(block, scratch):
            part = scratch[: block.stop - block.start]
            to = out[block] if factor is None else part
            np.multiply(g[block], -1 / alpha, out=to)
            to += v[block]
            if factor is not None:
                np.dot(to, factor, out=out[block])
            step = np.subtract(out[block], v[block], out=part)
            return np.vdot(step, step)

        return self.over_features(work)

    def toward(self, x, weight, target):
        """x += weight (target - x)."""
        self.move(x, [1 - weight, weight], [target])

    def move(self, x, weights, others):
        """x = weights[0] x + the sum of the others with theirs."""
        terms = [(w, m) for w, m in zip(weights[1:], others) if w != 0]

        def work(block, scratch):
            to, part = x[block], scratch[: block.stop - block.start]
            to *= weights[0]
            for w, m in terms:
                to += np.multiply(m[block], w, out=part)

        self.over_features(work)
