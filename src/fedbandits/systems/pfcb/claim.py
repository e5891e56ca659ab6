"""Claim of a P-FCB variant, derived from its parts."""

from __future__ import annotations

import math
from typing import Literal

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.statements import IN_CLEAR, NEVER_BACK, ON_A_CLOCK, SECURE_NOISE
from fedbandits.systems.pfcb.config import Never, Published
from fedbandits.systems.pfcb.kernels import CLEAR
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.secure_claim import claim_sums

_PURCHASE = (
    "one purchase (units bought, units found good) of one buyer from one producer in one round"
)
_OUTCOME = (
    "how many units turned out good, in one purchase of one buyer from one producer, one round"
)
_INSPECTED = ", and when it was inspected"
_BOUGHT = (
    ". How many units were bought is covered for a fixed log only: it follows from reports and "
    "the buyer's own costs"
)
_PUBLIC = (
    "These are public: who takes part, all capacities, the rounds of exchanges and the number of "
    "rounds. Exchanges do not depend on any data."
)
_BOUNDED = "Every purchase keeps its capacity: 0 ≤ good units ≤ units ≤ kᵢⱼ. Others are refused."
_DISJOINT = (
    "A purchase is counted in one batch alone. So only the costliest report is charged, not all "
    "reports together."
)
_IN_TIME = (
    "An outcome, whatever it is, is known before the report leaves in which its order is due. A "
    "later outcome is refused, and then its order counts nowhere."
)
_WHENEVER = (
    "An outcome may be known at any time, and that time may depend on the purchase. It counts in "
    "the next report. So a purchase may move from one report to another, and two are charged."
)
_HELD_UP = Limit(
    "an order that one of its purchases holds up",
    "The outcomes of an order are told together, so all of them move. That has the price of a "
    "whole round's order.",
)
_SELF = Limit(
    "a buyer's purchases, from that buyer and from the producers that it buys from",
    "Both sides of a purchase see it.",
)
_AMOUNTS = Limit(
    "how many units are ordered",
    "That follows from reports and the buyer's own costs. Orders are covered for a fixed log "
    "only, whose other purchases stay as they are.",
)
#: Which purchases share one noise, and what has noise of its own: by whether reports are running
#: sums, and whether one noise covers all buyers.
_ALIKE = {
    (False, False): ("in one batch from one producer", "batches, producers and buyers"),
    (True, False): ("from one producer", "producers and buyers"),
    (True, True): ("from one producer, by whichever buyers,", "producers"),
}
_LATER = Limit(
    "the effect of a purchase on later ones of the same buyer",
    "The buyer acts on its own raw records. The guarantee is for a fixed log, whose other "
    "purchases stay as they are.",
)


def claim(plan: PFCBPlan) -> PrivacyClaim:
    """Return the claim of one buyer towards all others, for a whole run."""
    config = plan.config
    # What one purchase is charged for; lengths are in capacities.
    events = (plan.event(),) if plan.constants.releases else ()
    mu = total_mu(events)
    epsilon = gaussian.epsilon_of(mu, config.delta)
    interactive = config.local_view == "released" or not events
    reach: Literal["interactive", "fixed log"] = "interactive" if interactive else "fixed log"
    published = isinstance(config.privatizer, Published)
    claimed = PrivacyClaim(
        unit=_unit(plan),
        from_whom="all other buyers together, even if they see all messages ever sent",
        relation="replace-one",
        holds_for="nothing" if math.isinf(epsilon) else reach,
        epsilon=epsilon,
        epsilon_contents=epsilon,
        delta=config.delta,
        mu=mu,
        conditional_on=_conditions(plan),
        not_protected=_not_protected(plan, mu),
        paper_claims=(config.epsilon, config.delta) if published else None,
        events=events,
        one_noise=plan.secure is not None,
    )
    if plan.secure is None:
        return claimed
    return claim_sums(claimed, plan.secure, plan.constants.agents, "buyers")


def _unit(plan: PFCBPlan) -> str:
    released = plan.config.local_view == "released"
    inspected = _INSPECTED if plan.late else ""
    return f"{_OUTCOME if released else _PURCHASE}{inspected}{_BOUGHT if released else ''}"


def cautions(plan: PFCBPlan) -> tuple[str, ...]:
    """Warn of settings that can be run, but hardly make sense."""
    silent = plan.constants.releases == 0 and plan.constants.agents > 1
    if not silent or isinstance(plan.config.schedule, Never):
        return ()
    return (
        "window: it holds no round of exchange, so that buyers learn alone; widen it, or set "
        'schedule = "never"',
    )


def _conditions(plan: PFCBPlan) -> tuple[str, ...]:
    conditions = [_PUBLIC]
    if plan.constants.reports != CLEAR:
        conditions += [_BOUNDED, SECURE_NOISE, NEVER_BACK, ON_A_CLOCK]
        conditions.append(_WHENEVER if plan.late else _IN_TIME)
        if plan.continual is None and not plan.late:
            conditions.append(_DISJOINT)
    if isinstance(plan.config.privatizer, Published) and plan.constants.releases:
        conditions.append(_as_the_paper_adds(plan))
    return tuple(conditions)


def _as_the_paper_adds(plan: PFCBPlan) -> str:
    """Compute basic composition of all reports, with w and y both counted, as in section 5.5."""
    config, releases = plan.config, plan.constants.releases
    budgets = (plan.constants.budget / plan.deviation(z) for z in range(1, releases + 1))
    epsilon = 2.0 * config.epsilon * sum(budgets)
    return (
        "Not a condition, for comparison: section 5.5 adds up the published budgets over all "
        f"{releases} reports, and counts w and y both. That comes to ε = {epsilon:.3g} at δ = "
        f"{2 * releases * config.delta:.3g}, and is not used here."
    )


def _not_protected(plan: PFCBPlan, mu: float) -> tuple[Limit, ...]:
    config, producers = plan.config, plan.facts.producers
    limits = [_SELF, IN_CLEAR] if math.isinf(mu) else [_SELF]
    if mu > 0.0:
        limits.append(_LATER if config.local_view == "raw" else _AMOUNTS)
    if 0.0 < mu < math.inf:
        limits += [_HELD_UP] if plan.late else []
        limits.append(_whole_order(plan, mu, producers, config.delta))
    return tuple(limits)


def _whole_order(plan: PFCBPlan, mu: float, producers: int, delta: float) -> Limit:
    """Return the price of several purchases together, in one round or of one producer.

    Every producer has numbers of its own in a report, and every number noise of its own. So an
    order from all of them costs √m times μ. In a secure sum the purchases of all buyers from one
    producer are in the same two numbers, under one noise. A sum has continual noise always.
    """
    alike, apart = _ALIKE[plan.continual is not None, plan.secure is not None]
    order = gaussian.compose([mu] * producers)
    return Limit(
        "a whole round's order, or a habit of buying from one producer",
        f"The guarantee is for one purchase: k purchases {alike} cost k times μ. Other {apart} "
        "have noise of their own: n purchases at each cost √(Σ n²) times μ. One order from "
        f"{producers} producers costs μ = {order:.3g}, "
        f"ε = {gaussian.epsilon_of(order, delta):.4g} at δ = {delta:g}.",
    )
