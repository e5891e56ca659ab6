"""The streams of all owners in a simulation, for the compiled loop."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.keystream import KeyStream
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.silent.kernels import OwnerWords
from fedbandits.systems.samba.silent.streams import OwnerKeys


class OwnerStreams:
    """A word an owner, a turn and a purpose.

    Parameters
    ----------
    keys
        Of every owner.
    agreed
        What the run is about.
    sealed
        Whether words and answers are sealed by key stream.
    """

    def __init__(self, keys: list[OwnerKeys], agreed: Agreement, sealed: bool) -> None:
        purposes = [[k.pads.words for k in keys], [k.pads.answers for k in keys]]
        if sealed:
            purposes += [[k.seals.up for k in keys], [k.seals.down for k in keys]]
        self._purposes = [[KeyStream(key, 1) for key in of_all] for of_all in purposes]
        self._unsealed = np.zeros((agreed.arms, 1), np.uint64)
        self._made: list[Words64] = []

    def words(self, first: int, turns: int) -> OwnerWords:
        """Words of so many turns from turn number ``first`` on; the next call overwrites them."""
        owners = len(self._unsealed)
        if not self._made or self._made[0].shape[1] != turns:
            self._made = [np.empty((owners, turns), np.uint64) for _ in self._purposes]
        for streams, words in zip(self._purposes, self._made, strict=True):
            for stream, row in zip(streams, words, strict=True):
                stream.fill(first, row[:, None])
        return OwnerWords(*self._made, *[self._unsealed] * (4 - len(self._made)))
