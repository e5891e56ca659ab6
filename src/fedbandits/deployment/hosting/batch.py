"""One transaction of a host: events that are carried out together, and what they write."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from sqlalchemy.engine import Connection

from fedbandits.deployment.delivery.exchange import Standing, standing_of
from fedbandits.deployment.delivery.frames import extended
from fedbandits.deployment.hosting.events import HostedParty, Kind, Received
from fedbandits.deployment.hosting.known import EARLIER, marks_known
from fedbandits.deployment.hosting.resources import StoredResources
from fedbandits.deployment.hosting.restoring import (
    all_left,
    require_newest,
    require_same_boot,
)
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.machine import machine_boot
from fedbandits.deployment.storage.rows import Entry, Header, Left, Opened, Sent
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import (
    DuplicateRewardError,
    FedbanditsError,
    LateRewardError,
    LocalProtocolError,
    NotReadyError,
    UnknownDecisionError,
)
from fedbandits.federation.links import Receipt
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.state import Handled

#: A state is saved when the journal since the last one is as long as this, and twice that one.
_LEAST_JOURNAL = 1 << 20
#: A journal is not longer than so many events: a restart carries them all out again.
_MOST_EVENTS = 4_096
#: Events that are no exchange with peers.
_ALONE = frozenset({Kind.DECIDE, Kind.OBSERVE})
#: Events in which nothing is ever released, so that nothing needs to be taken back.
_NEVER_RELEASE = frozenset({Kind.DECIDE, Kind.OBSERVE, Kind.START, Kind.PULL})


def saves(bytes_since: tuple[int, int], hosted: HostedParty) -> bool:
    """Tell whether the next batch saves the state, for the journal has become long."""
    journal, state = bytes_since
    return journal > max(_LEAST_JOURNAL, 2 * state) or hosted.since >= _MOST_EVENTS


class Batch:
    """Events in one transaction of a store. ``hosted`` is None before the party is made."""

    def __init__(
        self, store: Store, connection: Connection, hosted: HostedParty | None, seat: HostedSeat
    ) -> None:
        self.store, self.connection, self.hosted, self.seat = store, connection, hosted, seat
        self._entries: list[Entry] = []
        self._headers: list[Header] = []
        self._asked: dict[int, Opened] = {}
        self._answered: list[int] = []
        self._saves = self._restored = False
        self._exchanges = False
        self._erased = 0 if hosted is None else hosted.party.erased
        self._leaves: Left | None = None
        #: Messages to send.
        self.outgoing: list[Sent] = []
        #: For every member that a message was taken of, the number that comes next.
        self.received: dict[str, int] = {}
        #: For members whose link has moved, where the exchange with them stands.
        self.counts: dict[str, Standing] = {}
        self.outcomes: dict[str, int] = {}
        self.refusals: dict[str, int] = {}
        self.last_refusal = ""
        #: Whether what was committed must be on the disk before anything is sent.
        self.must_be_on_disk = False
        #: Whether keys are erased: a store's log has them until a checkpoint.
        self.erases = False
        #: Number of the newest event.
        self.event = 0 if hosted is None else hosted.events
        #: Bytes in the journal since the newest saved state, and bytes of that.
        self.bytes_since = (0, 0)
        #: For every peer the messages that it has taken, as was written.
        self.acknowledged: Mapping[str, tuple[int, bytes]] = {}

    @property
    def exchanges(self) -> bool:
        """True if anything happened beside decisions and rewards."""
        return self._exchanges or self._restored or bool(self.outgoing or self.outcomes)

    def begin(self, resources: StoredResources) -> list[Sent]:
        """Make the party, or restore it; returns the messages that are still to be sent.

        Raises StaleStoreError if the store is older than what has left; SnapshotError or StoreError
        if its state or journal cannot be read. The transaction must fail then.
        """
        self._open_account()
        require_newest(self.store, self.connection, self.seat)
        party = self.restore(resources).party
        resources.erase_secrets()  # the state, which is saved now, has what is needed of them
        if self.seat.is_chatty:
            require_same_boot(self.store, self.connection, self.seat, party, machine_boot())
        return self.store.outbox(self.connection)

    def _open_account(self) -> None:
        """Give the party its budget, if its releases cost anything and it has none yet."""
        seat, ledger = self.seat, self.store.ledger
        if (budget := seat.budget) is None:
            return
        ledger.open_account(self.connection, seat.member, seat.claim, *budget)
        if seat.earlier and not ledger.statement(self.connection, seat.member).charges:
            ledger.charge(self.connection, seat.member, EARLIER, 1, seat.earlier_event)

    def restore(self, resources: StoredResources) -> HostedParty:
        """Make the party from its newest state and the events since; a new one without a state."""
        saved = self.store.saved(self.connection)
        party = self.seat.make(resources)
        hosted = HostedParty(party, self.seat.application)
        hosted.is_charged = self.seat.budget is not None
        hosted.ends_rounds_itself = self.seat.ends_rounds_itself
        if saved.body is not None:
            party.load(saved.body)
        for entry in saved.journal:
            hosted.replay(entry.kind, entry.body)
        resources.end_replay()
        hosted.marks = marks_known(self.connection)[-1]
        self.event = hosted.events = saved.journal[-1].event if saved.journal else saved.event
        self.hosted = hosted  # not before: a party that is read by halves must not be saved
        if saved.body is None and not saved.journal:
            self.carry_out(Kind.START, None)
        self._saves = self._restored = True
        self._leaves = self._all_left(hosted)
        return hosted

    def carry_out(self, kind: Kind, content: Any) -> Any:
        """Carry out an event, and note what is to be written.

        Raises FedbanditsError if the party refuses it. Nothing has changed then, in the transaction
        either.
        """
        hosted = self.hosted
        if hosted is None:
            raise LocalProtocolError(f"{self.seat.member}: the party has not begun")
        if kind is Kind.OBSERVE:
            require_open(self.store, self.connection, self.seat.member, hosted.party, content[0])
        handled = self._applied(hosted, kind, content)
        if not (kind is Kind.RECEIVE and handled.answer.outcome == "duplicate"):
            self._note(hosted, kind, content)
        self._after(kind, content, handled)
        if hosted.ends_rounds_itself and kind in (Kind.OBSERVE, Kind.PULL, Kind.RECEIVE):
            self._end_rounds(hosted)
        return handled.answer

    def _applied(self, hosted: HostedParty, kind: Kind, content: Any) -> Handled:
        """Carry out an event; if it erases keys, replace the saved state, which still has them."""
        handled = self._charged(hosted, kind, content)
        self._saves = self._saves or hosted.party.erased != self._erased
        return handled

    def _charged(self, hosted: HostedParty, kind: Kind, content: Any) -> Handled:
        if kind in _NEVER_RELEASE or not hosted.is_charged:
            return hosted.apply(kind, content)
        charges = self._charges()
        self.connection.exec_driver_sql("SAVEPOINT event").close()
        try:
            handled = hosted.apply(kind, content)
        except FedbanditsError as refused:
            if not getattr(refused, "FAILS_TRANSACTION", False):
                self.connection.exec_driver_sql("ROLLBACK TO SAVEPOINT event").close()
            raise
        for receipt in handled.followed:  # a message that was held has met a failure of our own
            if receipt.why is not None and getattr(receipt.why, "FAILS_TRANSACTION", False):
                raise receipt.why
        self.connection.exec_driver_sql("RELEASE SAVEPOINT event").close()
        self._saves = self._saves or self._charges() > charges
        return handled

    def _charges(self) -> int:
        """Count all releases that the party was ever charged for."""
        return self.store.ledger.spent(self.connection, self.seat.member).charges

    def _note(self, hosted: HostedParty, kind: Kind, content: Any) -> None:
        self.event += 1
        self._exchanges = self._exchanges or kind not in _ALONE
        hosted.events = self.event
        self._entries.append(Entry(self.event, int(kind), hosted.encode(content)))

    def _after(self, kind: Kind, content: Any, handled: Handled) -> None:
        """Note decisions, rewards and messages of an event that was carried out."""
        if kind is Kind.DECIDE:
            self._asked[handled.answer[0]] = Opened(handled.answer[0])
        elif kind is Kind.OBSERVE:
            self._answered.append(content[0])
        elif kind is Kind.PULL:
            self.must_be_on_disk = True
        for message in handled.outgoing:
            self._send(message)
        now = time.time() if handled.followed else 0.0
        for receipt in handled.followed:
            self._seen(receipt, now, content)

    def _send(self, message: Message) -> None:
        body = self.seat.federation.roles.codec.encode(message)
        peer = self.seat.federation.member_of[message.receiver]
        kind, number = type(message).__name__, message.number
        self.outgoing.append(Sent(peer, number, body))
        if self.hosted is not None:
            _, mark = self.hosted.marks.get(peer, (0, b""))
            self.hosted.marks[peer] = number + 1, extended(mark, body)
        self._headers.append(Header(time.time(), "sent", peer, kind, number, len(body), "sent"))

    def _seen(self, receipt: Receipt, now: float, content: Received) -> None:
        self.outcomes[receipt.outcome] = self.outcomes.get(receipt.outcome, 0) + 1
        if receipt.why is not None and receipt.outcome == "refused":
            name = type(receipt.why).__name__
            self.refusals[name] = self.refusals.get(name, 0) + 1
            self.last_refusal = f"{type(receipt.why).__name__}: {receipt.why}"
        message = receipt.message
        sender = content.sender if message is None else message.sender
        member = self.seat.federation.member_of.get(sender, "?")
        kind, number = ("?", -1) if message is None else (type(message).__name__, message.number)
        size = len(content.data) if isinstance(content, Received) else 0
        self._headers.append(Header(now, "seen", member, kind, number, size, receipt.outcome))

    def decide(self, asked: Any, key: str = "") -> Any:
        """Decide; a request that comes again with its key has the decision that it had, if open."""
        if not key or self.hosted is None:
            return self.carry_out(Kind.DECIDE, asked)
        request = hashlib.sha256(key.encode() + b"\0" + self.hosted.encode(asked)).digest()
        here = (one.answer for one in self._asked.values() if one.request == request)
        known = next(here, None) or self.store.answer(self.connection, request)
        if known is not None:
            return msgspec.msgpack.decode(known)
        answer = self.carry_out(Kind.DECIDE, asked)
        self._asked[answer[0]] = Opened(answer[0], request, msgspec.msgpack.encode(answer))
        return answer

    def pull(self, number: int, reward: int) -> None:
        """Tell what a pull has earned; what is told twice must not count for the next one."""
        party = None if self.hosted is None else self.hosted.party
        place = f"{self.seat.member}: pull {number}"
        if party is not None and number <= party.settled_decisions:
            raise DuplicateRewardError(f"{place} was told before")
        if party is not None and party.stage in ("done", "ended"):
            raise LateRewardError(f"{place} comes too late: the run has ended")
        if party is None or party.round_to_act != number:
            raise NotReadyError(f"{place} is not due yet")
        self.carry_out(Kind.PULL, reward)

    def end_due_rounds(self, tick: int, ends: Callable[[int], int]) -> None:
        """End as many rounds as a tick ``ends``, see :mod:`.clock`.

        No party makes more releases than there were ticks. So whoever tells of sums that cannot be
        spends nobody's budget faster than the clock does.
        """
        if self.hosted is not None:
            made, missed = (party := self.hosted.party).made_and_missed
            for _ in range(min(ends(missed), tick - made)):
                if (end := party.next_end) is not None:
                    self.carry_out(Kind.END_ROUND, end)

    def _end_rounds(self, hosted: HostedParty) -> None:
        """End the rounds that so many decisions have come to, where rounds end by themselves."""
        while (end := hosted.party.next_end) is not None:
            waiting = hosted.party.open_decisions
            if waiting is not None and hosted.party.decisions_made - len(waiting) < end:
                break
            self.carry_out(Kind.END_ROUND, end)

    def expire(self, before: float, stands: Any) -> int:
        """Observe a default in the place of rewards that are overdue; returns how many."""
        overdue = self.store.overdue(self.connection, before)
        for number in overdue:
            try:
                self.carry_out(Kind.OBSERVE, (number, stands))
            except LocalProtocolError:  # its release has left, or it was answered just now
                self._answered.append(number)
            else:
                self.store.expire(self.connection, number)
        return len(overdue)

    def save_state(self) -> None:
        """Save the state with this transaction."""
        self._saves = True

    def write(
        self, bytes_since: tuple[int, int], acknowledged: Mapping[str, tuple[int, bytes]]
    ) -> None:
        """Write everything that was noted, after a batch that ended at ``bytes_since``.

        Messages below the ``acknowledged`` number of their member are deleted; their mark is kept.
        """
        store, connection, hosted = self.store, self.connection, self.hosted
        self.acknowledged = acknowledged
        if acknowledged:
            received = {peer: up_to for peer, (up_to, _) in acknowledged.items()}
            store.acknowledged(connection, received)
            store.keep_marks(connection, acknowledged)
        store.note(connection, self._entries)
        store.post(connection, self.outgoing)
        store.head(connection, self._headers)
        self._write_asked()
        if hosted is None:
            return
        if self.exchanges:
            self.count(hosted)
        if self.outgoing:
            self._leaves = self._all_left(hosted)
        journal, state = bytes_since
        saves_now = self._saves or saves(bytes_since, hosted)
        journal += sum(len(entry.body) for entry in self._entries)
        hosted.since += len(self._entries)
        self.erases = hosted.party.erased != self._erased
        if saves_now:
            body = hosted.party.dump()
            store.keep_state(connection, self.event, body, self.seat.keep_journal)
            journal, state, hosted.since = 0, len(body), 0
        self.bytes_since = journal, state

    def _write_asked(self) -> None:
        """Note when decisions were asked for, if somebody may ask for that; forget the answered."""
        waits = self.seat.federation.reward_default is not None
        still_open = (d for d in self._asked.values() if d.number not in self._answered)
        asked = [d for d in still_open if waits or d.request]
        self.store.asked(self.connection, asked, time.time())
        self.store.answered(self.connection, self._answered)

    @property
    def leaves(self) -> bool:
        """True if the file of all that has left is written after the commit."""
        return self.store.left is not None and self._leaves is not None

    def let_leave(self) -> None:
        """Write down, outside of the store, what leaves now; all of it must be committed."""
        if self.store.left is not None and self._leaves is not None:
            self.store.left.write(self._leaves)

    def _all_left(self, hosted: HostedParty) -> Left | None:
        return all_left(self.store, self.connection, self.seat, hosted.marks)

    def count(self, hosted: HostedParty) -> None:
        """Note where the links stand that have moved."""
        links, members = hosted.party.links, self.seat.federation.member_of
        for peer in hosted.touched:
            if peer in links:
                self.received[members[peer]] = links[peer].received
        hosted.touched.clear()
        for peer in links if self._restored else ():
            self.counts[members[peer]] = standing_of(links[peer])
        for member in {*self.received, *(member for member, _, _ in self.outgoing)}:
            self.counts[member] = standing_of(links[self.seat.federation.party_of[member]])


def require_open(
    store: Store, connection: Connection, member: str, party: Party[Any], number: int
) -> None:
    """Refuse a reward whose decision is not open, and say in which way it is not."""
    waiting = party.open_decisions
    if waiting is None or number in waiting:
        return
    if not 0 < number <= party.decisions_made:
        raise UnknownDecisionError(f"{member}: decision {number} was never made")
    if store.has_expired(connection, number):
        raise LateRewardError(
            f"{member}: the reward of decision {number} did not come in time, and a default "
            "counts in its place"
        )
    if number <= party.settled_decisions:
        raise LateRewardError(
            f"{member}: decision {number} has its reward already, or it is in a release that "
            "has left"
        )
    raise DuplicateRewardError(f"{member}: decision {number} has its reward already")
