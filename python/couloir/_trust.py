"""A test of a problem and its sets before a solve: do the functions fit each other?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _couloir

Floats = NDArray[np.float64]

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
    x, y = _two_members(x_set, rng, "lmo_x", f.calls), _two_members(y_set, rng, "lmo_y", f.calls)
    middle = (0.5 * (x[0] + x[1]), 0.5 * (y[0] + y[1]))
    if asked["image"] is not None:
        _adjoint(f, x, rng)
    _block(f, names[0], "x", x, middle[0], lambda p: f.value(p, middle[1]), lambda: _grad_x(f, *middle), 1.0)
    _block(
        f, "grad_y", "y", y, middle[1], lambda p: f.value(middle[0], p),
        lambda: f("grad_y", f.image(middle[0]), middle[1]), -1.0,
    )
    if asked["best_response_y"] is not None:
        _best_response(f, x[0], y, y_set)
    return f.calls


def _two_members(described: tuple[Any, ...], rng: Any, name: str, calls: dict[str, int]) -> tuple[Floats, Floats]:
    """Two points of a set, different ones where a few linear minimisations give such. Costs are not negative, as shortest paths need."""
    if callable(described[0]):
        # each call may take long
        first, lmo, tries, dim = np.array(described[2]), described[0], 2, len(described[2])
    else:
        dim = _couloir.set_dim(described)
        first, tries = _couloir.set_lmo(described, rng.random(dim)), ANSWERS

        def lmo(g: Floats) -> Floats:
            return _couloir.set_lmo(described, g)

        calls[name] = calls.get(name, 0) + 1
    others: list[Floats] = []
    for _ in range(tries):
        calls[name] = calls.get(name, 0) + 1
        point = np.array(lmo(rng.random(dim)))
        if np.any(point != first):
            others.append(point)
            if callable(described[0]):
                break
    return first, np.mean(others, axis=0) if others else first


def _grad_x(f: Counted, x: Floats, y: Floats) -> Floats:
    slope: Floats = f("grad_image", f.image(x), y)
    if f.asked["adjoint"] is not None:
        slope = f("adjoint", slope)
    return slope


def _block(
    f: Counted, name: str, block: str, ends: tuple[Floats, Floats], middle: Floats, value: Any, gradient: Any, sign: float
) -> None:
    way = ends[1] - ends[0]
    if not np.any(way):
        return
    values = [value(end) for end in ends]
    centre = value(middle)
    grad = gradient()
    size = max(abs(centre), *map(abs, values))
    if not (np.isfinite([*values, centre]).all() and np.isfinite(grad).all()):
        return
    noise = NOISE * (1.0 + size)
    claimed = float(grad @ way)
    measured = [(value(middle + h * way) - value(middle - h * way)) / (2 * h) for h in STEPS]
    if not np.isfinite(measured).all():
        return
    unsure = 3 * abs(measured[0] - measured[1])
    missed = [
        abs(claimed - m) > WRONG * max(abs(claimed), abs(m)) + noise / h + unsure for m, h in zip(measured, STEPS)
    ]
    if all(missed):
        raise ValueError(
            f"problem.{name} does not fit problem.value: from one point of the set of {block} to another the value changes "
            f"by {measured[0]:.6g}, and by {name} it should be {claimed:.6g}{_entry(name, grad, middle, way, value)}{SKIP}"
        )
    bend = sign * (0.5 * (values[0] + values[1]) - centre)
    if bend < -(LOST * size + noise):
        kind = "convex in x" if sign > 0 else "concave in y"
        raise ValueError(
            f"the problem is not {kind}: at two points of the set of {block} its values are {values[0]:.6g} and "
            f"{values[1]:.6g}, and {centre:.6g} halfway; minimise over x and maximise over y, or check problem.value "
            "(check=False skips this test)"
        )
    # f - mu_x/2 |x|^2 would be convex
    mu_x = f.asked["mu_x"] if sign > 0 else None
    promised = (mu_x or 0.0) / 8 * float(way @ way)
    if bend < promised - (LOST * size + noise):
        raise ValueError(
            f"problem.mu_x is too large: halfway between two points of the set of x the value is {bend:.6g} below their mean, and "
            f"with mu_x = {mu_x:.6g} it should be {promised:.6g} below or more; leave mu_x out if it is not known "
            "(check=False skips this test)"
        )


def _entry(name: str, grad: Floats, middle: Floats, way: Floats, value: Any) -> str:
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
