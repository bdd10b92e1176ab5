"""Leduc poker beside open_spiel in the same run: the value of its linear program, and the time of its CFR+ to an exploitability.

Exploitability is the sum of what both players gain by best responses (open_spiel's NashConv), which couloir certifies.
"""

import json
import subprocess
import sys

from common import PEERS, couloir, median, show

SPIEL = PEERS / "games" / "poker_spiel.py"
GAPS = [1e-3, 1e-5]
LIMIT = 120


def spiel(*words):
    done = subprocess.run([sys.executable, SPIEL, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(goals, quick):
    limit = 5 if quick else LIMIT
    program = spiel("lp")
    exact, _ = couloir("game", "leduc", "--tol", 1e-7)
    cfr = spiel("cfr", limit, *GAPS)
    rows = []
    for gap in GAPS:
        ours = [couloir("game", "leduc", "--tol", gap)[0] for _ in range(1 if quick else 5)]
        own, theirs = median(ours, "seconds"), cfr["reached"].get(repr(gap))
        shown = f"more than {limit} s" if theirs is None else f"{theirs:.2f} s"
        rows.append([f"{gap:.0e}", f"{own:.3f} s ({ours[0]['iterations']} iterations)", shown])
        goals.add(f"Leduc to {gap:.0e}, seconds", f"{own:.3f}", f"CFR+'s {shown}", own <= (theirs or limit))
    show(["exploitability", "couloir", "open_spiel's CFR+"], rows)
    print(f"\nCFR+ ended at {cfr['nash_conv']:.1e} after {cfr['iterations']} iterations in {cfr['seconds']:.1f} s")
    print(f"value: couloir [{exact['lower']:.9f}, {exact['upper']:.9f}], linear program {program['value']:.9f} ({program['seconds']:.1f} s)")
    # the program's own tolerance is 1e-7
    agrees = exact["lower"] - 1e-6 <= program["value"] <= exact["upper"] + 1e-6
    goals.add("Leduc, value", f"[{exact['lower']:.9f}, {exact['upper']:.9f}]", f"open_spiel's {program['value']:.9f}", agrees)
    kuhn, _ = couloir("game", "kuhn", "--tol", 1e-9)
    off = max(abs(kuhn[end] + 1 / 18) for end in ("lower", "upper"))
    goals.add("Kuhn, distance of both bounds from -1/18", f"{off:.1e}", "at most 1e-8", off <= 1e-8)
