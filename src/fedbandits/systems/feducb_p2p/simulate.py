"""One replicate of a peer-to-peer FedUCB variant, played by the compiled loop."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.batches import BatchedSimulation
from fedbandits.systems.feducb.play import Scratch
from fedbandits.systems.feducb.rules import TRIGGERED
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.exchange import begin, refresh_all
from fedbandits.systems.feducb_p2p.loop import batch_end, end_batch, play_agents, run_until
from fedbandits.systems.feducb_p2p.rules import PeerPlan, next_arrival, plan
from fedbandits.systems.feducb_p2p.state import State, initial_state
from fedbandits.systems.feducb_p2p.triggered import run_triggered_until


class PeerSimulation(BatchedSimulation):
    """One replicate of one peer-to-peer variant; every hop of a message counts as one.

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
        config: PeerFedUCB,
        environment: ContextualEnvironment,
        rounds: int,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        self.plan: PeerPlan = plan(config, environment, rounds)
        # Agents that may call for a sync after any round are played in step.
        self._triggered = self.plan.rules.schedule == TRIGGERED
        threads = 1 if self._triggered else threads
        super().__init__(config, environment, rounds, seed, replicate, self.plan, threads)
        self.state: State = initial_state(self.plan)
        begin(self.plan.rules, self.plan.peers, self.state)
        self._load_batch_kernels()

    def _run_until(self, stop: int) -> None:
        play_on = run_triggered_until if self._triggered else run_until
        rules, peers, scratch = self.plan.rules, self.plan.peers, self._scratch[0]
        play_on(self.world, rules, peers, self.state, scratch, self.key, stop)

    def _batch_end(self, stop: int) -> int:
        return int(batch_end(self.plan.rules, self.state, stop))

    def _play_slice(self, scratch: Scratch, first: int, last: int, start: int, end: int) -> None:
        rules, peers, state = self.plan.rules, self.plan.peers, self.state
        play_agents(self.world, rules, peers, state, scratch, self.key, first, last, start, end)

    def _end_batch(self, end: int) -> None:
        rules, peers, state = self.plan.rules, self.plan.peers, self.state
        end_batch(rules, peers, state, self._scratch[0], self.key, end)

    def arrivals(self) -> list[int]:
        """Rounds at whose end some agent has something new to pool; empty if the data decides."""
        rules, peers = self.plan.rules, self.plan.peers
        if rules.schedule == TRIGGERED:
            return []
        longest, rounds = int(peers.reach.max()), []
        round_ = int(next_arrival(rules, longest, 0))
        while round_ < self.rounds:
            rounds.append(round_)
            round_ = int(next_arrival(rules, longest, round_))
        return rounds

    def refresh(self) -> None:
        """Let every agent pool now what it would pool before the next round."""
        refresh_all(self.plan.rules, self.plan.peers, self.state, self._scratch[0])

    def confidence_ratio(self, truth: Floats) -> float:
        """The largest ‖θ* - θ̃‖_V / β over agents, estimators and models; above 1 it has failed.

        Parameters
        ----------
        truth : (models, d) float64
            θ*, see :meth:`fedbandits.environments.ContextualEnvironment.true_parameters`.
        """
        self.refresh()
        rules, peers, state = self.plan.rules, self.plan.peers, self.state
        worst = 0.0
        for cell, m in np.ndindex(state.views.log_det.shape):
            error = truth[m] - state.views.estimate[cell, m]
            distance = math.sqrt(error @ np.linalg.solve(state.views.inverse[cell, m], error))
            beta = act.view_radius(
                state.pools.terms[cell],
                state.views.log_det[cell],
                m,
                rules.reward_noise,
                peers.log_term[cell // peers.estimators],
            )
            worst = max(worst, distance / beta)
        return worst

    @property
    def syncs(self) -> int:
        """Releases so far of the agent that made most, over all its estimators."""
        made = self.state.releases.made.reshape(-1, self.plan.peers.estimators)
        return int(made.sum(axis=1).max())

    @property
    def bytes(self) -> int:
        """Bytes of statistics sent so far, 8 a number."""
        return int(self.state.clock.carrying[0]) * 8 * self.plan.rules.pattern.size

    @property
    def epsilon(self) -> float:
        """ε that the contents of what an agent has sent so far cost, at the configured δ.

        The estimators' records are disjoint, so the one that was released most often decides.
        """
        return self.plan.epsilon_spent(int(self.state.releases.made.max()), self.config.delta)
