"""The shell around every party that decides and releases.

The shell holds open decisions and late rewards, counts visits of persons, keeps records for later
releases, knows when the next release leaves, has the noise of a release drawn before anybody waits
for the release, and ends waiting at a deadline. Releases leave, and sums come back, by an outlet.

A subclass decides, learns from records, makes releases, and takes messages. An outlet, a limit of
records, and persons are optional. Without an outlet, :meth:`Shell._release` returns a step whose
messages the subclass has made, and the subclass overrides :meth:`Shell._take_message`. A party with
rounds between its releases, as a server with phases, overrides :meth:`Shell._end_round`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from fedbandits._typing import Floats
from fedbandits.environments.open_world import Visit
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Deadline, Decide, Decision, EndRound, LetGo, Observe
from fedbandits.federation.exchange.outlet import Outlet, SumOfAll
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.federation.totals.sender import Sending
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.systems.terms import require_secure

_DIGEST_BYTES = 16

AnyRecord = TypeVar("AnyRecord")


class OpenDecision(msgspec.Struct, frozen=True, gc=False):
    """A decision whose reward has not come yet.

    Parameters
    ----------
    arm
        The arm that was chosen.
    context : (d,) float64
        The arm's context.
    counts
        Whether the record will count for releases.
    """

    arm: int
    context: Floats
    counts: bool = True


class Releasing(NamedTuple):
    """Schedule of a party's releases.

    Parameters
    ----------
    rounds
        The horizon T, in rounds.
    releases
        Number of releases, at most.
    most_records
        Number of records that a release can have, beside the records of earlier releases. 0 if
        there is no limit.
    end
        From the number of a release to the round at whose end the release leaves. None where data
        decide.
    """

    rounds: int
    releases: int = 0
    most_records: int = 0
    end: Callable[[int], int] | None = None

    def next_end(self, newest: int) -> int | None:
        """Return the round at whose end the release after ``newest`` leaves, if rounds are fixed.

        None after the last release.
        """
        return None if self.end is None or newest >= self.releases else self.end(newest + 1)

    def split(
        self, newest: int, records: dict[int, AnyRecord]
    ) -> tuple[list[AnyRecord], dict[int, AnyRecord]]:
        """Split records into records to add now, and records that wait for a later release.

        The k-th release is of decisions 1 … k · most. So the records in a release depend on no
        other record, nor on the time at which a reward came. No record beyond the horizon is in a
        release: sums are exact up to the horizon (:mod:`fedbandits.privacy.rounding`). After the
        last release all records are added, as no release follows that could contain a record.

        Parameters
        ----------
        newest
            Number of the newest release; 0 before the first.
        records
            Records by the numbers of their decisions.

        Returns
        -------
        counted
            The records of decisions up to the last decision in the next release, or after the last
            release all records.
        waiting
            The other records, by the numbers of their decisions.
        """
        if not records or newest == self.releases:
            return list(records.values()), {}
        last = min((newest + 1) * self.most_records, self.rounds) or self.rounds
        if max(records) <= last:
            return list(records.values()), {}
        counted = [record for number, record in records.items() if number <= last]
        waiting = {number: record for number, record in records.items() if number > last}
        return counted, waiting


class Persons(NamedTuple):
    """Protection of persons by a party.

    Parameters
    ----------
    most
        Number of visits of a person that count for releases; 0 where records are protected.
    key
        A secret of the party, by which digests of persons are made. Nobody without the key can
        name the persons with counted visits. The key is empty in a simulation.
    """

    most: int = 0
    key: bytes = b""

    def digest(self, person: str) -> bytes:
        """Return the keyed digest of a person's name: the state has digests in place of names."""
        return blake2b(person.encode(), key=self.key, digest_size=_DIGEST_BYTES).digest()


class ShellState(PartyState, frozen=True, kw_only=True):
    """State of a party that decides.

    Parameters
    ----------
    decisions
        The number of decisions.
    records
        The number of rewards that have come.
    open
        Decisions whose rewards have not come, by their numbers.
    visits
        The number of visits of each person that count, by a keyed digest of the person, where
        persons are protected. The guarantee rests on these numbers.
    """

    stage: str = "ready"
    decisions: int = 0
    records: int = 0
    open: dict[int, OpenDecision] = msgspec.field(default_factory=dict)
    visits: dict[bytes, int] = msgspec.field(default_factory=dict)


