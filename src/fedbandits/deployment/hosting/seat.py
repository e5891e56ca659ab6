"""A seat: which party of which federation a host runs, what it brings, and what it may spend."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from fedbandits.deployment.hosting.known import left_beside, refuse_old_copy, with_noise
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import LedgerError, LedgerFileError
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role
from fedbandits.federation.terms import Terms
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import GaussianRelease
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.ledger import Ledger, whole_budget
from fedbandits.privacy.ledger.database import url_of
from fedbandits.privacy.ledger.files import path_of
from fedbandits.privacy.ledger.statement import by_noise
from fedbandits.privacy.person import PersonCost
from fedbandits.settings.federation import Federation
from fedbandits.settings.federation_file import RoundsClock
from fedbandits.systems.application import Application, Resources, SharedSecret
from fedbandits.systems.terms import claim_under

#: Makes what a party brings, from its resources.
Supply = Callable[[Resources], Any]


class HostedSeat(NamedTuple):
    """The seat of one member: all that a host is told.

    The ``application`` is None where nobody asks the party. ``own`` is what it alone knows, and
    ``supply`` makes what it brings. With ``keep_journal`` events stay in the journal when a state
    covers them. ``earlier`` is μ of what earlier federations have released of the same records,
    where its account begins.
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
        """Find the seat of a member; raises ConfigError if the federation has no such member."""
        role, place = federation.seat_of(member)
        system, plan = federation.system, federation.plan

        def from_system(resources: Resources) -> Any:
            return system.supply(plan, role.name, place, resources)

        return cls(
            federation, member, role, place, federation.terms,
            system.application(plan) if role.acts else None,
            own or {}, supply or from_system, keep_journal,
        )  # fmt: skip

    @property
    def ends_rounds_itself(self) -> bool:
        """True where rounds end when so many decisions were made, not by a clock."""
        return isinstance(self.federation.clock, RoundsClock)

    @property
    def is_chatty(self) -> bool:
        """True where messages set the pace: then only pulls wait for the disk."""
        return self.federation.roles.messages_set_pace

    @property
    def must_never_repeat(self) -> bool:
        """True where secrets are safe only if nothing is sent twice with different contents.

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

    def make(self, resources: Resources) -> Party[Any]:
        """Make the party, before anything has happened."""
        return self.federation.roles.make(self.role, self.place, self.terms, self.supply(resources))

    def open_store(
        self,
        where: str,
        moved: bool = False,
        beside: str | os.PathLike[str] | None = None,
        restores: bool = False,
    ) -> Store:
        """Open the party's store; where messages set the pace, commits do not wait for the disk.

        See :meth:`.store.Store.open` for ``moved``, and :class:`.rows.LeftFile` for ``restores``. A
        file of what has left lies beside the store, ``store.left`` beside ``store.db``; for a
        server's database as if that were ``beside``. Where messages set the pace there is none.

        Raises StaleStoreError if it is a copy that is older than what has left: that counts more
        than that it is a copy.
        """
        path, left = path_of(url_of(where)) or beside, None
        if path is not None and self.must_never_repeat and not self.is_chatty:
            left = left_beside(path, restores)
        try:
            store = Store.open(
                where,
                self.federation.name,
                self.member,
                self.terms.digest,
                synchronous="NORMAL" if self.is_chatty else "FULL",
                moved=moved or restores,
            )
        except LedgerFileError:
            if left is not None:
                with contextlib.suppress(LedgerError):  # the first one says more
                    refuse_old_copy(where, self.member, self.role, left)
            raise
        store.left = left
        return store

    @property
    def claim(self) -> PrivacyClaim:
        """The claim under the federation's terms, with what was released before."""
        claim = claim_under(self.federation.system, self.federation.plan, self.terms)
        if not self.earlier or not math.isfinite(claim.mu) or claim.delta <= 0.0:
            return claim

        def with_earlier(epsilon: float) -> float:
            if not math.isfinite(epsilon):
                return epsilon
            alone = gaussian.mu_of(epsilon, claim.delta) if epsilon > 0.0 else 0.0
            return gaussian.epsilon_of(math.hypot(alone, self.earlier), claim.delta)

        return msgspec.structs.replace(
            claim,
            mu=math.hypot(claim.mu, self.earlier),
            epsilon=with_earlier(claim.epsilon),
            epsilon_contents=with_earlier(claim.epsilon_contents),
            epsilon_each=tuple(map(with_earlier, claim.epsilon_each)),
            events=(*claim.events, self.earlier_event),
            person=None if claim.person is None else self._with_earlier(claim.person),
            views=tuple(
                msgspec.structs.replace(view, epsilon=with_earlier(view.epsilon))
                if view.epsilon
                else view  # who sees nothing that costs saw nothing of that before
                for view in claim.views
            ),
            conditional_on=(
                *claim.conditional_on,
                "Only this federation and earlier ones have released anything of the same records. "
                f"The earlier ones cost μ = {self.earlier:.6g} together, towards those whom their "
                "own claims name. Where they had secure sums, records at several members add up.",
            ),
        )

    def _with_earlier(self, person: PersonCost) -> PersonCost:
        """Price a person whose records earlier federations had too.

        Whether these had one noise is not known, so all of the person's records add up there.
        """
        mu = math.hypot(person.mu, person.visits * self.earlier)
        epsilon = gaussian.epsilon_of(mu, person.delta)
        return msgspec.structs.replace(person, mu=mu, epsilon=epsilon)

    @property
    def earlier_event(self) -> GaussianRelease:
        """A release that costs as much as all that was released before."""
        return GaussianRelease(self.earlier, 1.0)

    @property
    def budget(self) -> tuple[float, float] | None:
        """Budget (ε, δ) for the contents of the party's messages; None where nothing is charged."""
        claim = self.claim
        if not self.role.acts or not math.isfinite(claim.epsilon_contents) or claim.delta <= 0.0:
            return None
        return whole_budget(claim, self.place), claim.delta


def spent_before(stores: Iterable[str | os.PathLike[str]]) -> float:
    """Add up μ of all that was spent in stores of earlier federations.

    It is what is charged in a store, or what has left by the file beside it if that is more: the
    store may be an old backup. Stores of members that share one noise add up. Raises LedgerError if
    one of them cannot be read.
    """
    prices = [price for where in stores for price in _prices(where)]
    return math.sqrt(sum(mu**2 for mu in by_noise(prices)))


def _prices(where: str | os.PathLike[str]) -> list[tuple[str, float]]:
    """Return what a store's accounts have spent, each with the name of the noise it shares."""
    with Ledger.existing(where) as ledger, ledger.read() as connection:
        found = [
            with_noise(connection, ledger.statement(connection, party))
            for party in ledger.parties(connection)
        ]
    prices, left = [(each.noise, each.spent_mu) for each in found], left_beside(where).read()
    if left is not None and left.spent > gaussian.compose(by_noise(prices)):
        return [(found[0].noise if found else "", left.spent)]
    return prices
