"""The instances of `scripts/bench oracles`, made from seeds, and the file in which both sides get them.

A file starts with lines of text: `couloir-instance 1`, then `key words...` for each setting, `array name length` for each
array, and `data`. After this last line the arrays follow in their order, as little-endian numbers of 64 bits.

There are three kinds.

rows        f(x, y) = sum_i y_i loss_i(a_i . x) - mu/2 |y - 1/m|^2, y in the simplex of the m rows, x in `set`;
            `loss linear` is s, `loss squared` is (s - target_i)^2/2. Arrays: matrix (row by row), target, start.
game        f(x, y) = x' B y, x in `set`, y in `other`. Arrays: matrix (row by row), start, other_start.
completion  f(X, y) = sum_i y_i (X[row_i, column_i] - target_i)^2/2 - mu/2 |y - 1/m|^2, |X|_* <= tau.
            Arrays: row, column, target.

Where there is a start, it is a vertex, and nobody counts the call that found it.
"""

import sys
from dataclasses import dataclass, field

import numpy as np
import sets

MAGIC = "couloir-instance 1"


@dataclass
class Instance:
    name: str
    settings: dict
    arrays: dict = field(default_factory=dict)

    def number(self, key):
        return float(self.settings[key])

    def matrix(self):
        rows, columns = map(int, self.settings["shape"].split())
        return self.arrays["matrix"].reshape(rows, columns)


def write(instance, path):
    with open(path, "wb") as file:
        lines = [MAGIC, f"name {instance.name}"]
        lines += [f"{key} {words}" for key, words in instance.settings.items()]
        lines += [f"array {name} {array.size}" for name, array in instance.arrays.items()]
        file.write("\n".join([*lines, "data", ""]).encode())
        for array in instance.arrays.values():
            file.write(np.ascontiguousarray(array, dtype="<f8").tobytes())


def read(path):
    with open(path, "rb") as file:
        if file.readline().decode().rstrip("\n") != MAGIC:
            raise ValueError(f"{path} does not start with {MAGIC!r}")
        settings, lengths = {}, {}
        while (line := file.readline().decode().rstrip("\n")) != "data":
            if not line:
                raise ValueError(f"{path} has no line `data`")
            key, words = line.split(" ", 1)
            if key == "array":
                name, length = words.split()
                lengths[name] = int(length)
            else:
                settings[key] = words
        arrays = {name: np.frombuffer(file.read(8 * n), dtype="<f8").copy() for name, n in lengths.items()}
    for name, length in lengths.items():
        if len(arrays[name]) != length:
            raise ValueError(f"{path} ends within the array {name}")
    return Instance(settings.pop("name"), settings, arrays)


def project_to_simplex(v):
    falling = np.sort(v)[::-1]
    theta = ((np.cumsum(falling) - 1) / np.arange(1, len(v) + 1)).max()
    return np.maximum(v - theta, 0)


class Rows:
    """A problem of kind `rows`, in image space: an image holds a_i . x for all rows."""

    def __init__(self, instance):
        self.matrix, self.target, self.mu = instance.matrix(), instance.arrays["target"], instance.number("mu")
        self.squared, self.m = instance.settings["loss"] == "squared", len(instance.arrays["target"])
        self.set = sets.make(instance.settings["set"])

    def losses(self, image):
        return 0.5 * (image - self.target) ** 2 if self.squared else image

    def slopes(self, image):
        return image - self.target if self.squared else np.ones(self.m)

    def value(self, image, y):
        return self.losses(image) @ y - self.mu / 2 * ((y - 1 / self.m) ** 2).sum()

    def respond(self, image):
        """The best y; for mu = 0 one of them."""
        losses = self.losses(image)
        if self.mu == 0:
            y = np.zeros(self.m)
            y[losses.argmax()] = 1
            return y
        return project_to_simplex(1 / self.m + losses / self.mu)

    def phi(self, image):
        """max over y of f, and its gradient in the image."""
        y = self.respond(image)
        return self.value(image, y), y * self.slopes(image)


def with_start(instance):
    """Adds the vertex that minimises the linearised objective at x = 0."""
    problem = Rows(instance)
    slope = problem.phi(np.zeros(problem.m))[1] if problem.mu > 0 else np.full(problem.m, 1 / problem.m)
    instance.arrays["start"] = problem.set.vertex(problem.matrix.T @ slope)
    return instance


def rows_instance(name, words, loss, mu, matrix, target):
    settings = {
        "kind": "rows",
        "set": words,
        "loss": loss,
        "mu": repr(float(mu)),
        "shape": f"{matrix.shape[0]} {matrix.shape[1]}",
    }
    return with_start(Instance(name, settings, {"matrix": matrix.ravel(), "target": target}))


