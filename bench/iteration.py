"""(i) Time per certified iteration against the same iteration in NumPy and SciPy.

Each side is one process that has run before: a first run pays for memory that is new to it.
"""

from common import Answers, Peer, data_files, example_path, in_turn, median, show

TASKS = [("paper", 1e-3), ("dro", 1e-2)]
# points of the hull and kernels; without the hull search the peer has plainer lower bounds too
KINDS = {
    "NumPy, plain": (5, "plain"),
    "NumPy, tuned by hand": (5, "tuned"),
    "NumPy, tuned, without hull search": (0, "tuned"),
}
GOALS = ("NumPy, plain", "NumPy, tuned by hand")  # they do the same iteration
# BLAS on one thread can be the faster one: the peer gets the better of the two
SIDES = {f"{kind}, {blas}": (*words, blas) for kind, words in KINDS.items() for blas in (1, 2)}


def run(goals, quick):
    rows = []
    for name, path in data_files().items():
        couloir, peer = Answers(example_path("iteration_speed"), path), Peer("iteration.py", path)
        for objective, tol in TASKS:
            sides = {side: lambda words=words: peer(objective, tol, *words) for side, words in SIDES.items()}
            sides["ours"] = lambda: couloir(objective, tol)
            in_turn(1, **sides)
            answers = in_turn(1 if quick else 5, **sides)
            ours, peers = answers["ours"], {kind: faster(answers, kind) for kind in KINDS}
            if not (all(a["status"] == "solved" for a in ours) and all(a["solved"] for p in peers.values() for a in p)):
                raise RuntimeError(f"{name}, {objective}: not all sides reached {tol:g}")
            for answer in ours:
                answer["each"] = answer["seconds"] / answer["iterations"]
            row = [f"{name}, {objective}, gap/s <= {tol:g}", each(ours)]
            for kind, theirs in peers.items():
                ratio = median(theirs, "each") / median(ours, "each")
                row += [each(theirs), f"{ratio:.1f}"]
                if kind in GOALS:
                    what = f"iteration, {name} {objective}, {kind}"
                    goals.add(what, f"{ratio:.1f} x", "at least 5 x (aim 10)", ratio >= 5)
            rows.append(row)
        couloir.close()
        peer.close()
    print("ms per iteration (iterations, gradients + those of the certificate); BLAS on one or two threads")
    heads = [head for kind in KINDS for head in (kind, "times faster")]
    show(["data", "ours", *heads], rows)


def faster(answers, kind):
    """The answers of the faster of two sides."""
    theirs = min((answers[f"{kind}, {blas}"] for blas in (1, 2)), key=lambda a: median(a, "seconds"))
    for answer in theirs:
        answer["each"] = answer["seconds"] / answer["iterations"]
    return theirs


def each(answers):
    first = answers[0]
    counts = f"{first['iterations']}, {first['grads']} + {first['certificate_grads']}"
    return f"{1e3 * median(answers, 'each'):.1f} ({counts})"
