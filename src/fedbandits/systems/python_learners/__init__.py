"""A learner in plain Python as a system: its parties, its schedule, its claim.

:class:`LearnerSystem` wraps a :class:`~fedbandits.learners.learner.Learner`, so that all that is
written against :class:`.System` works for it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedbandits.environments.base import Environment
from fedbandits.environments.open_world import first_round_of
from fedbandits.facts import ContextualFacts
from fedbandits.federation.roles import Supplies
from fedbandits.learners.learner import Learner
from fedbandits.systems.base import Preset
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.python_learners.config import config_of

if TYPE_CHECKING:
    from fedbandits.federation.run import PartiesRun
    from fedbandits.privacy.auditing import Game
    from fedbandits.privacy.noise_check import NoisyNumbers
    from fedbandits.privacy.protocol_check import ProtocolCheck
    from fedbandits.systems.application import SharedSecret
    from fedbandits.systems.python_learners.plan import LearnerPlan


class LearnerSystem(PackageSystem["LearnerPlan"]):
    """The system of one learner class; it has one preset, which is called as the learner."""

    facts_type = ContextualFacts
    AGENTS_MAY_JOIN_LATE = True

    def __init__(self, learner: type[Learner]) -> None:
        self.learner = learner
        self.name = learner.NAME  # type: ignore[misc]
        self.paper = f"a learner in plain Python ({learner.__module__})"  # type: ignore[misc]
        self.config_type = config_of(learner)  # type: ignore[misc]
        described = (learner.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        said = described or f"the learner {learner.__name__}, which has no docstring"
        presets: Mapping[str, Preset] = {learner.NAME: Preset(said, {})}
        self.presets = presets  # type: ignore[misc]

    def plan(self, config: Any, facts: Any, rounds: int) -> LearnerPlan:
        plan: LearnerPlan = self.room("plan").make_plan(self.learner, config, facts, rounds)
        return plan

    def simulated_supplies(
        self, plan: LearnerPlan, world: Any, seed: int, replicate: int
    ) -> Supplies:
        simulated = self.room("application").simulated
        return lambda role, place: simulated(
            plan, role, place, seed, replicate, first_round_of(world, place)
        )

    def shared(self, plan: LearnerPlan) -> tuple[SharedSecret, ...]:
        from fedbandits.systems.secure_sums import shared_masks  # a configuration needs no masks

        return shared_masks(plan)

    def syncs(self, run: PartiesRun) -> int:
        return int(run.one("controller").state.releases)

    def epsilon_spent(self, plan: LearnerPlan, run: PartiesRun) -> float:
        return plan.epsilon_spent(max(agent.state.releases for agent in run.of("agent")))

    def games(self, plan: LearnerPlan, environment: Environment) -> Sequence[Game]:
        games: Sequence[Game] = self.room("audit").games(self, plan, environment)
        return games

    def noise_checks(self, plan: LearnerPlan, environment: Environment) -> Sequence[NoisyNumbers]:
        checks: Sequence[NoisyNumbers] = self.room("audit").noise_checks(self, plan, environment)
        return checks

    def protocol_checks(
        self, plan: LearnerPlan, environment: Environment
    ) -> Sequence[ProtocolCheck]:
        checks: Sequence[ProtocolCheck] = self.room("audit").protocol_checks(
            self, plan, environment
        )
        return checks
