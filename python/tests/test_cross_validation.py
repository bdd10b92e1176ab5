"""What RobustClassifierCV promises."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score

from couloir import RobustClassifier, RobustClassifierCV


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_accuracies_are_those_of_single_fits_on_the_folds(iris):
    X, y = iris
    taus, folds = [1.0, 5.0, 25.0], StratifiedKFold(4, shuffle=True, random_state=0)
    model = RobustClassifierCV(taus=taus, cv=folds, tol=1e-5).fit(X, y)
    for k, tau in enumerate(taus):
        single = cross_val_score(RobustClassifier(tau=tau, tol=1e-5), X, y, cv=folds)
        np.testing.assert_allclose(model.cv_measures_["accuracy"][0, :, k], single)
    best = model.cv_measures_["accuracy"].mean(axis=1)[0]
    assert model.tau_ == taus[best.argmax()]
    again = RobustClassifier(tau=model.tau_, tol=1e-5).fit(X, y)
    assert np.array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(("scoring", "sign"), [("cvar", -1), ("loss", -1), ("worst-recall", 1)])
def test_the_choice_goes_by_the_scoring(iris, scoring, sign):
    model = RobustClassifierCV(scoring=scoring, levels=[0.3, 3.0], cv=3).fit(*iris)
    means = sign * model.cv_measures_[scoring].mean(axis=1)
    assert means.shape == (2, 5)
    chosen = means[[0.3, 3.0].index(model.level_), list(model.taus_).index(model.tau_)]
    assert chosen == means.max()


def test_the_automatic_grid_lies_around_the_automatic_radius(iris):
    model = RobustClassifierCV(taus=3, cv=3).fit(*iris)
    assert model.taus_[1] == pytest.approx(RobustClassifier().fit(*iris).tau_)
    np.testing.assert_allclose(model.taus_[1:] / model.taus_[:-1], 3)


def test_sparse_rows_give_what_dense_rows_give(iris):
    X, y = iris
    dense = RobustClassifierCV(scale=False, cv=3).fit(X, y)
    sparse = RobustClassifierCV(cv=3).fit(sp.csr_array(X), y)
    assert np.array_equal(dense.coef_, sparse.coef_) and dense.tau_ == sparse.tau_


def test_ctrl_c_ends_the_folds_within_a_second():
    X, y = load_digits(return_X_y=True)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(1.0, press).start()
    with pytest.raises(KeyboardInterrupt):
        # steps that do not come to 1e-12 on any machine
        RobustClassifierCV(method="spfw", tol=1e-12, max_iter=None, max_time=20).fit(X, y)
    assert time.perf_counter() - pressed[0] < 1


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"taus": 0}, ValueError),
        ({"taus": []}, ValueError),
        ({"taus": [2.0, 1.0]}, ValueError),
        ({"taus": [-1.0, 1.0]}, ValueError),
        ({"levels": []}, ValueError),
        ({"levels": [0.0]}, ValueError),
        ({"scoring": "f7"}, ValueError),
    ],
)
def test_a_wrong_setting_is_named(iris, setting, error):
    with pytest.raises(error, match=next(iter(setting)).rstrip("s")):
        RobustClassifierCV(**setting).fit(*iris)


def test_any_scorer_of_scikit_learn_chooses(iris):
    X, y = iris
    model = RobustClassifierCV(taus=[1.0, 5.0, 25.0], levels=[0.3, 3.0], cv=3, scoring="f1_macro")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    scores = model.cv_measures_["score"]
    assert scores.shape == (2, 3, 3)
    chosen = scores.mean(axis=1)[[0.3, 3.0].index(model.level_), list(model.taus_).index(model.tau_)]
    assert chosen == scores.mean(axis=1).max()


def test_the_worst_group_can_be_what_the_choice_goes_by(iris):
    X, y = iris
    groups = np.arange(len(y)) % 7 == 0
    model = RobustClassifierCV(taus=[2.0, 6.0, 18.0], cv=3, scoring="worst-group")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, groups=groups)
    folds = StratifiedKFold(3)
    for k, tau in enumerate(model.taus_):
        for j, (train, back) in enumerate(folds.split(X, y)):
            right = RobustClassifier(tau=tau).fit(X[train], y[train]).predict(X[back]) == y[back]
            worst = min(right[groups[back] == g].mean() for g in (False, True))
            # paths start from the fit before, to the same tolerance
            assert abs(model.cv_measures_["worst-group"][0, j, k] - worst) <= 0.15
    with pytest.raises(ValueError, match="worst-group"):
        model.fit(X, y)


def test_radii_may_be_multiples_of_auto_and_the_edge_of_the_grid_warns(iris):
    auto = RobustClassifier().fit(*iris).tau_
    model = RobustClassifierCV(taus=["0.001auto", "0.002auto", "auto"], cv=3)
    with pytest.warns(UserWarning, match="the best tau, .* is the largest of the grid"):
        model.fit(*iris)
    np.testing.assert_allclose(model.taus_, [0.001 * auto, 0.002 * auto, auto])
    assert RobustClassifier(tau="0.5auto").fit(*iris).tau_ == pytest.approx(0.5 * auto)


def test_verbose_tells_of_every_level_and_radius(iris, capsys):
    RobustClassifierCV(taus=[5.0, 15.0], levels=[0.5, 1.0], cv=3, verbose=1).fit(*iris)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("level ")]
    assert len(lines) == 4 and "level 0.5, tau 5: accuracy 0." in lines[0]
