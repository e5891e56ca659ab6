"""What a FedUCB variant promises, derived from its parts."""

from __future__ import annotations

import math
from typing import Literal

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Event, total_mu
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import AGENT_INTERACTION, IN_CLEAR, SECURE_NOISE
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.noise import budgets
from fedbandits.systems.feducb.parts import Determinant, Never
from fedbandits.systems.feducb.rules import Plan, plan

_COUNTS = "who takes part, how many rounds each plays, and the bounds L and B are public"
_BUDGETS = "every agent's ε is public: radii follow from them"
_REFUSAL = (
    "every record of both neighbours keeps the bounds L and B: one that does not stops the run"
)
_SELF = "an agent's records from that agent, and a decision from the person it is made for"
_TIMING = (
    "when messages are sent: the determinant trigger reads raw data, so one record can decide "
    "whether a message exists at all (Zhou & Chowdhury 2024)"
)
_LATER = (
    "the effect of a record on later decisions of its own agent, which acts on raw records "
    "within a batch: the guarantee is for a log whose other records stay as they are"
)
_ROUNDS = "the sync rounds are fixed in advance and public"
_SERVED_BY_SEVERAL = (
    "one person served by several agents, or in several rounds: each record counts, k of them "
    "cost k times μ (the paper's footnote 4)"
)


def claim(config: FedUCB, environment: ContextualEnvironment, rounds: int) -> PrivacyClaim:
    """The claim of one agent towards everyone else, for a whole run."""
    from_whom = "the controller and all other agents together, from all messages ever sent"
    public = () if isinstance(config.schedule, Determinant | Never) else (_ROUNDS,)
    resolved = plan(config, environment, rounds)
    return claim_of_plan(config, environment, rounds, resolved, from_whom, public)


def claim_of_plan(
    config: FedUCB,
    environment: ContextualEnvironment,
    rounds: int,
    resolved: Plan,
    from_whom: str,
    public: tuple[str, ...] = (),
) -> PrivacyClaim:
    """The claim of one agent towards ``from_whom``, conditional on what is ``public`` too."""
    events = _events(config, resolved)
    mu = total_mu(events)
    contents = gaussian.epsilon_of(mu, config.delta)
    leaks_timing = isinstance(config.schedule, Determinant)
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom=from_whom,
        relation="replace-one",
        holds_for=_holds_for(config, contents, leaks_timing),
        epsilon=math.inf if leaks_timing else contents,
        epsilon_contents=contents,
        delta=config.delta,
        mu=mu,
        conditional_on=(*public, *_conditions(config, environment)),
        not_protected=_not_protected(config, environment, rounds, mu, leaks_timing),
        paper_claims=_paper_claims(config, environment.agents),
        events=events,
        epsilon_each=_each(config, resolved),
    )


def _events(config: FedUCB, resolved: Plan) -> tuple[Event, ...]:
    if isinstance(config.schedule, Never) or resolved.release.releases == 0:
        return ()
    return (resolved.event(),)


def _paper_claims(config: FedUCB, agents: int) -> tuple[float, float] | None:
    return (max(budgets(config, agents)), config.delta) if config.uses_published_noise else None


def _each(config: FedUCB, resolved: Plan) -> tuple[float, ...]:
    """ε of every agent's contents, where agents have budgets of their own."""
    if not isinstance(config.epsilon, tuple):
        return ()
    events = (_events(config, resolved.of_agent(i)) for i in range(resolved.rules.agents))
    return tuple(gaussian.epsilon_of(total_mu(event), config.delta) for event in events)


def _conditions(config: FedUCB, environment: ContextualEnvironment) -> tuple[str, ...]:
    conditions = [_COUNTS, *environment.public_facts]
    if isinstance(config.epsilon, tuple):
        conditions.append(_BUDGETS)
    if config.out_of_bounds == "refuse":
        conditions.append(_REFUSAL)
    if config.is_private:
        conditions.append(SECURE_NOISE)
    return tuple(conditions)


def _holds_for(
    config: FedUCB, contents: float, leaks_timing: bool
) -> Literal["interactive", "fixed log", "nothing"]:
    if leaks_timing or math.isinf(contents):
        return "nothing"
    if config.local_view == "released" or isinstance(config.schedule, Never):
        return "interactive"
    return "fixed log"


def _not_protected(
    config: FedUCB, environment: ContextualEnvironment, rounds: int, mu: float, leaks_timing: bool
) -> tuple[str, ...]:
    limits = [_SELF, IN_CLEAR] if math.isinf(mu) else [_SELF]
    if leaks_timing:
        limits.append(_TIMING)
    if config.local_view == "raw" and not isinstance(config.schedule, Never):
        limits.append(_LATER)
    visits = environment.visits_per_person(rounds)
    if 0.0 < mu < math.inf:
        limits.append(_SERVED_BY_SEVERAL if visits is None else _per_person(config, visits, mu))
    return tuple(limits)


def _per_person(config: FedUCB, visits: float, mu: float) -> str:
    count = max(1, math.ceil(visits))
    epsilon = gaussian.epsilon_of(count * mu, config.delta)
    return (
        f"a person rather than a visit: k visits of one person cost kμ. Here a row serves "
        f"{count} visits on average, some more; exactly {count} cost μ = {count * mu:.3g}, "
        f"ε = {epsilon:.4g} at δ = {config.delta:g}"
    )
