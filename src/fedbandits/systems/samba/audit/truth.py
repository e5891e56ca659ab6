"""What really happened in a run of SAMBA's parties, to check what somebody worked out."""

from __future__ import annotations

from typing import Any

from fedbandits._typing import Floats
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.messages import BitList, ScoreList
from fedbandits.systems.samba.packets import BIT_BYTES, BITS, SCORE_BYTES, SCORES, floats


class Truth:
    """What really happened in a run, known to whoever holds every key.

    Parameters
    ----------
    run
        SAMBA's parties, played to the end.
    """

    def __init__(self, run: PartiesReplicate) -> None:
        self._comp, self._controller = run.one("comp"), run.one("controller")
        #: sᵢ of every owner.
        self.sums = [owner.state.rewards for owner in run.of("owner")]
        #: The sum of all rewards.
        self.total = sum(self.sums)
        turns = {
            (m.step, m.iteration)
            for _, m in run.network.transcript.deliveries
            if isinstance(m, ScoreList)
        }
        #: (arms,) places of the owners, by step and iteration.
        self.lists = {turn: self._controller.draws.places(*turn) for turn in turns}
        self._contents: dict[tuple[int, int, int, bytes], bytes] = {}
        self._scores: dict[tuple[int, int], Floats] = {}
        for _, message in run.network.transcript.deliveries:
            if isinstance(message, ScoreList | BitList):
                self._note(message)

    def _note(self, message: ScoreList | BitList) -> None:
        kind = (SCORES, SCORE_BYTES) if isinstance(message, ScoreList) else (BITS, BIT_BYTES)
        opened = self._comp.reopen(*kind, message.step, message.iteration, message.sealed)
        for sealed, contents in zip(message.sealed, opened, strict=True):
            self._contents[kind[0], message.step, message.iteration, sealed] = contents
        if isinstance(message, ScoreList):
            mask = self._controller.draws.mask(message.step, message.iteration)
            self._scores[message.step, message.iteration] = floats(opened) / mask

    def contents(self, direction: int, message: Any, sealed: bytes) -> bytes:
        """What is in a packet."""
        return self._contents[direction, message.step, message.iteration, sealed]

    def place(self, message: Any, owner: int) -> int:
        """Where an owner stands in a list."""
        return int(self.lists[message.step, message.iteration][owner])

    def score(self, message: Any, owner: int) -> float:
        """An owner's score without its mask."""
        return float(self._scores[message.step, message.iteration][self.place(message, owner)])