def robust_costs(words, mu, seed, scenarios=20, largest=None, scale=1.0, repeats=1, least=0.0):
    """The worst mixture of `scenarios` uniform cost vectors: numbers from `least` to `scale`, or integers from 0 to `largest`; each vector is
    there `repeats` times."""
    rng = np.random.default_rng(seed)
    dim = sets.make(words).dim
    if largest is None:
        matrix = least + (scale - least) * rng.uniform(size=(scenarios, dim))
    else:
        matrix = rng.integers(0, largest + 1, size=(scenarios, dim)).astype(float)
    matrix = np.repeat(matrix, repeats, axis=0)
    name = f"robust {words.split()[0]} mu={mu:g} seed={seed}"
    return rows_instance(name, words, "linear", mu, matrix, np.zeros(len(matrix)))


def worst_case_squares(words, seed, rows=400, lambda_n=1.0):
    """Least squares with a worst-case weighting of the rows; the truth is the mean of five vertices, or, on the l1
    ball, a vector of 10 signs that lies outside of it."""
    rng = np.random.default_rng(seed)
    x_set = sets.make(words)
    if isinstance(x_set, sets.L1Ball):
        truth = np.zeros(x_set.dim)
        truth[rng.choice(x_set.dim, 10, replace=False)] = rng.choice([-1.0, 1.0], 10)
        scale = 10.0
    else:
        truth = np.mean([x_set.vertex(rng.normal(size=x_set.dim)) for _ in range(5)], axis=0)
        scale = truth.sum()  # the number of ones of a vertex
    matrix = rng.normal(size=(rows, x_set.dim)) / np.sqrt(scale)
    target = matrix @ truth + 0.1 * rng.normal(size=rows)
    name = f"squares {words.split()[0]} seed={seed}"
    return rows_instance(name, words, "squared", lambda_n * rows, matrix, target)


def path_game(n, seed):
    """A runner and a chaser choose paths on one grid; edges e and f cost the runner B[e, f]: a uniform number, and 5 more
    where they are the same edge."""
    rng = np.random.default_rng(seed)
    words = f"paths {n}"
    x_set = sets.make(words)
    matrix = (rng.uniform(size=(x_set.dim, x_set.dim)) + 5 * np.eye(x_set.dim)) / (2 * n - 2)
    start = x_set.vertex(matrix.mean(axis=1))
    settings = {"kind": "game", "set": words, "other": words, "shape": f"{x_set.dim} {x_set.dim}"}
    arrays = {"matrix": matrix.ravel(), "start": start, "other_start": x_set.vertex(-matrix.T @ start)}
    return Instance(f"game paths seed={seed}", settings, arrays)


def blotto_game(soldiers, fields, seed):
    """Colonel Blotto: the side with more soldiers on a field wins it. Field i is worth i + 1 for seed 0, else a random
    number, and the chaser (y) wins fields where both sides have as many with seed > 0. y gains what x loses."""
    words = f"blotto {soldiers} {fields}"
    x_set = sets.make(words)
    rng = np.random.default_rng(seed)
    worth = np.arange(1.0, fields + 1) if seed == 0 else rng.uniform(1, 5, size=fields)
    number = np.arange(soldiers + 1)
    wins = np.sign(number[None, :] - number[:, None]).astype(float)
    if seed > 0:
        np.fill_diagonal(wins, 1)
    matrix = np.zeros((x_set.dim, x_set.dim))
    for i in range(fields):
        block = slice(i * (soldiers + 1), (i + 1) * (soldiers + 1))
        matrix[block, block] = worth[i] * wins
    start = x_set.vertex(matrix.mean(axis=1))
    settings = {"kind": "game", "set": words, "other": words, "shape": f"{x_set.dim} {x_set.dim}"}
    arrays = {"matrix": matrix.ravel(), "start": start, "other_start": x_set.vertex(-matrix.T @ start)}
    return Instance(f"game blotto seed={seed}", settings, arrays)


def completion(side, seed, entries=None, rank=5, noise=0.1):
    """A matrix of rank 5 plus noise, seen at random places (5 % unless told), of which some may repeat."""
    rng = np.random.default_rng(seed)
    entries = int(0.05 * side * side) if entries is None else entries
    left, right = rng.normal(size=(side, rank)), rng.normal(size=(side, rank))
    row, column = rng.integers(0, side, entries), rng.integers(0, side, entries)
    target = np.einsum("ij,ij->i", left[row], right[column]) + noise * rng.normal(size=entries)
    settings = {
        "kind": "completion",
        "sides": f"{side} {side}",
        "tau": repr(0.8 * side * rank),
        "mu": repr(float(entries)),
    }
    return Instance(f"completion {side} seed={seed}", settings, {"row": row, "column": column, "target": target})


