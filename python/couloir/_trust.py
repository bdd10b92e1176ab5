"""A test of a problem and its sets before a solve: do the functions fit each other?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _couloir

Floats = NDArray[np.float64]
Value = Callable[[Floats], float]

# Steps of differences, as shares of the way between two points of a set.
STEPS = (1e-3, 1e-4)
# Values may be off by this share of their size, and by this much: problems that are solved by iterations are.
NOISE = 1e-8
# A slope is wrong where it misses differences by more than this share; two steps that disagree count three times.
WRONG = 0.02
# Of a best response and of convexity: what is lost, as a share of the values compared.
LOST = 1e-5
# Of an adjoint, as a share of the lengths.
ADJOINT = 1e-4
# Linear minimisations over a set of the package, besides the first.
ANSWERS = 4
# Points of a set of the package, each at the end of an entry, between which differences are taken as well; fewer for a set of one's own,
# whose linear minimisation may take long.
CORNERS, OWN_CORNERS = 10, 4
# Where on the way between two points convexity is looked at, besides its ends.
STATIONS = (0.23, 0.5, 0.61)
# Entries that are looked at to name the one that is wrong.
ENTRIES = 64

SKIP = "; couloir.check_gradient tells more, and check=False skips this test"


class Counted:
    """Functions of a problem that count their calls."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.calls: dict[str, int] = {}

    def __call__(self, name: str, *arguments: Floats) -> Any:
        self.calls[name] = self.calls.get(name, 0) + 1
        return self.asked[name](*(np.array(argument) for argument in arguments))

    def image(self, x: Floats) -> Floats:
        if self.asked["image"] is None:
            return x
        image: Floats = self("image", x)
        return image

    def value(self, x: Floats, y: Floats) -> float:
        return float(self("value", self.image(x), y))


def check_start(
    asked: dict[str, Any], x_set: tuple[Any, ...], y_set: tuple[Any, ...], names: tuple[str, str], seed: int
) -> dict[str, int]:
    """Raises a ``ValueError`` where functions contradict each other; returns how often each was called.

    Whatever is not finite, or too noisy to tell, is left to the solve itself.
    """
    rng = np.random.default_rng([seed, 0x7E57])
    f = Counted(asked)
    x_members, y_members = _Members("X", x_set, rng, f.calls), _Members("Y", y_set, rng, f.calls)
    x, y = x_members.two(), y_members.two()
    middle = (0.5 * (x[0] + x[1]), 0.5 * (y[0] + y[1]))
    if asked["image"] is not None:
        _adjoint(f, x, rng)

    def value_x(p: Floats) -> float:
        return f.value(p, middle[1])

    def value_y(p: Floats) -> float:
        return f.value(middle[0], p)

    def slope_x(p: Floats) -> Floats:
        return _grad_x(f, p, middle[1])

    def slope_y(p: Floats) -> Floats:
        slope: Floats = f("grad_y", f.image(middle[0]), p)
        return slope

    _block(names[0], "x", x, value_x, slope_x, 1.0, asked["mu_x"] or 0.0)
    _block("grad_y", "y", y, value_y, slope_y, -1.0, 0.0)
    _corners(names[0], "x", x, x_members, value_x, slope_x, 1.0)
    _corners("grad_y", "y", y, y_members, value_y, slope_y, -1.0)
    x_members.compare()
    y_members.compare()
    if asked["best_response_y"] is not None:
        _best_response(f, x[0], y, y_set)
    return f.calls


class _Members:
    """Points of a set, by linear minimisation, which is counted and held against its own answers."""

    def __init__(self, name: str, described: tuple[Any, ...], rng: np.random.Generator, calls: dict[str, int]) -> None:
        self.name, self.rng, self.calls = name, rng, calls
        self.is_own = callable(described[0])
        self.described = described
        self.start: Floats | None = np.array(described[2]) if self.is_own else None
        self.dim = _couloir.set_dim(described) if self.start is None else len(self.start)
        # shortest paths, also those of a set of one's own, may not bear negative costs
        self.signed = not self.is_own
        self.asked: list[tuple[Floats, Floats]] = []

    def _lmo(self, costs: Floats) -> Floats:
        key = f"lmo_{self.name.lower()}"
        self.calls[key] = self.calls.get(key, 0) + 1
        point = np.array(self.described[0](costs) if self.is_own else _couloir.set_lmo(self.described, costs))
        self.asked.append((costs, point))
        return point

    def any(self, low_at: int | None = None) -> Floats:
        """A point for random costs, which are lowest at one entry where one is named."""
        costs = self.rng.random(self.dim)
        if self.signed:
            with_signs = 2.0 * costs - 1.0
            if low_at is not None:
                with_signs[low_at] = -3.0
            try:
                return self._lmo(with_signs)
            except (ValueError, ArithmeticError):
                self.signed = False
        if low_at is not None:
            costs = 1.0 + 0.5 * costs
            costs[low_at] = 0.0
        return self._lmo(costs)

    def two(self) -> tuple[Floats, Floats]:
        """Two points, different ones where a few linear minimisations give such."""
        # each call of one's own set may take long
        first, tries = (self.any(), ANSWERS) if self.start is None else (self.start, 2)
        others: list[Floats] = []
        for _ in range(tries):
            point = self.any()
            if np.any(point != first):
                others.append(point)
                if self.is_own:
                    break
        return first, np.mean(others, axis=0) if others else first

    def compare(self) -> None:
        """No answer may be worse than another point of the set."""
        if not self.is_own or self.start is None:
            return
        points = np.array([self.start, *(point for _, point in self.asked)])
        size = np.abs(points).max()
        for costs, point in self.asked:
            here, values = float(costs @ point), points @ costs
            best = int(np.argmin(values))
            if here - values[best] > LOST * (np.abs(costs).sum() * size):
                raise ValueError(
                    f"{self.name}.lmo does not minimise: for one linear function it returned a point where this is {here:.6g}, and at "
                    f"{'the start point' if best == 0 else 'another of its own answers'} it is {values[best]:.6g} "
                    "(check=False skips this test)"
                )


