"""What a P-FCB variant promises, derived from its parts."""

from __future__ import annotations

import math
from typing import Literal

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Event, total_mu
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import IN_CLEAR, ON_A_CLOCK, SECURE_NOISE
from fedbandits.systems.pfcb.config import Never, Published
from fedbandits.systems.pfcb.plan import CLEAR, PFCBPlan

_PURCHASE = (
    "one purchase (units bought, units found good) of one buyer from one producer, one round"
)
_OUTCOME = (
    "how many units of one purchase turned out good, of one buyer from one producer, one round; "
    "how many were bought follows from reports and the buyer's own costs, and is covered for a "
    "fixed log only"
)
_PUBLIC = (
    "who takes part, all capacities, the rounds of exchanges and the number of rounds are public; "
    "exchanges do not depend on any data"
)
_BOUNDED = "every purchase keeps its capacity: 0 ≤ good units ≤ units ≤ kᵢⱼ; others are refused"
_DISJOINT = (
    "a purchase is counted in one batch alone, so the costliest report is charged, not all of them"
)
_IN_TIME = (
    "an outcome is known before the report that its order is due in leaves, whatever it is: one "
    "that comes later is refused, and then its order counts nowhere"
)
_WHENEVER = (
    "an outcome may be known at any time, which may depend on the purchase: it counts in the next "
    "report, so a purchase may move from one report to another, and two of them are charged"
)
_HELD_UP = (
    "an order that one of its purchases holds up: its outcomes are told together, so all of them "
    "move, at the price of a whole round's order"
)
_SELF = "a buyer's purchases from that buyer, and from the producers that it buys from"
_AMOUNTS = (
    "how many units are ordered: that follows from reports and from the buyer's own costs, so "
    "orders are covered only for a log whose other purchases stay as they are"
)
_LATER = (
    "the effect of a purchase on later ones of the same buyer, which acts on its own raw records: "
    "the guarantee is for a log whose other purchases stay as they are"
)


def claim(plan: PFCBPlan) -> PrivacyClaim:
    """The claim of one buyer towards all others, for a whole run."""
    config, events = plan.config, _events(plan)
    mu = total_mu(events)
    epsilon = gaussian.epsilon_of(mu, config.delta)
    interactive = config.local_view == "released" or not events
    reach: Literal["interactive", "fixed log"] = "interactive" if interactive else "fixed log"
    published = isinstance(config.privatizer, Published)
    return PrivacyClaim(
        unit=_unit(plan),
        from_whom="all other buyers together, from all messages ever sent",
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
    )


def _unit(plan: PFCBPlan) -> str:
    unit = _OUTCOME if plan.config.local_view == "released" else _PURCHASE
    return f"{unit}; and when it was inspected" if plan.late else unit


def cautions(plan: PFCBPlan) -> tuple[str, ...]:
    """What can be run, but hardly makes sense."""
    silent = plan.constants.releases == 0 and plan.constants.agents > 1
    if not silent or isinstance(plan.config.schedule, Never):
        return ()
    return (
        "window: it holds no round of exchange, so that buyers learn alone; widen it, or set "
        'schedule = "never"',
    )


def _events(plan: PFCBPlan) -> tuple[Event, ...]:
    """What one purchase is charged for; lengths are in capacities."""
    return (plan.event(),) if plan.constants.releases else ()


def _conditions(plan: PFCBPlan) -> tuple[str, ...]:
    conditions = [_PUBLIC]
    if plan.constants.reports != CLEAR:
        conditions += [_BOUNDED, SECURE_NOISE, ON_A_CLOCK]
        conditions.append(_WHENEVER if plan.late else _IN_TIME)
        if plan.continual is None and not plan.late:
            conditions.append(_DISJOINT)
    if isinstance(plan.config.privatizer, Published) and plan.constants.releases:
        conditions.append(_as_the_paper_adds(plan))
    return tuple(conditions)


def _as_the_paper_adds(plan: PFCBPlan) -> str:
    """Basic composition of all reports, with w and y both counted, as section 5.5 would have it."""
    config, releases = plan.config, plan.constants.releases
    budgets = (plan.constants.budget / plan.deviation(z) for z in range(1, releases + 1))
    epsilon = 2.0 * config.epsilon * sum(budgets)
    return (
        f"not used here: added up over all {releases} reports as in section 5.5, w and y both "
        f"counted, the published budgets come to ε = {epsilon:.3g} at δ = "
        f"{2 * releases * config.delta:.3g}"
    )


def _not_protected(plan: PFCBPlan, mu: float) -> tuple[str, ...]:
    config, producers = plan.config, plan.facts.producers
    limits = [_SELF, IN_CLEAR] if math.isinf(mu) else [_SELF]
    if mu > 0.0:
        limits.append(_LATER if config.local_view == "raw" else _AMOUNTS)
    if 0.0 < mu < math.inf:
        limits += [_HELD_UP] if plan.late else []
        orders = math.sqrt(producers) * mu
        limits += [
            "a whole round's order, or a habit: k purchases in one batch from one producer cost k "
            f"times μ; one order of {producers} producers costs μ = {orders:.3g}, "
            f"ε = {gaussian.epsilon_of(orders, config.delta):.4g} at δ = {config.delta:g}",
        ]
    return tuple(limits)
