"""The plan of asynchronous FedLinUCB: its numbers, its claim, and its guide.

Nothing is promised, and the claim says so. The lines of the guide are from He et al. (2022),
Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import msgspec

from fedbandits.facts import ContextualFacts
from fedbandits.privacy.accounting import Clear
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.statements import AGENT_INTERACTION, COMPUTING_SHOWS
from fedbandits.systems.agents.claim import ACTS, EVERY_ROUND, sums_in
from fedbandits.systems.agents.config import AgentsConfig, Never, NoNoise
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants
from fedbandits.systems.agents.plan import AgentsPlan, Pooling, plan_pooling
from fedbandits.systems.fedlinucb_async.config import AsyncFedLinUCB
from fedbandits.systems.guide import Guide, Passage, line


class AsyncPlan(AgentsPlan, frozen=True, kw_only=True):
    """The plan of all parties; there is no noise in it."""

    def epsilon_spent(self, releases: int) -> float:
        """Return no finite ε from the first exchange on, because all is sent in clear."""
        return math.inf if releases else 0.0


def make_plan(config: AsyncFedLinUCB, facts: ContextualFacts, rounds: int) -> AsyncPlan:
    """Work out the plan of all parties: linear agents in clear, this paper's trigger and radius.

    Raises
    ------
    ConfigError
        If the world can exceed the bounds L or B and ``out_of_bounds`` is ``refuse``.
    """
    shared = plan_pooling(as_agents(config), facts, rounds, Pooling(facts.parties, 1, 1))
    growth = 1.0 / facts.parties**2 if config.growth == "auto" else float(config.growth)
    constants = shared.constants._replace(
        schedule=TRIGGERED, threshold=math.log1p(growth), shift=shared.constants.base
    )
    if config.confidence == "published":
        beta = published_radius(config, constants, growth, rounds)
        # A constant: all of it stands in the bias, nothing is left to the determinant.
        constants = constants._replace(
            published_confidence=True, published_bias=beta, reward_noise=0.0
        )
    parts = msgspec.structs.asdict(shared) | {"config": config, "constants": constants}
    return AsyncPlan(**parts)


def as_agents(config: AsyncFedLinUCB) -> AgentsConfig:
    """Return the settings of all linear agents, as a variant of theirs in clear."""
    ridge = config.regularization
    if ridge == "auto" and config.confidence != "deviations":
        ridge = 1.0 / config.parameter_bound**2
    return AgentsConfig(
        schedule=Never(),
        privatizer=NoNoise(),
        confidence="deviations" if config.confidence == "deviations" else "adaptive",
        exploration_scale=config.exploration_scale,
        context_bound=config.context_bound,
        reward_bound=config.reward_bound,
        parameter_bound=config.parameter_bound,
        out_of_bounds=config.out_of_bounds,
        noise_scale=config.noise_scale,
        alpha=config.alpha,
        regularization=ridge,
    )


def published_radius(
    config: AsyncFedLinUCB, constants: Constants, growth: float, rounds: int
) -> float:
    """Return β of He et al. (2022), Theorem 5.1, which counts the rounds of all agents as T.

    β = √λ S + (√(1 + Mα) + M√(2α)) (σ √(d ln((1 + T L²/(min(α, 1) λ))/δ)) + √λ S), with δ shared
    by the models. See docs/baselines.md.
    """
    agents, ridge = constants.agents, constants.base
    size = math.sqrt(ridge) * config.parameter_bound
    records = agents * rounds * config.context_bound**2 / (min(growth, 1.0) * ridge)
    logarithm = math.log(1.0 + records) + math.log(constants.models / config.alpha)
    spread = config.noise_scale * math.sqrt(constants.dimension * logarithm)
    factor = math.sqrt(1.0 + agents * growth) + agents * math.sqrt(2.0 * growth)
    return size + factor * (spread + size)


def claim(plan: AsyncPlan) -> PrivacyClaim:
    """Return the claim of one agent towards everyone else, for a whole run."""
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom="nobody: agents exchange sums of their records in clear",
        relation="replace-one",
        holds_for="nothing",
        epsilon=math.inf,
        epsilon_contents=math.inf,
        delta=0.0,
        mu=math.inf,
        conditional_on=plan.facts.public,
        not_protected=(
            Limit(
                "anything, from the server",
                "An agent uploads the exact sum of its few newest records, often of a single one.",
            ),
            Limit("other agents' sums, from an agent", "An agent downloads the exact total."),
            Limit(
                "when messages are sent",
                f"The determinant trigger reads raw data. {COMPUTING_SHOWS}",
            ),
        ),
        events=(Clear(),),
    )


_AGENT = (
    *EVERY_ROUND,
    line("  if det(Σ + Σ_local) > (1 + α) det Σ: send the sums since the last exchange",
         "* Observe", sends="Upload"),
    line("  take over the server's sums; V and θ follow from them", "* Download"),
    line("  if no answer comes: go on; the next exchange has these sums again", "waiting Deadline"),
)  # fmt: skip
_SERVER = (
    line("add an agent's sums to those of all", "serving Upload"),
    line("answer that agent alone with the sums of all", "serving Upload", sends="Download"),
)


def guide(plan: AsyncPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan; nothing is protected here."""
    return Guide(
        pseudocode={"agent": _AGENT, "server": _SERVER},
        passages={
            "Upload": Passage("new sums", sums_in(plan, off, "New sums of {}"), releases=True),
            "Download": Passage("the sums of all", sums_in(plan, off, "The sums of all")),
        },
        acts=ACTS,
    )