class SummedState(ShellState, frozen=True, kw_only=True):
    """State of a party whose releases are summed with those of others.

    Parameters
    ----------
    released
        The state of the mechanism, or of shares.
    sending
        The state of the party's messages, with secure sums.
    taken
        The number of the newest sum that the party acts on.
    included
        The number of the party's own release in the sum ``taken``; 0 without an own release.
    unused
        The number of totals without an estimate. The party learned from them the fate of its own
        messages, and nothing else.
    under_way
        Memories of the party's release in the sum ``taken``, and of releases that are in no sum
        yet.
    """

    released: ContinualState
    sending: Sending | None = None
    taken: int = 0
    included: int = 0
    unused: int = 0
    under_way: dict[int, Any] = msgspec.field(default_factory=dict)


AnyShellState = TypeVar("AnyShellState", bound=ShellState)


class Shell(ActingParty[AnyShellState]):
    """A party that decides, learns, and releases with noise.

    Parameters
    ----------
    seat
        The public information that the party is given.
    state
        The state to begin in.
    noise
        The party's source of noise.
    is_noisy
        Whether releases need noise. If releases need noise and the terms have secure noise, the
        source must be secure.
    releasing
        The schedule of releases.
    outlet
        The outlet for sums of all; by default nothing is sent to be summed.
    persons
        The protection of persons; by default records are protected.
    peers
        Names of the parties that may send messages to this party; by default the table of messages
        decides.
    """

    #: The noun for an action, in errors.
    CHOICE: ClassVar[str] = "arm"

    def __init__(
        self, seat: Seat, state: AnyShellState, noise: Any, is_noisy: bool, releasing: Releasing,
        outlet: Outlet | None = None, persons: Persons | None = None,
        peers: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(seat, state, peers)
        if is_noisy:
            require_secure(self.name, seat.terms, noise)
        self._noise, self._outlet = noise, outlet or Outlet()
        self._releasing, self._persons = releasing, persons or Persons()
        #: Whether the noise of the next release has been drawn; a state that was saved has none.
        self._has_noise = False

    def _compute(self, event: Any) -> Step:
        match event:
            case Decide():
                self._have_noise()
                return self._decide(event)
            case Observe():
                return self._observe(event)
            case LetGo():
                return self._let_go(event)
            case EndRound():
                return self._end_round(event)
            case Deadline():
                return self._end_waiting(event)
            case _:
                return self._take_message(event)

    # ------------------------------------------------------------ decisions

    def _decide(self, event: Decide) -> Step:
        """Decide on a situation; see :meth:`_decided`."""
        raise NotImplementedError

    def _observe(self, event: Observe) -> Step:
        """Learn from the outcome of an open decision; see :meth:`_opened`."""
        raise NotImplementedError

    def _visitor(self, situation: Any) -> tuple[Any, bytes | None]:
        """Return the situation alone, and a digest of the person if persons are protected."""
        named = type(situation) is Visit
        if not self._persons.most:
            return (situation.situation if named else situation), None
        person = situation.person if named else None
        if person is None or (isinstance(person, str) and not person):
            raise LocalProtocolError(
                f"{self.name}: the terms protect persons, so each decision needs the person for "
                "whom it is made; give person, a name that is the same in all visits"
            )
        try:
            return situation.situation, self._persons.digest(person)
        except (AttributeError, TypeError, UnicodeEncodeError):  # the error must not show the name
            raise LocalProtocolError(
                f"{self.name}: person must be a text, a name that is the same in all visits"
            ) from None

    def _decided(
        self, arm: int, context: Floats, person: bytes | None = None, after: Any = None
    ) -> Step:
        """Open the next decision, on an arm with its context (d,).

        A person's first visits count, from the day on which they are decided. So the visits that
        count follow from the public times of visits, and not from contexts, rewards or the times of
        rewards. A visit whose reward never comes is used up.

        Parameters
        ----------
        person
            Digest of the person; None if records are protected.
        after
            The state after the decision, but for the decision's number; by default the present
            state.
        """
        state: Any = after or self._state
        number = state.decisions + 1
        after, answer = msgspec.structs.replace(state, decisions=number), Decision(number, arm)
        if person is None:
            return Step(after, answer=answer, opened=(number, OpenDecision(arm, context)))
        visits = state.visits.get(person, 0)
        counts = visits < self._persons.most

        def note_visit() -> Sequence[Message]:
            if counts:
                state.visits[person] = visits + 1
            return ()

        opened = number, OpenDecision(arm, context, counts)
        return Step(after, answer=answer, write=note_visit, opened=opened)

    def _memory(self, number: int) -> Any:
        """Return the memory of an open decision; refuse a decision that is not open."""
        memory = self._state.open.get(number)
        if memory is None:
            raise LocalProtocolError(f"{self.name}: decision {number} is not open")
        return memory

    def _opened(self, decision: Decision) -> OpenDecision:
        """Return the memory of an open decision; refuse another arm than the chosen one."""
        opened: OpenDecision = self._memory(decision.number)
        try:
            agrees = bool(decision.action == opened.arm)
        except (TypeError, ValueError):  # an array, say
            agrees = False
        if not agrees:
            raise LocalProtocolError(
                f"{self.name}: {self.CHOICE} {opened.arm} was chosen, not {decision.action}"
            )
        return opened

    def _let_go(self, event: LetGo) -> Step:
        """Close a decision whose reward will never be known: nothing is learned."""
        self._opened(event.decision)
        return Step(self._state, closed=event.decision.number)

    # ------------------------------------------------------------ releases

    @property
    def _made(self) -> int:
        """Number of the newest release; 0 before the first, and for a party without a mechanism."""
        released = getattr(self._state, "released", None)
        return 0 if released is None else int(released.made)

    @property
    def next_end(self) -> int | None:
        return None if self._outlet.has_ended(self._state) else self._next_planned

    @property
    def _next_planned(self) -> int | None:
        """The next round at whose end the party acts, where such rounds are fixed in advance."""
        return self._releasing.next_end(self._made)

    def _end_round(self, event: EndRound) -> Step:
        """Release at the end of a round; refuse another round than the next one with a release."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )
        return self._release()

    def _release(self) -> Step:
        """Make the next release; learning from its sum waits until the release has left."""
        raise NotImplementedError

    def _have_noise(self) -> None:
        """Have the noise of the next release drawn, if releases are left."""
        if not self._has_noise and self._made < self._releasing.releases:
            self._draw_noise()
            self._has_noise = True

    def _draw_noise(self) -> None:
        """Let the source draw the noise of the next release."""
        self._outlet.draw_ahead(self._state, self._noise)

    def _resume(self) -> None:
        super()._resume()
        self._outlet.resumed(self._state, self._noise)

    # ------------------------------------------------------------ messages, and waiting for them

    def _take_message(self, message: Any) -> Step:
        """Take a message: by default a sum of all parties' newest releases."""
        return self._outlet.take(self._state, message, self._noise, self._go_on)

    def _go_on(self, summed: SumOfAll) -> Step | None:
        """Go on from a sum; None, or RemoteProtocolError, if the sum makes no estimate."""
        raise NotImplementedError

    @property
    def _answer_due(self) -> int | None:
        """Number of the missing answer, if the party itself must end the wait; else None."""
        return None

    @property
    def awaited(self) -> int | None:
        due = self._answer_due
        return super().awaited if due is None else due

    def _end_waiting(self, event: Deadline) -> Step:
        """Go on without an answer; the deadline may be of an answer that has come.

        A deadline of held messages, 0, ends no wait for an answer, even if messages are still held.
        """
        if event.number != self._answer_due:
            return Step(self._state)
        return self._go_on_without()

    def _go_on_without(self) -> Step:
        """Go on without the answer that is due."""
        return Step(self._after(stage="ready"))

    # ------------------------------------------------------------ questions of hosts

    @property
    def report(self) -> Mapping[str, Any]:
        return self._outlet.report(self._state)

    @property
    def waits_for_sum(self) -> bool:
        return self._outlet.waits(self._state)

    @property
    def made_and_missed(self) -> tuple[int, int]:
        return self._outlet.made_and_missed(self._state)

    @property
    def erased(self) -> int:
        return self._outlet.erased(self._state)

    def heard_of(self, party: str) -> int:
        return self._outlet.heard_of(self._state, party)


def staying(stages: Sequence[str], *kinds: type[Any]) -> Transitions:
    """Return the transitions of events of these kinds, each of which leaves the stage as it is."""
    return {(stage, kind): (stage,) for stage in stages for kind in kinds}


def is_decision_set(values: Any, dimension: int, columns: int) -> bool:
    """Tell whether values are an array of real numbers, (dimension, 1 … columns)."""
    shape, dtype = getattr(values, "shape", None), getattr(values, "dtype", None)
    if getattr(dtype, "kind", "O") not in "biuf" or not isinstance(shape, tuple):
        return False
    return len(shape) == 2 and shape[0] == dimension and 1 <= shape[1] <= columns
