"""The leading factors of a sparse matrix, or an error with the reason."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import DataError


class Factors(NamedTuple):
    """A truncated singular value decomposition, M ≈ left @ right.T."""

    left: Floats  # (rows, count): U Σ
    right: Floats  # (columns, count): V
    singular_values: Floats  # (count,)


def leading_factors(path: str, matrix: Any, count: int) -> Factors:
    """Compute the ``count`` leading factors of a sparse matrix, by ARPACK from a fixed start.

    ``matrix`` is a (rows, columns) scipy.sparse.csr_matrix, and ``count`` is less than both.

    Raises
    ------
    DataError
        If the matrix is zero, or of such a kind that the iteration fails. It names the ``path``.
    """
    from scipy.sparse.linalg import ArpackError
    from sklearn.decomposition import TruncatedSVD

    svd = TruncatedSVD(n_components=count, algorithm="arpack", random_state=0)
    try:
        # It also tells what share of the variance is explained, which needs some variance.
        with np.errstate(divide="ignore", invalid="ignore"):
            left = svd.fit_transform(matrix)
    except ArpackError:
        raise DataError(
            f"{path}: has no {count} factors; are nearly all values 0? Use a smaller dim"
        ) from None
    return Factors(left, svd.components_.T, svd.singular_values_)
