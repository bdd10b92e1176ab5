"""A portfolio for the worst mean returns within an ellipsoid around their estimate, in place of the estimate itself.

f(x, y) = -x'y + risk/2 x'Cx for shares x and mean returns y. The ellipsoid holds the true means with a probability of 95 %, by the
estimate's own covariance C/years.
"""

import numpy as np
from scipy.stats import chi2

import couloir

ASSETS, YEARS, RISK = 8, 20, 3.0


class Portfolio:
    def __init__(self, covariance):
        self.covariance = covariance

    def value(self, x, y):
        return -x @ y + 0.5 * RISK * x @ self.covariance @ x

    def grad_x(self, x, y):
        return -y + RISK * self.covariance @ x

    def grad_y(self, x, y):
        return -x


def main():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(ASSETS, 3)) * 0.1
    covariance = factors @ factors.T + np.diag(rng.uniform(0.05, 0.2, ASSETS) ** 2)
    means = rng.uniform(0.02, 0.12, ASSETS)
    seen = rng.multivariate_normal(means, covariance, YEARS)
    estimate, spread = seen.mean(axis=0), np.cov(seen.T)

    shares = couloir.Simplex(ASSETS)
    around = couloir.Ellipsoid(estimate, spread / YEARS, float(np.sqrt(chi2.ppf(0.95, ASSETS))))
    trusting = couloir.solve(Portfolio(spread), shares, couloir.Shifted(couloir.L2Ball(ASSETS, 1e-9), estimate), tol=1e-6)
    robust = couloir.solve(Portfolio(spread), shares, around, tol=1e-6)
    for name, solution in (("trusts the estimate", trusting), ("robust", robust)):
        x = solution.x
        worst = x @ around.lmo(x)
        print(f"{name:20} return {x @ means:.3f} by the true means, {worst:+.3f} in the worst case, {np.sum(x > 0.01)} assets")
    print(f"certified gap of the robust one: {robust.certificate['gap']:.1e} ({robust.method})")


if __name__ == "__main__":
    main()
