"""The plan of a run, the terms of a federation with that plan, and the claim under its terms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from fedbandits._checked import Checked, without_later
from fedbandits._schema import prepared
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.roles import Roles
from fedbandits.federation.terms import NoiseOrigin, Schedule, Terms

if TYPE_CHECKING:  # a configuration is read without the code that prices the plan
    from fedbandits.privacy.claims import PrivacyClaim

#: A guarantee that may fail with a larger probability promises little.
LARGE_DELTA = 0.1


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a run: all numbers that its parties use, public and the same for all of them.

    Systems add the numbers that they compute. ``constants`` holds those that compiled code takes.

    Parameters
    ----------
    config
        Configuration of the variant.
    facts
        Public facts of the world.
    rounds
        The horizon T, in rounds.
    """

    config: Any
    facts: Any
    rounds: int

    @property
    def schedule(self) -> Schedule:
        """The schedule of releases: when parties make them, and of how many records."""
        return Schedule(rounds=self.rounds)

    @property
    def counts_persons(self) -> bool:
        """True if parties must be told who comes, because records of persons are counted."""
        return False

    @property
    def public(self) -> dict[str, Any]:
        """Values that each party reads from its own file, and that must be the same for all."""
        return {}


class DeclaredSystem(Protocol):
    """The methods of :class:`.System` from which terms, cautions and claims are made."""

    name: ClassVar[str]

    def roles(self, plan: Any) -> Roles | None:
        """Return the roles of the parties under ``plan``."""

    def cautions(self, plan: Any) -> tuple[str, ...]:
        """Return warnings of ``plan``."""

    def claim(self, plan: Any) -> PrivacyClaim:
        """Return the privacy claim of a run with ``plan``."""


def terms_of(system: DeclaredSystem, plan: Plan, noise: NoiseOrigin) -> Terms:
    """Return the terms on which all parties of a ``system`` agree under a ``plan``.

    ``noise`` is the source of the noise and the secrets of all parties.

    Raises
    ------
    LocalProtocolError
        If the variant has no parties.
    """
    roles = system.roles(plan)
    if roles is None:
        raise LocalProtocolError(f"{system.name}: this variant has no parties")
    return Terms(
        system=system.name,
        settings=_plain(plan.config),
        facts=_plain(plan.facts) | plan.public,
        schedule=plan.schedule,
        parties=roles.parties,
        noise=noise,
    )


def cautions_of(system: DeclaredSystem, plan: Plan) -> tuple[str, ...]:
    """Return what whoever plays a plan should know: each names the key that it is about first."""
    delta = getattr(plan.config, "delta", 0.0)
    found: tuple[str, ...] = system.cautions(plan)
    if delta > LARGE_DELTA:
        found += (
            f"delta: given {delta!r}; the guarantee may fail with about this probability. Choose "
            "it well below one in the number of records, such as 1e-5",
        )
    return found


def _plain(struct: msgspec.Struct) -> dict[str, Any]:
    """Return a struct as plain values, those of later releases only where they are given.

    1 where 1.0 is meant becomes 1.0, however it was written.
    """
    values = msgspec.to_builtins(struct)
    plain: dict[str, Any] = msgspec.to_builtins(msgspec.convert(values, prepared(type(struct))))
    return without_later(struct, plain) if isinstance(struct, Checked) else plain


def claim_under(system: DeclaredSystem, plan: Plan, terms: Terms) -> PrivacyClaim:
    """Return the claim of ``system`` and ``plan`` under ``terms``; none for simulated noise."""
    from fedbandits.privacy.claims import Limit  # a configuration is read without it

    claim = system.claim(plan)
    if terms.noise == "secure":
        return claim
    return msgspec.structs.replace(
        claim,
        holds_for="nothing",
        epsilon=math.inf,
        epsilon_contents=math.inf,
        mu=math.inf,
        encrypted="",
        epsilon_each=(),
        person=None,
        views=(),
        not_protected=(
            Limit(
                "everything",
                "Noise and secrets are simulated: whoever knows the seed can remove them.",
            ),
            *claim.not_protected,
        ),
    )


def require_secure(name: str, terms: Terms, noise: object) -> None:
    """Refuse a source of noise that is not what the terms promise.

    Raises
    ------
    LocalProtocolError
        If terms with secure noise are given a source that only simulates it.
    """
    from fedbandits.privacy.running_sum import CoveringNoise  # a configuration is read without it

    if terms.noise == "secure" and not isinstance(noise, CoveringNoise):
        raise LocalProtocolError(
            f"{name}: the terms require secure noise, but this source only simulates it; give "
            "SecureNoise()"
        )
