"""Answers `objective tol hull_points kernels blas_threads` with a run of certified_numpy on the file of its argument.

The kernels are `tuned` or `plain`.
"""

import json
import sys
import time

from certified_numpy import Certified, from_file
from threadpoolctl import threadpool_limits

LIMIT = 400


def main():
    rows, labels, classes = from_file(sys.argv[1])
    for line in sys.stdin:
        objective, tol, hull_points, kernels, blas_threads = line.split()
        with threadpool_limits(int(blas_threads), user_api="blas"):
            start = time.perf_counter()
            method = Certified(
                rows, labels, classes, tau=100.0, lambda_n=1.0, paper=objective == "paper",
                hull_points=int(hull_points), tuned=kernels == "tuned",
            )
            setup = time.perf_counter() - start
            start = time.perf_counter()
            while method.gap > float(tol) and method.k < LIMIT:
                method.step()
            seconds = time.perf_counter() - start
        print(json.dumps({
            "seconds": seconds, "setup": setup, "iterations": method.k,
            "grads": method.grads, "certificate_grads": method.looks,
            "gap": method.gap, "solved": bool(method.gap <= float(tol)), "blas_threads": int(blas_threads),
        }))


if __name__ == "__main__":
    main()
