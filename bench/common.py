"""What all parts of the bench share: running both sides in turn, medians, tables, and what else ran meanwhile."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
THREADS = 2
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COULOIR = str(TARGET / "release" / "couloir")
NAMES = {"news20": "news20.scale.bz2", "rcv1sub": "rcv1sub.multiclass.bz2"}


def data_files():
    """The real data that is there: name -> path."""
    folders = [os.environ.get("COULOIR_DATA"), ROOT.parent / "shared" / "data"]
    folder = next((Path(f) for f in folders if f and Path(f).is_dir()), None)
    found = {n: folder / f for n, f in NAMES.items() if folder and (folder / f).is_file()}
    for name in NAMES.keys() - found.keys():
        print(f"!! SKIPPED: no {NAMES[name]} in COULOIR_DATA or ../shared/data", flush=True)
    return dict(sorted(found.items()))


def build():
    """The command and the examples that print times."""
    cargo = ["cargo", "build", "--release", "--locked"]
    subprocess.run([*cargo, "-p", "couloir-cli", "--bins", "--example", "iteration_speed"], cwd=ROOT, check=True)
    examples = ["--example", "kernel_speed", "--example", "read_speed", "--example", "restarts"]
    subprocess.run([*cargo, "-p", "couloir-data", *examples], cwd=ROOT, check=True)


def couloir(*arguments):
    """The JSON that a command of ours prints, and its wall time."""
    start = time.perf_counter()
    done = subprocess.run([COULOIR, *map(str, arguments), "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout), time.perf_counter() - start


def example_path(name):
    return TARGET / "release" / "examples" / name


def example(name, *arguments):
    """The JSON that an example prints."""
    command = [str(example_path(name)), *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Answers:
    """A program that answers each line with one line of JSON: it reads its data only once."""

    def __init__(self, *command):
        command = [str(word) for word in command]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"it ended: {self.process.args}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer(Answers):
    """A script of bench/peers."""

    def __init__(self, script, *arguments):
        super().__init__(sys.executable, "-u", PEERS / script, *arguments)


def in_turn(rounds, **sides):
    """Runs every side once a round, so that noise of the machine hits all alike: name -> answers."""
    answers = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            answers[name].append(run())
    return answers


def median(answers, key):
    return statistics.median(a[key] for a in answers)


def show(head, rows):
    """A Markdown table."""
    cells = [[str(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(head))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    print("\n".join(lines), flush=True)


class Busy:
    """How busy other processes kept the machine between two looks (Linux; elsewhere unknown)."""

    def __init__(self):
        self.start = self.look()

    @staticmethod
    def look():
        try:
            fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        except OSError:
            return None
        user, nice, system, _, _, irq, softirq, steal = map(int, fields)
        ticks = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        own = sum(os.times()[:4])  # with children that have ended
        return time.monotonic(), ticks, own

    def others(self):
        """Processors that others used, on average."""
        now = self.look()
        if now is None or self.start is None:
            return None
        elapsed, total, own = (b - a for a, b in zip(self.start, now))
        return max(total - own, 0) / elapsed


class Goals:
    """What was to be shown, and whether it was."""

    def __init__(self):
        self.rows = []

    def add(self, what, figure, wanted, reached):
        self.rows.append([what, figure, wanted, "pass" if reached else "MISS"])

    def print(self):
        show(["goal", "measured", "wanted", ""], self.rows)