def rectangular_game(words, other, seed):
    """x' B y with normal numbers in B, two different sets."""
    rng = np.random.default_rng(seed)
    x_set, y_set = sets.make(words), sets.make(other)
    matrix = rng.normal(size=(x_set.dim, y_set.dim))
    start = x_set.vertex(matrix.mean(axis=1))
    settings = {"kind": "game", "set": words, "other": other, "shape": f"{x_set.dim} {y_set.dim}"}
    arrays = {"matrix": matrix.ravel(), "start": start, "other_start": y_set.vertex(-matrix.T @ start)}
    return Instance(f"game {words} against {other} seed={seed}", settings, arrays)


def named(name, instance):
    instance.name = name
    return instance


PENALTIES = (10.0, 1.0, 0.1, 0.01)


def one_block(seed):
    """All instances with one block that is known by its oracle."""
    for words in ("assignments 30", "paths 20"):
        for mu in PENALTIES:
            yield robust_costs(words, mu, seed)
    for words in ("assignments 30", "paths 20", "subsets 2000 20", "l1 2000 8.0"):
        yield worst_case_squares(words, seed)


def games(seed):
    yield path_game(12, seed)
    yield blotto_game(10, 5, seed)


def others(seed):
    """Instances of other sizes, among them degenerate ones: those of the bench are not to be all that works."""
    for words in ("assignments 15", "paths 12"):
        for scenarios in (5, 100):
            for mu in (100.0, 0.001):
                name = f"robust {words}, {scenarios} scenarios, mu={mu:g} seed={seed}"
                yield named(name, robust_costs(words, mu, seed, scenarios))
    for mu in (1.0, 0.05):
        yield named(f"robust assignments 60, mu={mu:g} seed={seed}", robust_costs("assignments 60", mu, seed))
        yield named(f"robust paths 40, mu={mu:g} seed={seed}", robust_costs("paths 40", mu, seed))
    for largest in (1, 9):
        for mu in (1.0, 0.01):
            name = f"robust assignments 20, integers to {largest}, mu={mu:g} seed={seed}"
            yield named(name, robust_costs("assignments 20", mu, seed, largest=largest))
    for words in ("assignments 20", "paths 15", "subsets 500 5", "subsets 500 100", "l1 500 4.0"):
        for rows in (100, 1000):
            yield named(f"squares {words}, {rows} rows seed={seed}", worst_case_squares(words, seed, rows))
    yield named(f"squares assignments 12, hard weights seed={seed}", worst_case_squares("assignments 12", seed, lambda_n=0.01))
    for n in (6, 15):
        yield named(f"game paths {n} seed={seed}", path_game(n, seed))
    for soldiers, fields in ((5, 3), (15, 4), (20, 6)):
        yield named(f"game blotto {soldiers} {fields} seed={seed}", blotto_game(soldiers, fields, seed))
    for words, other in (("paths 8", "subsets 60 7"), ("assignments 8", "subsets 40 5"), ("blotto 8 3", "paths 6")):
        yield rectangular_game(words, other, seed)


def drawn(seed):
    """Instances of further kinds, drawn after the method was settled: other sets, small penalties, scales, duplicates."""
    for words, mu in (("trees 12", 0.1), ("trees 20", 1e-3), ("choices 15 8", 1e-6), ("assignments 20", 1e-6)):
        yield named(f"robust {words}, mu={mu:g} seed={seed}", robust_costs(words, mu, seed))
    for words, rows in (("trees 15", 200), ("knapsacks 60 90", 150), ("choices 20 10", 300), ("points 30 300", 80)):
        yield named(f"squares {words}, {rows} rows seed={seed}", worst_case_squares(words, seed, rows))
    for words in ("knapsacks 60 90", "points 60 900"):
        costs = robust_costs(words, 0.01, seed, scenarios=30, least=-1.0)
        yield named(f"robust {words}, costs of both signs, mu=0.01 seed={seed}", costs)
    yield named(f"robust paths 20, costs to 1e-3, mu=1e-06 seed={seed}", robust_costs("paths 20", 1e-6, seed, scale=1e-3))
    yield named(f"robust assignments 25, costs to 1e3, mu=10 seed={seed}", robust_costs("assignments 25", 10.0, seed, scale=1e3))
    yield named(f"robust assignments 10, each scenario twice, mu=0.05 seed={seed}", robust_costs("assignments 10", 0.05, seed, repeats=2))
    yield rectangular_game("trees 9", "choices 6 5", seed)
    yield rectangular_game("knapsacks 20 30", "points 12 90", seed)


def main():
    """Writes `one_block`, `games`, `others` and `drawn` of a seed to files of a folder: instances.py FOLDER SEED."""
    folder, seed = sys.argv[1], int(sys.argv[2])
    for instance in [*one_block(seed), *games(seed), *others(seed), *drawn(seed)]:
        write(instance, f"{folder}/{instance.name.replace(' ', '_')}.instance")


if __name__ == "__main__":
    main()
