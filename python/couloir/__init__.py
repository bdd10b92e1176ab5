"""Projection-free saddle-point optimisation, and robust classifiers for scikit-learn."""

from ._classifier import RobustClassifier
from ._completion import MatrixCompletion
from ._couloir import __version__
from ._cross_validation import RobustClassifierCV
from ._plot import plot
from ._report import report
from ._sets import Box, L1Ball, L2Ball, NuclearBall, Simplex
from ._solve import GradientCheck, Interrupted, Solution, check_gradient, solve

__all__ = [
    "Box",
    "GradientCheck",
    "Interrupted",
    "L1Ball",
    "L2Ball",
    "MatrixCompletion",
    "NuclearBall",
    "RobustClassifier",
    "RobustClassifierCV",
    "Simplex",
    "Solution",
    "__version__",
    "check_gradient",
    "plot",
    "report",
    "solve",
]
