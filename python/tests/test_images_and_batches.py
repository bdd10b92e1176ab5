"""Problems of one's own that see x through a linear map, or that are means over samples."""

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import couloir
from couloir import L2Ball, NuclearBall, Simplex

N, D = 600, 8


class Rows:
    """``sum_i y_i (a_i . x - b_i)^2 / 2 - mu/2 |y - 1/n|^2 + c/2 |x|^2``: least squares on the hardest rows.

    It is the mean over i of ``n y_i (a_i . x - b_i)^2 / 2``, and the rest.
    """

    mu, c = 50.0, 0.1

    def __init__(self, n=N):
        rng = np.random.default_rng(5)
        self.A = rng.normal(size=(n, D)) / np.sqrt(D)
        self.b = self.A @ rng.normal(size=D) + 0.1 * rng.normal(size=n)
        self.n = n

    def rest(self, x, y):
        return 0.5 * self.c * x @ x - 0.5 * self.mu * np.sum((y - 1 / self.n) ** 2)

    def value(self, x, y):
        return 0.5 * y @ (self.A @ x - self.b) ** 2 + self.rest(x, y)

    def grad_x(self, x, y):
        return self.A.T @ (y * (self.A @ x - self.b)) + self.c * x

    def grad_y(self, x, y):
        return 0.5 * (self.A @ x - self.b) ** 2 - self.mu * (y - 1 / self.n)


class BatchedRows(Rows):
    """The same, also by batches."""

    calls = 0

    def __init__(self, n=N):
        super().__init__(n)
        self.n_samples = n
        squares = np.sum(self.A**2, axis=1)
        self.lxx = squares.max() + self.c
        # residuals on the unit ball are at most |a_i| + |b_i|
        self.lxy = np.sqrt(np.sum(squares * (np.sqrt(squares) + np.abs(self.b)) ** 2))
        self.lyy = self.mu
        # in the mean square: a sample's gradient is n times rougher in one entry of y
        self.mean_smoothness = self.n * (self.lxx + self.lxy + self.lyy)

    def batch_value(self, batch, x, y):
        assert batch.dtype == np.int64 and 0 <= batch.min() and batch.max() < self.n
        self.calls += 1
        squares = (self.A[batch] @ x - self.b[batch]) ** 2
        return 0.5 * self.n * np.mean(y[batch] * squares) + self.rest(x, y)

    def batch_grad_x(self, batch, x, y):
        self.calls += 1
        A = self.A[batch]
        slopes = self.n / len(batch) * y[batch] * (A @ x - self.b[batch])
        return A.T @ slopes + self.c * x

    def batch_grad_y(self, batch, x, y):
        self.calls += 1
        slopes = -self.mu * (y - 1 / self.n)
        slopes[batch] += 0.5 * self.n / len(batch) * (self.A[batch] @ x - self.b[batch]) ** 2
        return slopes


class Traces:
    """<A, x> seen through one number: min over matrices, with y in a ball of 2.

    ``f = (<A, x> + 1) y_0 + <A, x> y_1 - |y|^2/2``.
    """

    A = np.array([[3.0, 0.0], [0.0, -4.0]])

    def image(self, x):
        assert x.shape == (2, 2)
        return np.array([np.sum(self.A * x)])

    def adjoint(self, s):
        assert s.shape == (1,)
        return s[0] * self.A

    def value(self, image, y):
        return (image[0] + 1) * y[0] + image[0] * y[1] - 0.5 * y @ y

    def grad_image(self, image, y):
        return np.array([y[0] + y[1]])

    def grad_y(self, image, y):
        return np.array([image[0] + 1, image[0]]) - y


class PlainTraces:
    """The same without an image."""

    A = Traces.A

    def value(self, x, y):
        t = np.sum(self.A * x)
        return (t + 1) * y[0] + t * y[1] - 0.5 * y @ y

    def grad_x(self, x, y):
        return (y[0] + y[1]) * self.A

    def grad_y(self, x, y):
        t = np.sum(self.A * x)
        return np.array([t + 1, t]) - y


