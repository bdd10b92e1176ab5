"""Records what column generation reports on the instances of the bench: record.py [SEED...].

It takes minutes of an instance, and its counts do not depend on the machine, so that the bench reads them from
`column_generation.json` instead of counting again. A record holds for the bytes of its instance alone: where these are others, the bench
runs the peer. Run this on purpose: it records what no record holds for; where the peer has changed, remove the file first. Seconds
here are those of the processor.
"""

import hashlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import instances
import solve

RECORDS = Path(__file__).with_name("column_generation.json")
LIMIT = 60  # seconds of the processor for an instance


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def load():
    return json.loads(RECORDS.read_text()) if RECORDS.is_file() else {}


def save(records):
    lines = [f"{json.dumps(name)}: {json.dumps(records[name])}" for name in sorted(records)]
    room = RECORDS.with_suffix(".new")
    room.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(room, RECORDS)


def recorded(instance, path):
    """The report for the instance of this file, if there is one that holds."""
    record = load().get(instance.name)
    return record["report"] if record and record["sha256"] == digest(path) else None


def main():
    warnings.simplefilter("ignore")
    for seed in [int(word) for word in sys.argv[1:]] or range(3):
        kinds = (instances.one_block, instances.games, instances.others, instances.drawn)
        for instance in (instance for kind in kinds for instance in kind(seed)):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "instance"
                instances.write(instance, path)
                if recorded(instance, path):
                    continue
                report = solve.column_generation_report(instance, LIMIT, of_processor=True)
                records = load()
                records[instance.name] = {"sha256": digest(path), "report": report}
                save(records)
            print(instance.name, [at and at["calls"] for at in report["gaps"].values()], flush=True)


if __name__ == "__main__":
    main()
