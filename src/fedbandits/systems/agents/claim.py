"""Claims of linear agents, derived from the parts of a variant, and lines of their guides."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, Protocol

from fedbandits.facts import ContextualFacts, packed
from fedbandits.federation.messages import unpack
from fedbandits.federation.watching import Happened
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Event, total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.person import Counted, PersonCost, Places, person_cost
from fedbandits.privacy.statements import (
    AGENT_INTERACTION,
    AGENT_PERSON,
    COMPUTING_SHOWS,
    IN_CLEAR,
    NEVER_BACK,
    ON_A_CLOCK,
    OWN_RECORDS,
    SECURE_NOISE,
    WHO_COMES,
    a_person,
    at_several_agents,
    exact_sums,
    first_visits,
    several_agents,
)
from fedbandits.systems.agents.config import AgentsConfig, Determinant, Never
from fedbandits.systems.agents.noise import budgets
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.guide import Acts, line, numbers
from fedbandits.systems.guide_of_sums import MASKS
from fedbandits.systems.secure_sums import SumsPlan

_COUNTS = "These are public: who takes part, how many rounds each plays, and the bounds L and B."
_BUDGETS = "Every agent's ε is public, because radii follow from it."
_REFUSAL = (
    "Every record of both neighbours keeps the bounds L and B. If one does not, the run stops."
)
_TIMING = Limit(
    "when messages are sent",
    "The determinant trigger reads raw data, so one record can decide whether a message exists at "
    f"all (Zhou & Chowdhury 2024). {COMPUTING_SHOWS}",
)
_LATER = Limit(
    "the effect of a record on later decisions of its own agent",
    "Within a batch the agent acts on raw records. The guarantee is for a fixed log, whose other "
    "records stay as they are.",
)


def claim_towards(from_whom: str, plan: AgentsPlan, public: tuple[str, ...] = ()) -> PrivacyClaim:
    """Return the claim of one agent for a whole run.

    Parameters
    ----------
    from_whom
        The adversary, in words.
    public
        Further public facts of this variant, a sentence each. The claim is conditional on them.
    """
    config: AgentsConfig = plan.config
    events = _events(plan)
    mu = total_mu(events)
    contents = gaussian.epsilon_of(mu, config.delta)
    leaks_timing = isinstance(config.schedule, Determinant)
    return PrivacyClaim(
        unit=AGENT_PERSON if config.protects_persons else AGENT_INTERACTION,
        from_whom=from_whom,
        relation="replace-person" if config.protects_persons else "replace-one",
        holds_for=_holds_for(config, contents, leaks_timing),
        epsilon=math.inf if leaks_timing else contents,
        epsilon_contents=contents,
        delta=config.delta,
        mu=mu,
        conditional_on=(*public, *_conditions(plan)),
        not_protected=_not_protected(plan, mu, leaks_timing),
        paper_claims=_paper_claims(config, plan.facts.parties),
        events=events,
        epsilon_each=_each(plan),
        person=_at_all_agents(plan, mu)
        if config.protects_persons
        else per_person(
            plan.facts, plan.rounds, mu, config.delta, one_noise=plan.secure is not None
        ),
        one_noise=plan.secure is not None,
    )


def _events(plan: AgentsPlan) -> tuple[Event, ...]:
    if isinstance(plan.config.schedule, Never) or plan.release.releases == 0:
        return ()
    return (plan.event(),)


def _paper_claims(config: AgentsConfig, agents: int) -> tuple[float, float] | None:
    return (max(budgets(config, agents)), config.delta) if config.uses_published_noise else None


def _each(plan: AgentsPlan) -> tuple[float, ...]:
    """Return ε of every agent's contents, where agents have budgets of their own."""
    if not isinstance(plan.config.epsilon, tuple):
        return ()
    events = (_events(plan.of_agent(i)) for i in range(plan.constants.agents))
    return tuple(gaussian.epsilon_of(total_mu(event), plan.config.delta) for event in events)


def _conditions(plan: AgentsPlan) -> tuple[str, ...]:
    config: AgentsConfig = plan.config
    conditions = [_COUNTS, *plan.facts.public]
    if isinstance(config.epsilon, tuple):
        conditions.append(_BUDGETS)
    if config.protects_persons:
        conditions.append(first_visits(config.records_per_person))
    if config.out_of_bounds == "refuse":
        conditions.append(_REFUSAL)
    if config.is_private:
        conditions += [SECURE_NOISE, NEVER_BACK]
        if not config.uses_published_noise:
            conditions.append(exact_sums(plan.rounds))
        if not isinstance(config.schedule, Determinant | Never):
            conditions.append(ON_A_CLOCK)
    return tuple(conditions)