def test_a_problem_with_an_image_has_the_answer_of_its_closed_form():
    # inside the ball of y the value in t = <A, x> is ((t + 1)^2 + t^2) / 2, least at t = -1/2, where it is 1/4;
    # the operator norm of A is 4, so t reaches -1/2 in a nuclear ball of radius 1
    X, Y = NuclearBall((2, 2), 1.0), L2Ball(2, 2.0)
    solution = couloir.solve(Traces(), X, Y, tol=1e-9)
    assert solution.solved
    assert np.sum(Traces.A * solution.x) == pytest.approx(-0.5, abs=1e-4)
    np.testing.assert_allclose(solution.y, [0.5, -0.5], atol=1e-4)
    assert solution.certificate["lower"] - 1e-12 <= 0.25 <= solution.certificate["upper"] + 1e-12
    # one that cannot reach it: t = -4 tau = -0.2
    small = couloir.solve(Traces(), NuclearBall((2, 2), 0.05), Y, tol=1e-9)
    assert small.certificate["upper"] == pytest.approx((0.8**2 + 0.2**2) / 2, abs=1e-8)


@pytest.mark.parametrize("method", ["certified", "spfw"])
def test_with_and_without_an_image_the_answers_agree_within_their_certificates(method):
    X, Y = NuclearBall((2, 2), 0.05), L2Ball(2, 2.0)
    with_image, plain = Traces(), PlainTraces()
    for problem in (with_image, plain):
        problem.lxx, problem.lxy, problem.lyy, problem.mu = 0.0, 7.1, 1.0, 1.0
    a, b = (couloir.solve(p, X, Y, method=method, tol=1e-5) for p in (with_image, plain))
    assert a.solved and b.solved
    assert a.certificate["lower"] <= b.certificate["upper"] + 1e-12
    assert b.certificate["lower"] <= a.certificate["upper"] + 1e-12
    assert plain.value(a.x, a.y) == pytest.approx(plain.value(b.x, b.y), abs=2e-5)
    # the core knows of the map
    assert a.certificate["ledger"]["method"]["images"] > 0


def test_a_best_response_gets_the_image():
    class Responding(Traces):
        calls = 0

        def best_response_y(self, image):
            assert image.shape == (1,)
            self.calls += 1
            y = np.array([image[0] + 1, image[0]])
            return y / max(1.0, np.linalg.norm(y) / 2)

    problem = Responding()
    solution = couloir.solve(problem, NuclearBall((2, 2), 1.0), L2Ball(2, 2.0), tol=1e-9)
    assert problem.calls > 0 and solution.certificate["upper"] == pytest.approx(0.25, abs=1e-8)


def test_the_gradient_check_looks_at_the_adjoint_too():
    class Wrong(Traces):
        def adjoint(self, s):
            return 2 * super().adjoint(s)

    x, y = np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([0.5, 0.6])
    assert couloir.check_gradient(Traces(), x, y).worst < 1e-6
    assert couloir.check_gradient(Wrong(), x, y).grad_x > 0.1


@pytest.mark.parametrize("name", ["image", "adjoint", "grad_image", "value"])
def test_a_missing_method_of_an_image_is_named(name):
    class Lacking(Traces):
        pass

    setattr(Lacking, name, None)
    with pytest.raises(TypeError, match=rf"must have a method {name}\("):
        couloir.solve(Lacking(), NuclearBall((2, 2)), L2Ball(2))


def test_an_image_must_be_linear_and_keep_its_shape():
    class Affine(Traces):
        def image(self, x):
            return super().image(x) + 1

    class Changing(Traces):
        def image(self, x):
            return np.zeros(1 if np.all(x == 0) else 2)

    with pytest.raises(ValueError, match="problem.image must be linear"):
        couloir.solve(Affine(), NuclearBall((2, 2)), L2Ball(2))
    with pytest.raises(ValueError, match=r"problem.image gave an array of shape \(2,\)"):
        couloir.solve(Changing(), NuclearBall((2, 2)), L2Ball(2), x0=np.eye(2) / 3)


