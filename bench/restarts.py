"""(xi) `certified` against accelerated projected gradient (`apg`) to the same certified gaps, on the robust classifier and on quadratic families.

The seconds of `certified` are all of them, certificates included; those of `apg` are the method's alone, for it certifies
nothing while it runs. Gradients are the method's own (those for certificates after the plus sign).
"""

import bz2
import json
import math
import subprocess
import tempfile
from pathlib import Path

from common import data_files, example_path, show

TOLERANCES = (1e-2, 1e-4, 1e-6)
JUDGED = ("news20", "rcv1sub")


def lines(*arguments):
    command = [str(example_path("restarts")), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def plain(path, folder):
    if path.suffix != ".bz2":
        return path
    copy = Path(folder) / path.stem
    copy.write_bytes(bz2.decompress(path.read_bytes()))
    return copy


def rows(found):
    return [[r["name"], f"{r['tol']:.0e}", f"{r['gradients']}+{r['certificates']}", r["apg_gradients"],
             f"{r['seconds']:.3f}", f"{r['apg_seconds']:.3f}", f"{r['ratio']:.2f}"]
            for r in found if r["tol"] in TOLERANCES]


def run(goals, quick):
    rounds = ["--rounds", 1 if quick else 3]
    families = lines("families")
    found, judged = list(families), []
    with tempfile.TemporaryDirectory() as folder:
        files = data_files()
        cora = [path.with_name("cora.bow") for path in files.values()][:1]
        for name, path in [*files.items(), *((path.stem, path) for path in cora if path.is_file())]:
            here = lines(*rounds, plain(path, folder))
            found += here
            judged += [r for r in here if name in JUDGED and r["tol"] in TOLERANCES]
    found += lines(*rounds, "generated:sector")
    show(["problem", "tolerance", "gradients", "of apg", "seconds", "of apg", "ratio"], rows(found))
    if judged:
        ratios = [r["ratio"] for r in judged]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        goals.add(f"seconds over apg's, mean of {len(ratios)}", f"{mean:.2f}", "at most 1", mean <= 1)
        goals.add("seconds over apg's, worst", f"{max(ratios):.2f}", "at most 1.3", max(ratios) <= 1.3)
    for r in families:
        if r["tol"] == 1e-6:
            ours, theirs = r["gradients"], r["apg_gradients"]
            goals.add(f"gradients to 1e-6, {r['name']}", ours, f"at most {theirs}", ours <= theirs)
