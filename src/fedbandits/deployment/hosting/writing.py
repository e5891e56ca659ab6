"""One transaction of a host: events that are carried out together, and what they write."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.deployment.hosting.events import Hands, Kind, Outcome, Received, Told
from fedbandits.deployment.hosting.ledgers import budget_of
from fedbandits.deployment.hosting.means import StoredMeans
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.store import Entry, Header, Store
from fedbandits.errors import (
    ClockError,
    DuplicateRewardError,
    FedbanditsError,
    LateRewardError,
    LedgerError,
    LocalProtocolError,
    NotReadyError,
    UnknownDecisionError,
)
from fedbandits.federation.links import Receipt
from fedbandits.federation.messages import Message
from fedbandits.privacy.ledger.tables import CHARGES

#: A state is saved when the journal since the last one is as long as this, and twice that one.
_LEAST_JOURNAL = 1 << 20
#: A journal is not longer than so many events: a restart plays them all.
_MOST_EVENTS = 4_096
#: Events in which nothing is ever released, so that nothing needs to be taken back.
_NEVER_RELEASE = frozenset({Kind.DECIDE, Kind.OBSERVE, Kind.START, Kind.PULL})


class Batch:
    """Events in one transaction.

    Parameters
    ----------
    store, connection
        The store, and the transaction.
    hands
        The party, as it is now; None before it is made.
    seat
        Which party it is.
    """

    def __init__(
        self, store: Store, connection: Connection, hands: Hands | None, seat: HostedSeat
    ) -> None:
        self.store, self.connection, self.hands, self._seat = store, connection, hands, seat
        self._entries: list[Entry] = []
        self._headers: list[Header] = []
        self._asked: list[int] = []
        self._answered: list[int] = []
        self._saves = self._restored = False
        #: Messages to send: (member, number, bytes).
        self.outgoing: list[tuple[str, int, bytes]] = []
        #: For every member that a message was taken of, the number that comes next.
        self.received: dict[str, int] = {}
        #: For members whose link has moved, the numbers that come next from and to them.
        self.counts: dict[str, tuple[int, int]] = {}
        self.outcomes: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.last_refusal = ""
        #: Whether what was committed must be on the disk before anything is sent.
        self.must_be_on_disk = False
        #: Number of the newest event.
        self.event = 0 if hands is None else hands.events
        #: Bytes in the journal since the newest saved state, and bytes of that.
        self.bytes_since = (0, 0)

    def restore(self, means: StoredMeans) -> Hands:
        """The party from its newest state and what came after it; a new one if there is none."""
        saved = self.store.saved(self.connection)
        party = self._seat.make(means)
        self.hands = hands = Hands(party, self._seat.application)
        hands.is_charged = budget_of(self._seat) is not None
        if saved.body is not None:
            party.load(saved.body)
        for entry in saved.journal:
            hands.replay(entry.kind, entry.body)
        means.end_replay()
        self.event = hands.events = saved.journal[-1].event if saved.journal else saved.event
        if saved.body is None and not saved.journal:
            self.carry_out(Kind.START, None)
        self._saves = self._restored = True
        return hands

    def carry_out(self, kind: Kind, content: Any) -> Any:
        """Carry out an event, and note what is to be written.

        Raises
        ------
        FedbanditsError
            If the party refuses it. Nothing has changed then, in the transaction either.
        """
        hands = self.hands
        if hands is None:
            raise LocalProtocolError(f"{self._seat.member}: the party has not begun")
        if kind is Kind.OBSERVE:
            self._check_open(content)
        outcome = self._applied(hands, kind, content)
        if not (kind is Kind.RECEIVE and outcome.answer.outcome == "duplicate"):
            self._note(kind, hands.encode(kind, content))
        self._after(kind, content, outcome)
        if kind in (Kind.OBSERVE, Kind.PULL, Kind.RECEIVE) and self._seat.ends_rounds_itself:
            self._end_rounds(hands)
        return outcome.answer

    def _applied(self, hands: Hands, kind: Kind, content: Any) -> Outcome:
        if kind in _NEVER_RELEASE or not hands.is_charged:
            return hands.apply(kind, content)
        charges = self._charges()
        self.connection.exec_driver_sql("SAVEPOINT event").close()
        try:
            outcome = hands.apply(kind, content)
        except FedbanditsError as refused:
            if isinstance(refused, LedgerError) and type(refused) is not ClockError:
                raise  # the transaction has failed: there is nothing to go back to
            self.connection.exec_driver_sql("ROLLBACK TO SAVEPOINT event").close()
            raise
        for receipt in outcome.receipts:  # a message that was held has met a failure of our own
            if isinstance(receipt.why, LedgerError) and type(receipt.why) is not ClockError:
                raise receipt.why
        self.connection.exec_driver_sql("RELEASE SAVEPOINT event").close()
        self._saves = self._saves or self._charges() > charges
        return outcome

    def _charges(self) -> int:
        """How many releases were charged for, ever."""
        count = sa.select(sa.func.count()).select_from(CHARGES)
        return int(self.connection.execute(count).scalar_one())

    def _note(self, kind: Kind, body: bytes) -> None:
        self.event += 1
        assert self.hands is not None  # noqa: S101
        self.hands.events = self.event
        self._entries.append(Entry(self.event, int(kind), body))

    def _after(self, kind: Kind, content: Any, outcome: Outcome) -> None:
        """Note what an event has led to."""
        if kind is Kind.DECIDE:
            self._asked.append(outcome.answer[0])
        elif kind is Kind.OBSERVE:
            self._answered.append(content[0])
        elif kind is Kind.PULL:
            self.must_be_on_disk = True
        for message in outcome.outgoing:
            self._send(message)
        now = time.time() if outcome.receipts else 0.0
        for receipt in outcome.receipts:
            self._seen(receipt, now, content)

    def _send(self, message: Message) -> None:
        body = self._seat.federation.roles.codec.encode(message)
        peer = self._seat.federation.member_of[message.receiver]
        self.outgoing.append((peer, message.number, body))
        self._headers.append(
            Header(
                time.time(), "sent", peer, type(message).__name__, message.number, len(body), "sent"
            )
        )

    def _seen(self, receipt: Receipt, now: float, content: Received) -> None:
        self.outcomes[receipt.outcome] += 1
        if receipt.why is not None and receipt.outcome == "refused":
            self.refusals[type(receipt.why).__name__] += 1
            self.last_refusal = f"{type(receipt.why).__name__}: {receipt.why}"
        message = receipt.message
        sender = content.sender if message is None else message.sender
        member = self._seat.federation.member_of.get(sender, "?")
        kind, number = ("?", -1) if message is None else (type(message).__name__, message.number)
        size = len(content.data) if isinstance(content, Received) else 0
        self._headers.append(Header(now, "seen", member, kind, number, size, receipt.outcome))

    def pull(self, number: int, reward: int) -> None:
        """Tell what a pull has earned, if it is still the one that is due.

        Raises
        ------
        NotReadyError
            If it is not: what was told twice must not count for the pull that comes next.
        """
        if self.hands is None or self.hands.party.round_to_act != number:
            raise NotReadyError(f"{self._seat.member}: pull {number} is not due")
        self.carry_out(Kind.PULL, reward)

    def end_next_round(self) -> None:
        """End the next round whose end matters to the party, if one does."""
        end = None if self.hands is None else self.hands.party.next_end
        if end is not None:
            self.carry_out(Kind.END_ROUND, end)

    def _end_rounds(self, hands: Hands) -> None:
        """Where rounds end by themselves: those that so many decisions have come to."""
        party = hands.party
        while (end := party.next_end) is not None:
            waiting = party.open_decisions
            if waiting is not None and party.decisions_made - len(waiting) < end:
                break
            self.carry_out(Kind.END_ROUND, end)

    def _check_open(self, content: Told) -> None:
        """Say in which way a decision is not open."""
        assert self.hands is not None  # noqa: S101
        number, party = content[0], self.hands.party
        waiting = party.open_decisions
        if waiting is None or number in waiting:
            return
        if not 0 < number <= party.decisions_made:
            raise UnknownDecisionError(f"{self._seat.member}: decision {number} was never made")
        if self.store.has_expired(self.connection, number):
            raise LateRewardError(
                f"{self._seat.member}: the reward of decision {number} did not come in time, and "
                "a default counts in its place"
            )
        if number <= party.settled_decisions:
            raise LateRewardError(
                f"{self._seat.member}: decision {number} has its reward already, or it is in a "
                "release that has left"
            )
        raise DuplicateRewardError(f"{self._seat.member}: decision {number} has its reward already")

    def expire(self, before: float, stands: Any) -> int:
        """Observe what stands for rewards that are overdue; returns how many there were."""
        overdue = self.store.overdue(self.connection, before)
        for number in overdue:
            try:
                self.carry_out(Kind.OBSERVE, Told(number, stands))
            except LocalProtocolError:  # its release has left, or it was answered just now
                self._answered.append(number)
            else:
                self.store.expire(self.connection, number)
        return len(overdue)

    def save_state(self) -> None:
        """Save the state with this transaction."""
        self._saves = True

    def write(self, bytes_since: tuple[int, int], acknowledged: Mapping[str, int]) -> None:
        """Write everything that was noted.

        Parameters
        ----------
        bytes_since
            :attr:`bytes_since` of the batch before.
        acknowledged
            By member, the number below which its messages need not be kept.
        """
        store, connection, hands = self.store, self.connection, self.hands
        store.acknowledged(connection, acknowledged)
        store.note(connection, self._entries)
        store.post(connection, self.outgoing)
        store.head(connection, self._headers)
        if self._seat.federation.reward_default is not None:
            now = time.time()
            store.asked(connection, set(self._asked) - set(self._answered), now)
            store.answered(connection, self._answered)
        if hands is None:
            return
        self.count(hands)
        journal, state = bytes_since
        journal += sum(len(entry.body) for entry in self._entries)
        hands.since += len(self._entries)
        if self._saves or journal > max(_LEAST_JOURNAL, 2 * state) or hands.since >= _MOST_EVENTS:
            body = hands.party.dump()
            store.keep_state(connection, self.event, body, self._seat.keep_journal)
            journal, state, hands.since = 0, len(body), 0
        self.bytes_since = journal, state

    def count(self, hands: Hands) -> None:
        """Note where the links stand that have moved."""
        links, members = hands.party.links, self._seat.federation.member_of
        for peer in hands.touched:
            if peer in links:
                self.received[members[peer]] = links[peer].received
        hands.touched.clear()
        moved = links if self._restored else ()
        for peer in moved:
            self.counts[members[peer]] = links[peer].received, links[peer].sent
        for member in {*self.received, *(member for member, _, _ in self.outgoing)}:
            link = links[self._seat.federation.party_of[member]]
            self.counts[member] = link.received, link.sent
