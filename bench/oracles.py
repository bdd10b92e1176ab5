"""(vii) Sets that are known only by their oracles: oracle calls and seconds to certified gaps, beside peers.

Each instance is written to a file. The peers (bench/peers/oracles) and our example `oracle_calls` read it and print one line of
JSON per method:

    {"method": "corrective", "upper": 11.65, "lower": 11.65,
     "gaps": {"0.1": {"calls": 14, "gradients": 14, "seconds": 0.01}, ..., "1e-06": null}}

A gap that was not reached is null. The method that is held against the peers is called `corrective`. It and the peer in NumPy run in
turn, three times, and the medians of their seconds count. What column generation counts is read from a record, which
`bench/peers/oracles/record.py` writes, unless the instance is another than the recorded one: then it runs here. On the
first seed all methods of ours run; on the others the corrective method and SPFW; and everywhere MPCGS over atoms where the corrective
method takes many gradients.

`scripts/bench oracles --only WORDS` takes the instances whose names contain the words, so that a run can be taken in parts. At the end
come the tables of docs/benchmarks.md.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import PEERS, ROOT, example_path, show

FOLDER = PEERS / "oracles"
SOURCE = ROOT / "crates" / "couloir" / "examples" / "oracle_calls" / "main.rs"
OURS = "corrective"
LIMIT = 30  # seconds that a peer may take for an instance
COMPLETION_LIMIT = 120  # the same for matrix completion
ROUNDS = 3  # of what is compared in seconds
SLOW = 5  # seconds from which a peer is measured once
MANY = 200  # gradients of the corrective method, beyond which MPCGS over atoms should take at most half of them
ATOMS = "mpcgs over atoms"
ALL = ["mpcgs by slides", "spfw", "spafw", "corrective, no curvature", "corrective, no response"]
PLAIN = ["corrective, no curvature", "corrective, no response"]  # where the problem says less of itself


def lines_of(command):
    """What a program prints, a JSON object per line, and its peak memory in MiB."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    answers = [json.loads(line) for line in process.stdout]
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {command}")
    return answers, usage.ru_maxrss / 1024


