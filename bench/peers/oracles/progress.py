"""What a run on sets known by their oracles reports: calls, gradients and seconds when each gap was first certified."""

import time

GAPS = (1e-1, 1e-2, 1e-4, 1e-6)


class Progress:
    def __init__(self, gaps=GAPS, clock=time.perf_counter):
        self.gaps, self.clock, self.start = gaps, clock, clock()
        self.calls, self.gradients, self.evaluations = 0, 0, 0
        self.upper, self.lower, self.reached = float("inf"), -float("inf"), {}

    @property
    def elapsed(self):
        return self.clock() - self.start

    @property
    def gap(self):
        return self.upper - self.lower

    @property
    def done(self):
        return self.gap <= self.gaps[-1]

    def certify(self, upper, lower):
        """Takes in an upper and a lower bound of the value that hold after the calls so far."""
        self.upper, self.lower = min(self.upper, upper), max(self.lower, lower)
        for gap in self.gaps:
            if self.gap <= gap and gap not in self.reached:
                self.reached[gap] = {
                    "calls": self.calls,
                    "gradients": self.gradients,
                    "evaluations": self.evaluations,
                    "seconds": self.elapsed,
                }

    def report(self, method):
        """What is printed as one line of JSON."""
        reached = {f"{gap:g}": self.reached.get(gap) for gap in self.gaps}
        return {"method": method, "upper": float(self.upper), "lower": float(self.lower), "gaps": reached}
