"""Lower bounds from combinations of linear minorants, as crates/couloir/src/solver/mpcgs/lower_bound.rs has them."""

from dataclasses import dataclass

import numpy as np

EVALUATIONS = 4


def least_linear(gram, tau):
    """min over the ball of <g, u>, from g' g."""
    return -tau * np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0))


@dataclass
class Minorant:
    """f(u, y) >= constant + <slope, u> for some y and all u, with slope' slope."""

    slope: np.ndarray
    gram: np.ndarray
    constant: float


class Combination:
    """A combination of minorants."""

    def __init__(self, kernels, d, classes, tau):
        self.kernels, self.tau = kernels, tau
        self.slope, self.gram, self.constant = np.zeros((d, classes)), np.zeros((classes, classes)), 0.0

    def mix(self, weight, new, cross):
        """Takes a minorant in with this weight; cross is slope' new.slope."""
        self.kernels.toward(self.slope, weight, new.slope)
        self.gram = mixed(self.gram, cross, new.gram, weight)
        self.constant += weight * (new.constant - self.constant)

    def bound(self):
        return self.constant + least_linear(self.gram, self.tau)


def mixed(gram, cross, new, weight):
    return (1 - weight) ** 2 * gram + weight * (1 - weight) * (cross + cross.T) + weight**2 * new


class LowerBound(Combination):
    """Mixes each minorant in with the weight that is best for it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.value, self.guess = -np.inf, 0.5

    def take(self, other, value):
        np.copyto(self.slope, other.slope)
        self.gram, self.constant, self.value = other.gram, other.constant, value

    def at(self, weight, new, cross):
        """The bound with this weight of the new minorant, and how fast it rises with the weight."""
        values, vectors = np.linalg.eigh(mixed(self.gram, cross, new.gram, weight))
        v, sigma = vectors[:, -1], np.sqrt(max(values[-1], 0))
        bound = (1 - weight) * self.constant + weight * new.constant - self.tau * sigma
        # the vertex is -tau m v v' / sigma for the mixture m; its inner product with new.slope - slope
        along = v @ ((1 - weight) * (cross - self.gram) + weight * (new.gram - cross.T)) @ v
        rise = new.constant - self.constant - (self.tau * along / sigma if sigma > 0 else 0)
        return bound, rise

    def absorb(self, new, cross, worth):
        if self.value == -np.inf:
            self.take(new, new.constant + least_linear(new.gram, self.tau))
            return
        best, value = 0.0, self.value
        low = high = None
        weight = self.guess
        for _ in range(EVALUATIONS):
            bound, rise = self.at(weight, new, cross)
            if bound > value:
                best, value = weight, bound
            if rise > 0:
                low = (weight, bound, rise)
            else:
                high = (weight, bound, rise)
            if low and high:  # where two cuts meet
                (a, bound_a, rise_a), (b, bound_b, rise_b) = low, high
                ahead = bound_b - rise_b * b - bound_a + rise_a * a
                weight = min(max(ahead / (rise_a - rise_b), a), b)
                most = bound_a + rise_a * (weight - a)
            elif low:
                if weight == 1:
                    break
                most, weight = bound + rise * (1 - weight), min(2 * weight, 1.0)
            else:  # the parabola through the old bound and this cut
                most = bound - rise * weight
                bend = (self.value - bound) / weight + rise
                back = 0.5 * rise / bend if bend < 0 else 0.9
                weight *= 1 - min(max(back, 0.1), 0.9)
            if most - value <= worth:
                break
        self.guess = best if best > 0 else max(0.5 * self.guess, 1e-3)
        if best > 0:
            self.mix(best, new, cross)
            self.value = value