@pytest.mark.parametrize("method", ["batched", "svre"])
def test_methods_that_sample_have_the_answer_of_the_whole(method):
    X, Y = L2Ball(D), Simplex(N)
    whole = couloir.solve(Rows(), X, Y, tol=1e-7)
    problem = BatchedRows()
    by_batches = couloir.solve(problem, X, Y, method=method, tol=1e-3, max_iter=50_000, seed=1)
    assert whole.solved and by_batches.solved and problem.calls > 0
    assert by_batches.certificate["ledger"]["method"]["component_grads"] > 0
    assert by_batches.certificate["lower"] <= whole.certificate["upper"]
    assert whole.certificate["lower"] <= by_batches.certificate["upper"]
    # strongly convex in x with constant c: the gap bounds the distance
    assert 0.5 * Rows.c * np.sum((by_batches.x - whole.x) ** 2) <= 1e-3
    assert by_batches.certificate["gap"] <= 1e-3
    again = couloir.solve(BatchedRows(), X, Y, method=method, tol=1e-3, max_iter=50_000, seed=1)
    assert np.array_equal(again.x, by_batches.x)


class SeenRows(BatchedRows):
    """The same, also through its image: the rows' products with x, and x."""

    def image(self, x):
        return np.concatenate([self.A @ x, x])

    def adjoint(self, s):
        return self.A.T @ s[: self.n] + s[self.n :]

    def value(self, image, y):
        return 0.5 * y @ (image[: self.n] - self.b) ** 2 + self.rest(image[self.n :], y)

    def grad_image(self, image, y):
        slopes = y * (image[: self.n] - self.b)
        return np.concatenate([slopes, self.c * image[self.n :]])

    def grad_y(self, image, y):
        return 0.5 * (image[: self.n] - self.b) ** 2 - self.mu * (y - 1 / self.n)


def test_an_image_and_batches_go_together():
    X, Y = L2Ball(D), Simplex(N)
    x, y = np.full(D, 0.1), np.linspace(0.5, 1.5, N) / N
    assert couloir.check_gradient(SeenRows(), x, y).worst < 1e-5
    whole = couloir.solve(Rows(), X, Y, tol=1e-7)
    problem = SeenRows()
    solution = couloir.solve(problem, X, Y, method="batched", tol=1e-3, seed=1)
    assert solution.solved and problem.calls > 0
    assert solution.certificate["lower"] <= whole.certificate["upper"]
    assert whole.certificate["lower"] <= solution.certificate["upper"]
    assert 0.5 * Rows.c * np.sum((solution.x - whole.x) ** 2) <= 1e-3


class Drawn:
    """``E (x - xi) y - y^2/2 + x^2/2`` for xi uniform on [0.45, 0.55]: the saddle is at x = 1/4, y = -1/4."""

    n_samples = math.inf
    lxx = lxy = lyy = mu = 1.0
    mean_smoothness, sigma = math.sqrt(2), 0.1 * math.sqrt(1 / 12)

    def value(self, x, y):
        return (x[0] - 0.5) * y[0] - 0.5 * y[0] ** 2 + 0.5 * x[0] ** 2

    def grad_x(self, x, y):
        return y + x

    def grad_y(self, x, y):
        return x - 0.5 - y

    def drawn(self, batch):
        assert batch.dtype == np.uint64
        return 0.45 + 0.1 * batch.mean(dtype=np.float64) / 2**64

    def batch_value(self, batch, x, y):
        return (x[0] - self.drawn(batch)) * y[0] - 0.5 * y[0] ** 2 + 0.5 * x[0] ** 2

    def batch_grad_x(self, batch, x, y):
        return y + x

    def batch_grad_y(self, batch, x, y):
        return x - self.drawn(batch) - y


@pytest.mark.parametrize(("method", "max_iter"), [("batched", 12), ("mpscgs", 2)])
def test_an_expectation_is_solved_by_samples_that_are_seeds(method, max_iter):
    with pytest.warns(ConvergenceWarning):
        solution = couloir.solve(
            Drawn(), L2Ball(1), L2Ball(1), method=method, tol=1e-12, max_iter=max_iter, seed=2
        )
    gap = solution.certificate["gap"]
    assert gap < 0.8 * solution.trace["gap"][0]
    # f is strongly convex and concave with constant 1, so the gap bounds the distance
    error = (solution.x[0] - 0.25) ** 2 + (solution.y[0] + 0.25) ** 2
    assert 0.5 * error <= gap + 1e-12


