"""SAMBA's customer and dealer, which wait for the Controller during the whole run.

The customer pays for a budget of pulls, and alone learns the cumulative reward. The dealer of a
silent run gives both servers correlated random words, and sees no data. The deadline of either
party must be that of the run.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from fedbandits.crypto.aead import TamperedPacketError
from fedbandits.crypto.keystream import KeyStream
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Start
from fedbandits.federation.messages import DuplicateError, Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    DEALT,
    TOTAL,
    WORD_BYTES,
    Line,
    SumCipher,
    WeakKeyError,
    decrypt,
    opened_total,
    public_bytes,
    read_word,
)
from fedbandits.systems.samba.keys import DealtKeys, TotalKey, make_keys
from fedbandits.systems.samba.messages import (
    Ask,
    Dealing,
    DealtFirst,
    DealtSecond,
    FirstTotal,
    Order,
    SecondTotal,
    Total,
)
from fedbandits.systems.samba.plan import Agreement, SambaPlan, accept
from fedbandits.systems.samba.roles.run import (
    Member,
    NamedRunState,
    Protocol,
    Rule,
    RunState,
    endings,
)
from fedbandits.systems.samba.silent import Deals

_ORDERS = Rule("_order", {"idle": "waiting"})


class CustomerState(RunState, frozen=True, kw_only=True):
    """All that changes in a customer."""

    cumulative_reward: int | None = None  # known at the end
    # Where two shares make the total: the run that the first share named, that share, its sender.
    run: bytes = b""
    share: int = 0
    sender: str = ""


class Customer(Member[CustomerState]):
    """Orders N pulls, and decrypts their cumulative reward, which nobody else can read.

    Raises
    ------
    LocalProtocolError
        If the customer's Paillier key is not one that the terms have.
    """

    STATE = CustomerState
    PROTOCOL: ClassVar[Protocol] = {
        Start: _ORDERS,
        Total: Rule("_decrypt", {"waiting": "done"}),
        **endings("waiting", "idle"),
    }

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._private_key = None if plan.config.total == "shares" else supply.private_key
        try:
            SumCipher.agreed(self.name, plan.config, public_bytes(self._private_key))
        except WeakKeyError as error:
            raise LocalProtocolError(str(error)) from None

    @property
    def awaited(self) -> int | None:
        """1 while the customer waits for the total."""
        return 1 if self._state.stage == "waiting" else super().awaited

    def _order(self, start: Start) -> Step:
        """Order the pulls (step 0)."""
        del start
        order = Order(
            sender=self.name,
            receiver=self._controller,
            budget=self._plan.rounds,
            algorithm=self._config.algorithm,
            public_key=public_bytes(self._private_key),
        )
        return Step(self._after(stage="waiting"), [order])

    def _decrypt(self, message: Total) -> Step:
        reward = decrypt(self._private_key, message.ciphertext)
        if reward > self._plan.rounds:
            raise TamperedPacketError(
                f"{self.name}: the total is larger than the number of pulls that were paid for"
            )
        return Step(self._after(stage="done", cumulative_reward=reward))


class SharesCustomer(Customer):
    """Orders N pulls, and adds up both servers' shares: neither server can read the sum."""

    PROTOCOL: ClassVar[Protocol] = {
        Start: _ORDERS,
        **dict.fromkeys((FirstTotal, SecondTotal), Rule("_add", {"waiting": "waiting done"})),
        **endings("waiting", "idle"),
    }

    def _add(self, message: FirstTotal | SecondTotal) -> Step:
        """Take a share of the total; with the second share the total is known."""
        state, sender = self._state, message.sender
        if sender == state.sender:
            raise DuplicateError(f"{self.name}: {sender} sent its share again")
        if state.run not in (b"", message.run):
            raise OutOfOrderError(f"{self.name}: {sender} sent its share of another run")
        share = self._open(message)
        if not state.sender:
            return Step(self._after(run=message.run, share=share, sender=sender))
        reward = opened_total(state.share, share, self._plan.rounds)
        return Step(self._after(stage="done", share=0, sender="", cumulative_reward=reward))

    def _open(self, message: FirstTotal | SecondTotal) -> int:
        plan, second = self._plan, isinstance(message, SecondTotal)
        agreed = accept(self.name, plan, plan.ordered, message.run)
        secret = self._supply.secrets["receipt" if second else "bill"]
        line = Line(self._config.packet_cipher, make_keys(TotalKey, secret, agreed).total, TOTAL)
        return read_word(line.open(plan.rounds + 1, 1, int(second), message.sealed, WORD_BYTES))


class DealerState(NamedRunState, frozen=True, kw_only=True):
    """All that changes in a dealer."""

    dealt: int = 0  # number of blocks dealt: no block is dealt twice


class _Tools(NamedTuple):
    """Streams and lines of the dealer in one run."""

    agreed: Agreement
    words: tuple[KeyStream, ...]
    lines: tuple[Line, ...]


class Dealer(Member[DealerState]):
    """Deals blocks one after the other, as the Controller asks for them."""

    STATE = DealerState
    PROTOCOL: ClassVar[Protocol] = {
        Dealing: Rule("_begin", {"idle": "dealing done"}),
        Ask: Rule("_answer", {"dealing": "dealing done"}),
        **endings("dealing", "idle", "done"),
    }

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._deals, self._comp = Deals(plan), seat.one("comp")

    @property
    def awaited(self) -> int | None:
        """The number of the block that the Controller asks for next."""
        return self._state.dealt if self._state.stage == "dealing" else super().awaited

    def _make_tools(self, run: bytes) -> _Tools:
        agreed, cipher = self._plan.agreement(run), self._config.packet_cipher
        secrets = (self._supply.secrets[server] for server in ("first", "second"))
        keys = [make_keys(DealtKeys, secret, agreed) for secret in secrets]
        widths = zip(keys, self._deals.widths, strict=True)
        words = tuple(KeyStream(key.words, width) for key, width in widths)
        return _Tools(agreed, words, tuple(Line(cipher, key.sealed, DEALT) for key in keys))

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
