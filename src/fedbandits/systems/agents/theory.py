"""Quantities of the theorems of Dubey & Pentland (2020): radius, information, regret of a round.

Both forms of FedUCB have the same confidence bound, and both regret theorems rest on it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.agents.config import AgentsConfig, Never
from fedbandits.systems.agents.noise import ridge
from fedbandits.systems.agents.plan import AgentsPlan

#: The paper, as theorems name it.
PAPER = "Dubey & Pentland 2020"


class Setting(NamedTuple):
    """The quantities that the theorems are stated in.

    Parameters
    ----------
    agents, dimension
        M and d.
    rho_min, rho_max, kappa
        Bounds on one agent's share of the noise and of the shift (Definition 2). In clear the
        ridge parameter is shared out: ρ_min = ρ_max = λ₁ / M, κ = 0.
    reward_noise, parameter_bound, context_bound
        σ, S and L.
    alpha
        Probability with which a martingale may exceed its bound, twice over.
    """

    agents: int
    dimension: int
    rho_min: float
    rho_max: float
    kappa: float
    reward_noise: float
    parameter_bound: float
    context_bound: float
    alpha: float


def setting_of(plan: AgentsPlan) -> Setting | None:
    """Return the theorems' quantities in a run; None where they say nothing of it.

    They are about agents that share one model and bring their statistics together, under the
    published radius or in clear (where the adaptive radius is the published one without noise).
    Nothing is proved of agents that explore standard deviations.
    """
    config, constants = plan.config, plan.constants
    if constants.deviations or isinstance(config.schedule, Never) or constants.models > 1:
        return None
    if plan.bounds is not None:
        low, high, kappa = plan.bounds
    elif not config.is_private:
        low = high = ridge(config) / constants.agents
        kappa = 0.0
    else:
        return None
    # The radius' log term is 2 ln(2 / α') - d ln(Mρ_min), α' what one martingale has of α.
    spent = constants.log_term + constants.dimension * math.log(constants.base)
    return Setting(
        constants.agents, constants.dimension, low, high, kappa,
        constants.reward_noise, constants.parameter_bound, constants.context_bound,
        2.0 * math.exp(-0.5 * spent),
    )  # fmt: skip


def log_growth(setting: Setting, uses: Floats) -> Floats:
    """Return ln(ρ_max/ρ_min + tL²/(dρ_min)): times d, ln det V_p/det V_0 after t rounds at most."""
    gained = uses * setting.context_bound**2 / (setting.dimension * setting.rho_min)
    growth: Floats = np.log(setting.rho_max / setting.rho_min + gained)
    return growth


def information(setting: Setting, uses: Floats) -> Floats:
    """Return Γ = d ln(1 + tL²/(dρ_min)) after t rounds.

    It bounds ln det(G + Mρ_min I)/det(Mρ_min I), where G is the Gram sum of all agents' records
    without noise: its trace is at most MtL².
    """
    gained = uses * setting.context_bound**2 / (setting.dimension * setting.rho_min)
    bound: Floats = setting.dimension * np.log1p(gained)
    return bound


def widest_radius(setting: Setting, uses: Floats) -> Floats:
    """Return β̄_t of the proof of Proposition 2, which bounds every radius up to round t.

    β̄_t = σ √(2 ln(2/α) + d ln(ρ_max/ρ_min + tL²/(dρ_min))) + S√(Mρ_max) + κ√M.
    """
    logs = 2.0 * math.log(2.0 / setting.alpha) + setting.dimension * log_growth(setting, uses)
    bias = setting.parameter_bound * math.sqrt(setting.agents * setting.rho_max)
    bias += setting.kappa * math.sqrt(setting.agents)
    radius: Floats = setting.reward_noise * np.sqrt(logs) + bias
    return radius


def most_regret(plan: AgentsPlan, environment: ContextualEnvironment) -> float:
    """Return the most regret that one round of all agents can add."""
    return plan.constants.agents * environment.largest_gap


def departures(config: AgentsConfig, environment: ContextualEnvironment) -> tuple[str, ...]:
    """List conditions of either regret theorem that a run does not meet."""
    found = []
    if config.exploration_scale != 1.0:
        found.append(
            f"The radius is scaled by {config.exploration_scale:g}; the theorem is about 1."
        )
    if config.local_view == "released":
        found.append("Agents act on released statistics alone, as of the last sync.")
    if type(environment).true_parameters is ContextualEnvironment.true_parameters:
        found.append("Rewards are not linear in the contexts here.")
    if not environment.alike:
        found.append("Agents have parameters of their own here; the theorem is about one for all.")
    return tuple(found)
