"""Weights of rows and classes, groups, and uncertainty sets of the classifier."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import recall_score
from sklearn.model_selection import GroupKFold, cross_validate

from couloir import RobustClassifier, RobustClassifierCV

SETS = ["chi2", "kl", "group", "label", "none"]
# without strong concavity
UNPRICED = ["cvar", "chi2-ball", "kl-ball", "tv-ball"]


@pytest.fixture(scope="module")
def rare():
    """Two clouds that overlap, one of which has a tenth of the rows."""
    rng = np.random.default_rng(5)
    y = (np.arange(300) % 10 == 0).astype(int)
    X = rng.normal(size=(300, 3)) + 1.2 * y[:, None]
    return X, y


def groups_of(X):
    return np.where(X[:, 0] > 0.3, "right", "left")


@pytest.mark.parametrize("uncertainty", SETS)
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 0.5}])
def test_whole_weights_count_rows_so_often(rare, uncertainty, class_weight):
    X, y = rare[0][:31], rare[1][:31]
    weights = np.arange(len(y)) % 4
    repeat = np.repeat(np.arange(len(y)), weights)

    def both(model):
        weighted = clone(model).fit(X, y, sample_weight=weights, groups=groups_of(X))
        return weighted, clone(model).fit(X[repeat], y[repeat], groups=groups_of(X[repeat]))

    model = RobustClassifier(uncertainty=uncertainty, level=0.3, class_weight=class_weight)
    weighted, repeated = both(model)
    assert weighted.tau_ == pytest.approx(repeated.tau_, rel=1e-12)
    assert np.all(weighted.sample_weights_[weights == 0] == 0.0)
    assert weighted.sample_weights_.mean() == pytest.approx(1.0)
    exact = both(clone(model).set_params(tau=1.0, tol=1e-10))
    values = [m.certificate_["upper"] for m in exact]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_balanced_classes_have_the_same_weight_and_find_the_rare_class(rare):
    X, y = rare
    balanced = RobustClassifier(class_weight="balanced", uncertainty="none", tol=1e-6).fit(X, y)
    by_class = np.bincount(y, balanced.sample_weights_)
    assert by_class[0] == pytest.approx(by_class[1])
    by_hand = RobustClassifier(uncertainty="none", tol=1e-6)
    by_hand.fit(X, y, sample_weight=np.where(y == 1, 0.9, 0.1))
    given = RobustClassifier(class_weight={1: 9.0}, uncertainty="none", tol=1e-6).fit(X, y)
    for other in (by_hand, given):
        np.testing.assert_allclose(other.sample_weights_, balanced.sample_weights_)
    plain = RobustClassifier(uncertainty="none").fit(X, y)
    recalls = [recall_score(y, model.predict(X)) for model in (balanced, plain)]
    assert recalls[0] > recalls[1] + 0.2


@pytest.mark.parametrize("uncertainty", SETS)
def test_sparse_rows_and_dense_rows_give_the_same_bits(rare, uncertainty):
    X, y = rare
    model = RobustClassifier(uncertainty=uncertainty, scale=False)
    weights = 0.5 + np.arange(len(y)) % 3
    dense = clone(model).fit(X, y, sample_weight=weights, groups=groups_of(X))
    sparse = clone(model).fit(sp.csr_array(X), y, sample_weight=weights, groups=groups_of(X))
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    assert dense.certificate_["solved"] and dense.certificate_["gap"] <= 0.1


def test_the_adversary_weighs_groups_as_a_whole(rare):
    X, y = rare
    groups = groups_of(X)
    model = RobustClassifier(uncertainty="group", level=0.01).fit(X, y, groups=groups)
    for group in ("left", "right"):
        assert np.ptp(model.sample_weights_[groups == group]) < 1e-12
    assert len(np.unique(model.sample_weights_)) == 2


def test_warm_starts_survive_another_uncertainty_set(rare):
    X, y = rare
    model = RobustClassifier(warm_start=True, tol=1e-4).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    for uncertainty in SETS:
        model.set_params(uncertainty=uncertainty).fit(X, y, groups=groups_of(X))
        assert model.certificate_["solved"]


def test_weights_are_routed(rare):
    X, y = rare
    weights = np.where(y == 1, 9.0, 1.0)
    with config_context(enable_metadata_routing=True):
        model = RobustClassifier(uncertainty="group")
        model.set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        params = {"sample_weight": weights, "groups": groups_of(X)}
        scores = cross_validate(model, X, y, params=params, return_estimator=True)
    assert len(scores["test_score"]) == 5
    assert all(m.n_iter_ > 0 for m in scores["estimator"])


def test_boosting_and_calibration_take_it(rare):
    X, y = rare
    boosted = AdaBoostClassifier(RobustClassifier(), n_estimators=5).fit(X, y)
    assert boosted.score(X, y) > 0.85
    calibrated = CalibratedClassifierCV(RobustClassifier(), cv=3)
    calibrated.fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0))
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_reductions_of_fairlearn_take_it(rare):
    reductions = pytest.importorskip(
        "fairlearn.reductions", reason="!! fairlearn is not installed: its reductions are NOT TESTED"
    )
    X, y = rare
    groups = groups_of(X)

    def gap(predicted):
        shares = [predicted[groups == group].mean() for group in ("left", "right")]
        return abs(shares[0] - shares[1])

    model = RobustClassifier(uncertainty="none", class_weight="balanced")
    fair = reductions.ExponentiatedGradient(
        model, reductions.DemographicParity(difference_bound=0.05), max_iter=20
    )
    fair.fit(X, y, sensitive_features=groups)
    assert gap(fair.predict(X, random_state=0)) < 0.5 * gap(model.fit(X, y).predict(X))


def test_cross_validation_takes_weights_groups_and_levels(rare):
    X, y = rare
    weights = np.where(y == 1, 9.0, 1.0)
    model = RobustClassifierCV(
        taus=3, levels=[0.1, 1.0], cv=3, uncertainty="group", scoring="worst-recall"
    )
    model.fit(X, y, sample_weight=weights, groups=groups_of(X))
    assert model.level_ in (0.1, 1.0)
    assert model.cv_measures_["accuracy"].shape == (2, 3, 3)
    # groups go to the splitter too, and a fold may lack one
    by_group = RobustClassifierCV(taus=2, cv=GroupKFold(2), uncertainty="kl")
    assert by_group.fit(X, y, groups=groups_of(X)).level_ == 1.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "sample_weight"),
        ("negative", "[Nn]egative"),
        ("nan", "NaN"),
        ("zero", "zero"),
    ],
)
def test_wrong_weights_are_named(rare, weights, message):
    X, y = rare
    ones = np.ones(len(y))
    wrong = {"negative": -ones, "nan": np.where(y == 1, np.nan, ones), "zero": 0 * ones}
    with pytest.raises(ValueError, match=message):
        RobustClassifier().fit(X, y, sample_weight=wrong.get(str(weights), weights))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"uncertainty": "k1"}, "nearest is kl"),
        ({"uncertainty": "group"}, "needs the group of each row"),
        ({"uncertainty": "kl", "objective": "paper"}, "objective"),
        ({"uncertainty": "cvar", "level": 1.5}, "level"),
        ({"uncertainty": "cvar", "level": 0.0}, "level"),
        ({"uncertainty": "tv-ball", "level": -0.1}, "level"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"class_weight": {7: 2.0}}, r"names \[7\]"),
        ({"class_weight": {0: -1.0}}, "-1"),
    ],
)
def test_wrong_sets_and_class_weights_are_named(rare, setting, message):
    with pytest.raises(ValueError, match=message):
        RobustClassifier(**setting).fit(*rare)


def test_groups_of_another_length_are_refused(rare):
    X, y = rare
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RobustClassifier(uncertainty="group").fit(X, y, groups=["a", "b"])


@pytest.mark.parametrize("uncertainty", SETS)
def test_weighted_and_repeated_rows_take_the_same_steps(uncertainty):
    rng = np.random.default_rng(3)
    X, y, weights = rng.normal(size=(15, 10)), rng.integers(3, size=15), rng.integers(5, size=15)
    repeat, groups = np.repeat(np.arange(15), weights), np.arange(15) % 2
    model = RobustClassifier(uncertainty=uncertainty)
    weighted = clone(model).fit(X, y, sample_weight=weights, groups=groups)
    repeated = clone(model).fit(X[repeat], y[repeat], groups=groups[repeat])
    assert weighted.n_iter_ == repeated.n_iter_
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("uncertainty", UNPRICED)
def test_sets_without_a_price_are_certified_and_shrink_to_the_plain_model(rare, uncertainty):
    X, y = rare
    model = RobustClassifier(uncertainty=uncertainty, class_weight="balanced").fit(X, y)
    assert model.certificate_["solved"]
    plain = RobustClassifier(uncertainty="none", class_weight="balanced").fit(X, y)
    nothing = clone(model).set_params(level=1.0 if uncertainty == "cvar" else 0.0).fit(X, y)
    np.testing.assert_array_equal(nothing.coef_, plain.coef_)
    # the adversary gains
    assert model.certificate_["upper"] > plain.certificate_["lower"]


def test_cvar_is_the_mean_of_the_worst_share(rare):
    X, y = rare
    model = RobustClassifier(uncertainty="cvar", level=0.25, tol=1e-3).fit(X, y)
    losses = -model.predict_log_proba(X)[np.arange(len(y)), y]
    worst = np.sort(losses)[-75:].mean()
    assert model.certificate_["upper"] == pytest.approx(worst, abs=1e-3)


def test_the_worst_group_alone_counts_at_level_zero(rare):
    X, y = rare
    groups = groups_of(X)
    model = RobustClassifier(uncertainty="group", level=0.0, tol=1e-3).fit(X, y, groups=groups)
    losses = -model.predict_log_proba(X)[np.arange(len(y)), y]
    worst = max(losses[groups == group].mean() for group in ("left", "right"))
    assert model.certificate_["upper"] == pytest.approx(worst, abs=1e-3)
