"""The shell around every party that decides and releases.

The shell holds open decisions and late rewards, and has the noise of a release drawn before anybody
waits for the release. Releases leave, and sums come back, by an outlet. A subclass decides, learns
from records, and goes on from sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from fedbandits._typing import Floats
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision, EndRound, LetGo
from fedbandits.federation.exchange.outlet import Outlet, SumOfAll
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step
from fedbandits.federation.totals.sender import Sending
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.systems.terms import require_secure


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


class ShellState(PartyState, frozen=True, kw_only=True):
    """State of a party that decides on arms.

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
        persons are protected. The guarantee rests on it.
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
        The state of its messages, with secure sums.
    taken
        The number of the last sum that it has gone on from.
    included
        The number of its own release in that sum; 0 if there was none.
    unused
        The number of totals that made no estimate. Only the fate of its messages was taken up.
    under_way
        Memories of its release in the last sum, and of releases that are in no sum yet.
    """

    released: ContinualState
    sending: Sending | None = None
    taken: int = 0
    included: int = 0
    unused: int = 0
    under_way: dict[int, Any] = msgspec.field(default_factory=dict)


AnyShellState = TypeVar("AnyShellState", bound=PartyState)


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
        Whether releases need noise. If the terms have secure noise, the source must be secure then.
    outlet
        The outlet for sums of all; by default nothing is sent to be summed.
    peers
        Names of the parties that may send to this one; by the table of messages if not given.
    """

    def __init__(
        self, seat: Seat, state: AnyShellState, noise: Any, is_noisy: bool,
        outlet: Outlet | None = None, peers: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(seat, state, peers)
        if is_noisy:
            require_secure(self.name, seat.terms, noise)
        self._noise, self._outlet = noise, outlet or Outlet()
        #: Whether the noise of the next release has been drawn; a state that was saved has none.
        self._has_noise = False

    # ------------------------------------------------------------ decisions

    def _opened(self, decision: Decision) -> Any:
        """Return the memory of an open decision; refuse a decision that is not open."""
        state: Any = self._state
        opened = state.open.get(decision.number)
        if opened is None:
            raise LocalProtocolError(f"{self.name}: decision {decision.number} is not open")
        if decision.action != opened.arm:
            raise LocalProtocolError(
                f"{self.name}: arm {opened.arm} was chosen, not {decision.action}"
            )
        return opened

    def _let_go(self, event: LetGo) -> Step:
        """Close a decision whose reward will never be known: nothing is learned."""
        self._opened(event.decision)
        return Step(self._state, closed=event.decision.number)

    # ------------------------------------------------------------ releases

    @property
    def next_end(self) -> int | None:
        ended = self._outlet.has_ended(self._state)
        return None if ended else self._next_planned

    @property
    def _next_planned(self) -> int | None:
        """The next round that ends with a release, where those are fixed in advance."""
        return None

    def _require_end(self, event: EndRound) -> None:
        """Refuse the end of another round than the next one that ends with a release."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )

    def _draw_ahead(self, are_left: bool) -> None:
        """Have the noise of the next release drawn, if releases are left."""
        if not self._has_noise and are_left:
            self._draw_noise()
            self._has_noise = True

    def _draw_noise(self) -> None:
        """Let the source draw the noise of the next release."""
        self._outlet.draw_ahead(self._state, self._noise)

    def _take_sum(self, message: Any) -> Step:
        """Go on from a sum of all agents' newest releases."""
        return self._outlet.take(self._state, message, self._noise, self._go_on)

    def _go_on(self, summed: SumOfAll) -> Step | None:
        """Go on from a sum; None, or RemoteProtocolError, if the sum makes no estimate."""
        raise NotImplementedError

    def _resume(self) -> None:
        super()._resume()
        self._outlet.resumed(self._state, self._noise)

    # ------------------------------------------------------------ what hosts ask

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
