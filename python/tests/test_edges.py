"""The edges of the package: what it must not change, and what must be an exception and neither an abort nor a wait."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

import couloir
from couloir import RobustClassifier, RobustClassifierCV


def fresh(code, seconds=120):
    """Runs code in a process of its own, which must end by itself within this time; gives what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.strip()


def with_duplicates():
    """Rows with entries that are there twice, the same rows without, and labels."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(60), 5)
    columns, values = rng.integers(0, 4, rows.size), rng.normal(size=rows.size)
    starts = np.arange(0, rows.size + 1, 5)
    X = sp.csr_matrix((values, columns, starts), shape=(60, 4))
    return X, sp.csr_matrix(X.toarray()), rng.integers(0, 3, 60)


@pytest.mark.parametrize("kind", [RobustClassifier, RobustClassifierCV])
def test_entries_that_are_there_twice_add_up_and_the_users_matrix_stays(kind):
    X, summed, y = with_duplicates()
    before = [part.copy() for part in (X.indptr, X.indices, X.data)]
    first = kind(tol=1e-3).fit(X, y)
    assert all(np.array_equal(a, b) for a, b in zip(before, (X.indptr, X.indices, X.data), strict=True))
    second, plain = kind(tol=1e-3).fit(X, y), kind(tol=1e-3).fit(summed, y)
    for other in (second, plain):
        assert first.tau_ == pytest.approx(other.tau_, rel=1e-12)
        assert np.allclose(first.coef_, other.coef_, atol=1e-9)
    assert np.array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize(
    "call",
    [
        "couloir.Simplex(2**40)",
        "couloir.L2Ball(2**61)",
        "couloir.NuclearBall((2**32, 2**20), 1.0)",
        "couloir.Spectrahedron(2**24)",
        "couloir.Hypersimplex(2**44, 3)",
        "couloir.RobustClassifier().fit(wide, labels)",
        "couloir.RobustClassifierCV(cv=2).fit(wide, labels)",
        "couloir.RobustRegressor().fit(wide, np.ones((6000, 3000)))",
    ],
)
def test_what_no_memory_holds_is_a_memory_error(call):
    out = fresh(
        f"""
        import numpy as np, scipy.sparse as sp, couloir
        places = np.arange(6000), 600 * np.arange(6000)
        wide = sp.csr_matrix((np.ones(6000), places), shape=(6000, 4_000_000))
        labels = np.arange(6000) % 3000
        try:
            {call}
        except MemoryError as error:
            print(error)
        """
    )
    assert "GiB of memory, more than there is" in out


def test_payoffs_that_are_there_twice_add_up_and_the_users_matrix_stays():
    payoffs = sp.csr_array((np.array([1.0, 2.0, 2.0, 1.0]), [0, 0, 1, 0], [0, 2, 4]), shape=(2, 2))
    before = [part.copy() for part in (payoffs.indptr, payoffs.indices, payoffs.data)]
    game = couloir.games.matrix(payoffs)
    assert game.payoffs.toarray().tolist() == [[3.0, 0.0], [1.0, 2.0]]
    assert all(
        np.array_equal(a, b) for a, b in zip(before, (payoffs.indptr, payoffs.indices, payoffs.data), strict=True)
    )


@pytest.mark.parametrize("start", [400, 2**30])
@pytest.mark.parametrize("kind", [RobustClassifier, RobustClassifierCV])
def test_rows_that_end_before_they_start_are_refused_before_anything_reads_them(kind, start):
    _, X, y = with_duplicates()
    X.indptr[3] = start
    with pytest.raises(ValueError, match="ends before it starts|row starts"):
        kind().fit(X, y)


def test_threads_have_a_limit():
    X, _, y = with_duplicates()
    with pytest.raises(ValueError, match="n_jobs must be at most 4096, got 1000000"):
        RobustClassifier(n_jobs=10**6).fit(X, y)


def test_a_warm_start_from_a_changed_intercept_is_refused():
    _, X, y = with_duplicates()
    model = RobustClassifier(warm_start=True).fit(X, y)
    for wrong in (np.zeros(1), np.zeros(4), np.array([0.0, np.nan, 0.0])):
        model.intercept_ = wrong
        with pytest.raises(ValueError, match="warm_start: coef_ and intercept_ must hold"):
            model.fit(X, y)
    model.intercept_ = np.zeros(3)
    model.fit(X, y)


def test_a_checkpoint_that_cannot_be_written_is_told_before_the_fit(tmp_path):
    _, X, y = with_duplicates()
    model = RobustClassifier(checkpoint=tmp_path / "missing" / "file")
    with pytest.raises(OSError, match="missing"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("work", ["RobustClassifier().fit(X, y)", "RobustClassifier(n_jobs=2).fit(X, y)", "solve()", "play()"])
def test_a_fork_of_a_process_that_has_worked_raises(work):
    out = fresh(
        f"""
        import os, numpy as np, couloir
        from couloir import RobustClassifier
        X, y = np.random.default_rng(0).normal(size=(500, 30)), np.arange(500) % 3
        def solve():
            couloir.Simplex(3).lmo([1.0, 2.0, 3.0])
        def play():
            couloir.games.matrix([[3, 0], [1, 2]]).solve()
        {work}
        if os.fork() == 0:
            try:
                {work}
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
        """
    )
    assert "after a fork" in out and "spawn" in out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_of_a_process_that_has_not_worked_works():
    out = fresh(
        """
        import os, numpy as np, couloir
        X, y = np.random.default_rng(0).normal(size=(500, 30)), np.arange(500) % 3
        if os.fork() == 0:
            couloir.RobustClassifier().fit(X, y)
            print("fitted", flush=True)
            os._exit(0)
        os.wait()
        """
    )
    assert out == "fitted"


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarms here")
def test_ctrl_c_ends_a_fit_of_many_classes_soon():
    out = fresh(
        """
        import signal, time, numpy as np, couloir
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(1500, 600)), np.arange(1500) % 500
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        model = couloir.RobustClassifier(tol=1e-9, max_iter=None)
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", hasattr(model, "coef_"))
        """
    )
    assert out == "interrupted True"
