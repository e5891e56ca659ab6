"""A seat: which party of which federation a host runs, and what the party brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role
from fedbandits.federation.terms import Terms
from fedbandits.settings.federation import Federation, RoundsClock
from fedbandits.systems.application import Application, Means, SharedSecret

#: Makes what a party brings; given what it has means for.
Supply = Callable[[Means], Any]


class HostedSeat(NamedTuple):
    """What a host is told.

    Parameters
    ----------
    federation
        What all agree on.
    member
        The organisation's name.
    role, place
        Which party it is.
    terms
        What all parties agree on.
    application
        Between plain values and what the party takes; None where nobody asks it.
    own
        What the party alone knows.
    supply
        What it brings; by default what its system says for parties between machines.
    keep_journal
        Whether events stay in the journal when a state covers them.
    earlier
        μ of what earlier federations have released of the same records; the account goes on from
        it.
    """

    federation: Federation
    member: str
    role: Role
    place: int
    terms: Terms
    application: Application[Any] | None
    own: Mapping[str, Any]
    supply: Supply
    keep_journal: bool = False
    earlier: float = 0.0

    @classmethod
    def of(
        cls,
        federation: Federation,
        member: str,
        own: Mapping[str, Any] | None = None,
        supply: Supply | None = None,
        keep_journal: bool = False,
    ) -> HostedSeat:
        """The seat of a member.

        Raises
        ------
        ConfigError
            If the federation has no such member.
        """
        role, place = federation.seat_of(member)
        system, plan = federation.system, federation.plan

        def from_system(means: Means) -> Any:
            return system.supply(plan, role.name, place, means)

        return cls(
            federation, member, role, place, federation.terms,
            system.application(plan) if role.acts else None,
            own or {}, supply or from_system, keep_journal,
        )  # fmt: skip

    @property
    def party(self) -> str:
        """The party's name in the protocol."""
        return self.role.parties[self.place]

    @property
    def ends_rounds_itself(self) -> bool:
        """Whether rounds end when so many decisions were made, not by a clock."""
        return isinstance(self.federation.clock, RoundsClock)

    @property
    def is_chatty(self) -> bool:
        """Whether messages set the pace: then only pulls wait for the disk."""
        return self.federation.roles.messages_set_pace

    @property
    def must_never_repeat(self) -> bool:
        """Whether secrets rest on it that nothing is sent twice with different contents.

        One peer that says it was put back stops such a party, even if the peer should lie. One
        that only pools what others have covered goes on, while most peers do not say so.
        """
        return self.role.acts or self.is_chatty or bool(self.makes)

    @property
    def takes(self) -> tuple[SharedSecret, ...]:
        """Secrets that others hand to this party."""
        return tuple(s for s in self._shared if s.is_taken_by(self.role.name, self.place))

    @property
    def makes(self) -> tuple[SharedSecret, ...]:
        """Secrets that this party hands to others."""
        return tuple(s for s in self._shared if s.is_made_by(self.role.name, self.place))

    @property
    def _shared(self) -> tuple[SharedSecret, ...]:
        return self.federation.system.shared(self.federation.plan)

    def make(self, means: Means) -> Party[Any]:
        """The party, before anything has happened."""
        return self.federation.roles.make(self.role, self.place, self.terms, self.supply(means))
