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
from fedbandits.federation.events import (
    Deadline,
    Decide,
    EndRound,
    Event,
    Start,
)
from fedbandits.federation.links import Link, Links, Receipt
from fedbandits.federation.messages import (
    Message,
    OutOfOrderError,
    UnknownMessageError,
    check_types,
)
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import AnyState, Handled, Step, Transitions


class _Dump(msgspec.Struct, array_like=True):
    party: str
    terms: str
    links: dict[str, Link]
    state: msgspec.Raw


class Party(Generic[AnyState]):
    """What all parties share: identity, state, links, checks.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    state
        The state to begin in.
    peers
        Names of those that it exchanges messages with; by the table of messages if not given.
    """

    #: Legal events, and the stages that each may lead to.
    TRANSITIONS: ClassVar[Transitions] = {}
    #: Messages that come too early at a stage: they are held until the stage has changed.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset()

    def __init__(self, seat: Seat, state: AnyState, peers: Sequence[str] | None = None) -> None:
        self.name, self.role, self.terms = seat.name, seat.role, seat.terms
        self._state = state
        self._links = Links(seat, seat.peers() if peers is None else peers)

    @property
    def state(self) -> AnyState:
        """All that changes, but for the links. To be looked at, not to be written."""
        return self._state

    @property
    def links(self) -> Mapping[str, Link]:
        """Where the exchange with each peer stands. To be looked at, not to be written."""
        return self._links.all

    @property
    def stage(self) -> str:
        """Where the party stands in its table of transitions."""
        return self._state.stage

    def start(self) -> list[Message]:
        """What is to be sent before the first round."""
        legal = (self.stage, Start) in self.TRANSITIONS
        return self.handle(Start()).outgoing if legal else []

    @property
    def next_end(self) -> int | None:
        """The next round whose end this party must be told of, if it must be of any."""
        return None

    def end_round(self, round_: int) -> list[Message]:
        """A round is over for everybody; return what is to be sent.

        Where rounds of release are fixed in advance, releases leave here and nowhere else. A party
        makes them of what it has, by arithmetic that takes as long whatever the data are: noise
        was drawn before, and what is to be learned from a release waits until it has left. Told by
        a public clock, a party so sends at times that depend on no data. After an error nothing
        has changed: it can be told again.
        """
        return self.handle(EndRound(round_)).outgoing

    @property
    def round_to_act(self) -> int | None:
        """The round that a message has told this party to act in, if one has."""
        return None

    @property
    def decisions_made(self) -> int:
        """The number of its newest decision; 0 before the first."""
        return 0

    @property
    def open_decisions(self) -> Collection[int] | None:
        """Numbers of decisions whose outcome has not come; None if nobody asks it for decisions."""
        return None

    @property
    def settled_decisions(self) -> int:
        """Up to this number no decision takes an outcome any more."""
        return 0

    @property
    def awaited(self) -> int | None:
        """The number of what this party awaits from others, for :meth:`deadline`, if it does."""
        return 0 if self._links.behind else None

    def deadline(self, number: int) -> list[Message]:
        """Go on without those who are late; return what is to be sent.

        The driver says when that is: a party has no clock. Messages that are missing are given up,
        and those whose time has not come: what was held behind them is taken.

        Parameters
        ----------
        number : int
            What :attr:`awaited` says. The deadline of something that is over does nothing.
        """
        return self.handle(Deadline(number)).outgoing

    def handle(self, event: Event) -> Handled:
        """Take a local event.

        Raises
        ------
        LocalProtocolError
            If it is not legal now. Nothing has changed then, whatever was raised.
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
            return step.answer, self._change(kind, allowed, step)
        if kind is Deadline:
            return None, []
        raise LocalProtocolError(f"{self.name}: {kind.__name__} is not possible while {stage}")

    def receive(self, message: Message, link: str | None = None) -> Receipt:
        """Take a message from a peer.

        Parameters
        ----------
        message : Message
        link : str, optional
            Whom the link has authenticated; by default the message is believed.

        Returns
        -------
        Receipt
            Which of four things became of it. Whatever is not taken has changed nothing but the
            numbers of that link.

        Raises
        ------
        WrongTypeError
            If it is no message at all.
        FedbanditsError
            If this party itself could not do its duty: noise that fails, a ledger that refuses.
            Nothing has changed then, and the message can be delivered again.
        """
        check_types(message)
        return self._followed(self._links.receive(message, link, self._take))

    def receive_bytes(self, data: bytes, link: str) -> Receipt:
        """Take the bytes of a message, whatever they are, from an authenticated peer."""
        return self._followed(self._links.receive_bytes(data, link, self._take))

    def _followed(self, receipt: Receipt) -> Receipt:
        """With what became of messages that had been held."""
        if not self._links.behind or receipt.outcome not in ("taken", "refused"):
            return receipt
        followed = self._links.take_held(self._take)
        outgoing = [*receipt.outgoing, *_sent(followed)]
        return msgspec.structs.replace(receipt, outgoing=outgoing, followed=followed)

    def dump(self) -> bytes:
        """All that must be saved to go on elsewhere: secret, as the records inside it are.

        Noise that was drawn ahead is not in it: whoever loads it draws other noise.
        """
        state = msgspec.Raw(snapshots.plain(self._state))
        return snapshots.encode(_Dump(self.name, self.terms.digest, self._links.all, state))

    def load(self, data: bytes) -> None:
        """Go on from what was saved.

        Raises
        ------
        SnapshotError
            If it is damaged, another party's, or was saved under other terms. Nothing has changed
            then.
        """
        dump = snapshots.decode(_Dump, data)
        if (dump.party, dump.terms) != (self.name, self.terms.digest):
            raise SnapshotError(
                f"{self.name}: a saved state of {dump.party}, of the terms {dump.terms}; this is "
                f"{self.name}, of the terms {self.terms.digest}"
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
        """What a legal event leads to; must change nothing."""
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
        return self._change(kind, self.TRANSITIONS[stage, kind], self._compute(message))

    def _change(
        self, kind: type[Event | Message], allowed: Collection[str], step: Step
    ) -> list[Message]:
        """The one place where state moves; returns the messages, numbered.

        Parameters
        ----------
        kind
            What has happened.
        allowed
            The stages that it may lead to from the present one, by the table.
        step
            What it leads to.
        """
        if step.state.stage not in allowed:
            raise LocalProtocolError(
                f"{self.name}: {kind.__name__} does not lead from {self._state.stage} to "
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
        return list(map(self._links.numbered, outgoing)) if outgoing else []

    def _after(self, **changed: Any) -> AnyState:
        """The present state with some fields changed."""
        return msgspec.structs.replace(self._state, **changed)


def _sent(receipts: tuple[Receipt, ...]) -> list[Message]:
    return [message for receipt in receipts for message in receipt.outgoing]
