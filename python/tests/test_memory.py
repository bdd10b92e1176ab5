"""What is copied on the way into the core and out of it, and what is not."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from couloir import RobustClassifier

# two iterations are enough to see what is copied
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ROWS, COLUMNS = 4000, 200


def labelled(layout):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, COLUMNS))
    y = (X[:, 0] > 0).astype(int)
    if layout == "C":
        return X, y
    if layout == "F":
        return np.asfortranarray(X), y
    if layout == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2], y
    X[np.abs(X) < 0.5] = 0
    rows = sp.csr_array(X)
    rows.indptr, rows.indices = rows.indptr.astype(layout), rows.indices.astype(layout)
    return rows, y


def size(X):
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def python_peak(work):
    """Bytes that NumPy and Python held at once besides what was there; the core's are not among them."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LAYOUTS = ["C", "F", "strided", "int32", "int64"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("what", ["predict", "decision_function"])
def test_nothing_of_the_rows_is_copied_to_predict(layout, what):
    X, y = labelled(layout)
    model = RobustClassifier(max_iter=2).fit(X, y)
    # a few numbers for each row are the answer itself
    assert python_peak(lambda: getattr(model, what)(X)) < 0.1 * size(X)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_python_makes_no_copy_to_fit(layout):
    X, y = labelled(layout)
    # scaling looks at 64 of the 200 columns at a time, and takes two arrays of that size for it
    allowed = 0.1 if sp.issparse(X) else 0.1 + 2 * 64 / COLUMNS
    assert python_peak(lambda: RobustClassifier(max_iter=2).fit(X, y)) < allowed * size(X)


@pytest.mark.parametrize("layout", ["F", "strided"])
def test_how_an_array_lies_does_not_change_a_bit(layout):
    X, y = labelled("C")
    laid, _ = labelled(layout)
    assert np.array_equal(X, laid)
    one, other = (RobustClassifier(max_iter=2).fit(rows, y) for rows in (X, laid))
    assert np.array_equal(one.coef_, other.coef_)


def test_results_are_handed_out_and_may_be_changed():
    X, y = labelled("C")
    model = RobustClassifier(max_iter=2).fit(X, y)
    for array in (model.coef_, model.intercept_, model.sample_weights_, *model.trace_.values()):
        assert array.flags.writeable


PEAK = """
import warnings
import numpy as np
import scipy.sparse as sp
from couloir import RobustClassifier
warnings.simplefilter("ignore")

def memory(name):
    status = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in status if line.startswith(name))

n, each = 10_000, 400
indices = np.tile(np.arange(each) * 11, n)
X = sp.csr_array((np.ones(n * each), indices, np.arange(n + 1) * each), (n, 11 * each))
y = np.arange(n) % 2
RobustClassifier(max_iter=1).fit(X[:100], y[:100])
# forget the peak up to here
open("/proc/self/clear_refs", "w").write("5")
before = memory("VmRSS")
RobustClassifier(max_iter=1).fit(X, y)
print((memory("VmHWM") - before) / X.nnz)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for the peak of memory")
def test_the_core_holds_the_rows_once_by_rows_and_once_by_columns():
    run = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    bytes_per_entry = float(run.stdout)
    # 12 by rows and 12 by columns, and some for points and the sorting of rows; a second copy would be 24 more
    assert 24 <= bytes_per_entry < 30, bytes_per_entry
