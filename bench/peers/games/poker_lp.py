"""The values of Kuhn's and Leduc poker by a linear program in sequence form (HiGHS), without couloir.

    python bench/peers/games/poker_lp.py

prints the values that crates/couloir/tests/games.rs holds against certified bounds.
"""

from collections import defaultdict

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import lil_array


class Tree:
    """Sequences of both players, by what they know, and payoffs to the first player."""

    def __init__(self):
        self.sequences = [{(): 0}, {(): 0}]
        self.parents = [{}, {}]
        self.payoffs = defaultdict(float)

    def sequence(self, player, last, information, action):
        self.parents[player].setdefault(information, (last, []))
        name = (information, action)
        if name not in self.sequences[player]:
            self.sequences[player][name] = len(self.sequences[player])
            self.parents[player][information][1].append(self.sequences[player][name])
        return self.sequences[player][name]

    def constraints(self, player):
        """E x = e: the actions of an information set have the weight of its parent."""
        rows = lil_array((1 + len(self.parents[player]), len(self.sequences[player])))
        rows[0, 0] = 1
        for k, (last, actions) in enumerate(self.parents[player].values(), start=1):
            rows[k, last] = -1
            for action in actions:
                rows[k, action] = 1
        right = np.zeros(rows.shape[0])
        right[0] = 1
        return rows.tocsr(), right

    def value(self):
        """max x'Ay over x in the treeplex of the first player and the worst y: min over y is e'q with F'q <= A'x."""
        n, m = len(self.sequences[0]), len(self.sequences[1])
        payoffs = lil_array((n, m))
        for (i, j), value in self.payoffs.items():
            payoffs[i, j] = value
        E, e = self.constraints(0)
        F, f = self.constraints(1)
        costs = np.concatenate([np.zeros(n), -f])
        from scipy.sparse import csr_array, hstack

        above = hstack([-payoffs.tocsr().T, F.T]).tocsr()
        equal = hstack([E, csr_array((E.shape[0], F.shape[0]))]).tocsr()
        bounds = [(0, None)] * n + [(None, None)] * F.shape[0]
        answer = linprog(costs, above, np.zeros(m), equal, e, bounds, method="highs")
        assert answer.status == 0, answer.message
        return -answer.fun


def kuhn():
    tree = Tree()
    for first in range(3):
        for second in range(3):
            if first == second:
                continue
            win = 1 if first > second else -1
            a = {move: tree.sequence(0, 0, (first, ""), move) for move in "pb"}
            after_pass = {move: tree.sequence(1, 0, (second, "p"), move) for move in "pb"}
            after_bet = {move: tree.sequence(1, 0, (second, "b"), move) for move in "pb"}
            last = {move: tree.sequence(0, a["p"], (first, "pb"), move) for move in "pb"}
            for sequences, payoff in (
                ((a["p"], after_pass["p"]), win),
                ((last["p"], after_pass["b"]), -1),
                ((last["b"], after_pass["b"]), 2 * win),
                ((a["b"], after_bet["p"]), 1),
                ((a["b"], after_bet["b"]), 2 * win),
            ):
                tree.payoffs[sequences] += payoff / 6
    return tree.value()


def leduc():
    tree = Tree()
    cards = range(6)

    def play(deal, board, history, last, pot, chance, to_act, street, bets, quiet):
        rank = [card // 2 for card in deal]
        table = None if board is None else board // 2
        information = (rank[to_act], table, history)
        behind = pot[1 - to_act] - pot[to_act]
        moves = ["call"] + (["fold"] if behind else []) + (["raise"] if bets < 2 else [])
        for move in moves:
            now = list(last)
            now[to_act] = tree.sequence(to_act, last[to_act], information, move)
            if move == "fold":
                gain = -pot[0] if to_act == 0 else pot[1]
                tree.payoffs[tuple(now)] += chance * gain
                continue
            money = list(pot)
            money[to_act] = pot[1 - to_act]
            past = history + ((street, move),)
            if move == "raise":
                money[to_act] += 2 if street == 0 else 4
                play(deal, board, past, now, money, chance, 1 - to_act, street, bets + 1, False)
            elif not behind and not quiet:
                play(deal, board, past, now, money, chance, 1 - to_act, street, bets, True)
            elif street == 0:
                for card in set(cards) - set(deal):
                    play(deal, card, past, now, money, chance / 4, 0, 1, 0, False)
            else:
                hands = [100 if r == table else r for r in rank]
                tree.payoffs[tuple(now)] += chance * money[0] * np.sign(hands[0] - hands[1])

    for a in cards:
        for b in cards:
            if a != b:
                play((a, b), None, (), [0, 0], [1, 1], 1 / 30, 0, 0, 0, False)
    print("Leduc:", [len(s) for s in tree.sequences], "sequences")
    return tree.value()


if __name__ == "__main__":
    print(f"Kuhn   {kuhn():.12f}")
    print(f"Leduc  {leduc():.12f}")
