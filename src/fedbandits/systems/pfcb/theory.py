"""Theorem 1 of Solanki et al. (2022), of buyers in clear, to be held beside a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import Environment
from fedbandits.environments.kernels.procurement import ProcurementWorld
from fedbandits.environments.procurement import Procurement
from fedbandits.learners.kernels.purchasing import EXACT, GREEDY, TOLERANCE, buy
from fedbandits.random import replicate_key
from fedbandits.systems.pfcb.config import Always, Constant
from fedbandits.systems.pfcb.kernels import CLEAR
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.theory import Bound

_THEOREM_1 = "Solanki et al. 2022, Theorem 1"


class Gaps(NamedTuple):
    """Constants of one buyer's world that Theorem 1 needs."""

    smallest: float  # Δ_min, or somewhat more
    largest: float  # Δ_max, which is L
    smoothness: float  # R = ρ Σ k
    capacity: int  # k, the most units from one producer


def theorem_1(rounds: Floats, buyers: int, producers: int, gaps: Gaps, exploration: int) -> Floats:
    """Return the regret of one of n buyers that are alike and tell one another everything.

    *If the qualities of producers satisfy γ-separatedness, the individual regret of each buyer is
    O(ln(nT)/n).* With the constants of the proof, first phase included:

        E[R(t)] ≤ L τ + (π² k / (3 n³) + 6 ln(nt) / (n (Δ_min / R)²)) m Δ_max

    Nothing is hidden in it but the following, which the proof says nothing of or has wrong.

    * R is not defined. Bounded smoothness, |r_l(q) - r_l(q')| ≤ R max |q - q'|, needs R = ρ Σ k:
      what a whole order earns, not one unit.
    * γ-separatedness is not defined. What is needed is that no purchase that misses α passes as one
      that reaches it: with radii of at most ζ after the exploration, a margin γ ≥ 2ζ and no loss by
      it. Without, a term L · (rounds that miss the constraint) is due. It is left out as printed.
    * The oracle must always find the optimum (ω = β = 1). "β = 0" as printed would make the bound
      linear in t.
    * Between equation 8 and the last line a term m Δ_max is lost: the counters' own first round. In
      equation 8 it is multiplied by k/n³ by mistake.
    * W counts one buyer's units, so that n W were seen. Line 15 of Algorithm 1 has n W too, though
      W counts all buyers' units there: with that radius equation 4 does not follow.

    Parameters
    ----------
    rounds : (c,) float64
        Rounds t ≥ 1.
    buyers, producers : int
        n and m.
    gaps : Gaps
        Of the buyer's world.
    exploration : int
        τ, the rounds of the first phase.

    Returns
    -------
    bound : (c,) float64
        In units of revenue.
    """
    first = gaps.largest * np.minimum(rounds, exploration)
    failures = math.pi**2 / 3.0 * gaps.capacity / buyers**3
    needed = 6.0 * np.log(buyers * rounds) / (buyers * (gaps.smallest / gaps.smoothness) ** 2)
    bound: Floats = first + (failures + needed) * producers * gaps.largest
    return bound


def gaps_of(world: ProcurementWorld, buyer: int, oracle: int) -> Gaps | None:
    """Return the constants of one buyer; None if nothing that it can buy costs it anything.

    Δ_min is the least by which a purchase that is worse than the best one is worse. There are
    Π (k + 1) purchases, too many to look at. Looked at are those that differ from the best one by
    one unit and keep the constraint. What is found is Δ_min or more, so the printed bound is the
    one that follows from it or more. The best purchase is that of an oracle, ``GREEDY`` or
    ``EXACT``.
    """
    capacity, most = world.capacity[buyer], float(world.worst[buyer])
    if most <= 0.0:
        return None
    revenue = world.revenue * world.quality - world.cost[buyer]
    surplus = world.quality - world.threshold
    best = np.zeros(capacity.size, np.int64)
    buy(oracle, revenue, surplus, capacity, 0.0, np.zeros_like(best), np.zeros(best.size), best)
    left, room, units = revenue @ best, surplus @ best, best.sum()
    gaps = [most]
    for step, possible in ((-1, best > 0), (1, best < capacity)):
        keeps = room + step * surplus >= -TOLERANCE * (units + step)
        lost = world.best[buyer] - (left + step * revenue)
        gaps += lost[possible & keeps & (lost > TOLERANCE)].tolist()
    return Gaps(
        smallest=min(gaps),
        largest=most,
        smoothness=float(world.revenue * capacity.sum()),
        capacity=int(capacity.max()),
    )


