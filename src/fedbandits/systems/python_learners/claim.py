"""What a learner in plain Python promises: nothing leaves, it leaves in clear, or under noise."""

from __future__ import annotations

import math
from typing import Any

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import (
    AGENT_INTERACTION,
    IN_CLEAR,
    ON_A_CLOCK,
    SECURE_NOISE,
    exact_sums,
)
from fedbandits.systems.python_learners.plan import LearnerPlan

_SELF = "an agent's records from that agent, and a decision from the person it is made for"
_LATER = (
    "the effect of a record on later decisions of its own agent, which learns from its own records "
    "at once: the guarantee is for a log whose other records stay as they are"
)
_SEVERAL = (
    "a person rather than a visit: each of a person's interactions counts, and k of them cost k "
    "times μ"
)
_EVERYBODY = "everybody but the agent itself"
_PUBLIC = (
    "who takes part, how many rounds each plays, and record_bound are public",
    "the rounds at whose end agents release are fixed in advance and public",
)
_RECORD = (
    "the learner's record follows from its arguments alone: it is called on a learner that has "
    "learned nothing, but nobody can check what code keeps elsewhere"
)
_DECIDE = (
    "the learner's decide follows from its arguments and from what was received: it is refused "
    "if it changes the learner, but nobody can check what code keeps elsewhere"
)
_REFUSAL = (
    "every record of both neighbours has a norm of at most record_bound: one that is longer stops "
    "the run"
)


def claim(plan: LearnerPlan) -> PrivacyClaim:
    """The claim of one agent for a whole run."""
    if not plan.release.releases:
        return _without_noise(plan, 0.0, "interactive", (_SELF,))
    if plan.release.mechanism == "none":
        return _without_noise(plan, math.inf, "nothing", (_SELF, IN_CLEAR))
    return _under_noise(plan)


def _without_noise(plan: LearnerPlan, epsilon: float, holds_for: Any, limits: Any) -> PrivacyClaim:
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom=_EVERYBODY,
        relation="replace-one",
        holds_for=holds_for,
        epsilon=epsilon,
        epsilon_contents=epsilon,
        delta=0.0,
        mu=epsilon,
        conditional_on=(*plan.facts.public,),
        not_protected=limits,
    )


def _under_noise(plan: LearnerPlan) -> PrivacyClaim:
    events = (plan.event(),)
    mu, learner = total_mu(events), plan.learner
    epsilon = gaussian.epsilon_of(mu, plan.config.delta)
    raw = learner.sees_own_records()
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom=_EVERYBODY,
        relation="replace-one",
        holds_for="fixed log" if raw else "interactive",
        epsilon=epsilon,
        epsilon_contents=epsilon,
        delta=plan.config.delta,
        mu=mu,
        conditional_on=_conditions(plan, raw),
        not_protected=_limits(plan, raw, mu),
        events=events,
    )


def _conditions(plan: LearnerPlan, raw: bool) -> tuple[str, ...]:
    refusal = (_REFUSAL,) if plan.config.out_of_bounds == "refuse" else ()
    decide = () if raw else (_DECIDE,)
    return (
        *_PUBLIC, *plan.facts.public, _RECORD, *decide, *refusal, SECURE_NOISE,
        exact_sums(plan.rounds), ON_A_CLOCK,
    )  # fmt: skip


def _limits(plan: LearnerPlan, raw: bool, mu: float) -> tuple[str, ...]:
    later = (_LATER,) if raw else ()
    return (_SELF, *later, _persons(plan, mu))


def _persons(plan: LearnerPlan, mu: float) -> str:
    """What several visits of one person cost."""
    visits = plan.facts.visits_per_person(plan.rounds)
    if visits is None:
        return _SEVERAL
    count, delta = max(1, math.ceil(visits)), plan.config.delta
    epsilon = gaussian.epsilon_of(count * mu, delta)
    return (
        f"{_SEVERAL}; here a row serves {count} visits on average, some more, and exactly {count} "
        f"cost μ = {count * mu:.3g}, ε = {epsilon:.4g} at δ = {delta:g}"
    )
