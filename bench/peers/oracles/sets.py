"""Sets that are known only by their linear minimisation oracle: `vertex(g)` minimises <g, x> over the set."""

import numpy as np
from scipy.optimize import linear_sum_assignment


class Assignments:
    """Permutation matrices of size n x n, row by row, and their convex combinations."""

    def __init__(self, n):
        self.n, self.dim = n, n * n

    def vertex(self, g):
        rows, columns = linear_sum_assignment(g.reshape(self.n, self.n))
        x = np.zeros((self.n, self.n))
        x[rows, columns] = 1
        return x.ravel()


class GridPaths:
    """Paths from the top left to the bottom right node of an n x n grid that only go right or down.

    The edges to the right come first, (row, column) -> (row, column + 1) at `row (n - 1) + column`; then those down,
    (row, column) -> (row + 1, column) at `n (n - 1) + row n + column`.
    """

    def __init__(self, n):
        self.n, self.dim = n, 2 * n * (n - 1)

    def vertex(self, g):
        n = self.n
        right, down = g[: n * (n - 1)].reshape(n, n - 1), g[n * (n - 1) :].reshape(n - 1, n)
        left_of, above = np.full((n, n), np.inf), np.full((n, n), np.inf)  # the best cost to a node by its last edge
        cost = np.zeros((n, n))
        for level in range(1, 2 * n - 1):  # the nodes of an antidiagonal depend on the last antidiagonal alone
            row = np.arange(max(0, level - n + 1), min(n, level + 1))
            column = level - row
            inner = column > 0
            left_of[row[inner], column[inner]] = (
                cost[row[inner], column[inner] - 1] + right[row[inner], column[inner] - 1]
            )
            inner = row > 0
            above[row[inner], column[inner]] = cost[row[inner] - 1, column[inner]] + down[row[inner] - 1, column[inner]]
            cost[row, column] = np.minimum(left_of[row, column], above[row, column])
        x = np.zeros(self.dim)
        row = column = n - 1
        while row or column:
            if left_of[row, column] <= above[row, column]:
                column -= 1
                x[row * (n - 1) + column] = 1
            else:
                row -= 1
                x[n * (n - 1) + row * n + column] = 1
        return x


class Subsets:
    """Indicators of k of d things."""

    def __init__(self, dim, k):
        self.dim, self.k = dim, k

    def vertex(self, g):
        x = np.zeros(self.dim)
        x[np.argpartition(g, self.k - 1)[: self.k]] = 1
        return x


class L1Ball:
    """|x|_1 <= radius."""

    def __init__(self, dim, radius):
        self.dim, self.radius = dim, radius

    def vertex(self, g):
        x = np.zeros(self.dim)
        i = np.abs(g).argmax()
        x[i] = -self.radius if g[i] > 0 else self.radius
        return x


class Blotto:
    """All ways to place `soldiers` on `fields`: x[field (soldiers + 1) + number] is 1 where `number` stand on `field`."""

    def __init__(self, soldiers, fields):
        self.soldiers, self.fields, self.dim = soldiers, fields, fields * (soldiers + 1)

    def vertex(self, g):
        sizes = self.soldiers + 1
        g = g.reshape(self.fields, sizes)
        best = np.full(sizes, np.inf)  # the least cost of the fields so far with a number of soldiers
        best[0] = 0
        chosen = np.zeros((self.fields, sizes), dtype=int)
        for field in range(self.fields):
            reach = np.full((sizes, sizes), np.inf)  # soldiers in all, soldiers here
            for here in range(sizes):
                reach[here:, here] = best[: sizes - here] + g[field, here]
            chosen[field] = reach.argmin(axis=1)
            best = reach.min(axis=1)
        x, left = np.zeros((self.fields, sizes)), self.soldiers
        for field in reversed(range(self.fields)):
            x[field, chosen[field, left]] = 1
            left -= chosen[field, left]
        return x.ravel()


class SpanningTrees:
    """Spanning trees of the complete graph on n nodes, by their edges (0, 1), (0, 2), ..., (1, 2), ..."""

    def __init__(self, n):
        self.n, self.dim = n, n * (n - 1) // 2
        self.ends = [(i, j) for i in range(n) for j in range(i + 1, n)]

    def vertex(self, g):
        x, part = np.zeros(self.dim), list(range(self.n))
        for edge in np.argsort(g, kind="stable"):
            i, j = (part[end] for end in self.ends[edge])
            if i != j:
                x[edge] = 1
                part = [i if p == j else p for p in part]
        return x


class Knapsacks:
    """0 and 1 for each of n things, of which thing j weighs 1 + (7 j mod 11), with at most `capacity` in all."""

    def __init__(self, n, capacity):
        self.dim, self.capacity = n, capacity
        self.weight = [1 + 7 * j % 11 for j in range(n)]

    def vertex(self, g):
        best = np.zeros(self.capacity + 1)  # the least cost within a capacity
        taken = np.zeros((self.dim, self.capacity + 1), dtype=bool)
        for j, w in enumerate(self.weight):
            with_it = np.full_like(best, np.inf)
            with_it[w:] = best[: self.capacity + 1 - w] + g[j]
            taken[j] = with_it < best
            best = np.minimum(best, with_it)
        x, left = np.zeros(self.dim), self.capacity
        for j in reversed(range(self.dim)):
            if taken[j, left]:
                x[j] = 1
                left -= self.weight[j]
        return x


class Choices:
    """One of k things, n times: a product of n simplices."""

    def __init__(self, n, k):
        self.n, self.k, self.dim = n, k, n * k

    def vertex(self, g):
        x = np.zeros((self.n, self.k))
        x[np.arange(self.n), g.reshape(self.n, self.k).argmin(axis=1)] = 1
        return x.ravel()


class Points:
    """The hull of `count` points in `dim` dimensions, from an integer hash; every point is there three times, the second time moved
    by 1e-9, so that vertices are duplicates or nearly so."""

    def __init__(self, dim, count):
        self.dim = dim
        i, j = np.arange(count, dtype=np.uint64)[:, None] // 3, np.arange(dim, dtype=np.uint64)[None, :]
        hashed = ((i * 7919 + j * 104729 + 12345) * 2654435761) % 2**32
        self.points = hashed / 2**32 + 1e-9 * (np.arange(count)[:, None] % 3 == 1)

    def vertex(self, g):
        return self.points[(self.points @ g).argmin()].copy()


KINDS = {
    "assignments": Assignments,
    "paths": GridPaths,
    "subsets": Subsets,
    "l1": L1Ball,
    "blotto": Blotto,
    "trees": SpanningTrees,
    "knapsacks": Knapsacks,
    "choices": Choices,
    "points": Points,
}


def make(words):
    """The set that `assignments 30`, `paths 20`, `subsets 2000 20`, `l1 2000 8` or `blotto 10 5` stands for."""
    name, *sizes = words.split()
    return KINDS[name](*(float(s) if "." in s else int(s) for s in sizes))
