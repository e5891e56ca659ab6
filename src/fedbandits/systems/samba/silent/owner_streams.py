"""The streams of all owners in a simulation, for the compiled loop."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.keystream import KeyStream
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.silent.kernels import OwnerWords
from fedbandits.systems.samba.silent.streams import OwnerKeys

#: Turns that are made at once at least: an owner has its own keys, and to go on with the stream of
#: one takes longer than to make a few words.
_LEAST_TURNS = 256


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
        self._first, self._turns = 0, 0

    def words(self, first: int, turns: int) -> tuple[OwnerWords, int]:
        """Words of so many turns from turn number ``first`` on.

        Returns
        -------
        OwnerWords
            Of some turns; later calls overwrite them.
        int
            The column of turn ``first``.
        """
        offset = first - self._first
        if not (self._made and 0 <= offset <= self._turns - turns):
            self._make(first, max(turns, _LEAST_TURNS))
            offset = 0
        return OwnerWords(*self._made, *[self._unsealed] * (4 - len(self._made))), offset

    def _make(self, first: int, turns: int) -> None:
        owners = len(self._unsealed)
        if turns != self._turns:
            self._made = [np.empty((owners, turns), np.uint64) for _ in self._purposes]
        self._first, self._turns = first, turns
        for streams, words in zip(self._purposes, self._made, strict=True):
            for stream, row in zip(streams, words, strict=True):
                stream.fill(first, row[:, None])
