"""FedUCB with a controller, as one compiled loop over agents and rounds.

Between two syncs agents do not touch one another, so the loop runs agent by agent through a whole
batch. With a data-dependent trigger a batch is as long as the trigger certainly cannot fire.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import (
    Environment,
    decision_set_workspace,
    draw_reward,
    fill_decision_set,
)
from fedbandits.errors import BoundExceededError, FedbanditsError
from fedbandits.learners.linucb import best_arm, score_arms
from fedbandits.learners.ridge import add_record
from fedbandits.privacy import gaussian
from fedbandits.privacy.continual import NONE, add_release_noise, draw_slot
from fedbandits.random import Key, Purpose, fill_normal, integer, replicate_key
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.agent import (
    initial_pool,
    load_view,
    next_sync,
    observe_raw,
    one_view,
    pool_release,
    record_fault,
    refresh_view,
    rounds_without_sync,
    sync_due,
    view_radius,
)
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.rules import TRIGGERED, Plan, Rules, plan
from fedbandits.systems.feducb.state import Scratch, State, initial_state, new_scratch

_TIE, _NOISE = int(Purpose.TIE), int(Purpose.PRIVACY_NOISE)
_TRIGGERED, _NO_FAULT = TRIGGERED, act.NO_FAULT
#: Agent-steps below which a batch is played by one thread.
_WORTH_SHARING = 20_000


@compiled
def _play(
    world: Any,
    workspace: Any,
    rules: Rules,
    state: State,
    scratch: Scratch,
    key: Key,
    agent: int,
    start: int,
    end: int,
) -> None:
    """One agent, rounds start + 1 … end: see a decision set, act, observe, remember."""
    features, expected, scores, work = (
        scratch.features,
        scratch.expected,
        scratch.scores,
        scratch.work,
    )
    view = one_view(state.views, agent if rules.raw_view else 0)
    statistic, terms = state.statistic[agent], state.pool.terms
    context, shared, raw = scratch.context, rules.models == 1, rules.raw_view
    triggered = rules.schedule == _TRIGGERED
    regret, earned = 0.0, 0.0
    for round_ in range(start + 1, end + 1):
        best = fill_decision_set(world, workspace, key, agent, round_, features, expected)
        score_arms(features, view.theta, view.width, scores, work)
        arm = best_arm(scores, integer(scores.size, key, agent, round_, _TIE, 0))
        reward = draw_reward(world, expected[arm], key, agent, round_)
        column, model = (arm, 0) if shared else (0, arm)
        for i in range(context.size):
            context[i] = features[i, column]
        fault, recorded = record_fault(
            context, reward, rules.context_bound, rules.reward_bound, rules.clip
        )
        if fault != _NO_FAULT:
            state.faults[agent, 0], state.faults[agent, 1] = fault, round_
            break
        add_record(statistic, model, context, recorded)
        regret += expected[best] - expected[arm]
        earned += reward
        if raw:
            observe_raw(view, model, context, recorded, triggered, scratch.gain)
            beta = view_radius(terms, view.log_det, model, rules.reward_noise, rules.log_term)
            refresh_view(view, model, rules.exploration_scale * beta)
    state.regret[agent] += regret
    state.reward[agent] += earned


@compiled
def _sync(rules: Rules, state: State, scratch: Scratch, key: Key) -> None:
    """All agents release, the controller sums, all agents take over the sum."""
    clock = state.clock
    k = clock.releases[0] + 1
    released, noisy = scratch.released, scratch.noisy
    released[:] = 0.0
    for agent in range(rules.agents):
        noisy[:] = state.statistic[agent].reshape(-1)
        if rules.mechanism != NONE:
            draws = state.draws[agent]
            fill_normal(draws[draw_slot(rules.mechanism, k)], key, agent, k, _NOISE)
            add_release_noise(
                rules.mechanism,
                rules.noise_deviation,
                rules.coefficients,
                rules.pattern,
                draws,
                k,
                noisy,
            )
        released += noisy
    fault = pool_release(rules, released.reshape(rules.models, -1), k, state.pool)
    if fault != _NO_FAULT:
        state.faults[0, 0], state.faults[0, 1] = fault, clock.round_[0]
        return
    clock.releases[0] = k
    clock.waited[0] = 0
    clock.messages[0] += 2 * rules.agents
    _load_views(rules, state)


@compiled
def _load_views(rules: Rules, state: State) -> None:
    for v in range(state.views.theta.shape[0]):
        load_view(rules, state.pool, one_view(state.views, v))


@compiled
def begin(rules: Rules, state: State) -> None:
    """Set up what every agent knows before the first round."""
    initial_pool(rules, state.pool)
    _load_views(rules, state)


@compiled
def play_agents(
    world: Any,
    rules: Rules,
    state: State,
    scratch: Scratch,
    key: Key,
    first: int,
    last: int,
    start: int,
    end: int,
) -> None:
    """Agents first … last - 1 play rounds start + 1 … end, in which nobody syncs."""
    workspace = decision_set_workspace(world)
    for agent in range(first, last):
        _play(world, workspace, rules, state, scratch, key, agent, start, end)


@compiled
def batch_end(rules: Rules, state: State, stop: int) -> int:
    """The round up to which agents can play without a sync: the next one, or ``stop``."""
    start = state.clock.round_[0]
    if rules.schedule == _TRIGGERED:
        return int(min(start + rounds_without_sync(rules, state.pool, state.clock.waited[0]), stop))
    return int(min(next_sync(rules, start), stop))


@compiled
def end_batch(rules: Rules, state: State, scratch: Scratch, key: Key, end: int) -> None:
    """All agents have played up to ``end``: move the clock, and sync if that is due."""
    clock = state.clock
    start = clock.round_[0]
    if state.faults[:, 0].any():
        return
    clock.round_[0] = end
    clock.waited[0] += end - start
    if clock.releases[0] >= rules.releases:
        return
    if rules.schedule == _TRIGGERED:
        requests = 0
        for v in range(state.views.theta.shape[0]):
            due = sync_due(
                rules.threshold, state.pool.terms, state.views.trigger_log_det[v], clock.waited[0]
            )
            requests += 1 if due else 0
        if requests > 0:
            clock.messages[0] += requests + rules.agents  # the requests, and the call to sync
            _sync(rules, state, scratch, key)
    elif end == next_sync(rules, start):
        _sync(rules, state, scratch, key)


@compiled
def run_until(
    world: Any, rules: Rules, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done or a fault is noted."""
    workspace = decision_set_workspace(world)
    while state.clock.round_[0] < stop and not state.faults[:, 0].any():
        start = state.clock.round_[0]
        end = batch_end(rules, state, stop)
        for agent in range(rules.agents):
            _play(world, workspace, rules, state, scratch, key, agent, start, end)
        end_batch(rules, state, scratch, key, end)


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
        environment: Environment,
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
        _raise_fault(self.state.faults, self.config)

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
            θ*, see :meth:`fedbandits.environments.Environment.true_parameters`.
        """
        rules, terms, views = self.plan.rules, self.state.pool.terms, self.state.views
        worst = 0.0
        for v, m in np.ndindex(views.log_det.shape):
            error = truth[m] - views.estimate[v, m]
            distance = math.sqrt(error @ np.linalg.solve(views.inverse[v, m], error))
            beta = view_radius(terms, views.log_det[v], m, rules.reward_noise, rules.log_term)
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
        if self.syncs == 0:
            return 0.0
        mu = self.plan.release.mu(self.plan.record_norm, self.syncs)
        return gaussian.epsilon_of(mu, self.config.delta)


def _raise_fault(faults: Ints, config: FedUCB) -> None:
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
