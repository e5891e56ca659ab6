"""One replicate of asynchronous FedLinUCB, played by the compiled loop."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.fedlinucb_async.config import AsyncFedLinUCB
from fedbandits.systems.fedlinucb_async.loop import begin, run_until
from fedbandits.systems.fedlinucb_async.rules import as_feducb, plan
from fedbandits.systems.fedlinucb_async.state import State, initial_state
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.batches import BatchedSimulation
from fedbandits.systems.feducb.rules import Plan


class AsyncSimulation(BatchedSimulation):
    """One replicate of asynchronous FedLinUCB.

    Parameters
    ----------
    config, environment
        What is run, and where.
    rounds
        T; every agent plays so many.
    seed, replicate
        Name the draws.
    threads
        Not used: any agent may exchange after any round, so they are played in step.
    """

    def __init__(
        self,
        config: AsyncFedLinUCB,
        environment: ContextualEnvironment,
        rounds: int,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        del threads
        self.plan: Plan = plan(config, environment, rounds)
        common = as_feducb(config)
        super().__init__(common, environment, rounds, seed, replicate, self.plan, threads=1)
        rules = self.plan.rules
        self.state: State = initial_state(rules)
        self._pool = act.empty_pool(rules.models, rules.dimension)
        begin(rules, self.state, self._pool)

    def _run_until(self, stop: int) -> None:
        rules, scratch = self.plan.rules, self._scratch[0]
        run_until(self.world, rules, self.state, scratch, self._pool, self.key, stop)

    def confidence_ratio(self, truth: Floats) -> float:
        """The largest ‖θ* - θ̂‖_Σ / β over agents and models; above 1 the bound has failed.

        Parameters
        ----------
        truth : (models, d) float64
            θ*, see :meth:`fedbandits.environments.ContextualEnvironment.true_parameters`.
        """
        rules, terms, views = self.plan.rules, self.state.terms, self.state.views
        worst = 0.0
        for i, m in np.ndindex(views.log_det.shape):
            error = truth[m] - views.estimate[i, m]
            distance = math.sqrt(error @ np.linalg.solve(views.inverse[i, m], error))
            log_det = views.log_det[i]
            beta = act.view_radius(terms[i], log_det, m, rules.reward_noise, rules.log_term)
            worst = max(worst, distance / beta)
        return worst

    @property
    def syncs(self) -> int:
        """Exchanges so far, each of one agent with the server."""
        return int(self.state.clock.exchanges[0])

    @property
    def messages(self) -> int:
        """Messages so far: an upload and a download an exchange."""
        return 2 * self.syncs

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, up and down, 8 a number."""
        return self.messages * 8 * self.plan.rules.pattern.size

    @property
    def epsilon(self) -> float:
        """What has been sent is in clear: no finite ε once anything has."""
        return math.inf if self.syncs else 0.0
