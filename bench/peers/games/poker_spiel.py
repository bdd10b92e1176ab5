"""Leduc poker by open_spiel: its linear program, or its CFR+, in the same terms as couloir.

    poker_spiel.py lp              the value of its linear program in sequence form
    poker_spiel.py cfr LIMIT GAP...  CFR+ until NashConv is at most each gap, or for LIMIT seconds

NashConv is the sum of what both players gain by best responses: what couloir certifies as the gap. open_spiel's own "exploitability" is
half of it. Prints a line of JSON. Seconds of CFR+ are processor time of its iterations alone, on one thread; NashConv is
computed apart, whenever the iterations have grown by a tenth.
"""

import json
import sys
import time

import pyspiel


def by_program(game):
    from open_spiel.python.algorithms import sequence_form_lp

    start = time.perf_counter()
    value = sequence_form_lp.solve_zero_sum_game(game)[0]
    return {"value": float(value), "seconds": time.perf_counter() - start}


def by_cfr(game, limit, gaps):
    solver = pyspiel.CFRPlusSolver(game)
    seconds, iterations, reached, nash_conv, look = 0.0, 0, {}, float("inf"), 1
    while seconds < limit and len(reached) < len(gaps):
        start = time.process_time()
        solver.evaluate_and_update_policy()
        seconds += time.process_time() - start
        iterations += 1
        if iterations < look and seconds < limit:
            continue
        look = iterations + 1 + iterations // 10
        nash_conv = pyspiel.nash_conv(game, solver.average_policy())
        for gap in gaps:
            if nash_conv <= gap:
                reached.setdefault(repr(gap), seconds)
    return {"reached": reached, "nash_conv": nash_conv, "iterations": iterations, "seconds": seconds}


def main():
    game = pyspiel.load_game("leduc_poker")
    if sys.argv[1] == "lp":
        answer = by_program(game)
    else:
        limit, *gaps = map(float, sys.argv[2:])
        answer = by_cfr(game, limit, gaps)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
