"""Whose releases a party knows, and which of them it may use by now."""

from __future__ import annotations

import msgspec

from fedbandits._typing import Floats


class Known(msgspec.Struct, frozen=True):
    """A release, and the round from whose end on it may be used."""

    release: int
    usable: int
    values: Floats


class Knowledge:
    """The newest releases of everybody; older ones only while newer ones must still wait."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], list[Known]] = {}

    def newest_number(self, agent: int, estimator: int) -> int:
        """Of what is known of an agent's estimator, usable or not; 0 if nothing is."""
        known = self._known.get((agent, estimator))
        return known[-1].release if known else 0

    def usable(self, agent: int, estimator: int, round_: int) -> Known | None:
        """The newest release that may be used at the end of a round."""
        fitting = [k for k in self._known.get((agent, estimator), ()) if k.usable <= round_]
        return fitting[-1] if fitting else None

    def add(self, agent: int, estimator: int, known: Known, round_: int) -> None:
        """Keep a release, newer than all before it, and forget what it makes needless."""
        kept = self._known.get((agent, estimator), [])
        serving = self.usable(agent, estimator, round_)
        least = serving.release if serving else 0
        self._known[agent, estimator] = [k for k in kept if k.release >= least] + [known]
