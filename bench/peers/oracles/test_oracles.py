"""Tests of the peers: python -m unittest discover bench/peers/oracles."""

import tempfile
import unittest
from itertools import combinations, permutations, product
from pathlib import Path

import column_generation
import completion
import fully_corrective
import instances
import numpy as np
import pure_strategies
import sets


def all_paths(n):
    """Every path of sets.GridPaths."""
    for downs in combinations(range(2 * n - 2), n - 1):
        x, row, column = np.zeros(2 * n * (n - 1)), 0, 0
        for step in range(2 * n - 2):
            if step in downs:
                x[n * (n - 1) + row * n + column] = 1
                row += 1
            else:
                x[row * (n - 1) + column] = 1
                column += 1
        yield x


def all_permutations(n):
    for order in permutations(range(n)):
        yield np.eye(n)[list(order)].ravel()


def all_subsets(dim, k):
    for chosen in combinations(range(dim), k):
        x = np.zeros(dim)
        x[list(chosen)] = 1
        yield x


def all_trees(n):
    """Every set of n - 1 edges of the complete graph that joins all nodes."""
    ends = list(combinations(range(n), 2))
    for chosen in combinations(range(len(ends)), n - 1):
        part = list(range(n))
        for edge in chosen:
            i, j = (part[end] for end in ends[edge])
            part = [i if p == j else p for p in part]
        if len(set(part)) == 1:
            x = np.zeros(len(ends))
            x[list(chosen)] = 1
            yield x


def all_knapsacks(n, capacity):
    weight = [1 + 7 * j % 11 for j in range(n)]
    for chosen in product((0, 1), repeat=n):
        if np.dot(chosen, weight) <= capacity:
            yield np.array(chosen, dtype=float)


class Oracles(unittest.TestCase):
    def test_each_oracle_finds_the_best_of_all_vertices(self):
        rng = np.random.default_rng(3)
        cases = [
            (sets.Assignments(4), list(all_permutations(4))),
            (sets.GridPaths(4), list(all_paths(4))),
            (sets.Subsets(7, 3), list(all_subsets(7, 3))),
            (sets.L1Ball(5, 2.0), [s * 2.0 * e for e in np.eye(5) for s in (-1, 1)]),
            (sets.Blotto(4, 3), list(pure_strategies.placements(4, 3))),
            (sets.SpanningTrees(5), list(all_trees(5))),
            (sets.Knapsacks(7, 15), list(all_knapsacks(7, 15))),
            (sets.Choices(3, 3), [np.concatenate(c) for c in product(np.eye(3), repeat=3)]),
            (sets.Points(4, 20), list(sets.Points(4, 20).points)),
        ]
        for x_set, vertices in cases:
            self.assertEqual(x_set.dim, len(vertices[0]))
            for _ in range(20):
                g = rng.normal(size=x_set.dim)
                x = x_set.vertex(g)
                self.assertTrue(any(np.array_equal(x, v) for v in vertices))
                self.assertAlmostEqual(g @ x, min(g @ v for v in vertices), places=12)

    def test_a_file_gives_back_the_instance(self):
        instance = instances.robust_costs("paths 5", 0.1, 7)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "instance"
            instances.write(instance, path)
            again = instances.read(path)
            path.write_bytes(path.read_bytes()[:-8])
            with self.assertRaisesRegex(ValueError, "ends within the array start"):
                instances.read(path)
        self.assertEqual((again.name, again.settings), (instance.name, instance.settings))
        for name, array in instance.arrays.items():
            np.testing.assert_array_equal(again.arrays[name], array)


class Peers(unittest.TestCase):
    def assert_solved(self, report, gap):
        self.assertLessEqual(report["lower"], report["upper"] + 1e-9)
        self.assertIsNotNone(report["gaps"][gap])

    def test_both_peers_certify_the_same_value(self):
        for instance in (
            instances.robust_costs("assignments 6", 0.1, 0, scenarios=5),
            instances.robust_costs("paths 6", 1.0, 1, scenarios=5),
            instances.worst_case_squares("subsets 30 4", 2, rows=40),
            instances.worst_case_squares("l1 30 4.0", 3, rows=40),
        ):
            problem, start = instances.Rows(instance), instance.arrays["start"]
            one, two = (peer.solve(problem, start) for peer in (fully_corrective, column_generation))
            for report in (one, two):
                self.assert_solved(report, "0.0001")
            self.assertLessEqual(one["lower"], two["upper"] + 1e-9)
            self.assertLessEqual(two["lower"], one["upper"] + 1e-9)

    def test_without_a_penalty_column_generation_finds_the_game_over_all_paths(self):
        instance = instances.robust_costs("paths 4", 0.0, 5, scenarios=4)
        report = column_generation.solve(instances.Rows(instance), instance.arrays["start"])
        self.assert_solved(report, "1e-06")
        payoff = np.array(list(all_paths(4))) @ instance.matrix().T
        self.assertAlmostEqual(report["upper"], pure_strategies.value(payoff), places=6)

    def test_the_double_oracle_finds_the_value_of_blotto(self):
        for seed in (0, 1):
            instance = instances.blotto_game(5, 3, seed)
            x_set = sets.make(instance.settings["set"])
            starts = (instance.arrays["start"], instance.arrays["other_start"])
            report = column_generation.double_oracle(instance.matrix(), x_set, x_set, *starts)
            self.assert_solved(report, "0.0001")
            self.assertAlmostEqual(report["upper"], pure_strategies.blotto_value(instance), places=4)

    def test_low_rank_completion_brackets_the_value(self):
        instance = instances.completion(60, 0, entries=1500, rank=2)
        report = completion.solve(completion.Completion(instance))
        self.assert_solved(report, "0.001")


if __name__ == "__main__":
    unittest.main()
