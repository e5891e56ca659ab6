"""Parties as sans-IO state machines.

A party never sleeps, reads a clock, opens a socket or draws from a global generator. It takes a
message or a local event and returns the messages to send.

All that changes in a party is one struct (:class:`PartyState`) and the numbers of its links. A
handler *computes*: it returns a :class:`Step`. One method changes state (:meth:`Party._change`),
after a table of transitions has allowed the step. So a refused event has changed nothing.
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
    """The saved parts of a party."""

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
        The public information of the party: its name, its role, the terms.
    state
        The initial state.
    peers
        Names of the parties with which this party exchanges messages. By default the names follow
        from the table of messages.
    """

    #: Legal events in each stage, with the stages to which they may lead.
    TRANSITIONS: ClassVar[Transitions] = {}
    #: Early messages in each stage: they are held until the stage has changed.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset()
    #: A watcher's method, called with every event after the change of state. By default None.
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
        """The party's stage in its table of transitions."""
        return self._state.stage

    @property
    def report(self) -> Mapping[str, Any]:
        """Plain values for the party's own operator, without any record or statistic."""
        return {}

    def hands_over_to(self, party: str) -> bool:
        """Tell whether a secret that was made for ``party`` may still be given to this party."""
        del party
        return True

    def gift(self, party: str) -> bytes | None:
        """Return the secret in this party's state that is meant for another party.

        The result is None if the store has the secret, or if it was erased.
        """
        del party
        return None

    @property
    def erased(self) -> int:
        """A number that rises with every event in which keys are erased.

        A store saves the state together with such an event, and deletes the earlier state: it would
        have the keys, and playing the event again would draw other keys.
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
        """True while the fate of the party's last release for a sum of all is unknown."""
        return False

    @property
    def made_and_missed(self) -> tuple[int, int]:
        """Number of the party's releases for sums of all, and of further finished sums."""
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
        a release takes the same arithmetic for all data. Its noise was drawn before, and the party
        learns from the release only after sending it. If a public clock calls this method, the
        times of messages do not depend on data. After an error the party has not changed, and the
        method can be called again.
        """
        return self.handle(EndRound(round_)).outgoing

    @property
    def round_to_act(self) -> int | None:
        """The round in which a message tells this party to act; None without such a message."""
        return None

    @property
    def decisions_made(self) -> int:
        """The number of the party's newest decision; 0 before the first.

        The unit is the party's own number of decisions, or of pulls for a data owner of SAMBA.
        """
        return 0

    @property
    def open_decisions(self) -> Collection[int] | None:
        """Numbers of decisions whose outcome is missing; None if the party makes no decisions."""
        return None

    @property
    def settled_decisions(self) -> int:
        """The last number up to which no outcome is accepted any more.

        Numbers are of decisions. For a party that acts when a message tells it to
        (:attr:`round_to_act`), numbers are of rounds.
        """
        return 0

    @property
    def awaited(self) -> int | None:
        """A number for :meth:`deadline` while this party waits for others; else None."""
        return 0 if self._links.behind else None

    def deadline(self, number: int) -> list[Message]:
        """Continue without the parties that are late, and return the messages to send.

        The driver calls this method, because a party has no clock. The party stops waiting for
        missing messages, and drops messages whose time has not come. Then it takes the messages
        that it had held behind these.

        Parameters
        ----------
        number : int
            The value of :attr:`awaited`. If this wait is already over, nothing happens.
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
        """Return the answer to a local event, and its messages; a late deadline does nothing."""
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
            The message.
        link : str, optional
            The authenticated peer of the link. By default the sender in the message.

        Returns
        -------
        Receipt
            The outcome. If the message was not taken, only the numbers of that link have
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
        """Add the receipts of held messages."""
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
        """Restore the state from ``data``, the result of :meth:`dump`.

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
        """Make the derived values of a state that the state does not contain."""

    def _compute(self, event: Any) -> Step:
        """Compute the consequences of a legal event; must change nothing."""
        raise NotImplementedError

    def _take(self, message: Message) -> list[Message] | None:
        """Act on the next message of a link; return None if its time has not come."""
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
        """Move the state, in this method alone, and return the messages, numbered.

        ``allowed`` are the stages to which the table of transitions lets the event lead. Errors
        name the event.
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
