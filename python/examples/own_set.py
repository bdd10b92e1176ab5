"""A set of one's own: who does which task, when the costs are not quite known.

x mixes assignments, over which SciPy minimises linear functions. The adversary mixes scenarios of costs, and pays
for moving away from their mean.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

import couloir


class Assignments:
    """Mixtures of n x n permutation matrices."""

    def __init__(self, n):
        self.shape = (n, n)
        self.diameter = np.sqrt(2 * n)

    def lmo(self, g):
        p = np.zeros(self.shape)
        p[linear_sum_assignment(g)] = 1.0
        return p


class RobustAssignment:
    """The mean cost under weights y of the scenarios, less what the adversary pays."""

    def __init__(self, costs, price):
        self.costs, self.price = costs, price

    def value(self, x, y):
        return y @ self.by_scenario(x) - 0.5 * self.price * np.sum((y - 1 / len(y)) ** 2)

    def grad_x(self, x, y):
        return np.tensordot(y, self.costs, 1)

    def grad_y(self, x, y):
        return self.by_scenario(x) - self.price * (y - 1 / len(y))

    def by_scenario(self, x):
        return np.tensordot(self.costs, x, 2)


def main():
    costs = np.random.default_rng(0).uniform(1.0, 9.0, size=(5, 6, 6))
    problem = RobustAssignment(costs, price=5.0)
    solution = couloir.solve(problem, Assignments(6), couloir.Simplex(5), tol=0.05)

    mean_only = np.zeros((6, 6))
    mean_only[linear_sum_assignment(costs.mean(axis=0))] = 1.0
    print("cost in each scenario, best on average:", problem.by_scenario(mean_only).round(2))
    print("cost in each scenario, robust mixture: ", problem.by_scenario(solution.x).round(2))
    print("the adversary's weights:               ", solution.y.round(3))
    print(f"certified gap {solution.certificate['gap']:.3f} after {solution.n_iter} iterations")


if __name__ == "__main__":
    main()
