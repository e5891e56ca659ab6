"""Shared numbers in an order that neither server knows alone (Chase, Ghosh & Poburinnaya 2020).

One server knows a permutation π. The other one has dealt vectors A and B, uniform and used once;
the first was dealt Δ = π(A) - B. The other sends m = x¹ - A, which is uniform to whoever does not
know A. The first takes π(x⁰ + m) + Δ = π(x) - B as its new share, the other takes B. After two
such shuffles, one of each server's, neither knows the order.

A permutation is an array of places: entry i goes to ``places[i]``.
"""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Ints, Words64


@compiled
def masked_share(share: Words64, mask: Words64, out: Words64) -> None:
    """What the server sends that does not know the permutation: m = x¹ - A."""
    for i in range(share.size):
        out[i] = share[i] - mask[i]


@compiled
def permuted_share(
    share: Words64, sent: Words64, places: Ints, correction: Words64, out: Words64
) -> None:
    """π(x⁰ + m) + Δ, the new share of the server that knows the permutation."""
    for i in range(share.size):
        place = places[i]
        out[place] = share[i] + sent[i] + correction[place]


@compiled
def returned_share(sent: Words64, places: Ints, correction: Words64, out: Words64) -> None:
    """π⁻¹(m) + Δ: the same for the permutation undone, of a vector that the other server has."""
    for i in range(sent.size):
        out[i] = sent[places[i]] + correction[i]


@compiled
def unit_vector(place: int, out: Words64) -> None:
    """1 at a place, 0 elsewhere."""
    out[:] = np.uint64(0)
    out[place] = np.uint64(1)