def bounds(plan: PFCBPlan, environment: Environment) -> Sequence[Bound]:
    """Return Theorem 1, of variants in clear, in a world that is the same in every replicate.

    Of what tells noisy values nothing is proved: section 7 leaves "theoretical upper bounds for
    regret in a differentially private setting" to others. Buyers that are told nothing are n = 1
    each. Worlds that are drawn anew for every replicate have gaps as small as one likes.
    """
    if plan.constants.reports != CLEAR or not isinstance(environment, Procurement):
        return ()
    if environment.is_drawn and environment.instance is None:
        return ()
    world = environment.world(replicate_key(0, 0))
    oracle = EXACT if environment.benchmark == "exact" else GREEDY
    found = [gaps_of(world, buyer, oracle) for buyer in range(plan.constants.agents)]
    gaps = [each for each in found if each is not None]
    if not gaps:
        return ()
    together = plan.constants.agents if plan.constants.releases else 1
    producers, exploration = plan.constants.producers, plan.constants.exploration

    def at(rounds: Floats) -> Floats:
        each = [theorem_1(rounds, together, producers, one, exploration) for one in gaps]
        total: Floats = np.sum(each, axis=0)
        return total

    return (
        Bound(
            theorem=_THEOREM_1,
            statement=_statement(gaps),
            quantity="regret",
            at=at,
            largest=float(world.worst.sum()),
            departs=tuple(_departures(plan, environment, world, together)),
            in_mean=True,
        ),
    )


def _statement(gaps: Sequence[Gaps]) -> str:
    smallest = min(gaps, key=lambda each: each.smallest)
    return (
        "E[R(t)] ≤ Σ over buyers of L τ + (π² k / (3 n³) + 6 ln(nt) / (n (Δ_min / R)²)) m Δ_max; "
        "n is how many share, 1 where each learns alone; Δ_max = L. Not defined in the paper: "
        "R = ρ Σ k, as bounded smoothness needs it. Δ_min is taken as the least loss of purchases "
        f"one unit away from the best one ({smallest.smallest:.3g} at the least, of L = "
        f"{smallest.largest:.4g}): it is no more, so the printed bound is this or more"
    )


def _departures(
    plan: PFCBPlan, environment: Procurement, world: ProcurementWorld, together: int
) -> Iterator[str]:
    """List the theorem's conditions that a run does not meet."""
    config = plan.config
    if together > 1:
        yield from _departures_together(plan, world)
    if config.oracle == "greedy" or environment.benchmark == "greedy":
        yield "purchases, or r*, are the greedy oracle's: the proof needs the optimum every time"
    if config.quality_margin < 2.0 * config.zeta:
        yield (
            f"the margin γ = {config.quality_margin:g} is less than 2ζ = {2.0 * config.zeta:g}: "
            "rounds that miss the constraint are not ruled out, and the printed bound is without "
            "their regret"
        )
    if config.purchases == "cautious":
        yield "purchases are cautious: the proof is of optimistic ones"
    if config.exploration_scale != 1.0:
        yield f"the radius is multiplied by {config.exploration_scale:g}"


def _departures_together(plan: PFCBPlan, world: ProcurementWorld) -> Iterator[str]:
    constants, config = plan.constants, plan.config
    alike = (world.cost == world.cost[0]).all() and (world.capacity == world.capacity[0]).all()
    if not alike:
        yield "costs or capacities differ between buyers: the theorem is of buyers that are alike"
    if not constants.every_round:
        yield f"reports are exchanged in {constants.releases:,} rounds, not after every one"
    takes_all = isinstance(config.acceptance, Always) and config.weighting == Constant(1.0)
    if not takes_all:
        yield "reports are judged or weighed: the proof counts every unit that is told, once"
    if config.radius != "shared":
        yield "the radius is not √(3 ln(nt) / 2W) with W all units that were told, as it must be"
