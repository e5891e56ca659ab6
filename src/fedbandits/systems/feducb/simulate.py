"""One replicate of a FedUCB variant, played by the compiled loop."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.errors import BoundExceededError, FedbanditsError
from fedbandits.random import Key, replicate_key
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.loop import batch_end, begin, end_batch, play_agents, run_until
from fedbandits.systems.feducb.play import new_scratch
from fedbandits.systems.feducb.rules import TRIGGERED, Plan, plan
from fedbandits.systems.feducb.state import initial_state
from fedbandits.systems.feducb.sync import next_sync

#: Agent-steps below which a batch is played by one thread.
_WORTH_SHARING = 20_000


class Simulation:
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
        self.key: Key = replicate_key(seed, replicate)
        self.config = config
        self.rounds = rounds
        self.plan: Plan = plan(config, environment, rounds)
        self.world: Any = environment.world(self.key)
        self.state = initial_state(self.plan)
        agents = environment.agents
        shares = min(threads, agents)
        self._slices = [(agents * i // shares, agents * (i + 1) // shares) for i in range(shares)]
        self._scratch = [new_scratch(self.plan, environment) for _ in self._slices]
        begin(self.plan.rules, self.state)
        if len(self._slices) > 1:
            self._load_batch_kernels()

    def _load_batch_kernels(self) -> None:
        """Call what only long batches need, on no agents and no rounds: it is compiled then."""
        rules, state, scratch = self.plan.rules, self.state, self._scratch[0]
        play_agents(self.world, rules, state, scratch, self.key, 0, 0, 0, 0)
        end_batch(rules, state, scratch, self.key, int(batch_end(rules, state, 0)))

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
            run_until(self.world, self.plan.rules, self.state, self._scratch[0], self.key, stop)
        raise_fault(self.state.faults, self.config)

    def _advance_in_threads(self, stop: int) -> None:
        """Long batches are shared out; short ones are not worth waking a thread for."""
        rules, state = self.plan.rules, self.state
        with ThreadPoolExecutor(len(self._slices)) as pool:
            while self.done < stop and not state.faults[:, 0].any():
                start, end = self.done, int(batch_end(rules, state, stop))
                if (end - start) * rules.agents < _WORTH_SHARING:
                    run_until(self.world, rules, state, self._scratch[0], self.key, end)
                    continue
                tasks = [
                    pool.submit(
                        play_agents, self.world, rules, state, scratch, self.key, *part, start, end
                    )
                    for part, scratch in zip(self._slices, self._scratch, strict=True)
                ]
                for task in tasks:
                    task.result()
                end_batch(rules, state, self._scratch[0], self.key, end)

    def sync_rounds(self) -> list[int]:
        """Rounds after which agents sync; empty for a schedule that depends on the data."""
        rules = self.plan.rules
        if rules.schedule == TRIGGERED:
            return []
        rounds, round_ = [], int(next_sync(rules, 0))
        while round_ < self.rounds:
            rounds.append(round_)
            round_ = int(next_sync(rules, round_))
        return rounds

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
    def regret(self) -> Floats:
        """Cumulative regret of every agent."""
        return self.state.regret

    @property
    def reward(self) -> Floats:
        """Cumulative reward of every agent."""
        return self.state.reward

    @property
    def syncs(self) -> int:
        """Syncs so far."""
        return int(self.state.clock.releases[0])

    @property
    def messages(self) -> int:
        """Messages so far: one up and one down an agent and sync, and the trigger's signals."""
        return int(self.state.clock.messages[0])

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, up and down, 8 a number."""
        return self.syncs * 2 * self.plan.rules.agents * 8 * self.plan.rules.pattern.size

    @property
    def epsilon(self) -> float:
        """ε that the contents of what an agent has sent so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs, self.config.delta)


def raise_fault(faults: Ints, config: FedUCB) -> None:
    """Stop the run if some agent noted a fault, naming the earliest.

    Raises
    ------
    BoundExceededError, FedbanditsError
        What happened, to whom and when.
    """
    stopped = np.flatnonzero(faults[:, 0])
    if not len(stopped):
        return
    agent = int(stopped[np.argmin(faults[stopped, 1])])
    kind, round_ = (int(value) for value in faults[agent])
    place = f"agent {agent}, round {round_}"
    remedy = 'raise it or set out_of_bounds = "clip"'
    messages: dict[int, str] = {
        act.CONTEXT_TOO_LONG: f"{place}: a context is longer than context_bound = "
        f"{config.context_bound:g}; {remedy}",
        act.REWARD_TOO_LARGE: f"{place}: a reward exceeds reward_bound = "
        f"{config.reward_bound:g}; {remedy}",
        act.NOT_A_NUMBER: f"{place}: a context or reward is not a finite number; mend the data",
    }
    if kind in messages:
        raise BoundExceededError(messages[kind])
    raise FedbanditsError(
        f"round {round_}: the released Gram matrix is not positive definite even after the shift; "
        "the noise exceeded its bound, which has probability at most alpha"
    )
