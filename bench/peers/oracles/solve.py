"""Solves an instance with every peer that can, one line of JSON each: solve.py FILE [SECONDS [WHICH]].

WHICH is `quick` for the peer in NumPy alone, `slow` for column generation alone, and `all` (the default) for both.
"""

import json
import sys
import time
import warnings

import column_generation
import completion
import fully_corrective
import instances
import sets


def column_generation_report(instance, seconds, of_processor=False):
    """By column generation, or by the double oracle method for games; seconds of the wall or of the processor."""
    options = {"seconds": seconds, "clock": time.process_time if of_processor else time.perf_counter}
    if instance.settings["kind"] == "rows":
        return column_generation.solve(instances.Rows(instance), instance.arrays["start"], **options)
    x_set, y_set = (sets.make(instance.settings[key]) for key in ("set", "other"))
    starts = (instance.arrays["start"], instance.arrays["other_start"])
    return column_generation.double_oracle(instance.matrix(), x_set, y_set, *starts, **options)


def reports(instance, seconds, which):
    kind = instance.settings["kind"]
    if kind == "completion":
        yield completion.solve(completion.Completion(instance), seconds=seconds)
        return
    if kind == "rows" and instance.number("mu") > 0 and which != "slow":
        yield fully_corrective.solve(instances.Rows(instance), instance.arrays["start"], seconds=seconds)
    if which != "quick":
        yield column_generation_report(instance, seconds)


def main():
    warnings.simplefilter("ignore")  # Clarabel says when it stops at reduced accuracy; certificates do not depend on it
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    which = sys.argv[3] if len(sys.argv) > 3 else "all"
    for report in reports(instances.read(sys.argv[1]), seconds, which):
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
