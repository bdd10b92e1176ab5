"""Problems in large matrices that are never formed: gradients as operators, solutions as factors."""

import tracemalloc

import couloir
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

SHAPE, RANK, N, TAU = (150, 120), 2, 4000, 200.0


class Completion:
    """Squares at observed entries, with a chi-square penalty on weights that move away from equal ones."""

    mu = float(N)

    def __init__(self, as_given=lambda matrix: matrix, shape=SHAPE):
        rng = np.random.default_rng(0)
        self.shape = shape
        self.rows, self.cols = rng.integers(0, shape[0], N), rng.integers(0, shape[1], N)
        u, v = rng.normal(size=(shape[0], RANK)), rng.normal(size=(shape[1], RANK))
        self.values = (u[self.rows] * v[self.cols]).sum(axis=1) + 0.1 * rng.normal(size=N)
        self.as_given, self.gradients = as_given, 0

    def image_of_factors(self, left, right):
        return np.einsum("ij,ij->i", left[self.rows], right[self.cols])

    def adjoint(self, s):
        self.gradients += 1
        return self.as_given(sp.csr_matrix((s, (self.rows, self.cols)), shape=self.shape))

    def losses(self, image):
        return 0.5 * (image - self.values) ** 2

    def value(self, image, y):
        return y @ self.losses(image) - self.mu / 2 * ((y - 1 / N) ** 2).sum()

    def grad_image(self, image, y):
        return y * (image - self.values)

    def grad_y(self, image, y):
        return self.losses(image) - self.mu * (y - 1 / N)


class WithNorm(Completion):
    def adjoint_norm(self, s):
        return float(np.abs(s).sum())


SETS = couloir.NuclearBall(SHAPE, TAU), couloir.Simplex(N)


def test_nothing_as_large_as_the_matrix_is_allocated():
    problem = Completion(shape=(3000, 2500))
    tracemalloc.start()
    solution = couloir.solve(problem, couloir.NuclearBall(problem.shape, 1000.0), SETS[1], tol=0.3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.solved and solution.factors is not None
    # of what Python and NumPy have allocated: factors and images
    assert peak < 0.3 * 8 * 3000 * 2500


def test_a_sparse_gradient_gives_factors_and_the_matrix_on_demand():
    problem = Completion()
    solution = couloir.solve(problem, *SETS, tol=1e-2)
    assert solution.solved and solution.method == "corrective"
    u, s, v = solution.factors
    assert u.shape == (SHAPE[0], len(s)) and v.shape == (SHAPE[1], len(s))
    np.testing.assert_allclose(u.T @ u, np.eye(len(s)), atol=1e-10)
    assert s.sum() <= TAU * (1 + 1e-12)
    # the matrix is formed once
    assert solution.x.shape == SHAPE and solution.x is solution.x
    image = solution.x[problem.rows, problem.cols]
    best = couloir.MatrixCompletion(SHAPE, TAU, tol=1e-3).fit(problem.rows, problem.cols, problem.values)
    lower, upper = best.certificate_["lower"], best.certificate_["upper"]
    assert solution.certificate["lower"] <= upper and lower <= solution.certificate["upper"]
    # the upper bound is no less than the value with equal weights, and far from it it is not
    equal = problem.value(image, np.full(N, 1 / N))
    assert equal <= solution.certificate["upper"] + 1e-9 <= 2 * equal


@pytest.mark.parametrize(
    ("kind", "as_given"),
    [
        (Completion, lambda matrix: matrix.tocoo()),
        (Completion, lambda matrix: (np.ascontiguousarray(matrix.toarray()), np.eye(SHAPE[1]))),
        (WithNorm, aslinearoperator),
    ],
    ids=["coo", "factors", "operator"],
)
def test_gradients_may_come_in_any_form(kind, as_given):
    sparse = couloir.solve(Completion(), *SETS, tol=3e-2)
    other = couloir.solve(kind(as_given), *SETS, tol=3e-2)
    assert other.solved
    assert other.certificate["lower"] <= sparse.certificate["upper"]
    assert sparse.certificate["lower"] <= other.certificate["upper"]


def test_a_gradient_is_asked_for_once_for_all_its_products():
    problem, products = Completion(), []

    class Counted:
        """A sparse matrix that counts its products."""

        shape = SHAPE

        def __init__(self, matrix):
            self.matrix, self.T = matrix, matrix.T

        def __matmul__(self, block):
            products.append(block.shape)
            return self.matrix @ block

    problem.as_given = Counted
    problem.adjoint_norm = lambda s: float(np.abs(s).sum())
    solution = couloir.solve(problem, *SETS, tol=3e-2)
    assert solution.solved
    # several products of a block for every linear minimisation
    assert problem.gradients <= len(products) - 2 * solution.oracle_calls[0]


def test_small_matrices_are_solved_by_every_method():
    rng = np.random.default_rng(1)

    class Small:
        mu = 1.0
        targets = rng.normal(size=(5, 4))

        def image_of_factors(self, left, right):
            return left @ right.T

        def adjoint(self, s):
            return s

        def value(self, image, y):
            return float(y @ ((image - self.targets) ** 2).sum(axis=1)) / 2 - self.mu / 2 * float(y @ y)

        def grad_image(self, image, y):
            return y[:, None] * (image - self.targets)

        def grad_y(self, image, y):
            return ((image - self.targets) ** 2).sum(axis=1) / 2 - self.mu * y

    sets = couloir.NuclearBall((5, 4), 1.5), couloir.Simplex(5)
    thin = couloir.solve(Small(), *sets, method="corrective", tol=1e-6)
    whole = couloir.solve(Small(), *sets, method="certified", tol=1e-6)
    assert thin.factors is not None and whole.factors is None
    assert thin.certificate["lower"] <= whole.certificate["upper"]
    assert whole.certificate["lower"] <= thin.certificate["upper"]
    assert couloir.check_gradient(Small(), np.ones((5, 4)) / 9, np.full(5, 0.2)).grad_x < 1e-6


def test_gradients_that_are_no_operators_of_the_right_shape_are_named():
    with pytest.raises(TypeError, match="adjoint_norm"):
        couloir.solve(Completion(aslinearoperator), *SETS)
    with pytest.raises(ValueError, match=r"shape \(120, 150\), expected \(150, 120\)"):
        couloir.solve(Completion(lambda matrix: matrix.T), *SETS)
    with pytest.raises(ValueError, match="pair of factors"):
        couloir.solve(Completion(lambda matrix: (np.eye(150), np.eye(120))), *SETS)
    with pytest.raises(ValueError, match="set of matrices"):
        couloir.solve(Completion(), couloir.L2Ball(5), SETS[1])
    wrong = Completion(lambda matrix: LinearOperator(SHAPE, matvec=lambda v: np.zeros(3)))
    wrong.adjoint_norm = lambda s: 1.0
    with pytest.raises(ValueError):
        couloir.solve(wrong, *SETS)