def _holds_for(
    config: AgentsConfig, contents: float, leaks_timing: bool
) -> Literal["interactive", "fixed log", "nothing"]:
    if leaks_timing or math.isinf(contents):
        return "nothing"
    if config.local_view == "released" or isinstance(config.schedule, Never):
        return "interactive"
    return "fixed log"


def _not_protected(plan: AgentsPlan, mu: float, leaks_timing: bool) -> tuple[Limit, ...]:
    config, one_noise = plan.config, plan.secure is not None
    limits = [OWN_RECORDS, IN_CLEAR] if math.isinf(mu) else [OWN_RECORDS]
    if leaks_timing:
        limits.append(_TIMING)
    if config.local_view != "released" and not isinstance(config.schedule, Never):
        limits.append(_LATER)
    if config.protects_persons:
        limits += [WHO_COMES, several_agents(one_noise)]
    elif 0.0 < mu < math.inf:
        known = plan.facts.visits_per_person(plan.rounds) is not None
        limits.append(a_person(one_noise) if known else _served_by_several(one_noise))
    return tuple(limits)


def _served_by_several(one_noise: bool) -> Limit:
    return Limit(
        "a person who is served in several rounds, or by several agents",
        f"The guarantee is for one visit. {at_several_agents(one_noise)}",
    )


def _at_all_agents(plan: AgentsPlan, mu: float) -> PersonCost | None:
    """Price a person's records where μ is for those at one agent; None if there is one agent.

    Each agent counts k of them at most, and all together no more than there are.
    """
    most, facts, rounds = plan.config.records_per_person, plan.facts, plan.rounds
    parties = facts.most_parties or facts.parties
    come = min(float(most * parties), facts.most_visits(rounds) or math.inf)
    squares, one_noise = facts.squared_visits(rounds, most), plan.secure is not None
    known = one_noise or squares is not None
    if come <= most or not known or not 0.0 < mu < math.inf:
        return None
    # Where visits are drawn, how many there are is no more than expected of anybody.
    sure = come == most * parties or facts.most_rows is not None
    return person_cost(
        come, mu / most, plan.config.delta, "to all parties" if sure else "at most",
        squares=squares, one_noise=one_noise, places="several parties",
    )  # fmt: skip


def per_person(
    facts: ContextualFacts, rounds: int, mu: float, delta: float, one_noise: bool = False
) -> PersonCost | None:
    """Price a person's visits, if one costs μ; None if each visit is of a new person.

    The person who costs most is priced, if it is known how often people come, else the mean. Each
    agent has noise of its own: n visits to each cost √(Σ n²) times μ. Where ``one_noise`` covers
    the sum of all agents, visits add up wherever they are.
    """
    most, mean = facts.most_visits(rounds), facts.visits_per_person(rounds)
    visits = mean if most is None else most
    if visits is None or not 0.0 < mu < math.inf:
        return None
    squares = None if one_noise else facts.squared_visits(rounds)
    if squares is None:
        squares = packed(math.ceil(visits), rounds)
    places: Places = "any parties"
    if facts.knows_parties_of_persons:
        places = "one party" if 1 in (facts.parties, facts.most_parties) else "several parties"
    counted: Counted = "on average" if most is None else "at most"
    return person_cost(
        visits, mu, delta, counted, squares=squares, one_noise=one_noise, places=places
    )


ACTS = Acts("chooses arm {}", "observes the reward {}")
#: Lines of agents in every round, whichever messages they send.
EVERY_ROUND = (
    line("for t = 1 … T:"),
    line("  choose the arm x with the greatest xᵀθ + β‖x‖ in the inverse of V", "* Decide"),
    line("  observe the reward y; add x xᵀ and x y to the own sums", "* Observe"),
    line("  (a reward that will never come: close the decision)", "* LetGo"),
)
_NOISE = {"noise": "Sums leave an agent under noise: a single record does not show in them."}


class ReleasingPlan(SumsPlan, Protocol):
    """A plan of agents that release sums, in clear or under noise."""

    @property
    def release(self) -> ContinualPlan:
        """The mechanism of their releases."""


def protections(plan: ReleasingPlan) -> Mapping[str, str]:
    """Return the protections that a run may be shown without."""
    noise = _NOISE if plan.release.slots else {}
    return noise | MASKS if plan.secure is not None else noise


def sums_in(plan: ReleasingPlan, off: Collection[str], what: str) -> Callable[[Happened], str]:
    """Return a function that reads the numbers of a statistic, which anybody can.

    ``what`` names the sums: ``{}`` stands for the message's sender.
    """
    noise = "under noise" if plan.release.slots and "noise" not in off else "without noise"

    def reads(happened: Happened) -> str:
        message: Any = happened.event
        values = unpack(message.statistic, plan.constants.release_size)
        return f"{what.format(message.sender)}, {noise}: {numbers(values)}."

    return reads
