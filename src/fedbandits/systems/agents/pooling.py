"""How the agents' releases are brought together."""

from __future__ import annotations

from typing import NamedTuple


class Pooling(NamedTuple):
    """How releases are brought together, by a controller or over a graph."""

    typical: float  # agents in a pooled sum
    sums: int  # different pooled sums that one release of every agent leads to
    orders: int  # different orders in which records enter pooled sums: one martingale each
    estimators: int = 1  # to which rounds are dealt in turn
    divisor: float = 1.0  # of the trigger's threshold
    share: float = 1.0  # of α, that bounds on pooled sums have
    others: int = 1  # with a joint view, the same as sums, of releases without one's own
