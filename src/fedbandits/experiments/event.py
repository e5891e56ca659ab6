"""The base of all events, and the row of values that some of them carry."""

from __future__ import annotations

import math
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower):
    """Base class of events.

    What an event does not explain itself means the same in all of them:

    * ``experiment``, ``systems``: name of the experiment, and labels of its systems, in order.
    * ``system``, ``replicate``: label of the system, and number of the replicate, from 0.
    * ``point``, ``values``: number of the point of a sweep, from 0, and its values, by the names of
      the swept keys.
    * ``done``, ``rounds``: number of rounds of a replicate that have been played, including those
      before an interruption, and of all.
    * ``finished``, ``total``: number of replicates of a run, or of points of a sweep, that are
      finished, including those of an earlier run, and of all.
    * ``out``: folder of the files; None if no files are written.
    """

    def to_table(self) -> dict[str, Any]:
        """Return the event as plain values for JSON; ``"event"`` is the name of its type.

        Numbers that are not finite are None.
        """
        table: dict[str, Any] = msgspec.to_builtins(self, enc_hook=lambda _: None)
        return {key: _finite(value) for key, value in table.items() if key != "results"}


def _finite(value: Any) -> Any:
    """Write numbers that JSON does not know as None, also in tables and lists."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Row(msgspec.Struct, frozen=True):
    """Values of one replicate after a number of rounds; all are cumulative.

    Parameters
    ----------
    round
        The number of rounds.
    regret, reward
        Of all parties together. On a log regret is NaN, and reward is that of the decisions that
        tell something: the value is estimated at the end.
    messages, bytes, syncs
        Of all parties together.
    epsilon
        ε spent on the contents of one party's messages.
    """

    round: int
    regret: float
    reward: float
    messages: float
    bytes: float
    syncs: float
    epsilon: float
