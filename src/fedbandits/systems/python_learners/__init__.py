"""A learner in plain Python as a system: its parties, its schedule, its claim.

:class:`LearnerSystem` wraps a :class:`~fedbandits.learners.learner.Learner`, so that all that is
written against :class:`.System` works for it too.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fedbandits.environments.facts import ContextualFacts
from fedbandits.federation.roles import Roles, Supplies
from fedbandits.learners.learner import Learner
from fedbandits.random import Purpose, replicate_key
from fedbandits.systems.base import Preset, System
from fedbandits.systems.python_learners.config import config_of

if TYPE_CHECKING:
    from fedbandits.federation.run import PartiesRun
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.systems.python_learners.plan import LearnerPlan


class LearnerSystem(System["LearnerPlan"]):
    """The system of one learner; it has one preset, which is called as the learner.

    Parameters
    ----------
    learner
        The class.
    """

    facts_type = ContextualFacts

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
        plan: LearnerPlan = _room("plan").make_plan(self.learner, config, facts, rounds)
        return plan

    def claim(self, plan: LearnerPlan) -> PrivacyClaim:
        claim: PrivacyClaim = _room("claim").claim(plan)
        return claim

    def roles(self, plan: LearnerPlan) -> Roles:
        roles: Roles = _room("roles").roles(plan)
        return roles

    def simulated_supplies(
        self, plan: LearnerPlan, world: Any, seed: int, replicate: int
    ) -> Supplies:
        from fedbandits.draws import Draws
        from fedbandits.systems.python_learners.agent import LearnerSupply

        del plan, world
        key = replicate_key(seed, replicate)

        def supply(role: str, place: int) -> LearnerSupply | None:
            if role != "agent":
                return None
            return LearnerSupply(lambda number: Draws(key, place, number, Purpose.LEARNER))

        return supply

    def syncs(self, run: PartiesRun) -> int:
        return int(run.one("controller").state.totals)

    def epsilon_spent(self, plan: LearnerPlan, run: PartiesRun) -> float:
        return math.inf if any(agent.state.releases for agent in run.of("agent")) else 0.0


def _room(name: str) -> Any:
    """A module of this package, imported when it is needed."""
    return importlib.import_module(f"{__name__}.{name}")
