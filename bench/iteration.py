"""(i) Time per certified iteration against the same iteration in NumPy and SciPy."""

from common import Peer, couloir, data_files, in_turn, median, show

TASKS = [("paper", 1e-3), ("dro", 1e-2)]


def run(goals, quick):
    rows = []
    for name, path in data_files().items():
        peer = Peer("iteration.py", path)
        for objective, tol in TASKS:
            ours = ["fit", path, "--quiet", "--objective", objective, "--tau", 100, "--lambda-n", 1, "--tol", tol]
            answers = in_turn(
                1 if quick else 5,
                ours=lambda: couloir(*ours)[0],
                # BLAS on one thread can be the faster one: the peer gets the better of the two
                one=lambda: peer(objective, tol, 1),
                two=lambda: peer(objective, tol, 2),
            )
            theirs = min((answers[k] for k in ("one", "two")), key=lambda a: median(a, "seconds"))
            if not (all(a["status"] == "solved" for a in answers["ours"]) and all(a["solved"] for a in theirs)):
                raise RuntimeError(f"{name}, {objective}: not both sides reached {tol:g}")
            for answer in answers["ours"]:
                answer["each"] = answer["method_seconds"] / answer["iterations"]
            for answer in theirs:
                answer["each"] = answer["seconds"] / answer["iterations"]
            ratio = median(theirs, "each") / median(answers["ours"], "each")
            total = (median(theirs, "seconds") + theirs[0]["setup"]) / median(answers["ours"], "seconds")
            first = answers["ours"][0]
            rows.append([
                f"{name}, {objective}, gap/s <= {tol:g}",
                f"{1e3 * median(answers['ours'], 'each'):.1f}", first["iterations"], first["grads"],
                f"{1e3 * median(theirs, 'each'):.1f}", theirs[0]["iterations"], theirs[0]["grads"],
                theirs[0]["blas_threads"], f"{ratio:.1f}", f"{total:.1f}",
            ])
            goals.add(f"iteration, {name} {objective}", f"{ratio:.1f} x", "at least 5 x (aim 10)", ratio >= 5)
        peer.close()
    show(["data", "ours ms/iteration", "iterations", "grads", "NumPy ms/iteration", "iterations", "grads",
          "BLAS threads", "times faster", "to the gap, with setup"], rows)
