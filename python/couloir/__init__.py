"""Projection-free saddle-point optimisation, and robust linear models for scikit-learn."""

from . import games
from ._check_set import SetCheck, check_set
from ._classifier import RobustClassifier
from ._completion import MatrixCompletion
from ._couloir import __version__
from ._cross_validation import RobustClassifierCV
from ._linear_polytope import LinearPolytope
from ._plot import plot
from ._regressor import RobustRegressor
from ._report import report
from ._sets import (
    Birkhoff,
    Box,
    BoxBudget,
    CappedSimplex,
    ConvexHull,
    Ellipsoid,
    Fantope,
    Flows,
    GroupL1Ball,
    Hypersimplex,
    KSupportBall,
    L1Ball,
    L2Ball,
    LinfBall,
    LpBall,
    Matchings,
    NuclearBall,
    OrderedL1Ball,
    Paths,
    Permutahedron,
    Product,
    Scaled,
    Shifted,
    Simplex,
    SimplexBudget,
    SpanningTrees,
    Spectrahedron,
    SpectralBall,
    Treeplex,
)
from ._solve import GradientCheck, Interrupted, Solution, check_gradient, solve

__all__ = [
    "Birkhoff",
    "Box",
    "BoxBudget",
    "CappedSimplex",
    "ConvexHull",
    "Ellipsoid",
    "Fantope",
    "Flows",
    "GradientCheck",
    "GroupL1Ball",
    "Hypersimplex",
    "Interrupted",
    "KSupportBall",
    "L1Ball",
    "L2Ball",
    "LinearPolytope",
    "LinfBall",
    "LpBall",
    "Matchings",
    "MatrixCompletion",
    "NuclearBall",
    "OrderedL1Ball",
    "Paths",
    "Permutahedron",
    "Product",
    "RobustClassifier",
    "RobustClassifierCV",
    "RobustRegressor",
    "Scaled",
    "SetCheck",
    "Shifted",
    "Simplex",
    "SimplexBudget",
    "Solution",
    "SpanningTrees",
    "Spectrahedron",
    "SpectralBall",
    "Treeplex",
    "__version__",
    "check_gradient",
    "check_set",
    "games",
    "plot",
    "report",
    "solve",
]
