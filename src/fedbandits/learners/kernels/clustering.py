"""Users who are alike: tests on estimates, graphs of users, and scores of a partition.

F(x) = √((1 + ln(1 + x)) / (1 + x)) bounds, up to a factor, how far an estimate from x observations
lies from the truth. Two users are different where their estimates are further apart than
α₁ (F(x₁) + F(x₂)) (Liu et al. 2022, equation 3; Gentile et al. 2014), two clusters the same where
they are closer than α₂ (F(x₁) + F(x₂)) (equation 4).

A partition is held as one number a user: the lowest user of its cluster, which names the cluster.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints

#: An adjacency matrix: 1 where two are connected.
Edges = NDArray[np.uint8]


@compiled
def error_bar(count: float) -> float:
    """Compute F of that many observations; 1 of none."""
    return math.sqrt((1.0 + math.log(1.0 + count)) / (1.0 + count))


@compiled
def distance(one: Floats, two: Floats) -> float:
    """Compute the Euclidean distance of two vectors."""
    total = 0.0
    for i in range(one.size):
        step = one[i] - two[i]
        total += step * step
    return math.sqrt(total)


@compiled
def are_different(apart: float, bars: float, alpha: float) -> bool:
    """Compare by equation 3: estimates so far apart, and error bars F(x₁) + F(x₂)."""
    return apart > alpha * bars


@compiled
def are_same(apart: float, bars: float, alpha: float) -> bool:
    """Compare by equation 4."""
    return apart < alpha * bars


@compiled
def delete_edges_of(
    user: int, estimates: Floats, counts: Floats, alpha: float, edges: Edges
) -> int:
    """Delete a user's edges to those who are different; return how many. Users never seen stay.

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
    """Delete edges as :func:`delete_edges_of`, of all users."""
    deleted = 0
    for user in range(counts.size):
        deleted += delete_edges_of(user, estimates, counts, alpha, edges)
    return deleted


@compiled
def connect_same(
    estimates: Floats, counts: Floats, apart: Ints, alpha: float, edges: Edges
) -> None:
    """Connect clusters that are the same and do not live at the same place.

    ``estimates`` are (clusters, d), from ``counts`` (clusters,) observations each; ``apart``
    (clusters,) numbers the places where clusters live; ``alpha`` is α₂ of equation 4. ``edges``
    (clusters, clusters) receives 1 for every pair that passes the test, else 0.
    """
    edges[:, :] = 0
    for one in range(counts.size):
        for two in range(one):
            if apart[one] != apart[two]:
                bars = error_bar(counts[one]) + error_bar(counts[two])
                if are_same(distance(estimates[one], estimates[two]), bars, alpha):
                    edges[one, two] = 1
                    edges[two, one] = 1


@compiled
def reach(user: int, edges: Edges, found: Ints, seen: NDArray[np.uint8]) -> int:
    """Find all users connected with a user by any path; return their number.

    ``edges`` is (users, users). ``found`` (users,) receives them, the user first; ``seen`` (users,)
    receives 1 for each of them, else 0.
    """
    seen[:] = 0
    seen[user] = 1
    found[0] = user
    count, looked_at = 1, 0
    while looked_at < count:
        row = edges[found[looked_at]]
        looked_at += 1
        for other in range(row.size):
            if row[other] and not seen[other]:
                seen[other] = 1
                found[count] = other
                count += 1
    return count
