"""Answers each line with the median seconds of the kernels in NumPy and SciPy on the file of its argument."""

import json
import statistics
import sys
import time

import numpy as np
from certified_numpy import from_file
from numpy_kernels import Kernels
from threadpoolctl import threadpool_limits

ROUNDS = 11


def median(work):
    work()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def on_either(work):
    """The better of BLAS on one and on two threads."""
    times = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            times.append(median(work))
    return min(times)


def plain_softmax(scores, labels):
    rows = np.arange(len(labels))
    shifted = scores - scores.max(axis=1, keepdims=True)
    slopes = np.exp(shifted)
    total = slopes.sum(axis=1)
    losses = np.log(total) - shifted[rows, labels]
    slopes /= total[:, None]
    slopes[rows, labels] -= 1
    return losses, slopes


def main():
    rows, labels, classes = from_file(sys.argv[1])
    (n, d), h = rows.shape, classes
    kernels = Kernels(rows, labels, h, threads=2)
    transposed = rows.T.tocsr()
    x = np.sin(0.7 * np.arange(d * h)).reshape(d, h)
    w = np.sin(0.3 * np.arange(n * h)).reshape(n, h)
    point, weights, x_out, w_out = kernels.point(), np.ones(n), np.empty((d, h)), np.empty((n, h))
    point.scores[:] = w

    def softmax():
        kernels.over_rows(lambda block, _: kernels.softmax(block, point))
        kernels.weighted_slopes(point, weights, w_out)

    for _ in sys.stdin:
        print(json.dumps({
            "scores": median(lambda: kernels.scores(x, w_out)),
            "scores_plain": median(lambda: rows @ x),
            "adjoint": median(lambda: kernels.adjoint(w, x_out)),
            "adjoint_plain": median(lambda: transposed @ w),
            "softmax": median(softmax),
            "softmax_plain": median(lambda: plain_softmax(w, labels)),
            "gram": on_either(lambda: kernels.gram(x)),
            "gram_plain": median(lambda: x.T @ x),
        }))


if __name__ == "__main__":
    main()
