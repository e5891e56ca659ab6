"""Beta variables from counter-based draws, for Thompson sampling."""

from __future__ import annotations

import math

from fedbandits._compile import compiled
from fedbandits.random import Key, Purpose, normal, uniform

_POSTERIOR = int(Purpose.POSTERIOR)
#: Draws set aside for one gamma variable; each attempt takes three and succeeds with over 95%.
_SPAN = 1 << 16


@compiled
def _draw_gamma(shape: float, key: Key, party: int, round_: int, offset: int) -> float:
    """A gamma variable of shape ≥ 1, scale 1, by rejection (Marsaglia & Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    for attempt in range(_SPAN // 4):
        place = offset + 4 * attempt
        x = normal(key, party, round_, _POSTERIOR, place)
        v = (1.0 + c * x) ** 3
        if v <= 0.0:
            continue
        u = 1.0 - uniform(key, party, round_, _POSTERIOR, place + 2)
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v
    return d


@compiled
def draw_beta(a: float, b: float, key: Key, party: int, round_: int) -> float:
    """A Beta(a, b) variable, a and b at least 1, as a ratio of two gamma variables.

    Parameters
    ----------
    a, b : float
    key, party, round_
        They name the random draws.
    """
    x = _draw_gamma(a, key, party, round_, 0)
    y = _draw_gamma(b, key, party, round_, _SPAN)
    return x / (x + y)
