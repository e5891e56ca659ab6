"""The terms of a federation, from a system and its plan; and what can be claimed under them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from fedbandits._checked import Checked, without_later
from fedbandits._schema import prepared
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.terms import NoiseOrigin, Terms

if TYPE_CHECKING:
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.systems.base import Plan, System

#: A guarantee that may fail with a larger probability promises little.
LARGE_DELTA = 0.1


def terms_of(system: System[Any], plan: Plan, noise: NoiseOrigin) -> Terms:
    """Return the terms on which all parties of a variant agree.

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


def cautions_of(system: System[Any], plan: Plan) -> tuple[str, ...]:
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


def claim_under(system: System[Any], plan: Plan, terms: Terms) -> PrivacyClaim:
    """Return the privacy claim under ``terms``: nothing is claimed where noise is simulated."""
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
