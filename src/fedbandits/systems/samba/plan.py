"""The plan of a SAMBA variant, from its configuration and facts."""

from __future__ import annotations

import functools
from typing import Any

from fedbandits.environments.facts import ArmFacts
from fedbandits.errors import ConfigError
from fedbandits.federation.terms import Schedule
from fedbandits.learners.kernels.index_rules import ITERATIONS
from fedbandits.learners.locality import check_arm_score_locality
from fedbandits.systems.base import Plan
from fedbandits.systems.samba.agreement import Agreement, Comparing, agree
from fedbandits.systems.samba.config import Samba


class SambaPlan(Plan, frozen=True, kw_only=True):
    """What the parties of a variant go by; ``rounds`` is N, the budget.

    A run's name is not part of it: that is fresh for every run.
    """

    config: Samba
    facts: ArmFacts

    @property
    def arms(self) -> int:
        """K, an arm a data owner."""
        return self.facts.parties

    @property
    def drawn_scores(self) -> int:
        """How many scores the Controller draws in a step that explores (section 5.4)."""
        if not self.config.controller_draws:
            return 0
        return self.arms if self.config.exploration_shortcut == "published-each" else 1

    @property
    def schedule(self) -> Schedule:
        """An owner's sum of rewards leaves once, after the last pull."""
        return Schedule(
            rounds=self.rounds, releases=1, ends=(self.rounds,), most_records=self.rounds
        )

    @property
    def iterations(self) -> int:
        """nb_A of section 4.2."""
        return len(ITERATIONS[type(self.config.algorithm.rule())])

    def agreement(self, run: bytes) -> Agreement:
        """What the parties agree on in the run of that name."""
        config = self.config
        comparing = Comparing(config.comparison, config.arity, config.total)
        return agree(self.rounds, self.arms, config.algorithm, run, comparing)


def make_plan(config: Samba, facts: ArmFacts, rounds: int) -> SambaPlan:
    """Work out what all parties go by.

    Raises
    ------
    ConfigError
        If the budget does not suffice to pull every arm once.
    """
    if rounds < facts.parties:
        raise ConfigError(
            f"algorithm: {facts.parties} arms need at least as many rounds, because each arm is "
            f"pulled once first; rounds = {rounds}"
        )
    _check_locality(config.algorithm.rule())
    return SambaPlan(config=config, facts=facts, rounds=rounds)


@functools.lru_cache(maxsize=64)
def _check_locality(rule: Any) -> None:
    check_arm_score_locality(rule)
