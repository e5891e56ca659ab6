"""One replicate of a peer-to-peer FedUCB variant, played by the compiled loop."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.random import Key, replicate_key
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.play import new_scratch
from fedbandits.systems.feducb.rules import TRIGGERED
from fedbandits.systems.feducb.simulate import raise_fault
from fedbandits.systems.feducb.sync import next_sync
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.exchange import begin, refresh_all
from fedbandits.systems.feducb_p2p.loop import batch_end, end_batch, play_agents, run_until
from fedbandits.systems.feducb_p2p.rules import PeerPlan, next_arrival, plan
from fedbandits.systems.feducb_p2p.state import initial_state
from fedbandits.systems.feducb_p2p.triggered import run_triggered_until

#: Agent-steps below which a batch is played by one thread.
_WORTH_SHARING = 20_000


class PeerSimulation:
    """One replicate of one peer-to-peer variant.

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
        self.key: Key = replicate_key(seed, replicate)
        self.config = config
        self.rounds = rounds
        self.plan: PeerPlan = plan(config, environment, rounds)
        self.world: Any = environment.world(self.key)
        self.state = initial_state(self.plan)
        agents = environment.agents
        # Agents that may call for a sync after any round are played in step.
        shares = 1 if self.plan.rules.schedule == TRIGGERED else min(threads, agents)
        self._slices = [(agents * i // shares, agents * (i + 1) // shares) for i in range(shares)]
        self._scratch = [new_scratch(self.plan, environment) for _ in self._slices]
        begin(self.plan.rules, self.plan.peers, self.state)
        if len(self._slices) > 1:
            self._load_batch_kernels()

    def _load_batch_kernels(self) -> None:
        """Call what only long batches need, on no agents and no rounds: it is compiled then."""
        rules, peers, state, scratch = self._parts
        play_agents(self.world, rules, peers, state, scratch, self.key, 0, 0, 0, 0)
        end_batch(rules, peers, state, scratch, self.key, int(batch_end(rules, state, 0)))

    @property
    def _parts(self) -> tuple[Any, Any, Any, Any]:
        return self.plan.rules, self.plan.peers, self.state, self._scratch[0]

    @property
    def done(self) -> int:
        """Rounds played."""
        return int(self.state.clock.round_[0])

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done.

        Raises
        ------
        BoundExceededError
            If a context or reward exceeds the bounds that the guarantee rests on.
        """
        stop = min(stop, self.rounds)
        if len(self._slices) > 1:
            self._advance_in_threads(stop)
        else:
            triggered = self.plan.rules.schedule == TRIGGERED
            play_on = run_triggered_until if triggered else run_until
            play_on(self.world, *self._parts, self.key, stop)
        raise_fault(self.state.faults, self.config)

    def _advance_in_threads(self, stop: int) -> None:
        """Long batches are shared out; short ones are not worth waking a thread for."""
        rules, peers, state, first = self._parts
        with ThreadPoolExecutor(len(self._slices)) as pool:
            while self.done < stop and not state.faults[:, 0].any():
                start, end = self.done, int(batch_end(rules, state, stop))
                if (end - start) * rules.agents < _WORTH_SHARING:
                    run_until(self.world, rules, peers, state, first, self.key, end)
                    continue
                tasks = [
                    pool.submit(
                        play_agents,
                        self.world,
                        rules,
                        peers,
                        state,
                        scratch,
                        self.key,
                        *part,
                        start,
                        end,
                    )
                    for part, scratch in zip(self._slices, self._scratch, strict=True)
                ]
                for task in tasks:
                    task.result()
                end_batch(rules, peers, state, first, self.key, end)

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

    def release_rounds(self) -> list[int]:
        """Rounds at whose end all agents release; empty if the data decides."""
        rules = self.plan.rules
        if rules.schedule == TRIGGERED:
            return []
        rounds, round_ = [], int(next_sync(rules, 0))
        while round_ < self.rounds:
            rounds.append(round_)
            round_ = int(next_sync(rules, round_))
        return rounds

    def refresh(self) -> None:
        """Let every agent pool now what it would pool before the next round."""
        refresh_all(*self._parts)

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
    def regret(self) -> Floats:
        """Cumulative regret of every agent."""
        return self.state.regret

    @property
    def reward(self) -> Floats:
        """Cumulative reward of every agent."""
        return self.state.reward

    @property
    def syncs(self) -> int:
        """Releases so far of the agent that made most, over all its estimators."""
        made = self.state.releases.made.reshape(-1, self.plan.peers.estimators)
        return int(made.sum(axis=1).max())

    @property
    def messages(self) -> int:
        """Messages sent so far: every hop of a message counts."""
        return int(self.state.clock.messages[0])

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
