"""The dealer of a silent run: gives both servers correlated random words, and sees no data."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from fedbandits.crypto.keystream import KeyStream
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import DEALT, Line
from fedbandits.systems.samba.keys import DealerKeys
from fedbandits.systems.samba.messages import Ask, Dealing, DealtFirst, DealtSecond
from fedbandits.systems.samba.plan import Agreement, SambaPlan
from fedbandits.systems.samba.roles.run import Member, NamedRunState, endings
from fedbandits.systems.samba.silent import Deals


class DealerState(NamedRunState, frozen=True, kw_only=True):
    """All that changes in a dealer."""

    dealt: int = 0  # how many blocks it has dealt: it deals none again


class _Tools(NamedTuple):
    """Streams and lines of the dealer in one run."""

    agreed: Agreement
    words: tuple[KeyStream, ...]
    lines: tuple[Line, ...]


class Dealer(Member[DealerState]):
    """Deals blocks one after the other, as the Controller asks for them.

    It waits for that during the whole run: its deadline must be that of the run.
    """

    STATE = DealerState
    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Dealing): ("dealing", "done"),
        ("dealing", Ask): ("dealing", "done"),
        **endings("dealing", "idle", "done"),
    }

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._deals, self._comp = Deals(plan), seat.one("comp")

    @property
    def awaited(self) -> int | None:
        """The block that it will be asked for next."""
        return self._state.dealt if self._state.stage == "dealing" else super().awaited

    def _make_tools(self, run: bytes) -> _Tools:
        agreed, cipher = self._plan.agreement(run), self._config.packet_cipher
        keys = DealerKeys.make(self._supply.secrets, agreed)
        widths = zip(keys, self._deals.widths, strict=True)
        words = tuple(KeyStream(each.words, width) for each, width in widths)
        return _Tools(agreed, words, tuple(Line(cipher, each.sealed, DEALT) for each in keys))

    def _compute(self, event: Any) -> Step:
        match event:
            case Ask():
                return self._answer(event)
            case Dealing():
                return self._begin(event)
            case _:
                return super()._compute(event)

    def _begin(self, dealing: Dealing) -> Step:
        self._accepted(dealing)
        tools = self._make_tools(dealing.run)
        if not self._deals.count:
            return self._begun(self._after(stage="done", run=dealing.run), tools)
        after = self._after(stage=self._next_stage(1), run=dealing.run, dealt=1)
        return self._begun(after, tools, self._dealt(0, tools))

    def _answer(self, message: Ask) -> Step:
        block = self._state.dealt
        if message.block != block:
            raise OutOfOrderError(
                f"{self.name}: asked for block {message.block}, the next one is {block}"
            )
        after = self._after(stage=self._next_stage(block + 1), dealt=block + 1)
        return Step(after, self._dealt(block, self._tools))

    def _next_stage(self, dealt: int) -> str:
        return "dealing" if dealt < self._deals.count else "done"

    def _dealt(self, block: int, tools: _Tools) -> list[Message]:
        payloads = zip(tools.lines, self._deals.deal(tools.words, block), strict=True)
        first, second = (line.seal(block, 1, 0, payload) for line, payload in payloads)
        return [
            DealtFirst(sender=self.name, receiver=self._controller, block=block, sealed=first),
            DealtSecond(sender=self.name, receiver=self._comp, block=block, sealed=second),
        ]
