"""Numbers of visits that no person exceeds, to one party and to all of them.

Several parties have noise of their own, so what a person costs follows from Σ n², with n visits to
each party (see :mod:`fedbandits.privacy.person`).
"""

from __future__ import annotations

import math

import numpy as np

#: Probability that somebody exceeds a number given here.
EXCEEDED = 0.01
#: Visits to one party up to which squares are bounded by their moments; beyond, counts vary little.
_MOMENTS = 2_000
#: Values of θ that are tried, as multiples of 1/c²; e^θc² must be a number.
_TRIED = np.geomspace(1e-4, 100.0, 240)


def largest_of_many(mean: float, persons: int, exceeded: float = EXCEEDED) -> int:
    """Find a count that no sum of ``persons`` many exceeds, but with probability ``exceeded``.

    Each is a sum of independent draws, and has at most the given ``mean``. By Chernoff's bound it
    reaches k > mean with a probability of at most exp(k - mean - k ln(k / mean)).
    """
    enough = math.log(persons / exceeded)

    def is_rare(count: int) -> bool:
        return count > mean and count * math.log(count / mean) - count + mean >= enough

    low, high = 0, 1
    while not is_rare(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_rare(middle) else (middle, high)
    return high - 1


def packed(visits: int, cap: int) -> int:
    """Return the largest Σ n² of counts n ≤ ``cap`` that come to ``visits``.

    Σ n² is convex, so as many counts as possible are ``cap``, and one is what is left.
    """
    full, rest = divmod(visits, cap)
    return full * cap * cap + rest * rest


def largest_squares(mean: float, mean_at_one: float, persons: int, parties: int, cap: int) -> int:
    """Find a Σ n² that no person exceeds, but with probability 1 %; n are its visits to each party.

    Visits to a party are sums of independent draws. With half of that probability somebody has more
    than c visits to one party. Else Σ n² ≤ c Σ n. Chernoff's bound says more: for every θ > 0,
    with g(n) = e^(θ n²) up to c and linear beyond,

        P(Σ n² ≥ s) ≤ e^(-θ s) Π E[g(n)].

    g is convex. So E[g(n)] is largest for Poisson counts, and E[g(n)] - 1, as a function of the
    mean, is at most proportional to it. With h for the party of the largest mean, the product is at
    most (1 + h)^parties, and at most e^(h · mean / mean_at_one).

    Parameters
    ----------
    mean, mean_at_one
        The largest expected number of a person's visits: to all parties, and to one of them.
    persons
        Number of persons.
    parties
        Largest number of parties that one person visits.
    cap
        Largest number of visits to one party that count.
    """
    each = min(cap, largest_of_many(mean_at_one, persons * parties, EXCEEDED / 2.0))
    all_visits = largest_of_many(mean, persons, EXCEEDED / 2.0)
    found = packed(all_visits, each)
    if each > _MOMENTS:
        return found
    allowed = math.log(persons / (EXCEEDED / 2.0))
    for theta in _TRIED / (each * each):
        h = _excess(float(theta), mean_at_one, each)
        log_product = min(parties * math.log1p(h), h * mean / mean_at_one)
        found = min(found, math.floor((log_product + allowed) / theta))
    return found


def _excess(theta: float, mean: float, knee: int) -> float:
    """Return E[g(n)] - 1 for a Poisson count of that mean; g is e^(θ n²) up to ``knee``."""
    last = 2 * (knee + math.ceil(mean)) + 60  # from there on each term is half of the one before
    n = np.arange(last + 1, dtype=np.float64)
    logs = n * math.log(mean) - mean
    logs[1:] -= np.cumsum(np.log(n[1:]))
    step = math.exp(theta * knee**2) - math.exp(theta * (knee - 1) ** 2)
    bent = np.minimum(n, knee)
    g = np.expm1(theta * bent * bent) + step * (n - bent)
    terms = np.exp(logs) * g
    return float(terms.sum() + 3.0 * terms[-1])
