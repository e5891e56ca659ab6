"""Parties as sans-IO state machines.

A party never sleeps, reads a clock, opens a socket or draws from a global generator. It takes a
message or a local event and returns the messages to send.

All that changes in a party is one struct (:class:`PartyState`) and the numbers of its links. A
handler *computes*: it returns a :class:`Step`. One method changes state (:meth:`Party._change`):
it looks up in a table whether the step is legal. So whatever is refused has changed nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Generic

import msgspec

from fedbandits.errors import LocalProtocolError, SnapshotError
from fedbandits.federation import snapshots
from fedbandits.federation.events import Deadline, Decide, EndRound, Event, Start
from fedbandits.federation.links import Link, Links, Receipt
from fedbandits.federation.messages import (
    Message,
    OutOfOrderError,
    UnknownMessageError,
    check_types,
)
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import AnyState, Handled, Step, Transitions
from fedbandits.federation.watching import Happened, See

#: The layout of parties' states. A saved state of another layout is refused, so raise the number
#: when a field of a state changes.
LAYOUT = 2


class Dump(msgspec.Struct, array_like=True):
    """The bytes of a party, taken apart."""

    party: str
    terms: str
    links: dict[str, Link]
    state: msgspec.Raw
    layout: int = 0  # states of version 7 and before have none


class Party(Generic[AnyState]):
    """Base class of parties: identity, state, links and checks.

    Parameters
    ----------
    seat
        The public information that the party is given: its name, its role, the terms.
    state
        The initial state.
    peers
        Names of the parties with which it exchanges messages. By default they follow from the table
        of messages.
    """

    #: Legal events, and the stages that each may lead to.
    TRANSITIONS: ClassVar[Transitions] = {}
    #: Messages that come too early at a stage: they are held until the stage has changed.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset()
    #: Is told of every event, once the state has changed. By default nobody is.
    see: See | None = None

    def __init__(self, seat: Seat, state: AnyState, peers: Sequence[str] | None = None) -> None:
        self.name, self.role, self.terms = seat.name, seat.role, seat.terms
        self._state = state
        self._links = Links(seat, seat.peers() if peers is None else peers)

    @property
    def state(self) -> AnyState:
        """The state: all that changes in the party, except its links; read it, do not write it."""
        return self._state

    @property
    def links(self) -> Mapping[str, Link]:
        """The state of the exchange with each peer; read it, do not write it."""
        return self._links.all

    @property
    def stage(self) -> str:
        """The stage that the party is in, according to its table of transitions."""
        return self._state.stage

    @property
    def report(self) -> Mapping[str, Any]:
        """Plain values that the party tells its own operator, without a record or statistic."""
        return {}

    def hands_over_to(self, party: str) -> bool:
        """Tell whether a secret that was made for another party may still be handed to it."""
        del party
        return True

    def gift(self, party: str) -> bytes | None:
        """Return the secret that this one keeps in its state, to be handed to another party.

        None where the store has it, and where it was erased.
        """
        del party
        return None

    @property
    def erased(self) -> int:
        """A number that rises with every event in which keys are erased.

        A store saves the state together with such an event, and forgets the one before: it would
        have the keys, and playing the event again would draw others.
        """
        return 0

    def heard_of(self, party: str) -> int:
        """Return the newest sum that another party has confirmed to this one; 0 for none."""
        del party
        return 0

    @property
    def opened(self) -> int | None:
        """The newest sum that this party has opened, if it opens sums."""
        return None

    @property
    def waits_for_sum(self) -> bool:
        """True from its release for a sum of all on, until it knows what became of it."""
        return False

    @property
    def made_and_missed(self) -> tuple[int, int]:
        """Releases that it has made for sums of all, and how many more sums are over."""
        return 0, 0

    def start(self) -> list[Message]:
        """Begin, and return the messages to send before the first round."""
        legal = (self.stage, Start) in self.TRANSITIONS
        return self.handle(Start()).outgoing if legal else []

    @property
    def next_end(self) -> int | None:
        """The next round after which :meth:`end_round` must be called; None if there is none."""
        return None

    def end_round(self, round_: int) -> list[Message]:
        """End round ``round_``, which is over for all parties, and return the messages to send.

        If the rounds of releases are fixed in advance, releases leave here and nowhere else. Making
        a release takes the same arithmetic for all data. Its noise was drawn before, and learning
        from it waits until it has been sent. If a public clock calls this method, the times of
        messages do not depend on data. After an error the party has not changed, and the method can
        be called again.
        """
        return self.handle(EndRound(round_)).outgoing

    @property
    def round_to_act(self) -> int | None:
        """The round in which a message has told this party to act; None if none has."""
        return None

    @property
    def decisions_made(self) -> int:
        """The number of its newest decision; 0 before the first."""
        return 0

    @property
    def open_decisions(self) -> Collection[int] | None:
        """Numbers of decisions whose outcome is missing; None if the party makes no decisions."""
        return None

    @property
    def settled_decisions(self) -> int:
        """Decisions up to this number accept no outcome any more."""
        return 0

    @property
    def awaited(self) -> int | None:
        """A number for :meth:`deadline` while this party awaits something of others; else None."""
        return 0 if self._links.behind else None

    def deadline(self, number: int) -> list[Message]:
        """Continue without the parties that are late, and return the messages to send.

        The driver calls this method, because a party has no clock. The party stops waiting for
        missing messages, and drops messages whose time has not come. Then it takes the messages
        that it had held behind these.

        Parameters
        ----------
        number : int
            The value of :attr:`awaited`. If what it stands for is already over, nothing happens.
        """
        return self.handle(Deadline(number)).outgoing

    def handle(self, event: Event) -> Handled:
        """Handle the local event ``event``.

        Raises
        ------
        LocalProtocolError
            If the event is not allowed now. After any error the party has not changed.
        """
        kind, links = type(event), self._links
        followed: tuple[Receipt, ...] = ()
        if kind is Deadline and links.behind and event.number == self.awaited:  # type: ignore[attr-defined]
            followed = links.take_held(self._take)
            links.give_up()
            followed += links.take_held(self._take)
        answer, outgoing = self._do(kind, event)
        if links.behind and kind is not Decide:  # their time may have come
            followed += links.take_held(self._take)
        if followed:
            outgoing = [*outgoing, *_sent(followed)]
        return Handled(answer, outgoing, followed)

    def _do(self, kind: type[Event], event: Event) -> tuple[Any, list[Message]]:
        """Answer a local event, and say what is to be sent; a deadline may mean nothing."""
        stage = self._state.stage
        allowed = self.TRANSITIONS.get((stage, kind))
        if allowed is not None:
            step = self._compute(event)
            return step.answer, self._change(event, allowed, step)
        if kind is Deadline:
            return None, []
        raise LocalProtocolError(f"{self.name}: {kind.__name__} is not possible while {stage}")

    def receive(self, message: Message, link: str | None = None) -> Receipt:
        """Receive a message from a peer.

        Parameters
        ----------
        message : Message
        link : str, optional
            The peer that the link has authenticated. By default the sender in the message is
            believed.

        Returns
        -------
        Receipt
            What happened to the message. If it was not taken, only the numbers of that link have
            changed.

        Raises
        ------
        WrongTypeError
            If ``message`` is not a message.
        FedbanditsError
            If this party itself fails, for example because its noise fails or its ledger refuses.
            The party has not changed, and the message can be delivered again.
        """
        check_types(message)
        return self._followed(self._links.receive(message, link, self._take))

    def receive_bytes(self, data: bytes, link: str) -> Receipt:
        """Receive ``data``, the bytes of a message, from ``link``, an authenticated peer."""
        return self._followed(self._links.receive_bytes(data, link, self._take))

    def _followed(self, receipt: Receipt) -> Receipt:
        """Add the receipts of messages that had been held."""
        if not self._links.behind or receipt.outcome not in ("taken", "refused"):
            return receipt
        followed = self._links.take_held(self._take)
        outgoing = [*receipt.outgoing, *_sent(followed)]
        return msgspec.structs.replace(receipt, outgoing=outgoing, followed=followed)

    def dump(self) -> bytes:
        """Return the state of this party as bytes, which :meth:`load` restores.

        Keep them secret, because they contain records. They do not contain noise that was drawn in
        advance. A party that loads them draws new noise.
        """
        state = msgspec.Raw(snapshots.plain(self._state))
        return snapshots.encode(Dump(self.name, self.terms.digest, self._links.all, state, LAYOUT))

    def load(self, data: bytes) -> None:
        """Restore the state from ``data``, which :meth:`dump` returned.

        Raises
        ------
        SnapshotError
            If the data are damaged, of another party, saved under other terms, or by a version of
            fedbandits whose states have another layout. The party has not changed.
        """
        dump = snapshots.decode(Dump, data)
        if (dump.party, dump.terms) != (self.name, self.terms.digest):
            raise SnapshotError(
                f"{self.name}: a saved state of {dump.party}, of the terms {dump.terms}; this is "
                f"{self.name}, of the terms {self.terms.digest}"
            )
        if dump.layout != LAYOUT:
            raise SnapshotError(
                f"{self.name}: a saved state of layout {dump.layout}, and this version of "
                f"fedbandits reads layout {LAYOUT}; go on with the version that saved the state"
            )
        before, self._state = self._state, snapshots.read(type(self._state), dump.state)
        try:
            self._resume()
        except Exception:
            self._state = before
            self._resume()
            raise
        self._links.restore(dump.links)

    def _resume(self) -> None:
        """Make again what follows from the state and is not in it."""

    def _compute(self, event: Any) -> Step:
        """Compute what a legal event leads to; must change nothing."""
        raise NotImplementedError

    def _take(self, message: Message) -> list[Message] | None:
        """Act on the next message of a link; None if its time has not come."""
        stage, kind = self._state.stage, type(message)
        if (stage, kind) in self.LATER:
            return None
        if (stage, kind) not in self.TRANSITIONS:
            known = any(kind is event for _, event in self.TRANSITIONS)
            refusal = OutOfOrderError if known else UnknownMessageError
            raise refusal(f"{self.name}: {kind.__name__} from {message.sender} while {stage}")
        return self._change(message, self.TRANSITIONS[stage, kind], self._compute(message))

    def _change(
        self, event: Event | Message, allowed: Collection[str], step: Step
    ) -> list[Message]:
        """Move the state, here alone, and return the messages, numbered.

        The table allows the present stage to lead to some others. What has happened is named in
        errors.
        """
        before = self._state
        if step.state.stage not in allowed:
            raise LocalProtocolError(
                f"{self.name}: {type(event).__name__} does not lead from {before.stage} to "
                f"{step.state.stage}"
            )
        outgoing = step.outgoing
        if step.write is not None:
            more = step.write()
            outgoing = [*outgoing, *more] if more else outgoing
        state: Any = step.state
        if step.opened is not None:  # in place: there may be many
            state.open[step.opened[0]] = step.opened[1]
        if step.closed:
            del state.open[step.closed]
        self._state = state
        sent = list(map(self._links.numbered, outgoing)) if outgoing else []
        if self.see is not None:
            self.see(Happened(self, before, event, step.answer, sent))
        return sent

    def _after(self, **changed: Any) -> AnyState:
        """Return the present state with some fields changed."""
        return msgspec.structs.replace(self._state, **changed)


def _sent(receipts: tuple[Receipt, ...]) -> list[Message]:
    return [message for receipt in receipts for message in receipt.outgoing]
