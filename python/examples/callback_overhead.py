"""What a problem in Python costs over the same problem in Rust, besides the time in its own functions.

    python callback_overhead.py [PROGRAM]

PROGRAM is the Rust half, crates/couloir/examples/diagonal_game.rs; without it, cargo builds and runs it. Both should be
release builds: `pip install .` makes one.
"""

import subprocess
import sys
import time
import warnings

import couloir

N, ITERATIONS = 1000, 3000
CARGO = ["cargo", "run", "--release", "--quiet", "-p", "couloir", "--example", "diagonal_game"]


class DiagonalGame:
    """x . y + |x|^2 / 2 - |y|^2 / 2, which counts the seconds that it takes."""

    def __init__(self):
        self.seconds = 0.0

    def timed(self, function, x, y):
        began = time.perf_counter()
        answer = function(x, y)
        self.seconds += time.perf_counter() - began
        return answer

    def value(self, x, y):
        return self.timed(lambda x, y: x @ y + 0.5 * x @ x - 0.5 * y @ y, x, y)

    def grad_x(self, x, y):
        return self.timed(lambda x, y: y + x, x, y)

    def grad_y(self, x, y):
        return self.timed(lambda x, y: x - y, x, y)


def from_python():
    """Microseconds in an iteration, all and those of the problem's own functions."""
    game, X, Y = DiagonalGame(), couloir.Simplex(N), couloir.L2Ball(N)
    began = time.perf_counter()
    with warnings.catch_warnings():
        # the tolerance is not to be met
        warnings.simplefilter("ignore")
        solution = couloir.solve(game, X, Y, method="spfw", tol=1e-15, max_iter=ITERATIONS)
    seconds = time.perf_counter() - began
    assert solution.n_iter == ITERATIONS
    return 1e6 * seconds / ITERATIONS, 1e6 * game.seconds / ITERATIONS


def from_rust():
    """Microseconds in an iteration."""
    run = subprocess.run(sys.argv[1:2] or CARGO, capture_output=True, text=True, check=True)
    micros, rest = run.stdout.split(maxsplit=1)
    assert f"each of {ITERATIONS} iterations" in rest, run.stdout
    return float(micros)


def main():
    whole, own = min(from_python() for _ in range(3))
    rust = min(from_rust() for _ in range(3))
    print(f"an iteration with {N} numbers in x and in y, in microseconds, best of 3:")
    print(f"from Python          {whole:7.1f}")
    print(f"  its own functions  {own:7.1f}")
    print(f"in Rust              {rust:7.1f}")
    print(f"overhead of Python   {whole - own - rust:7.1f}  (the goal is less than 100)")


if __name__ == "__main__":
    main()
