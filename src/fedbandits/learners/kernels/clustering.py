"""Clusters of similar users: tests on estimates, graphs of users, and scores of a partition.

F(x) = √((1 + ln(1 + x)) / (1 + x)) bounds, up to a factor, the distance of an estimate from x
observations to the truth. Two users are different if their estimates are further apart than α₁
(F(x₁) + F(x₂)) (Liu et al. 2022, equation 3; Gentile et al. 2014), two clusters the same if they
are closer than α₂ (F(x₁) + F(x₂)) (equation 4).

A partition is one number for each user: the lowest user of its cluster, which names the cluster.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints

#: An adjacency matrix, with 1 for connected users.
Edges = NDArray[np.uint8]


@compiled
def error_bar(count: float) -> float:
    """Compute F of that many observations; 1 without observations."""
    return math.sqrt((1.0 + math.log(1.0 + count)) / (1.0 + count))


@compiled
def distance(first: Floats, second: Floats) -> float:
    """Compute the Euclidean distance of two vectors."""
    total = 0.0
    for i in range(first.size):
        step = first[i] - second[i]
        total += step * step
    return math.sqrt(total)


@compiled
def are_different(apart: float, bars: float, alpha: float) -> bool:
    """Compare estimates at a distance ``apart`` by equation 3; ``bars`` is F(x₁) + F(x₂)."""
    return apart > alpha * bars


@compiled
def are_same(apart: float, bars: float, alpha: float) -> bool:
    """Compare estimates at a distance ``apart`` by equation 4; ``bars`` is F(x₁) + F(x₂)."""
    return apart < alpha * bars


@compiled
def delete_edges_of(
    user: int, estimates: Floats, counts: Floats, alpha: float, edges: Edges
) -> int:
    """Delete a user's edges to different users; return their number. Users never seen stay.

    ``estimates`` are (users, d), from ``counts`` (users,) observations each; ``alpha`` is α₁ of
    equation 3. ``edges`` (users, users) is changed in place, symmetrically.
    """
    if counts[user] == 0.0:
        return 0
    deleted, bar = 0, error_bar(counts[user])
    for other in range(counts.size):
        if edges[user, other] and counts[other] > 0.0 and other != user:
            bars = bar + error_bar(counts[other])
            if are_different(distance(estimates[user], estimates[other]), bars, alpha):
                edges[user, other] = 0
                edges[other, user] = 0
                deleted += 1
    return deleted


@compiled
def delete_edges(estimates: Floats, counts: Floats, alpha: float, edges: Edges) -> int:
    """Delete the edges of all users to different users, as :func:`delete_edges_of`."""
    deleted = 0
    for user in range(counts.size):
        deleted += delete_edges_of(user, estimates, counts, alpha, edges)
    return deleted


@compiled
def connect_same(
    estimates: Floats, counts: Floats, apart: Ints, alpha: float, edges: Edges
) -> None:
    """Connect clusters that are the same and live at different places.

    ``estimates`` are (clusters, d), from ``counts`` (clusters,) observations each; ``apart``
    (clusters,) numbers the clusters' places; ``alpha`` is α₂ of equation 4. ``edges`` (clusters,
    clusters) receives 1 for every pair that passes the test, else 0.
    """
    edges[:, :] = 0
    for first in range(counts.size):
        for second in range(first):
            if apart[first] != apart[second]:
                bars = error_bar(counts[first]) + error_bar(counts[second])
                if are_same(distance(estimates[first], estimates[second]), bars, alpha):
                    edges[first, second] = 1
                    edges[second, first] = 1


@compiled
def reach(user: int, edges: Edges, reached: Ints, seen: NDArray[np.uint8]) -> int:
    """Find all users on a path from a user; return their number.

    ``edges`` is (users, users). ``found`` (users,) receives the users, ``user`` first; ``seen``
    (users,) receives 1 for each of them, else 0.
    """
    seen[:] = 0
    seen[user] = 1
    reached[0] = user
    count, looked_at = 1, 0
    while looked_at < count:
        row = edges[reached[looked_at]]
        looked_at += 1
        for other in range(row.size):
            if row[other] and not seen[other]:
                seen[other] = 1
                reached[count] = other
                count += 1
    return count
