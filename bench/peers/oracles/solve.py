"""Solves an instance with every peer that can, one line of JSON each: solve.py FILE [SECONDS]."""

import json
import sys
import warnings

import column_generation
import completion
import fully_corrective
import instances
import sets


def reports(instance, seconds):
    kind = instance.settings["kind"]
    if kind == "rows":
        problem, start = instances.Rows(instance), instance.arrays["start"]
        if problem.mu > 0:
            yield fully_corrective.solve(problem, start, seconds=seconds)
        yield column_generation.solve(problem, start, seconds=seconds)
    elif kind == "game":
        x_set, y_set = (sets.make(instance.settings[key]) for key in ("set", "other"))
        starts = (instance.arrays["start"], instance.arrays["other_start"])
        yield column_generation.double_oracle(instance.matrix(), x_set, y_set, *starts, seconds=seconds)
    else:
        yield completion.solve(completion.Completion(instance), seconds=seconds)


def main():
    warnings.simplefilter("ignore")  # Clarabel says when it stops at reduced accuracy; certificates do not depend on it
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    for report in reports(instances.read(sys.argv[1]), seconds):
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
