"""A way through a grid of streets when one of several forecasts of the traffic will come true.

x mixes paths: the traveller tosses a coin between them. The adversary chooses among the forecasts.
"""

import numpy as np

import couloir

SIDE, FORECASTS = 12, 8


def grid(side):
    """Streets that go right or down between the corners of a grid."""
    corner = np.arange(side * side).reshape(side, side)
    right = np.column_stack([corner[:, :-1].ravel(), corner[:, 1:].ravel()])
    down = np.column_stack([corner[:-1].ravel(), corner[1:].ravel()])
    return np.vstack([right, down])


def main():
    arcs = grid(SIDE)
    paths = couloir.Paths(SIDE * SIDE, arcs, 0, SIDE * SIDE - 1)
    minutes = np.random.default_rng(0).gamma(2.0, 1.0, size=(len(arcs), FORECASTS))

    game = couloir.games.Game(paths, couloir.Simplex(FORECASTS), minutes)
    solution = game.solve(tol=1e-4)
    on_average = paths.lmo(minutes.mean(axis=1))
    print(f"best path on average: {(on_average @ minutes).max():.2f} minutes in its worst forecast")
    print(f"robust mixture:       {(solution.x @ minutes).max():.2f} minutes in its worst forecast")
    print(f"no mixture has less than {solution.certificate['lower']:.2f}: {solution.status} after {solution.oracle_calls[0]} shortest paths")


if __name__ == "__main__":
    main()