def _grad_x(f: Counted, x: Floats, y: Floats) -> Floats:
    slope: Floats = f("grad_image", f.image(x), y)
    if f.asked["adjoint"] is not None:
        slope = f("adjoint", slope)
    return slope


def _block(
    name: str, block: str, ends: tuple[Floats, Floats], value: Value, gradient: Callable[[Floats], Floats], sign: float, mu_x: float
) -> None:
    """The way from one point to another: is the gradient that of the value, and is the value convex (or concave)?"""
    way = ends[1] - ends[0]
    if not np.any(way):
        return
    places = (0.0, *STATIONS, 1.0)
    values = [value(ends[0] + t * way) for t in places]
    middle = 0.5 * (ends[0] + ends[1])
    grad = gradient(middle)
    if not (np.isfinite(values).all() and np.isfinite(grad).all()):
        return
    size = max(map(abs, values))
    misses = _misses(grad, middle, way, value, size, STEPS)
    if misses is not None:
        raise ValueError(
            f"problem.{name} does not fit problem.value: from one point of the set of {block} to another the value changes "
            f"by {misses[1]:.6g}, and by {name} it should be {misses[0]:.6g}{_entry(name, grad, middle, way, value)}{SKIP}"
        )
    _straight_or_bent(block, values, sign)
    # f - mu_x/2 |x|^2 would be convex
    bend = 0.5 * (values[0] + values[-1]) - values[1 + STATIONS.index(0.5)]
    promised = mu_x / 8 * float(way @ way)
    if mu_x > 0 and bend < promised - (LOST * size + NOISE * (1.0 + size)):
        raise ValueError(
            f"problem.mu_x is too large: halfway between two points of the set of x the value is {bend:.6g} below their mean, and "
            f"with mu_x = {mu_x:.6g} it should be {promised:.6g} below or more; leave mu_x out if it is not known "
            "(check=False skips this test)"
        )


def _straight_or_bent(block: str, values: list[float], sign: float) -> None:
    """Raises where values at the stations of a way, and its ends, are not those of a convex (or, for sign -1, concave) function."""
    places, size = (0.0, *STATIONS, 1.0), max(map(abs, values))
    for i in range(1, len(places) - 1):
        (a, b, c), (low, here, high) = places[i - 1 : i + 2], values[i - 1 : i + 2]
        chord = (low * (c - b) + high * (b - a)) / (c - a)
        if sign * (chord - here) < -(LOST * size + NOISE * (1.0 + size)):
            kind = "convex in x" if sign > 0 else "concave in y"
            between = "halfway" if 2 * b == a + c else f"{(b - a) / (c - a):.0%} of the way from the first to the second"
            raise ValueError(
                f"the problem is not {kind}: at two points of the set of {block} its values are {low:.6g} and {high:.6g}, and "
                f"{here:.6g} {between}; minimise over x and maximise over y, or check problem.value (check=False skips this test)"
            )


def _misses(
    grad: Floats, at: Floats, way: Floats, value: Value, size: float, steps: tuple[float, ...]
) -> tuple[float, float] | None:
    """What the gradient claims of a way and what a difference measures, where the steps agree that they do not fit."""
    claimed = float(grad @ way)
    measured = [(value(at + h * way) - value(at - h * way)) / (2 * h) for h in steps]
    if not np.isfinite(measured).all():
        return None
    noise = NOISE * (1.0 + size)
    unsure = 3 * abs(measured[0] - measured[-1])
    missed = [
        abs(claimed - m) > WRONG * max(abs(claimed), abs(m)) + noise / h + unsure for m, h in zip(measured, steps)
    ]
    return (claimed, measured[0]) if all(missed) else None


