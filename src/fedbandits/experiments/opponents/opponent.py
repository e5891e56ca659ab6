"""An opponent that is played beside a run, and how a result keeps it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from fedbandits._typing import Floats

#: The attribute of a result that holds its opponents, as JSON.
ATTRIBUTE = "opponents"


class Opponent(msgspec.Struct, frozen=True, kw_only=True):
    """Parties that learn in a way that a user has without a private system.

    They meet the contexts and reward draws of a run's replicates.

    Parameters
    ----------
    name
        What they learn by, in words: ``LinUCB on prepared rows``.
    kind
        ``alone``, or ``pooled``: all records in clear.
    losses
        What one of the parties lost on average by the end, in each of the first replicates.
    parties
        Numbers of the parties that were played, from 0. Empty: all of them.
    sampled
        The same as ``losses`` of some parties only: those with which opponents whose model is not
        linear learn alone. Empty: they are the same numbers.
    linear
        Whether the model is linear in the context, as that of the private systems.
    """

    name: str
    kind: Literal["alone", "pooled"]
    losses: tuple[float, ...]
    parties: tuple[int, ...] = ()
    sampled: tuple[float, ...] = ()
    linear: bool = True

    def over(self, replicates: int, sampled: bool = False) -> Floats:
        """Return its losses, or those that are ``sampled``, (replicates,); NaN if not played."""
        losses = self.sampled if sampled and self.sampled else self.losses
        found = np.full(replicates, np.nan)
        count = min(replicates, len(losses))
        found[:count] = losses[:count]
        return found


def noted(opponents: Sequence[Opponent]) -> dict[str, str]:
    """Return the attributes by which a result keeps opponents."""
    return {ATTRIBUTE: json.dumps(msgspec.to_builtins(opponents), ensure_ascii=False)}


def opponents_in(attributes: Any) -> tuple[Opponent, ...] | None:
    """Read the opponents that a result keeps; None if none were looked for."""
    if ATTRIBUTE not in attributes:
        return None
    return msgspec.convert(json.loads(attributes[ATTRIBUTE]), tuple[Opponent, ...])
