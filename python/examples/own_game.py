"""A game of one's own: a matrix game on simplices in which both players pay for being predictable."""

import numpy as np

import couloir


class RegularisedGame:
    """x loses <x, A y>; each player pays c/2 times the squared length of his mixture."""

    def __init__(self, A, cost):
        self.A, self.cost = A, cost

    def value(self, x, y):
        return x @ self.A @ y + 0.5 * self.cost * (x @ x - y @ y)

    def grad_x(self, x, y):
        return self.A @ y + self.cost * x

    def grad_y(self, x, y):
        return x @ self.A - self.cost * y


def main():
    rock_paper_scissors = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [3.0, -1.0, 0.0]])
    game = RegularisedGame(rock_paper_scissors, cost=0.1)
    X = Y = couloir.Simplex(3)

    check = couloir.check_gradient(game, np.full(3, 1 / 3), np.array([0.5, 0.3, 0.2]))
    print(f"gradients agree with differences of values to {check.worst:.1e}")

    solution = couloir.solve(game, X, Y, tol=1e-8)
    print("x plays", solution.x.round(4))
    print("y plays", solution.y.round(4))
    low, high = solution.certificate["lower"], solution.certificate["upper"]
    print(f"the game is worth between {low:.9f} and {high:.9f}; {solution.n_iter} iterations")


if __name__ == "__main__":
    main()
