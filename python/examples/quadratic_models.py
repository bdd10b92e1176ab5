"""Models that are quadratic in their inputs, fitted to the worst mixture of the rows: a factorisation machine and a quadratic network.

Both predict a'X a for the inputs a with a 1 in front, so that the first row and column of X hold the linear part. The nuclear norm of X
bounds the sum of |output weight| |input weights|^2 over hidden units, and with it the number of factors. The model sees X through the
measurements a_i'X a_i alone, each by a matrix of rank one.

    max over y in the simplex of  sum_i y_i (a_i'X a_i - t_i)^2/2 - level/(2n) sum_i (n y_i - 1)^2
"""

import numpy as np
from sklearn.linear_model import Ridge

import couloir


class WorstCaseQuadratic:
    """Sees X by its predictions: its image."""

    def __init__(self, inputs, targets, level):
        self.rows = with_one(inputs)
        self.targets, self.level, self.n = targets, level, len(targets)
        self.mu = level * self.n

    def image(self, x):
        return np.einsum("ij,ij->i", self.rows @ x, self.rows)

    def adjoint(self, s):
        return self.rows.T @ (s[:, None] * self.rows)

    def losses(self, image):
        return 0.5 * (image - self.targets) ** 2

    def value(self, image, y):
        return y @ self.losses(image) - self.level / (2 * self.n) * np.sum((self.n * y - 1) ** 2)

    def grad_image(self, image, y):
        return y * (image - self.targets)

    def grad_y(self, image, y):
        return self.losses(image) - self.level * (self.n * y - 1)

    def best_response_y(self, image):
        """The projection of 1/n + losses/mu onto the simplex."""
        v = 1 / self.n + self.losses(image) / self.mu
        falling = np.sort(v)[::-1]
        theta = ((np.cumsum(falling) - 1) / np.arange(1, self.n + 1)).max()
        return np.maximum(v - theta, 0)


def with_one(inputs):
    return np.column_stack([np.ones(len(inputs)), inputs])


def users_and_items(rng, n):
    """What a user gives to an item, by tastes of rank 2; the inputs say who and what."""
    users, items = rng.integers(0, 12, n), rng.integers(0, 10, n)
    inputs = np.zeros((n, 22))
    inputs[np.arange(n), users] = inputs[np.arange(n), 12 + items] = 1.0
    tastes = np.random.default_rng(1)
    left, right = tastes.normal(size=(12, 2)), tastes.normal(size=(10, 2))
    return inputs, (left[users] * right[items]).sum(axis=1) + 0.1 * rng.normal(size=n)


def network(rng, n):
    """Three hidden units that square what they get."""
    inputs = rng.normal(size=(n, 8)) / 2
    units = np.random.default_rng(2).normal(size=(3, 8)) / 2
    return inputs, (inputs @ units.T) ** 2 @ [1.0, -1.0, 0.5] + 0.3 * inputs[:, 0] + 0.05 * rng.normal(size=n)


def errors(missed):
    size = np.sort(np.abs(missed))[::-1]
    return f"mean error {size.mean():.3f}, of the worst tenth {size[: len(size) // 10].mean():.3f}"


def main():
    for name, generate, tau, level in (("factorisation machine", users_and_items, 40.0, 1.0), ("quadratic network", network, 6.0, 0.1)):
        rng = np.random.default_rng(0)
        (inputs, targets), (new, truth) = generate(rng, 300), generate(rng, 1000)
        problem = WorstCaseQuadratic(inputs, targets, level)
        side = problem.rows.shape[1]
        X = couloir.NuclearBall((side, side), tau)
        solution = couloir.solve(problem, X, couloir.Simplex(problem.n), tol=1e-3)
        predicted = np.einsum("ij,ij->i", with_one(new) @ solution.x, with_one(new))
        plain = Ridge(1.0).fit(inputs, targets)
        rank = np.sum(np.linalg.svd(solution.x, compute_uv=False) > 1e-3)
        print(f"{name}: certified gap {solution.certificate['gap']:.1e}, rank {rank}")
        print(f"  on new rows:      {errors(predicted - truth)}")
        print(f"  ridge regression: {errors(plain.predict(new) - truth)}")


if __name__ == "__main__":
    main()
