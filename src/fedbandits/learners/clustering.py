"""Users who are alike: components of a graph, scores of a partition.

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
    """Score a partition (Hubert & Arabie 1985): 1 if it is exact, about 0 by guessing.

    A run asks for it at every recorded round: scikit-learn's function, which gives the same bits,
    takes longer than the rounds.

    Parameters
    ----------
    found, truth : (users,) int
        Labels from 0 on; only which users share one counts.
    """
    users = len(found)
    in_found, in_truth = _pairs_together(found), _pairs_together(truth)
    in_both = _pairs_together(found * (int(truth.max()) + 1) + truth)
    only_found, only_truth = in_found - in_both, in_truth - in_both
    if only_found == only_truth == 0:
        return 1.0
    both, neither = in_both - users, users * users - in_found - in_truth + in_both
    chance = (both + only_truth) * (only_truth + neither) + (both + only_found) * (
        only_found + neither
    )
    return 2.0 * (both * neither - only_truth * only_found) / chance


def _pairs_together(labels: NDArray[Any]) -> int:
    """Count ordered pairs of users with the same label, pairs of a user with itself too."""
    ordered = np.sort(labels)
    last = np.flatnonzero(ordered[1:] != ordered[:-1])
    sizes = np.diff(last, prepend=-1, append=len(labels) - 1)
    return int(sizes @ sizes)
