"""Theorem of Dubey & Pentland (2020) on FedUCB without a controller."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.federation.topology import clique_cover
from fedbandits.systems.agents.config import Determinant
from fedbandits.systems.agents.theory import (
    PAPER,
    Setting,
    departures,
    log_growth,
    most_regret,
    setting_of,
    widest_radius,
)
from fedbandits.systems.feducb_p2p.plan import PeerPlan
from fedbandits.systems.theory import Bound


def theorem_2(setting: Setting, cliques: int, gamma: int, rounds: Floats) -> Floats:
    """Bound group regret without a controller: Theorem 2 (4 in the appendix) as printed.

    R_M(T) ≤ 4ν β̄ √(2M (χ̄(G_γ) · γ) Td (log_ν(ρ_max/ρ_min + TL²/(γdρ_min)) + 1)),
    β̄ = σ √(2 ln(2/α) + d ln(ρ_max/ρ_min + TL²/(γdρ_min))) + S√(Mρ_max) + κ√M

    with probability 1 - α. The theorem hides its constants and so does its proof, which repeats
    Theorem 1's clique by clique and estimator by estimator: of |C| agents in T/γ rounds each.
    Their sum is at most the bound above, as Σ_C √|C| ≤ √(χ̄M); the constants are Theorem 1's, ν = e.
    Its lost factor is lost here too. That agents wait up to 2γ rounds for one another costs the
    paper a factor 1 + L² of D, which the bound does not show.

    Parameters
    ----------
    cliques
        χ̄(G_γ), cliques that cover the power graph.
    gamma
        γ, hops that a message lives, and estimators that are used in turn.
    rounds : (n,) float64
        Rounds T played.
    """
    uses = rounds / gamma
    spread = 2.0 * setting.agents * cliques * gamma * rounds * setting.dimension
    root = np.sqrt(spread * (log_growth(setting, uses) + 1.0))
    bound: Floats = 4.0 * math.e * widest_radius(setting, uses) * root
    return bound


def bounds(plan: PeerPlan, environment: ContextualEnvironment) -> Sequence[Bound]:
    """Return Theorem 2 for Algorithm 3; nothing where rounds of release are fixed in advance."""
    setting, schedule = setting_of(plan), plan.config.schedule
    if setting is None or not isinstance(schedule, Determinant):
        return ()
    gamma = plan.peers.gamma
    cliques = 1 + int(clique_cover(plan.topology, gamma).max())
    departs = departures(plan.config, environment)
    if schedule.threshold != "theory":
        departs += ("D is another than the theorem's.",)
    return (
        Bound(
            theorem=f"{PAPER}, Theorem 2",
            statement="R ≤ 4e β̄ √(2MχγTd (ln(ρ_max/ρ_min + TL²/(γdρ_min)) + 1)), "
            "β̄ as in Theorem 1 with T/γ for T: its constants, ν = e, as the proof says that "
            f"it repeats. γ = {gamma}; the cliques in use are χ = {cliques}, at least as many as "
            "needed. As printed, though Theorem 1's last step loses a factor of up to d√M.",
            quantity="regret",
            at=lambda rounds: theorem_2(setting, cliques, gamma, rounds),
            largest=most_regret(plan, environment),
            departs=departs,
        ),
    )
