"""Rows as the core takes them."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp


def canonical(X: Any) -> Any:
    """Compressed rows without entries that are there twice, which add up, and in order. The user's matrix stays as it is.

    Rows that are none, for which SciPy would read beyond its arrays, come back for the core to refuse.
    """
    if not sp.issparse(X) or not _whole(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _whole(X: Any) -> bool:
    """Whether the rows start where those before them end, inside of the arrays."""
    starts = X.indptr
    return bool(
        len(starts) == X.shape[0] + 1
        and starts[0] == 0
        and (starts[:-1] <= starts[1:]).all()
        and starts[-1] <= min(len(X.indices), len(X.data))
    )
