"""Applications of agents with a learner in plain Python, and supplies of agents."""

from __future__ import annotations

from functools import partial

import numpy as np

from fedbandits.draws import Draws
from fedbandits.federation.seats import HELPER
from fedbandits.federation.totals.plan import HelperSecrets
from fedbandits.random import Key, Purpose, replicate_key
from fedbandits.systems.agents.application import SharedModel, secret_key
from fedbandits.systems.agents.application import application as agents_application
from fedbandits.systems.application import Resources
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.python_learners.roles import LearnerSupply
from fedbandits.systems.secure_sums import (
    agent_secrets,
    helper_secrets,
    simulated_agent_secrets,
    simulated_helper_secrets,
)
from fedbandits.systems.simulated import simulated_noise


def application(plan: LearnerPlan) -> SharedModel:
    """Return how applications ask an agent."""
    return agents_application(plan)


def supply(
    plan: LearnerPlan, role: str, place: int, resources: Resources
) -> LearnerSupply | HelperSecrets | None:
    """Return the supply of an agent: noise that is charged for, draws of its own, and secrets.

    A helper brings the secrets that it shares with agents.
    """
    if role == HELPER:
        return helper_secrets(plan, place, resources)
    if role != "agent":
        return None
    noise = resources.noise(plan.event) if plan.release.slots else lambda step: np.zeros(0)
    draws = partial(_draws, secret_key(resources, "draws"), place)
    return LearnerSupply(draws, noise, agent_secrets(plan, resources))


def simulated(
    plan: LearnerPlan, role: str, place: int, seed: int, replicate: int, first: int
) -> LearnerSupply | HelperSecrets | None:
    """Return a supply from a seed, which protects nobody. Draws are those of the agent's rounds."""
    if role == HELPER:
        return simulated_helper_secrets(plan, place, seed, replicate)
    if role != "agent":
        return None
    key = replicate_key(seed, replicate)
    return LearnerSupply(
        partial(_draws_since, first, key, place), partial(simulated_noise, plan.size, key, place),
        simulated_agent_secrets(plan, place, seed, replicate),
    )  # fmt: skip


def _draws_since(first: int, key: Key, place: int, number: int) -> Draws:
    return _draws(key, place, first + number - 1)


def _draws(key: Key, place: int, number: int) -> Draws:
    return Draws(key, place, number, Purpose.LEARNER)
