"""A matrix game by HiGHS or by PDLP of OR-tools: `solve.py highs|pdlp FILE ROWS COLUMNS GAP LIMIT` prints one line of JSON. The two packages carry
libraries that cannot be loaded together, so each runs in a process of its own.
"""

import json
import sys
import time

import numpy as np
import scipy.sparse


def gap_of(payoffs, x, y):
    x, y = (np.maximum(p, 0) for p in (x, y))
    x, y = x / x.sum(), y / y.sum()
    return (payoffs.T @ x).max() - (payoffs @ y).min()


def program(payoffs):
    """min t subject to A'x <= t, sum x = 1, x >= 0: costs, rows, and bounds of rows and columns."""
    m, n = payoffs.shape
    rows = np.vstack([np.c_[payoffs.T, -np.ones(n)], np.r_[np.ones(m), 0.0][None]])
    row_bounds = np.r_[np.full(n, -np.inf), 1.0], np.r_[np.zeros(n), 1.0]
    column_bounds = np.r_[np.zeros(m), -np.inf], np.full(m + 1, np.inf)
    return np.r_[np.zeros(m), 1.0], scipy.sparse.csr_matrix(rows), row_bounds, column_bounds


def highs(payoffs, gap, limit):
    import highspy

    m, n = payoffs.shape
    costs, rows, row_bounds, column_bounds = program(payoffs)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = m + 1, n + 1
    model.col_cost_ = costs
    model.col_lower_, model.col_upper_ = column_bounds
    model.row_lower_, model.row_upper_ = row_bounds
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 2)
    solver.setOptionValue("time_limit", limit)
    solver.passModel(model)
    start = time.perf_counter()
    solver.run()
    seconds = time.perf_counter() - start
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    found = solver.getSolution()
    x, y = np.array(found.col_value[:m]), -np.array(found.row_dual[:n])
    return solver.getInfo().objective_function_value, seconds, gap_of(payoffs, x, y)


def pdlp(payoffs, gap, limit):
    from ortools.pdlp import solve_log_pb2, solvers_pb2
    from ortools.pdlp.python import pdlp

    m, n = payoffs.shape
    lp = pdlp.QuadraticProgram()
    costs, rows, row_bounds, column_bounds = program(payoffs)
    lp.objective_vector, lp.constraint_matrix = costs, rows.tocsc()
    lp.constraint_lower_bounds, lp.constraint_upper_bounds = row_bounds
    lp.variable_lower_bounds, lp.variable_upper_bounds = column_bounds
    settings = solvers_pb2.PrimalDualHybridGradientParams()
    criteria = settings.termination_criteria
    criteria.time_sec_limit = limit
    criteria.simple_optimality_criteria.eps_optimal_absolute = gap
    criteria.simple_optimality_criteria.eps_optimal_relative = gap
    settings.num_threads = 2
    start = time.perf_counter()
    result = pdlp.primal_dual_hybrid_gradient(lp, settings)
    seconds = time.perf_counter() - start
    if result.solve_log.termination_reason != solve_log_pb2.TERMINATION_REASON_OPTIMAL:
        return None
    x, y = np.array(result.primal_solution[:m]), -np.array(result.dual_solution[:n])
    return result.primal_solution[m], seconds, gap_of(payoffs, x, y)


if __name__ == "__main__":
    peer, file, m, n, gap, limit = sys.argv[1:]
    payoffs = np.fromfile(file, "<f8").reshape(int(m), int(n))
    found = {"highs": highs, "pdlp": pdlp}[peer](payoffs, float(gap), float(limit))
    print(json.dumps(found and [float(v) for v in found]))
