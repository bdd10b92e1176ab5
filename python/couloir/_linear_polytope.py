"""Polytopes given by linear inequalities, with linear minimisation by HiGHS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class LinearPolytope:
    """The points with ``A x <= b``, ``A_eq x = b_eq`` and ``lower <= x <= upper``.

    Linear minimisation is a linear program, solved by HiGHS (``pip install highspy``), warm from the last solution. With
    ``integer=True`` (or an array of booleans, one for each entry) it is an integer program, and the set is the convex hull of its
    integer points. Matrices may be dense or SciPy's sparse ones. The set must be bounded and have a point: either is
    tested when it is made, by two linear programs for each entry whose bounds are not finite, which also give the diameter.
    """

    def __init__(
        self,
        A: Any = None,
        b: ArrayLike | None = None,
        A_eq: Any = None,
        b_eq: ArrayLike | None = None,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        *,
        integer: bool | ArrayLike = False,
    ) -> None:
        try:
            import highspy
        except ImportError:
            raise ImportError("LinearPolytope needs HiGHS: pip install highspy") from None
        from scipy.sparse import csr_array, vstack

        blocks, low_rows, high_rows = [], [], []
        for name, matrix, side, is_equal in (("A", A, b, False), ("A_eq", A_eq, b_eq, True)):
            if matrix is None and side is None:
                continue
            if matrix is None or side is None:
                raise ValueError(f"{name} needs its right-hand side, and the other way round")
            rows = csr_array(np.atleast_2d(matrix) if not hasattr(matrix, "tocsr") else matrix, dtype=np.float64)
            right = np.atleast_1d(np.asarray(side, dtype=np.float64))
            if right.shape != (rows.shape[0],):
                raise ValueError(f"{name} has {rows.shape[0]} rows, but its right-hand side has shape {right.shape}")
            if not (np.isfinite(right).all() and np.isfinite(rows.data).all()):
                raise ValueError(f"{name} and its right-hand side must be finite")
            blocks.append(rows)
            low_rows.append(right if is_equal else np.full(right.shape, -np.inf))
            high_rows.append(right)
        sizes = {block.shape[1] for block in blocks} | {np.size(v) for v in (lower, upper) if np.ndim(v) > 0}
        if len(sizes) != 1:
            raise ValueError(f"A, A_eq, lower and upper must agree in the number of entries of x, got {sorted(sizes)}")
        n = sizes.pop()
        self.lower: Floats = np.broadcast_to(np.asarray(lower, dtype=np.float64), (n,)).copy()
        self.upper: Floats = np.broadcast_to(np.asarray(upper, dtype=np.float64), (n,)).copy()
        self._rows = vstack(blocks).tocsr() if blocks else csr_array((0, n))
        self._low = np.concatenate(low_rows) if blocks else np.empty(0)
        self._high = np.concatenate(high_rows) if blocks else np.empty(0)
        self.integer: NDArray[np.bool_] = np.broadcast_to(np.asarray(integer, dtype=bool), (n,)).copy()
        self.shape = (n,)
        self._highspy = highspy
        self._solver = self._make()
        self.start: Floats = self.lmo(np.zeros(n))
        ends = np.array([self._range(i) for i in range(n)])
        #: The diagonal of the smallest box around the set, or of the bounds where they are finite.
        self.diameter = float(np.linalg.norm(ends[:, 1] - ends[:, 0])) or 1e-300

    def _make(self) -> Any:
        highspy, n = self._highspy, self.shape[0]
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = n, self._rows.shape[0]
        lp.col_cost_ = np.zeros(n)
        lp.col_lower_, lp.col_upper_ = self.lower, self.upper
        lp.row_lower_, lp.row_upper_ = self._low, self._high
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = self._rows.indptr.astype(np.int32)
        lp.a_matrix_.index_ = self._rows.indices.astype(np.int32)
        lp.a_matrix_.value_ = self._rows.data
        if self.integer.any():
            kinds = highspy.HighsVarType
            lp.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in self.integer]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("mip_abs_gap", 1e-9)
        solver.passModel(lp)
        return solver

    def _range(self, i: int) -> tuple[float, float]:
        """The least and the largest entry, or its bounds where they are finite."""
        ends = [float(self.lower[i]), float(self.upper[i])]
        for end, sign in ((0, 1.0), (1, -1.0)):
            if not np.isfinite(ends[end]):
                unit = np.zeros(self.shape)
                unit[i] = sign
                ends[end] = float(self.lmo(unit)[i])
        return ends[0], ends[1]

    def lmo(self, g: ArrayLike) -> Floats:
        """A vertex of the set at which ``<g, .>`` is least."""
        costs = np.asarray(g, dtype=np.float64)
        if costs.shape != self.shape:
            raise ValueError(f"g has shape {costs.shape}, points of the set have {self.shape}")
        # HiGHS has absolute tolerances: costs are brought to size 1
        size = float(np.abs(costs).max(initial=0.0))
        scaled = costs / size if size > 0.0 else costs
        n = self.shape[0]
        self._solver.changeColsCost(n, np.arange(n, dtype=np.int32), scaled)
        self._solver.run()
        status = self._solver.getModelStatus()
        kinds = self._highspy.HighsModelStatus
        if status != kinds.kOptimal:
            if status == kinds.kInfeasible:
                raise ValueError("the polytope is empty: no x satisfies all of its constraints")
            if status in (kinds.kUnbounded, kinds.kUnboundedOrInfeasible):
                raise ValueError("the polytope is unbounded (or empty): give lower and upper bounds")
            raise ArithmeticError(f"HiGHS ended with '{self._solver.modelStatusToString(status)}'")
        x: Floats = np.clip(np.array(self._solver.getSolution().col_value), self.lower, self.upper)
        x[self.integer] = np.round(x[self.integer])
        return x

    def violation(self, p: ArrayLike) -> float:
        """By how much a constraint or a bound is violated at most, 0 within the tolerance of HiGHS (1e-7)."""
        x = np.asarray(p, dtype=np.float64)
        rows = self._rows @ x
        outside = [self.lower - x, x - self.upper, self._low - rows, rows - self._high]
        worst = max(float(part.max(initial=0.0)) for part in outside)
        return 0.0 if worst <= 1e-7 * (1.0 + float(np.abs(x).max(initial=0.0))) else worst
