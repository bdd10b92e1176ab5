"""Values of games by a linear program over all pure strategies (SciPy's HiGHS), where they can be listed."""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog


def placements(soldiers, fields):
    """All ways to place soldiers on fields, as vertices of sets.Blotto: by stars and bars."""
    vertices = []
    for bars in combinations(range(soldiers + fields - 1), fields - 1):
        numbers = np.diff([-1, *bars, soldiers + fields - 1]) - 1
        x = np.zeros((fields, soldiers + 1))
        x[np.arange(fields), numbers] = 1
        vertices.append(x.ravel())
    return np.array(vertices)


def value(payoff):
    """min over mixtures w of max_j (payoff' w)_j."""
    rows, columns = payoff.shape
    below = np.hstack([payoff.T, -np.ones((columns, 1))])
    mixture = np.append(np.ones(rows), 0.0)[None, :]
    cost, bounds = np.append(np.zeros(rows), 1.0), [(0, None)] * rows + [(None, None)]
    found = linprog(cost, A_ub=below, b_ub=np.zeros(columns), A_eq=mixture, b_eq=[1.0], bounds=bounds, method="highs")
    if found.status != 0:
        raise RuntimeError(found.message)
    return found.fun


def blotto_value(instance):
    """The value of a Colonel Blotto game of instances.py."""
    soldiers, fields = map(int, instance.settings["set"].split()[1:])
    pure = placements(soldiers, fields)
    return value(pure @ instance.matrix() @ pure.T)
