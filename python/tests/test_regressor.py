"""What RobustRegressor promises."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, make_regression
from sklearn.linear_model import Lasso, LinearRegression

from couloir import RobustRegressor


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def test_without_an_adversary_and_with_room_it_is_least_squares(diabetes):
    X, y = diabetes
    model = RobustRegressor(uncertainty="none", tau=5.0, tol=1e-6).fit(X, y)
    least = LinearRegression().fit(X, y)
    assert model.certificate_["gap"] <= 1e-6
    np.testing.assert_allclose(model.predict(X), least.predict(X), atol=0.05 * y.std())
    assert least.score(X, y) - model.score(X, y) < 3e-6


@pytest.mark.parametrize("uncertainty", ["chi2", "kl", "cvar", "chi2-ball", "kl-ball", "tv-ball"])
def test_the_robust_loss_is_the_worst_mean_over_the_weights_found(diabetes, uncertainty):
    X, y = diabetes
    plain = RobustRegressor(uncertainty="none").fit(X, y)
    model = RobustRegressor(uncertainty=uncertainty, tol=1e-2).fit(X, y)
    assert model.certificate_["solved"]
    weights = model.sample_weights_ / len(y)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1)

    def loss(model):
        return weights @ (0.5 * ((model.predict(X) - y) / y.std()) ** 2)

    # under the weights that it was fitted to it is the better one
    assert loss(model) <= loss(plain) + 1e-2


def test_the_worst_group_gains(diabetes):
    X, y = make_regression(300, 8, noise=1.0, random_state=0)
    groups = np.where(np.arange(300) < 270, "many", "few")
    y = np.where(groups == "few", y + 40 * X[:, 0], y)

    def worst(model):
        errors = (model.predict(X) - y) ** 2
        return max(errors[groups == g].mean() for g in ("many", "few"))

    plain = RobustRegressor(uncertainty="none").fit(X, y)
    robust = RobustRegressor(uncertainty="group", level=0.01).fit(X, y, groups=groups)
    assert worst(robust) < 0.7 * worst(plain)


def test_huber_bears_wrong_targets_that_squares_do_not():
    X, clean = make_regression(200, 5, noise=1.0, random_state=1)
    y = clean.copy()
    y[::20] += 2000
    fits = [RobustRegressor(loss=loss, threshold=0.1, uncertainty="none") for loss in ("squared", "huber")]
    squared, huber = (np.abs(np.median(fit.fit(X, y).predict(X) - clean)) for fit in fits)
    assert huber < 0.3 * squared


def test_l1_balls_leave_weights_out_and_group_l1_balls_features():
    X, y = make_regression(200, 30, n_informative=3, n_targets=2, noise=1.0, random_state=2)
    for ball in ("l1", "group-l1"):
        model = RobustRegressor(ball=ball, tau=0.8, uncertainty="none", tol=1e-6).fit(X, y)
        sizes = np.abs(model.coef_ * X.std(axis=0) / y.std(axis=0)[:, None])
        norm = sizes.sum() if ball == "l1" else np.linalg.norm(sizes, axis=0).sum()
        assert norm == pytest.approx(0.8, rel=1e-3)
        assert np.sum(sizes.max(axis=0) > 1e-3) <= 6


def test_the_l1_ball_gives_the_lasso_of_the_same_norm():
    X, y = make_regression(100, 6, noise=5.0, random_state=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (y - y.mean()) / y.std()
    lasso = Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(X, y)
    tau = np.abs(lasso.coef_).sum()
    settings = {"ball": "l1", "uncertainty": "none", "fit_intercept": False, "tol": 1e-9}
    model = RobustRegressor(tau=tau, **settings).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-3)


def test_several_targets_and_sparse_rows(diabetes):
    X, y = diabetes
    both = np.column_stack([y, 3 - 2 * y])
    model = RobustRegressor(tau=2.0).fit(X, both)
    assert model.coef_.shape == (2, X.shape[1]) and model.intercept_.shape == (2,)
    np.testing.assert_allclose(3 - 2 * model.predict(X)[:, 0], model.predict(X)[:, 1], atol=1e-6 * y.std())
    dense = RobustRegressor(scale=False, tau=2.0).fit(X, y)
    sparse = RobustRegressor(tau=2.0).fit(sp.csr_array(X), y)
    assert np.array_equal(dense.coef_, sparse.coef_)


def test_units_of_targets_do_not_matter(diabetes):
    X, y = diabetes
    one, other = RobustRegressor().fit(X, y), RobustRegressor().fit(X, 1000 * y)
    np.testing.assert_allclose(1000 * one.predict(X), other.predict(X), rtol=1e-9)
    assert one.certificate_["gap"] == pytest.approx(other.certificate_["gap"], rel=1e-6)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"loss": "cubic"}, "there are squared, huber"),
        ({"threshold": -1.0}, "threshold"),
        ({"ball": "l3"}, "nearest is l2"),
        ({"uncertainty": "label"}, "label"),
        ({"tau": "2atuo"}, "tau must be"),
    ],
)
def test_a_wrong_setting_is_named(diabetes, setting, message):
    with pytest.raises(ValueError, match=message):
        RobustRegressor(**setting).fit(*diabetes)
