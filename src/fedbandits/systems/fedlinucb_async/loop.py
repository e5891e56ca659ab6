"""Asynchronous FedLinUCB as one compiled loop over rounds and agents.

Within a round agents play in order, and an exchange takes effect at once: who plays later in the
same round and exchanges too gets what was just uploaded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment, decision_set_workspace
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.random import Key
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.batches import BatchedSimulation
from fedbandits.systems.agents.plan import Constants, Plan
from fedbandits.systems.agents.play import Scratch, play
from fedbandits.systems.agents.views import Pool, one_view
from fedbandits.systems.fedlinucb_async.config import AsyncFedLinUCB
from fedbandits.systems.fedlinucb_async.kernels import exchange_due, know_nothing, take_over
from fedbandits.systems.fedlinucb_async.plan import as_feducb, make_plan
from fedbandits.systems.fedlinucb_async.state import State, initial_state


@compiled
def begin(constants: Constants, state: State, pool: Pool) -> None:
    """Set up what every agent knows before the first round."""
    for agent in range(constants.agents):
        know_nothing(constants, pool, one_view(state.views, agent))
        state.terms[agent] = pool.terms


@compiled
def _play(
    world: Any,
    workspace: Any,
    constants: Constants,
    state: State,
    scratch: Scratch,
    key: Key,
    agent: int,
    round_: int,
) -> None:
    """One agent plays one round."""
    regret, earned, fault, _ = play(
        world,
        workspace,
        constants,
        constants.log_term,
        state.terms[agent],
        one_view(state.views, agent),
        state.local[agent],
        scratch,
        key,
        agent,
        round_,
        round_,
        1,
    )
    state.tally.regret[agent] += regret
    state.tally.reward[agent] += earned
    _note(state, agent, fault, round_)


@compiled
def _exchange(constants: Constants, state: State, pool: Pool, agent: int, round_: int) -> None:
    """One agent uploads what it has learned since its last exchange and downloads the total."""
    for m in range(constants.models):
        state.total[m] += state.local[agent, m]
    state.local[agent] = 0.0
    fault = take_over(constants, state.total, pool, one_view(state.views, agent))
    state.terms[agent] = pool.terms
    state.clock.exchanges[0] += 1
    _note(state, agent, fault, round_)


@compiled
def _note(state: State, agent: int, fault: int, round_: int) -> None:
    if fault != NO_FAULT:
        state.faults[agent, 0], state.faults[agent, 1] = fault, round_


@compiled
def run_until(
    world: Any,
    constants: Constants,
    state: State,
    scratch: Scratch,
    pool: Pool,
    key: Key,
    stop: int,
) -> None:
    """Play on until ``stop`` rounds are done or a fault is noted.

    Parameters
    ----------
    pool : Pool
        A buffer; nothing in it outlives an exchange.
    """
    workspace = decision_set_workspace(world)
    while state.clock.round_[0] < stop and not state.faults[:, 0].any():
        round_ = state.clock.round_[0] + 1
        for agent in range(constants.agents):
            _play(world, workspace, constants, state, scratch, key, agent, round_)
            grown = state.views.trigger_log_det[agent]
            if exchange_due(constants.threshold, state.terms[agent], grown):
                _exchange(constants, state, pool, agent, round_)
        if not state.faults[:, 0].any():
            state.clock.round_[0] = round_


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
        self.plan: Plan = make_plan(config, environment.facts, rounds)
        common = as_feducb(config)
        super().__init__(common, environment, rounds, seed, replicate, self.plan, threads=1)
        constants = self.plan.constants
        self.state: State = initial_state(constants)
        self._pool = act.empty_pool(constants.models, constants.dimension)
        begin(constants, self.state, self._pool)

    def _run_until(self, stop: int) -> None:
        constants, scratch = self.plan.constants, self._scratch[0]
        run_until(self.world, constants, self.state, scratch, self._pool, self.key, stop)

    def confidence_ratio(self, truth: Floats) -> float:
        """The largest ‖θ* - θ̂‖_Σ / β over agents and models; above 1 the bound has failed.

        Parameters
        ----------
        truth : (models, d) float64
            θ*, see :meth:`fedbandits.environments.ContextualEnvironment.true_parameters`.
        """
        constants, terms, views = self.plan.constants, self.state.terms, self.state.views
        worst = 0.0
        for i, m in np.ndindex(views.log_det.shape):
            error = truth[m] - views.estimate[i, m]
            distance = math.sqrt(error @ np.linalg.solve(views.inverse[i, m], error))
            log_det = views.log_det[i]
            beta = act.view_radius(terms[i], log_det, m, constants.reward_noise, constants.log_term)
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
        return self.messages * 8 * self.plan.constants.pattern.size

    @property
    def epsilon(self) -> float:
        """What has been sent is in clear: no finite ε once anything has."""
        return math.inf if self.syncs else 0.0
