"""The bench: `scripts/bench [--quick] [PART...]`; all parts unless some are named."""

import argparse

import checkpoint
import common
import fit
import games
import growth
import iteration
import kernels
import oracle_variety
import oracles
import poker
import python
import reading
import restarts
import robust

PARTS = {
    "iteration": ("Time per certified iteration", iteration),
    "kernels": ("Kernels", kernels),
    "fit": ("Fit with defaults", fit),
    "reading": ("Reading", reading),
    "growth": ("Growth of the cost", growth),
    "python": ("The Python package", python),
    "checkpoint": ("Checkpoints", checkpoint),
    "games": ("Matrix games", games),
    "poker": ("Leduc poker", poker),
    "restarts": ("Gradients and seconds to small gaps", restarts),
    "oracles": ("Sets known only by their oracles", oracles),
    "robust": ("Robust models", robust),
    "variety": ("Sets known only by their oracles: other instances", oracle_variety),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="parts to run [default: all]")
    parser.add_argument("--quick", action="store_true", help="one round each: to see that it runs")
    parser.add_argument("--seeds", type=int, help="instances of each kind, for oracles (3) and variety (1); splits of the data for robust (5)")
    parser.add_argument("--only", default="", help="for oracles and variety: the instances whose names contain these words")
    options = parser.parse_args()
    if set(options.parts or PARTS) - {"oracles", "variety"}:  # these build what they need
        common.build()
    goals = common.Goals()
    for name in options.parts or PARTS:
        title, part = PARTS[name]
        print(f"\n## {title}\n", flush=True)
        busy = common.Busy()
        takes_seeds = options.seeds is not None and part in (oracles, oracle_variety, robust)
        chosen = {"seeds": options.seeds} if takes_seeds else {}
        if part in (oracles, oracle_variety):
            chosen["only"] = options.only
        part.run(goals, options.quick, **chosen)
        others = busy.others()
        if others is not None:
            loud = "!! NOT QUIET, do not trust these figures: " if others > 0.2 else ""
            print(f"\n{loud}other processes used {others:.2f} processors meanwhile", flush=True)
    if goals.rows:
        print("\n## Goals\n")
        goals.print()


if __name__ == "__main__":
    main()