def build():
    """Our program, if it is there."""
    if not SOURCE.is_file():
        print(f"!! SKIPPED: no {SOURCE.parent.name}, so the peers run alone", flush=True)
        return False
    cargo = ["cargo", "build", "--release", "--locked", "-p", "couloir", "--example", "oracle_calls"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    return True


def solve(instance, instances, folder, ours, peers=True):
    """The reports of all methods, and our peak memory."""
    path = Path(folder) / "instance"
    instances.write(instance, path)
    reports, memory = [], None
    if peers:
        reports += lines_of([sys.executable, FOLDER / "solve.py", path, COMPLETION_LIMIT])[0]
    if ours:
        own, memory = lines_of([example_path("oracle_calls"), path])
        reports += own
    path.unlink()
    return reports, memory


def medians(rounds):
    """One report of several with the same counts."""
    report = rounds[0]
    for gap, at in report["gaps"].items():
        seconds = [other["gaps"][gap]["seconds"] for other in rounds if other["gaps"][gap]]
        if at and seconds:
            at["seconds"] = statistics.median(seconds)
    return report


def takes_many(report):
    return any(at and at["gradients"] > MANY for at in report["gaps"].values())


def compare(instance, instances, folder, ours, rounds, methods):
    """Reports of the peers, of the corrective method and of these methods on an instance with atoms; MPCGS over atoms joins them
    where the corrective method takes many gradients."""
    path = Path(folder) / "instance"
    instances.write(instance, path)
    program, quick, own = example_path("oracle_calls"), [], []
    for _ in range(rounds):
        # a slow peer is measured once
        if not any(not at or at["seconds"] > SLOW for report in sum(quick, []) for at in report["gaps"].values()):
            quick.append(lines_of([sys.executable, FOLDER / "solve.py", path, LIMIT, "quick"])[0])
        if ours:
            own.append(lines_of([program, path, OURS])[0])
    reports = [medians(list(of_one)) for of_one in zip(*quick)]
    recorded = record.recorded(instance, path)
    reports.append(recorded or lines_of([sys.executable, FOLDER / "solve.py", path, LIMIT, "slow"])[0][0])
    if ours:
        reports += [medians(list(of_one)) for of_one in zip(*own)]
        if takes_many(reports[-1]):
            methods = [*methods, ATOMS]
        others = lines_of([program, path, *methods])[0]
        reports += [report for report in others if report["method"] != OURS]
    path.unlink()
    return reports


def calls_and_seconds(report, gap):
    at = report["gaps"].get(gap)
    if not at:
        return "-"
    gradients = f", {at['gradients']} gradients" if at["gradients"] != at["calls"] else ""
    return f"{at['calls']} ({at['seconds']:.3f} s{gradients})"


def show_for_docs(taken):
    """The tables of docs/benchmarks.md: calls to each gap of all methods, and seconds beside the peers."""
    names = list(dict.fromkeys(r["method"] for _, reports in taken for r in reports))
    figures = {"oracle calls": lambda at: str(at["calls"]), "seconds": lambda at: f"{at['seconds']:.3g}"}
    for what, figure in figures.items():
        rows = []
        for instance, reports in taken:
            cells = {r["method"]: "; ".join(figure(at) if at else "-" for at in map(r["gaps"].get, reports[0]["gaps"])) for r in reports}
            rows.append([instance.name, *(cells.get(name, "") for name in names)])
        print(f"\n### For docs/benchmarks.md: {what}\n")
        show(["", *names], rows)


def rows_of(instance, reports):
    gaps = reports[0]["gaps"]
    return [[instance.name, r["method"], *(calls_and_seconds(r, gap) for gap in gaps)] for r in reports]


def best(reports, gap, key):
    """The least among those who reached the gap."""
    return min((r["gaps"][gap][key] for r in reports if r["gaps"].get(gap)), default=None)


class Bars:
    """The worst case of a family of instances against its peers."""

    def __init__(self, goals):
        self.goals, self.worst, self.slowest, self.saved = goals, {}, {}, []

    def add(self, instance, reports):
        family = instance.name.split(" seed")[0]
        own = [r for r in reports if r["method"] == OURS]
        others = [r for r in reports if "(" in r["method"]]
        self.compare_gradients(instance, reports)
        if not own:
            return
        for gap in own[0]["gaps"]:
            peer = best(others, gap, "calls")
            if peer is None:
                continue
            reached = own[0]["gaps"][gap]
            calls = reached["calls"] if reached else float("inf")
            measured = ((calls - 5) / peer, f"{calls} calls, peer {peer}, gap {gap}")
            self.worst[family] = max(self.worst.get(family, measured), measured)
            quick = [r for r in reports if "NumPy" in r["method"] or r["method"] == "spfw"]
            fastest = best(quick, gap, "seconds")
            if fastest is not None:
                seconds = reached["seconds"] if reached else float("inf")
                measured = (seconds / fastest, f"{seconds:.3f} s, NumPy or SPFW {fastest:.3f} s, gap {gap}")
                self.slowest[family] = max(self.slowest.get(family, measured), measured)

    def compare_gradients(self, instance, reports):
        """What MPCGS over atoms saves where the corrective method takes many gradients."""
        by_name = {r["method"]: r["gaps"] for r in reports}
        for gap, many in by_name.get(OURS, {}).items():
            if ATOMS not in by_name or not many or many["gradients"] <= MANY:
                continue
            few = by_name[ATOMS].get(gap)
            counts = [few["gradients"], few["calls"]] if few else ["-", "-"]
            self.saved.append([instance.name, gap, many["gradients"], counts[0], many["calls"], counts[1]])
            share = few["gradients"] / many["gradients"] if few else float("inf")
            self.goals.add(f"gradients, {instance.name} to {gap}", f"{share:.2f} of corrective's", "at most half", share <= 0.5)

    def add_bracket(self, instance, reports):
        """Holds our bracket of a game against that of the double oracle method, which solves its games by Clarabel."""
        by_name = {r["method"]: r for r in reports}
        own, peer = by_name.get(OURS), next((r for r in reports if "Clarabel" in r["method"]), None)
        if own and peer:
            apart = max(own["lower"] - peer["upper"], peer["lower"] - own["upper"])
            figure = f"[{own['lower']:.7f}, {own['upper']:.7f}]"
            self.goals.add(f"{instance.name}, bracket", figure, "meets the peer's, 1e-6 wide", apart <= 1e-9 and own["upper"] - own["lower"] <= 1e-6)

    def add_value(self, instance, reports, value):
        """Holds our bracket of a game against its value from a linear program over all pure strategies."""
        for report in (r for r in reports if r["method"] == OURS):
            away = max(abs(report["upper"] - value), abs(report["lower"] - value))
            self.goals.add(f"{instance.name}, value {value:.7f}", f"off by {away:.1e}", "at most 1e-6", away <= 1e-6)

    def report(self):
        for family, (ratio, text) in self.worst.items():
            self.goals.add(f"oracle calls, {family}", text, "at most 1.5 times the better peer plus 5", ratio <= 1.5)
        for family, (ratio, text) in self.slowest.items():
            self.goals.add(f"seconds, {family}", text, "at most NumPy's and SPFW's", ratio <= 1)
        if self.saved:
            head = ["", "gap", "gradients: corrective", ATOMS, "oracle calls: corrective", ATOMS]
            show(head, self.saved)
            print()


def run_completion(goals, instances, folder, ours, quick):
    instance = instances.completion(500 if quick else 2000, 0)
    reports, memory = solve(instance, instances, folder, ours)
    show(["", "method", *(f"calls to {gap}" for gap in reports[0]["gaps"])], rows_of(instance, reports))
    own = next((r for r in reports if r["method"] == OURS), None)
    if own is None:
        return
    for gap in ("0.01", "0.001"):
        mine, peer = (best([report], gap, "seconds") for report in (own, reports[0]))
        faster = mine is not None and (peer is None or mine < peer)
        figures = ["not reached" if t is None else f"{t:.1f} s" for t in (mine, peer)]
        goals.add(f"{instance.name}, gap {gap}", f"{figures[0]}, NumPy {figures[1]}", "faster", faster)
    goals.add(f"{instance.name}, peak memory", f"{memory:.0f} MiB", "under 300 MiB", memory < 300)
    if not quick:
        large = instances.completion(20_000, 0, entries=4_000_000)
        reports, memory = solve(large, instances, folder, ours, peers=False)
        own = next(r for r in reports if r["method"] == OURS)
        at = own["gaps"]["0.01"]
        figure = f"{at['seconds']:.0f} s, {at['calls']} calls, {memory:.0f} MiB" if at else f"not reached, {memory:.0f} MiB"
        goals.add(f"{large.name} to 1e-2", figure, "under 2 GiB", bool(at) and memory < 2048)


def run(goals, quick, seeds=3, only=""):
    sys.path.insert(0, str(FOLDER))
    global record
    import instances  # after the path is set
    import pure_strategies
    import record

    ours, bars, taken = build(), Bars(goals), []
    with tempfile.TemporaryDirectory() as folder:
        for several in (instances.one_block, instances.games):
            rows = []
            for seed in range(1 if quick else seeds):
                for instance in (i for i in several(seed) if only in i.name):
                    methods = ALL if seed == 0 else ["spfw"]
                    reports = compare(instance, instances, folder, ours, 1 if quick else ROUNDS, methods)
                    rows += rows_of(instance, reports)
                    taken.append((instance, reports))
                    bars.add(instance, reports)
                    if "blotto" in instance.name:
                        bars.add_value(instance, reports, pure_strategies.blotto_value(instance))
                    if several is instances.games:
                        bars.add_bracket(instance, reports)
                    print(f"... {instance.name}", file=sys.stderr, flush=True)
            show(["", "method", "calls to 0.1", "to 0.01", "to 1e-4", "to 1e-6"], rows)
            print()
        bars.report()
        if only in "completion":
            run_completion(goals, instances, folder, ours, quick)
    show_for_docs(taken)


def run_variety(goals, quick, seeds=1, only=""):
    """The corrective method on instances of many other shapes, beside the peers: calls alone are held against theirs."""
    sys.path.insert(0, str(FOLDER))
    global record
    import instances
    import record

    ours, bars, rows, taken = build(), Bars(goals), [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1 if quick else seeds):
            for instance in (i for i in [*instances.others(seed), *instances.drawn(seed)] if only in i.name):
                reports = compare(instance, instances, folder, ours, 1, ["spfw", *PLAIN])
                rows += rows_of(instance, reports)
                taken.append((instance, reports))
                bars.add(instance, reports)
                print(f"... {instance.name}", file=sys.stderr, flush=True)
    show(["", "method", "calls to 0.1", "to 0.01", "to 1e-4", "to 1e-6"], rows)
    print()
    bars.report()
    show_for_docs(taken)
