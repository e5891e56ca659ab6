"""Theorems of Dubey & Pentland (2020) on FedUCB with a controller, as printed and as they follow.

The mended forms are what the paper's own argument gives when its last steps are taken with all
their terms. Their docstrings derive them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.agents.config import Determinant
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.theory import (
    PAPER,
    Setting,
    departures,
    information,
    log_growth,
    most_regret,
    setting_of,
    widest_radius,
)
from fedbandits.systems.theory import Bound


def proposition_1(setting: Setting, threshold: float, rounds: Floats) -> Floats:
    """Bound the syncs that a threshold D leads to: Proposition 1 (5 in the appendix) as printed.

    n ≤ 2 √(dT/D · ln(ρ_max/ρ_min + TL²/(dρ_min))) + 4

    All constants are the paper's. The root covers the logarithm in the appendix, which is what
    the proof gives; in the main text it ends before it. It holds where ρ_max = ρ_min. Under noise
    it does not: the proof takes the left side of the trigger for ln det S_{k+1}/det S_k, but it
    holds M(ρ_max - ρ_min)I besides, which S_{k+1} does not.

    Parameters
    ----------
    rounds : (n,) float64
        Rounds T played.
    """
    growth = setting.dimension * log_growth(setting, rounds)
    bound: Floats = 2.0 * np.sqrt(growth * rounds / threshold) + 4.0
    return bound


def proposition_1_mended(setting: Setting, threshold: float, rounds: Floats) -> Floats:
    """Bound the syncs by Proposition 1 with the term that its proof leaves out.

    n ≤ dT/D · ln(2ρ_max/ρ_min - 1) + 2 √(ΓT/D), Γ = d ln(1 + TL²/(dρ_min))

    When the trigger fires after an epoch of t rounds, its left side is at least D/t, and at most
    ln det V̄_k/det V̄_{k-1} + d ln(2ρ_max/ρ_min - 1), V̄_k the Gram sum of all records up to sync
    k plus Mρ_min I. So an epoch shorter than t adds more than D/t - d ln(2ρ_max/ρ_min - 1) to
    ln det V̄, which grows by Γ at most; no more than T/t are longer. The best t gives the bound. No
    constant is hidden. Without noise it is Proposition 1, without its 4.

    Parameters as for :func:`proposition_1`.
    """
    offset = setting.dimension * math.log(2.0 * setting.rho_max / setting.rho_min - 1.0)
    learned = information(setting, rounds) * rounds / threshold
    bound: Floats = offset * rounds / threshold + 2.0 * np.sqrt(learned)
    return bound


def theorem_1(setting: Setting, rounds: Floats) -> Floats:
    """Bound group regret with a controller: Theorem 1 (3 in the appendix) as printed.

    R_M(T) ≤ 4ν β̄_T √(2MTd (log_ν(ρ_max/ρ_min + TL²/(dρ_min)) + 1)),
    β̄_T = σ √(2 ln(2/α) + d ln(ρ_max/ρ_min + TL²/(dρ_min))) + S√(Mρ_max) + κ√M

    with probability 1 - α, at D = 2Td / (log_ν(…) + 1). The constants are those of the proof's last
    display but one; the theorem itself hides them. ν = e: for another ν the trigger's natural
    logarithm and Lemma 2 are not the ones that the proof uses. The display before it does not lead
    to it: M√D (d log_ν(…) + 1) is up to d√M times what the last line leaves of it.

    Parameters
    ----------
    rounds : (n,) float64
        Rounds T played.
    """
    spread = 2.0 * setting.agents * rounds * setting.dimension
    root = np.sqrt(spread * (log_growth(setting, rounds) + 1.0))
    bound: Floats = 4.0 * math.e * widest_radius(setting, rounds) * root
    return bound


def theorem_1_mended(setting: Setting, threshold: float, rounds: Floats) -> Floats:
    """Bound group regret by Theorem 1 with every term of its proof, for any threshold D.

    R_M(T) ≤ 2 β̄_T (√(e c MTΓ) + MΓ (√(cD) + √a)),
    Γ = d ln(1 + TL²/(dρ_min)), a = L²/(Mρ_min), c = a / ln(1 + a)

    with probability 1 - α. Epochs in which ln det V̄ grows by at most 1 cost the first term
    (elliptical potential; c ≤ 2 is its constant when no norm exceeds √a). At most Γ others are
    left. In each an agent pays √(cD) while the trigger stays silent, and √a in the round that
    fires it. No constant is hidden.

    Parameters as for :func:`proposition_1`.
    """
    learned = information(setting, rounds)
    longest = setting.context_bound**2 / (setting.agents * setting.rho_min)
    potential = longest / math.log1p(longest)
    even = np.sqrt(math.e * potential * setting.agents * rounds * learned)
    others = setting.agents * learned * (math.sqrt(potential * threshold) + math.sqrt(longest))
    bound: Floats = 2.0 * widest_radius(setting, rounds) * (even + others)
    return bound


def bounds(plan: AgentsPlan, environment: ContextualEnvironment) -> Sequence[Bound]:
    """Return Proposition 1 and Theorem 1 where they are about the variant; nothing for sound ones.

    With noise and the adaptive radius no theorem of the paper applies, and for batches that grow
    none is true: contexts could be chosen so that nothing helps within the longest batch.
    """
    setting = setting_of(plan)
    if setting is None:
        return ()
    found = [_theorem_1(plan, setting, environment)]
    if isinstance(plan.config.schedule, Determinant):
        found.append(_theorem_1_mended(plan, setting, environment))
        found += _propositions(plan, setting)
    return tuple(found)


def _theorem_1(plan: AgentsPlan, setting: Setting, environment: ContextualEnvironment) -> Bound:
    """Return Theorem 1 as printed; the proof needs the theorem's own threshold."""
    departs = departures(plan.config, environment)
    schedule = plan.config.schedule
    if not isinstance(schedule, Determinant):
        departs += ("Syncs come in rounds fixed in advance, not by the trigger.",)
    elif schedule.threshold != "theory":
        growth = float(log_growth(setting, np.array([float(plan.rounds)]))[0])
        printed = 2.0 * plan.rounds * setting.dimension / (growth + 1.0)
        departs += (f"D is {plan.constants.threshold:,.4g}; the theorem's is {printed:,.4g}.",)
    return Bound(
        theorem=f"{PAPER}, Theorem 1",
        statement="R ≤ 4e β̄ √(2MTd (ln(ρ_max/ρ_min + TL²/(dρ_min)) + 1)), "
        "β̄ = σ√(2 ln(2/α) + d ln(ρ_max/ρ_min + TL²/(dρ_min))) + S√(Mρ_max) + κ√M: the constants of "
        "the proof, ν = e. As printed, though its last step loses a factor of up to d√M.",
        quantity="regret",
        at=lambda rounds: theorem_1(setting, rounds),
        largest=most_regret(plan, environment),
        departs=departs,
    )


