"""Rows as the core takes them."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp


def canonical(X: Any) -> Any:
    """Compressed rows without entries that are there twice, which add up, and in order. The user's matrix stays as it is."""
    if not sp.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X
