"""(viii) Matrix games x'Ay on two simplices, certified to 1e-6 by the default method, beside HiGHS and PDLP in the same run.

Peers solve the linear program `min t subject to A'x <= t, x in the simplex`: HiGHS by the method that it
chooses, and PDLP of OR-tools with tolerances of 1e-6. Their times are those of the solve alone, with the
model built; ours includes building the problem. A peer that takes more than LIMIT seconds gets a dash. The gap of a peer is computed from its x and y.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import PEERS, ROOT, example, show
from games_figure import draw

SOLVE = PEERS / "games" / "solve.py"

GAP = 1e-6
LIMIT = 120
# the figure: steps alone, without the exact finish, on games of this size
FIGURE = ROOT / "docs" / "games.svg"
FIGURE_SIZE = (200, 200)
FIGURE_ITERATIONS = 3000


def cyclic(n, stakes=None):
    """Rock-paper-scissors of n choices: each beats every other one of those before it."""
    away = (np.arange(n)[:, None] - np.arange(n)[None]) % n
    signs = np.where(away == 0, 0.0, np.where(away % 2 == 1, 1.0, -1.0))
    signs = np.tril(signs)
    signs = signs - signs.T
    if stakes is not None:
        signs = signs * (stakes + stakes.T)
    return signs


def games(m, n, seed):
    rng = np.random.default_rng(seed)
    i, j = np.arange(m)[:, None], np.arange(n)[None]
    yield "normal", rng.normal(size=(m, n))
    yield "uniform", rng.random((m, n))
    yield "sparse (5 %)", rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.05)
    yield "low rank (5)", rng.normal(size=(m, 5)) @ rng.normal(size=(5, n))
    yield "Hilbert", 1 / (i + j + 1.0)
    yield "near the diagonal", 1 / (np.abs(i - j * m / n) + 1.0)


def ours(payoffs, folder, *words):
    path = Path(folder) / "game"
    payoffs.astype("<f8").tofile(path)
    return example("game_speed", path, *payoffs.shape, GAP, *words)


def by_peer(name, payoffs, folder):
    """Value, seconds, gap of its x and y; None if it is not done in time."""
    path = Path(folder) / "game"
    payoffs.astype("<f8").tofile(path)
    command = [sys.executable, SOLVE, name, path, *payoffs.shape, GAP, LIMIT]
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def described(found):
    return "-" if found is None else f"{found[1]:.3f} s (gap {found[2]:.0e})"


def figure(folder):
    """Draws the certified gap over the iterations of steps alone."""
    curves = [(name, payoffs) for name, payoffs in games(*FIGURE_SIZE, 0)] + [("cyclic, 101", cyclic(101))]
    draw([(name, ours(payoffs, folder, "steps", FIGURE_ITERATIONS)["trace"]) for name, payoffs in curves], FIGURE)


def run(goals, quick):
    cargo = ["cargo", "build", "--release", "--locked", "-p", "couloir", "--example", "game_speed"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    sizes = [(30, 40), (100, 100)] if quick else [(30, 40), (200, 200), (500, 500), (1000, 1000)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        families = [(f"{name}, {m} x {n}", a) for m, n in sizes for name, a in games(m, n, 0)]
        stakes = np.random.default_rng(1).uniform(0.25, 1, (101, 101))
        families += [("cyclic, 101", cyclic(101)), ("cyclic with stakes, 101", cyclic(101, stakes))]
        for name, payoffs in families:
            own = ours(payoffs, folder)
            highs, first_order = (by_peer(peer, payoffs, folder) for peer in ("highs", "pdlp"))
            mine = f"{own['seconds']:.3f} s (gap {own['gap']:.0e}, {own['iterations']} iterations)"
            rows.append([name, mine, described(highs), described(first_order)])
            print(f"... {rows[-1]}", flush=True)
            goals.add(f"{name}, certified gap", f"{own['gap']:.0e}", "at most 1e-6", own["gap"] <= GAP)
            if highs is not None:
                slack = max(highs[2], 0) + 1e-9
                agrees = own["lower"] - slack <= highs[0] <= own["upper"] + slack
                goals.add(f"{name}, value", f"[{own['lower']:.9f}, {own['upper']:.9f}]", f"HiGHS's {highs[0]:.9f}", agrees)
            if min(payoffs.shape) >= 1000:
                least = highs[1] if highs else LIMIT
                goals.add(f"{name}, seconds", f"{own['seconds']:.3f}", f"HiGHS's {least:.3f}", own["seconds"] <= least)
            least = first_order[1] if first_order else LIMIT
            goals.add(f"{name}, seconds", f"{own['seconds']:.3f}", f"PDLP's {least:.3f}", own["seconds"] <= least)
        if not quick:
            figure(folder)
    show(["game", "certified to 1e-6", "HiGHS", "PDLP"], rows)
