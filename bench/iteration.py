"""(i) Time per certified iteration against the same iteration in NumPy and SciPy."""

from common import Peer, couloir, data_files, in_turn, median, show

TASKS = [("paper", 1e-3), ("dro", 1e-2)]
# points of the hull and threads of BLAS; without the hull search the peer has plainer lower bounds too
SIDES = {f"{kind}_{blas}": (hull, blas) for kind, hull in [("same", 8), ("plain", 0)] for blas in (1, 2)}


def run(goals, quick):
    rows = []
    for name, path in data_files().items():
        peer = Peer("iteration.py", path)
        for objective, tol in TASKS:
            fit = ["fit", path, "--quiet", "--objective", objective, "--tau", 100, "--lambda-n", 1, "--tol", tol]
            answers = in_turn(
                1 if quick else 5,
                ours=lambda: couloir(*fit)[0],
                # BLAS on one thread can be the faster one: the peer gets the better of the two
                **{side: lambda words=words: peer(objective, tol, *words) for side, words in SIDES.items()},
            )
            same, plain = (faster(answers, kind) for kind in ("same", "plain"))
            ours = answers["ours"]
            if not (all(a["status"] == "solved" for a in ours) and all(a["solved"] for a in [*same, *plain])):
                raise RuntimeError(f"{name}, {objective}: not all sides reached {tol:g}")
            for answer in ours:
                answer["each"] = answer["method_seconds"] / answer["iterations"]
            row = [f"{name}, {objective}, gap/s <= {tol:g}", each(ours)]
            for theirs in (same, plain):
                ratio = median(theirs, "each") / median(ours, "each")
                total = (median(theirs, "seconds") + theirs[0]["setup"]) / median(ours, "seconds")
                row += [each(theirs), f"{ratio:.1f}", f"{total:.1f}"]
                if theirs is same:
                    goals.add(f"iteration, {name} {objective}", f"{ratio:.1f} x", "at least 5 x (aim 10)", ratio >= 5)
            rows.append(row)
        peer.close()
    print("ms per iteration (iterations, gradients + those of the certificate); BLAS on one or two threads")
    show(["data", "ours", "NumPy, the same iteration", "times faster", "to the gap, with setup",
          "NumPy without hull search", "times faster", "to the gap, with setup"], rows)


def faster(answers, kind):
    """The answers of the faster of two sides."""
    theirs = min((answers[f"{kind}_{blas}"] for blas in (1, 2)), key=lambda a: median(a, "seconds"))
    for answer in theirs:
        answer["each"] = answer["seconds"] / answer["iterations"]
    return theirs


def each(answers):
    first = answers[0]
    counts = f"{first['iterations']}, {first['grads']} + {first['certificate_grads']}"
    return f"{1e3 * median(answers, 'each'):.1f} ({counts})"
