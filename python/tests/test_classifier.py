"""What RobustClassifier promises."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from couloir import RobustClassifier


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_a_fit_meets_its_tolerance_and_says_so(iris):
    model = RobustClassifier(tol=1e-4).fit(*iris)
    certificate = model.certificate_
    assert certificate["solved"] and certificate["status"] == "solved"
    assert 0 <= certificate["gap"] <= 1e-4
    assert certificate["lower"] <= certificate["upper"]
    assert certificate["ledger"]["method"]["grad_x"] > 0
    assert model.trace_["gap"][-1] == certificate["gap"]
    assert len(pd.DataFrame(model.trace_)) == len(model.trace_["iteration"])


def test_the_certificate_holds_against_a_plain_computation_of_the_objective(iris):
    X, y = iris
    model = RobustClassifier(scale=False, tol=1e-5).fit(X, y)
    losses = -model.predict_log_proba(X)[np.arange(len(y)), y]
    n, weights = len(y), model.sample_weights_
    value = weights @ losses / n - np.sum((weights - 1) ** 2) / (2 * n)
    certificate = model.certificate_
    assert certificate["lower"] - 1e-9 <= value <= certificate["upper"] + 1e-9
    assert np.isclose(weights.mean(), 1) and weights.min() >= 0
    # the hardest rows weigh the most
    assert losses[weights.argmax()] == pytest.approx(losses.max())


def test_scaling_is_folded_back_into_the_weights(iris):
    X, y = iris
    inside = RobustClassifier(tol=1e-6).fit(X, y)
    outside = make_pipeline(StandardScaler(), RobustClassifier(tol=1e-6, scale=False)).fit(X, y)
    np.testing.assert_allclose(
        inside.decision_function(X), outside.decision_function(X), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("scale", ["auto", False])
def test_sparse_rows_of_either_index_give_what_dense_rows_give(index, scale):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    rows = sp.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    sparse = RobustClassifier(scale=scale, tol=1e-2).fit(rows, y)
    dense = RobustClassifier(scale=False, tol=1e-2).fit(X, y)
    assert np.array_equal(sparse.coef_, dense.coef_)
    assert np.array_equal(sparse.predict(rows), dense.predict(X))


def test_columns_of_sparse_rows_can_be_scaled(iris):
    X, y = iris
    largest = np.abs(X).max(axis=0)
    scaled = RobustClassifier(scale=True, tol=1e-4).fit(sp.csr_array(X), y)
    by_hand = RobustClassifier(scale=False, tol=1e-4).fit(X * (1 / largest), y)
    np.testing.assert_allclose(scaled.coef_ * largest, by_hand.coef_)


def test_strided_arrays_and_frames_with_names_give_the_same(iris):
    X, y = iris
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    assert not wide.flags.c_contiguous
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    plain = RobustClassifier().fit(X, y)
    named = RobustClassifier().fit(frame, y)
    assert np.array_equal(plain.coef_, RobustClassifier().fit(wide, y).coef_)
    assert np.array_equal(plain.coef_, named.coef_)
    assert list(named.feature_names_in_) == ["a", "b", "c", "d"]


def test_labels_may_be_words(iris):
    X, y = iris
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    model = RobustClassifier().fit(X, pd.Series(words))
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert model.score(X, words) > 0.9


def test_two_classes_have_one_row_of_weights():
    X, y = load_breast_cancer(return_X_y=True)
    model = RobustClassifier(tol=1e-2).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1]) and model.intercept_.shape == (1,)
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_without_intercept_there_is_none(iris):
    model = RobustClassifier(fit_intercept=False).fit(*iris)
    assert np.all(model.intercept_ == 0)


def test_a_fit_that_falls_short_warns_with_its_certificate(iris):
    with pytest.warns(ConvergenceWarning, match="iteration limit.*certified gap of.*tol is 1e-09"):
        model = RobustClassifier(max_iter=2, tol=1e-9).fit(*iris)
    assert model.n_iter_ == 2 and not model.certificate_["solved"]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_warm_start_saves_iterations(classes):
    X, y = make_classification(200, 8, n_informative=5, n_classes=classes, random_state=0)
    model = RobustClassifier(warm_start=True, tol=1e-5).fit(X, y)
    cold = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < cold / 2
    assert model.certificate_["gap"] <= 1e-5
    # another radius, other rows, other classes: still right
    model.set_params(tau=0.5 * model.tau_).fit(X[:150], y[:150])
    assert model.certificate_["solved"]
    model.fit(X, y + 1)
    assert list(model.classes_) == list(range(1, classes + 1))


def test_it_pickles_and_clones(iris):
    X, y = iris
    model = RobustClassifier(tau=20.0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_it_works_in_a_pipeline_under_a_grid_search(iris):
    pipeline = make_pipeline(StandardScaler(), RobustClassifier(tol=1e-2))
    grid = {"robustclassifier__level": [0.5, 2.0]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(*iris)
    assert search.best_score_ > 0.9


def test_threads_do_not_change_a_bit():
    X, y = load_digits(return_X_y=True)
    one, two = (RobustClassifier(n_jobs=n, tol=1e-1).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)


def long_fit():
    """A fit that ends by its time alone: on a fast machine certified steps reach 1e-12 within a second."""
    X, y = load_digits(return_X_y=True)
    return RobustClassifier(method="spfw", tol=1e-12, max_iter=None, max_time=20), X, y


def test_ctrl_c_ends_a_fit_within_a_second_and_keeps_the_best_point():
    model, X, y = long_fit()
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(1.0, press).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - pressed[0] < 1
    assert model.certificate_["status"] == "interrupted"
    assert model.score(X, y) > 0.9


def test_another_thread_of_python_runs_during_a_fit():
    model, X, y = long_fit()
    model.set_params(max_time=1.0, n_jobs=1)
    longest, over = [0.0], threading.Event()

    def tick():
        last = time.perf_counter()
        while not over.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            longest[0], last = max(longest[0], now - last), now

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        with pytest.warns(ConvergenceWarning, match="time limit"):
            model.fit(X, y)
    finally:
        over.set()
        ticker.join()
    assert 0 < longest[0] < 0.5


@pytest.mark.parametrize("objective", ["dro", "paper"])
def test_progress_is_printed_in_the_units_of_the_certificate(capsys, objective):
    model, X, y = long_fit()
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_time=0.5, verbose=1, objective=objective).fit(X, y)
    gaps = [float(line.rsplit(" ", 1)[1]) for line in capsys.readouterr().out.splitlines()]
    assert gaps and all(min(abs(gap / model.trace_["gap"] - 1)) < 1e-2 for gap in gaps)


def test_memory_does_not_grow_over_many_fits():
    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("there is no /proc here")
    X, y = make_classification(60, 6, n_informative=4, n_classes=3, random_state=0)
    model = RobustClassifier(tol=1e-1)
    for _ in range(200):
        model.fit(X, y)
    before = resident()
    for _ in range(1000):
        model.fit(X, y)
    assert resident() - before < 4 << 20


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"tau": -1.0}, ValueError),
        ({"tau": "large"}, TypeError),
        ({"level": 0.0}, ValueError),
        ({"tol": float("nan")}, ValueError),
        ({"max_time": 0}, ValueError),
        ({"max_iter": 0}, ValueError),
        ({"max_iter": 1.5}, TypeError),
        ({"objective": "robust"}, ValueError),
        ({"method": "newton"}, ValueError),
        ({"scale": "yes"}, ValueError),
        ({"n_jobs": 0}, ValueError),
    ],
)
def test_a_wrong_setting_is_named(iris, setting, error):
    with pytest.raises(error, match=next(iter(setting))):
        RobustClassifier(**setting).fit(*iris)


def test_wrong_data_are_refused_by_name(iris):
    X, y = iris
    model = RobustClassifier()
    with pytest.raises(ValueError, match="X contains NaN"):
        model.fit(np.where(X > 7, np.nan, X), y)
    with pytest.raises(ValueError, match="y must have at least two classes"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="could not convert string"):
        model.fit(np.full(X.shape, "a", dtype=object), y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.fit(X, y).predict(X[:, :3])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("wrong", [-1, 4])
def test_indices_out_of_range_are_refused(iris, index, wrong):
    X, y = iris
    rows = sp.csr_array(X)
    rows.indices = rows.indices.astype(index)
    rows.indptr = rows.indptr.astype(index)
    rows.indices[5] = wrong
    with pytest.raises(ValueError, match="X.indices has an entry"):
        RobustClassifier().fit(rows, y)


def test_row_starts_that_fall_are_refused(iris):
    X, y = iris
    rows = sp.csr_array(X)
    rows.indptr[3] = 400
    with pytest.raises(ValueError, match="row 3 ends before it starts"):
        RobustClassifier().fit(rows, y)


@pytest.mark.parametrize("ball", ["nuclear", "l2", "l1", "group-l1"])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_every_ball_and_loss_is_fitted_with_a_certificate(ball, loss):
    X, y = load_iris(return_X_y=True)
    model = RobustClassifier(ball=ball, loss=loss, tau=20.0, tol=1e-2).fit(X, y)
    assert model.certificate_["solved"] and model.certificate_["gap"] <= 1e-2
    assert model.score(X, y) > 0.94
    again = RobustClassifier(ball=ball, loss=loss, tau=20.0, tol=1e-2, warm_start=True).fit(X, y)
    assert again.fit(X, y).n_iter_ <= model.n_iter_
