"""(vi) What checkpoints cost: fits of news20 with one every ten seconds, and without, in turn."""

import tempfile
from pathlib import Path

from common import couloir, data_files, in_turn, median, show

SECONDS = 45
EVERY = 10
# mpcgs never ends by itself; certified evaluates at every iteration and has the largest state
FITS = {
    "mpcgs": ["--method", "mpcgs", "--tol", "1e-9"],
    "certified": ["--tol", "1e-12", "--max-iters", "100000"],
}


def run(goals, quick):
    path = data_files().get("news20")
    if path is None:
        return
    rows = []
    for name, arguments in FITS.items():
        seconds = 12 if quick else SECONDS
        fit = ["fit", path, "--quiet", "--max-time", seconds, *arguments]
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder) / "state"
            answers = in_turn(
                1 if quick else 3,
                without=lambda: couloir(*fit)[0],
                kept=lambda: couloir(*fit, "--checkpoint", state, "--checkpoint-every", EVERY)[0],
            )
            size = state.stat().st_size / 2**20
        for answer in answers["without"] + answers["kept"]:
            # all but the method's own iterations: set-up, certificates, checkpoints
            answer["beside"] = answer["seconds"] - answer["method_seconds"]
            answer["rate"] = answer["iterations"] / answer["seconds"]
        without, kept = answers["without"], answers["kept"]
        extra = median(kept, "beside") - median(without, "beside")
        share = 100 * extra / median(without, "seconds")
        slower = 100 * (median(without, "rate") / median(kept, "rate") - 1)
        rows.append([name, f"{size:.0f}", f"{median(without, 'seconds'):.1f}", f"{extra:.2f}", f"{share:.2f}",
                     f"{median(without, 'rate'):.2f}", f"{median(kept, 'rate'):.2f}", f"{slower:.1f}"])
        goals.add(f"checkpoints every {EVERY} s, {name}", f"{share:.2f} %", "below 2 %", share < 2)
    print("extra: seconds of the fit outside of its iterations, more than without checkpoints; iterations a second show what "
          "else they cost, and how noisy the machine is")
    show(["fit of news20", "MiB", "seconds", "extra", "extra %", "iterations/s", "with checkpoints", "slower %"], rows)