def _corners(
    name: str,
    block: str,
    ends: tuple[Floats, Floats],
    members: _Members,
    value: Value,
    gradient: Callable[[Floats], Floats],
    sign: float,
) -> None:
    """Differences between points of the set at which one entry is large: of those with the steepest gradient, and others at random.

    A gradient with one wrong entry fits most ways on which all entries change, and misses those on which few others do.
    """
    dim, most = members.dim, OWN_CORNERS if members.is_own else CORNERS
    steep = gradient(0.5 * (ends[0] + ends[1]))
    if not np.any(ends[0] != ends[1]) or not np.isfinite(steep).all():
        return
    order = [int(i) for i in np.argsort(-np.abs(steep), kind="stable")]
    if dim > most:
        rest = order[most // 2 :]
        order = order[: most // 2] + [int(i) for i in members.rng.choice(rest, most - most // 2, replace=False)]
    corners = [members.any(i) for i in order]
    if len(corners) > 1:
        values = [value(corners[0] + t * (corners[1] - corners[0])) for t in (0.0, *STATIONS, 1.0)]
        if np.isfinite(values).all():
            _straight_or_bent(block, values, sign)
    centre = np.mean([*ends, *corners], axis=0)
    here, grad = value(centre), gradient(centre)
    if not (np.isfinite(here) and np.isfinite(grad).all()):
        return
    for one, other in zip(corners, corners[1:] + [ends[0]]):
        way = other - one
        if not np.any(way) or _misses(grad, centre, way, value, abs(here), STEPS[:1]) is None:
            continue
        misses = _misses(grad, centre, way, value, abs(here), STEPS)
        if misses is not None:
            raise ValueError(
                f"problem.{name} does not fit problem.value: from one point of the set of {block} to another the value changes "
                f"by {misses[1]:.6g}, and by {name} it should be {misses[0]:.6g}{_entry(name, grad, centre, way, value)}{SKIP}"
            )


def _entry(name: str, grad: Floats, middle: Floats, way: Floats, value: Value) -> str:
    """The entry that misses its difference by most."""
    candidates = np.argsort(-np.abs(grad * way), kind="stable")[:ENTRIES]
    worst = (0.0, "")
    step = STEPS[0] * float(np.abs(way).max())
    for i in candidates:
        unit = np.zeros_like(middle)
        unit[i] = step
        try:
            slope = (value(middle + unit) - value(middle - unit)) / (2 * step)
        except (ValueError, ArithmeticError):
            return ""  # values are defined on the set alone
        if abs(slope - grad[i]) > worst[0]:
            worst = (abs(slope - grad[i]), f"; entry {i} of {name} is {grad[i]:.6g}, differences of the value give {slope:.6g}")
    return worst[1]


def _adjoint(f: Counted, x: tuple[Floats, Floats], rng: Any) -> None:
    for point in x:
        image = f.image(point)
        s = rng.normal(size=image.shape)
        back = f("adjoint", s)
        one, two = float(image @ s), float(point @ back)
        size = np.linalg.norm(image) * np.linalg.norm(s) + np.linalg.norm(point) * np.linalg.norm(back)
        if np.isfinite(size) and abs(one - two) > ADJOINT * size:
            raise ValueError(
                f"problem.adjoint is not the transpose of problem.image: <image(x), s> is {one:.6g} and <x, adjoint(s)> is "
                f"{two:.6g} for a random s; image must be linear, without a constant (check=False skips this test)"
            )


def _best_response(f: Counted, x: Floats, y: tuple[Floats, Floats], y_set: tuple[Any, ...]) -> None:
    best = np.array(f("best_response_y", f.image(x)))
    claimed = f.value(x, best)
    others = [*y, 0.5 * (y[0] + y[1])]
    slope = f("grad_y", f.image(x), best)
    if np.isfinite(slope).all() and not callable(y_set[0]):
        # the way on which the value rises at first, if it does
        f.calls["lmo_y"] = f.calls.get("lmo_y", 0) + 1
        try:
            end = np.array(_couloir.set_lmo(y_set, -slope))
        except ValueError:
            end = best  # a set that does not take costs of this sign
        others += [best + share * (end - best) for share in (0.1, 0.01)]
    for other in others:
        seen = f.value(x, other)
        size = max(abs(claimed), abs(seen))
        if np.isfinite(size) and seen - claimed > LOST * size + NOISE * (1.0 + size):
            i = int(np.argmax(np.abs(best - other)))
            raise ValueError(
                f"problem.best_response_y does not maximise: its value is {claimed:.6g}, and another point of the set of y has "
                f"{seen:.6g} (entry {i}: {best[i]:.6g} in place of {other[i]:.6g}); check=False skips this test"
            )