def test_the_printed_method_solves_a_sum():
    class Sum(Drawn):
        n_samples = 40

        def drawn(self, batch):
            assert batch.dtype == np.int64
            return 0.45 + 0.1 * (batch.mean() + 0.5) / 40

    solution = couloir.solve(Sum(), L2Ball(1), L2Ball(1), method="mpscgs", tol=0.05, max_iter=30)
    assert solution.solved
    error = (solution.x[0] - 0.25) ** 2 + (solution.y[0] + 0.25) ** 2
    assert 0.5 * error <= solution.certificate["gap"]


def test_what_a_method_that_samples_misses_is_named():
    sets = L2Ball(D), Simplex(N)
    with pytest.raises(TypeError, match="method 'svre' samples: .* batch_value, batch_grad_x, batch_grad_y"):
        couloir.solve(Rows(), *sets, method="svre")
    for name in ("batch_value", "batch_grad_x", "batch_grad_y"):
        problem = BatchedRows()
        setattr(problem, name, None)
        with pytest.raises(TypeError, match=rf"must have a method {name}\(batch, x, y\)"):
            couloir.solve(problem, *sets, method="batched")
    for wrong in (None, 0, 2.5, True):
        problem = BatchedRows()
        problem.n_samples = wrong
        with pytest.raises(TypeError, match="problem.n_samples must be a positive integer"):
            couloir.solve(problem, *sets)
    problem = BatchedRows()
    problem.mean_smoothness = None
    with pytest.raises(ValueError, match="give the problem an attribute mean_smoothness"):
        couloir.solve(problem, *sets, method="mpscgs")
    problem.lxx = None
    with pytest.raises(ValueError, match="give the problem an attribute lxx"):
        couloir.solve(problem, *sets, method="svre")


def test_data_that_are_called_like_methods_do_not_matter():
    problem = Rows()
    problem.image, problem.n_samples = np.zeros((8, 8)), N
    assert couloir.solve(problem, L2Ball(D), Simplex(N), tol=1e-2).solved


def test_an_exception_in_a_batch_comes_through():
    class Broken(BatchedRows):
        def batch_grad_x(self, batch, x, y):
            raise LookupError("no such row")

    with pytest.raises(LookupError, match="no such row"):
        couloir.solve(Broken(), L2Ball(D), Simplex(N), method="batched", tol=1e-3)


def test_constants_of_a_batch_serve_a_set_that_has_no_projection():
    class Interval:
        shape, diameter = (1,), 2.0

        def lmo(self, g):
            return np.where(g > 0, -1.0, 1.0)

    class Sum(Drawn):
        n_samples = N

        def drawn(self, batch):
            return 0.45 + 0.1 * (batch.mean() + 0.5) / N

    class Known(Sum):
        asked = 0

        def batch_constants(self, batch):
            self.asked += 1
            return {"lyy": 1.0, "mu": 1.0}

    with pytest.raises(ValueError, match=r"an attribute lyy, and batch_constants\(batch\)"):
        couloir.solve(Sum(), L2Ball(1), Interval(), method="batched", tol=1e-2)
    problem = Known()
    solution = couloir.solve(problem, L2Ball(1), Interval(), method="batched", tol=1e-2)
    assert solution.solved and problem.asked > 0
    assert (solution.x[0] - 0.25) ** 2 + (solution.y[0] + 0.25) ** 2 <= 2e-2


def test_the_gradient_check_compares_all_samples_with_the_whole():
    class Wrong(BatchedRows):
        def batch_grad_y(self, batch, x, y):
            return 2 * super().batch_grad_y(batch, x, y)

    x, y = np.full(D, 0.1), np.linspace(0.5, 1.5, N) / N
    assert couloir.check_gradient(Rows(), x, y).batches is None
    right, wrong = (couloir.check_gradient(p, x, y) for p in (BatchedRows(), Wrong()))
    assert right.batches < 1e-12 and right.worst < 1e-5
    assert wrong.batches > 0.1 and wrong.worst > 0.1
