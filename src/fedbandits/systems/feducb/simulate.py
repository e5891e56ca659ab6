"""One replicate of a FedUCB variant with a controller, played by the compiled loop."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.batches import BatchedSimulation
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.loop import batch_end, begin, end_batch, play_agents, run_until
from fedbandits.systems.feducb.play import Scratch
from fedbandits.systems.feducb.rules import Plan, plan
from fedbandits.systems.feducb.state import State, initial_state


class Simulation(BatchedSimulation):
    """One replicate of one FedUCB variant.

    Parameters
    ----------
    config, environment
        What is run, and where.
    rounds
        T; the mechanism is planned for it.
    seed, replicate
        Name the draws.
    threads
        How many may play agents side by side in long batches. Results do not depend on it.
    """

    def __init__(
        self,
        config: FedUCB,
        environment: ContextualEnvironment,
        rounds: int,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        self.plan: Plan = plan(config, environment, rounds)
        super().__init__(config, environment, rounds, seed, replicate, self.plan, threads)
        self.state: State = initial_state(self.plan)
        begin(self.plan.rules, self.state)
        self._load_batch_kernels()

    def _run_until(self, stop: int) -> None:
        run_until(self.world, self.plan.rules, self.state, self._scratch[0], self.key, stop)

    def _batch_end(self, stop: int) -> int:
        return int(batch_end(self.plan.rules, self.state, stop))

    def _play_slice(self, scratch: Scratch, first: int, last: int, start: int, end: int) -> None:
        rules, state = self.plan.rules, self.state
        play_agents(self.world, rules, state, scratch, self.key, first, last, start, end)

    def _end_batch(self, end: int) -> None:
        end_batch(self.plan.rules, self.state, self._scratch[0], self.key, end)

    def confidence_ratio(self, truth: Floats) -> float:
        """The largest ‖θ* - θ̃‖_V / β over views and models; above 1 the bound has failed.

        Parameters
        ----------
        truth : (models, d) float64
            θ*, see :meth:`fedbandits.environments.ContextualEnvironment.true_parameters`.
        """
        rules, terms, views = self.plan.rules, self.state.pool.terms, self.state.views
        worst = 0.0
        for v, m in np.ndindex(views.log_det.shape):
            error = truth[m] - views.estimate[v, m]
            distance = math.sqrt(error @ np.linalg.solve(views.inverse[v, m], error))
            beta = act.view_radius(terms, views.log_det[v], m, rules.reward_noise, rules.log_term)
            worst = max(worst, distance / beta)
        return worst

    @property
    def syncs(self) -> int:
        """Syncs so far."""
        return int(self.state.clock.releases[0])

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, up and down, 8 a number."""
        return self.syncs * 2 * self.plan.rules.agents * 8 * self.plan.rules.pattern.size

    @property
    def epsilon(self) -> float:
        """ε that the contents of what an agent has sent so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs, self.config.delta)
