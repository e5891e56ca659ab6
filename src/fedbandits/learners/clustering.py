"""Users who are alike, by well-kept libraries: components of a graph, scores of a partition.

The compiled part is :mod:`fedbandits.learners.kernels.clustering`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Ints
from fedbandits.learners.kernels.clustering import Edges


def components(edges: Edges) -> Ints:
    """Find connected components of a graph, each named by its lowest node: (nodes,)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    if len(edges) == 0:
        return np.zeros(0, np.int64)
    _, labels = connected_components(csr_matrix(edges), directed=False)
    _, lowest = np.unique(labels, return_index=True)
    found: Ints = lowest[labels].astype(np.int64)
    return found


def adjusted_rand_index(found: NDArray[Any], truth: NDArray[Any]) -> float:
    """Score a partition (Hubert & Arabie 1985): 1 if it is exact, about 0 by guessing."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth, found))
