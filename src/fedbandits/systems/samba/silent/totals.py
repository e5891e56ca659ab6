"""The cumulative reward from shares: each server adds up what it has, the customer adds both."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Words64
from fedbandits.crypto.aead import CipherName
from fedbandits.errors import RemoteProtocolError
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.sealed_steps import Timer
from fedbandits.systems.samba.silent.blocks import WORD_BYTES
from fedbandits.systems.samba.silent.packets import Line, word_bytes, word_of
from fedbandits.systems.samba.silent.streams import (
    TOTAL,
    UP,
    SilentSecrets,
    total_key,
    total_pad,
)


class TotalError(RemoteProtocolError):
    """Shares of a total that no run of that budget can have."""


def opened_total(first: int, second: int, budget: int) -> int:
    """The cumulative reward, from both servers' shares.

    Raises
    ------
    TotalError
        If it is not between 0 and the budget.
    """
    total = (first + second) % (1 << 64)
    if total > budget:
        raise TotalError(f"the shares add up to no reward of {budget} pulls")
    return total


def _carried(line: Line, step: int, word: np.uint64) -> np.uint64:
    """A word is sealed where it leaves and opened where it arrives."""
    sealed = line.seal(step, 1, 0, word_bytes(int(word)))
    return np.uint64(word_of(line.open(step, 1, 0, sealed, WORD_BYTES)))


class SharedTotal:
    """The total of a simulated run: owners split their sums between both servers.

    Parameters
    ----------
    secrets
        Of all parties.
    agreed
        What the run is about.
    cipher
        What packets are sealed by.
    """

    def __init__(self, secrets: SilentSecrets, agreed: Agreement, cipher: CipherName) -> None:
        keys = [secrets.owner(f"owner-{i}", agreed) for i in range(agreed.arms)]
        self._pads: Words64 = np.array([total_pad(k.pads.total) for k in keys], np.uint64)
        self._ups = [Line(cipher, k.seals.up, UP) for k in keys]
        self._bills = [
            Line(cipher, total_key(secret, agreed), TOTAL)
            for secret in (secrets.bill, secrets.receipt)
        ]
        self._budget = agreed.budget

    def add(self, sums: Floats, seconds: dict[str, float], clock: Timer) -> int:
        """The sum of all sums, (arms,), as the customer gets it; adds to the roles' seconds."""
        began, step = clock(), self._budget + 1
        words = sums.astype(np.int64).view(np.uint64) - self._pads
        shares = [_carried(line, step, word) for line, word in zip(self._ups, words, strict=True)]
        sent = clock()
        first = _carried(self._bills[0], step, np.sum(shares, dtype=np.uint64))
        added = clock()
        second = _carried(self._bills[1], step, self._pads.sum(dtype=np.uint64))
        told = clock()
        total = opened_total(int(first), int(second), self._budget)
        seconds["data owners"] += sent - began
        seconds["controller"] += added - sent
        seconds["comp"] += told - added
        seconds["customer"] += clock() - told
        return total
