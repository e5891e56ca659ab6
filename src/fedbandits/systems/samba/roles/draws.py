"""What the Controller draws: places, masks, which steps explore, and their scores."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Ints
from fedbandits.learners.kernels.index_rules import explores
from fedbandits.systems.samba.kernels import list_drawn
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.streams import (
    ControllerKeys,
    DrawnScores,
    Exploration,
    Masks,
    Places,
)


class ControllerDraws:
    """All that follows from the Controller's secret in one run.

    Parameters
    ----------
    plan
        What all parties go by.
    secret
        The Controller's.
    run
        The run's name.
    """

    def __init__(self, plan: SambaPlan, secret: bytes, run: bytes) -> None:
        #: Some are for owners too, none for Comp.
        self.keys = ControllerKeys.derive(secret, run)
        #: What the run is about.
        self.agreed = plan.agreement(run)
        self._places = Places(self.keys.places, plan.arms, plan.iterations)
        self._drawn = DrawnScores(self.keys.scores, plan.drawn_scores)
        self._exploration = Exploration(self.keys.exploration)
        self._can_explore = self.agreed.can_explore

    def places(self, step: int, iteration: int) -> Ints:
        """Where each owner stands in Comp's list, (arms,); only the Controller knows."""
        return self._places.draw(step, iteration)

    def mask(self, step: int, iteration: int) -> float:
        """αₜ, which the Controller could draw too, having handed out its key."""
        return Masks(self.keys.masks, self.agreed.iterations).draw(step, iteration)

    def explores(self, step: int) -> bool:
        """Whether a step explores, which the owners know too."""
        rule, arms = self.agreed.rule, self.agreed.arms
        return self._can_explore and bool(explores(rule, step, arms, self._exploration.draw(step)))

    def scores(self, step: int) -> tuple[float, ...]:
        """The scores that it draws for a step, by place."""
        scores = np.empty(self.agreed.arms)
        list_drawn(self._drawn.draw(step), self.places(step, 1), scores)
        return tuple(scores.tolist())