def _theorem_1_mended(
    plan: AgentsPlan, setting: Setting, environment: ContextualEnvironment
) -> Bound:
    threshold = plan.constants.threshold
    return Bound(
        theorem=f"{PAPER}, Theorem 1 mended",
        statement="R ≤ 2 β̄ (√(ecMTΓ) + MΓ(√(cD) + √a)), Γ = d ln(1 + TL²/(dρ_min)), "
        f"a = L²/(Mρ_min), c = a/ln(1 + a), D = {threshold:,.4g}: the same proof with all its "
        "terms.",
        quantity="regret",
        at=lambda rounds: theorem_1_mended(setting, threshold, rounds),
        largest=most_regret(plan, environment),
        departs=departures(plan.config, environment),
    )


def _propositions(plan: AgentsPlan, setting: Setting) -> tuple[Bound, Bound]:
    threshold = plan.constants.threshold
    noisy = setting.rho_max > setting.rho_min
    return (
        Bound(
            theorem=f"{PAPER}, Proposition 1",
            statement="n ≤ 2√(dT/D · ln(ρ_max/ρ_min + TL²/(dρ_min))) + 4, as in the appendix, "
            f"D = {threshold:,.4g}.",
            quantity="syncs",
            at=lambda rounds: proposition_1(setting, threshold, rounds),
            largest=1.0,
            departs=("The proof is right for ρ_max = ρ_min alone.",) if noisy else (),
        ),
        Bound(
            theorem=f"{PAPER}, Proposition 1 mended",
            statement="n ≤ dT/D · ln(2ρ_max/ρ_min - 1) + 2√(ΓT/D), Γ = d ln(1 + TL²/(dρ_min)), "
            f"D = {threshold:,.4g}.",
            quantity="syncs",
            at=lambda rounds: proposition_1_mended(setting, threshold, rounds),
            largest=1.0,
        ),
    )
