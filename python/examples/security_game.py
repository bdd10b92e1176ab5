"""Where to put patrols in a road network that an attacker wants to cross.

x spreads patrols over the roads, at most one on each and so many in all. y chooses a way from the west to the east and gains the value of each of
its roads, less what patrols on them cost. Both play in secret, so that y mixes ways.
"""

import numpy as np

import couloir
from robust_shortest_path import grid

SIDE, PATROLS = 6, 3


def main():
    rng = np.random.default_rng(0)
    roads = grid(SIDE)
    ways = couloir.Paths(SIDE * SIDE, roads, 0, SIDE * SIDE - 1)
    value, loss = rng.uniform(0.0, 1.0, len(roads)), rng.uniform(0.5, 1.5, len(roads))

    # sum_a y_a (value_a - loss_a x_a): a last entry of x that is always 1 carries the values
    n = len(roads)
    patrols = couloir.BoxBudget(np.zeros(n), np.ones(n), np.ones(n), PATROLS)
    X = couloir.Product(patrols, couloir.Box([1.0], [1.0]))
    game = couloir.games.Game(X, ways, np.vstack([-np.diag(loss), value]))
    solution = game.solve(tol=1e-4)

    even = np.append(np.full(n, PATROLS / n), 1.0)
    best_way = ways.lmo(-(game.payoffs.T @ even))
    print(f"patrols spread evenly: the attacker gains {even @ game.payoffs @ best_way:.3f}")
    print(f"patrols of the game:   the attacker gains at most {solution.certificate['upper']:.3f}")
    print(f"and at least {solution.certificate['lower']:.3f} against any patrols ({solution.status}, {solution.oracle_calls} oracle calls)")
    most = np.argsort(-solution.x[:n])[:4]
    print("roads with most patrols:", [(*roads[a].tolist(), round(float(solution.x[a]), 2)) for a in most])


if __name__ == "__main__":
    main()
