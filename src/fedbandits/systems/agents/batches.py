"""Compiled replicates of linear agents: batches, threads, and faults that stop them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import F32, F64, ContextualEnvironment, Memory, Needs
from fedbandits.errors import BoundExceededError, FedbanditsError
from fedbandits.privacy.kernels import CONTEXT_TOO_LONG, NOT_A_NUMBER, REWARD_TOO_LARGE
from fedbandits.systems.agents.counting import (
    OTHERS_COUNT_AS,
    hears_others,
    nothing_uncounted,
    others_count_as,
    squared_norms,
)
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants
from fedbandits.systems.agents.kernels.rounds import new_scratch
from fedbandits.systems.agents.kernels.sync import next_sync
from fedbandits.systems.agents.kernels.views import empty_views, explored_variance, view_radius
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.kernels import Tally, new_clock
from fedbandits.systems.simulated import CompiledReplicate

AnyPlan = TypeVar("AnyPlan", bound=AgentsPlan)

#: Agent-steps below which a batch is played by one thread.
_WORTH_SHARING = 20_000


class BatchedReplicate(CompiledReplicate[AnyPlan]):
    """One replicate, played in batches within which agents do not touch one another.

    Subclasses make ``state`` and say which kernels play. A state has ``faults`` and ``views`` too.

    Parameters
    ----------
    plan, environment, seed, replicate
        The variant, its world, and the two numbers that name the random draws.
    threads
        How many may play agents side by side in long batches. Results do not depend on it.
    """

    def __init__(
        self, plan: AnyPlan, environment: ContextualEnvironment, seed: int, replicate: int,
        threads: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(plan, environment, seed, replicate)
        agents = plan.constants.agents
        # Where no batch can be long, threads would only take turns.
        shares = min(threads, agents) if plan.rounds * agents >= _WORTH_SHARING else 1
        #: Agents of each thread, which has buffers and an open world of its own.
        self._slices = [
            range(agents * i // shares, agents * (i + 1) // shares) for i in range(shares)
        ]
        self._scratch = [new_scratch(plan.constants, plan.facts.arms) for _ in self._slices]
        self._worlds = [
            environment.open(self.key, self.world, plan.counts_persons) for _ in self._slices
        ]

    def _run(self, worker: int, agents: range, stop: int, shared: bool = False) -> None:
        """Let some agents play on until ``stop`` rounds are done.

        Where others play at the same time (``shared``), only to the end of one batch, which a call
        without agents then ends.
        """
        raise NotImplementedError

    def _run_until(self, stop: int) -> None:
        """Let all agents play on, in one thread."""
        self._run(0, range(self.plan.constants.agents), stop)

    def _batch_end(self, stop: int) -> int:
        """Return the round up to which agents can play without meeting."""
        raise NotImplementedError

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done.

        Raises
        ------
        BoundExceededError
            If a context or reward exceeds the bounds that the guarantee rests on.
        """
        stop = min(stop, self.plan.rounds)
        if len(self._slices) > 1:
            self._advance_in_threads(stop)
        else:
            self._run_until(stop)
        for world in self._worlds:
            world.check()
        _raise_fault(self.state.faults, self.plan.constants)

    def _advance_in_threads(self, stop: int) -> None:
        """Share out long batches; short ones are not worth waking a thread for."""
        with ThreadPoolExecutor(len(self._slices)) as workers:
            while self.done < stop and not self.state.faults[:, 0].any():
                end = self._batch_end(stop)
                if (end - self.done) * self.plan.constants.agents < _WORTH_SHARING:
                    self._run_until(end)
                    continue
                tasks = [
                    workers.submit(self._run, worker, agents, end, True)
                    for worker, agents in enumerate(self._slices)
                ]
                for task in tasks:
                    task.result()
                self._run(0, range(0), end)

    def sync_rounds(self) -> list[int]:
        """Return rounds at whose end all agents release; empty if they depend on the data."""
        if self.plan.constants.schedule == TRIGGERED:
            return []
        rounds, round_ = [], int(next_sync(self.plan.constants, 0))
        while round_ < self.plan.rounds:
            rounds.append(round_)
            round_ = int(next_sync(self.plan.constants, round_))
        return rounds

    def refresh(self) -> None:
        """Let every agent pool now the releases that it would pool before the next round."""

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        """Return terms of the pool of a view, (models, 4), and the radius' log term."""
        raise NotImplementedError

    def confidence_ratio(self, truth: Floats) -> float:
        """Return the largest error of an estimate over its bound; above 1 that has failed.

        It is ‖θ* - θ̃‖_V / β, the largest over views and models. With standard deviations β is the
        most that an agent explores at α = 1: no bound, but a convention.

        Parameters
        ----------
        truth : (models, d) float64
            The true parameters θ*, which an environment's ``true_parameters`` returns.
        """
        self.refresh()
        views, constants = self.state.views, self.plan.constants
        reward_noise, worst = constants.reward_noise, 0.0
        for v, m in np.ndindex(views.log_det.shape):
            error = truth[m] - views.estimate[v, m]
            distance = math.sqrt(error @ np.linalg.solve(views.inverse[v, m], error))
            terms, log_term = self._radius_terms(v)
            if constants.deviations:
                beta = math.sqrt(explored_variance(1.0, reward_noise**2))
            else:
                beta = view_radius(terms, views.log_det[v], m, reward_noise, log_term)
            worst = max(worst, distance / beta)
        return worst

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """Measurements of the world's own; with own views also how far others' records count."""
        found, state = super().metrics, self.state
        if not hears_others(self.plan.constants):
            return found
        heard = self._heard()  # an agent may have several sums, one after the other
        squares = squared_norms(state.statistic, state.uncounted).reshape(len(heard), -1)
        count = others_count_as(state.residuals.reshape(len(heard), -1, 4), squares)
        return {**found, OTHERS_COUNT_AS: np.where(heard, count, np.nan)}

    def _heard(self) -> NDArray[np.bool_]:
        """Tell which agents, (agents,), have taken over a sum of releases."""
        return np.full(self.plan.constants.agents, self.syncs > 0)

    @property
    def syncs(self) -> int:
        """Syncs so far."""
        return int(self.state.clock.syncs[0])

    @property
    def messages(self) -> int:
        """Messages so far."""
        return int(self.state.clock.messages[0])

    @property
    def epsilon(self) -> float:
        """ε that the contents of an agent's messages so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs)


def _raise_fault(faults: Ints, constants: Constants) -> None:
    """Stop the run if some agent noted a fault, naming the earliest.

    Raises
    ------
    BoundExceededError, FedbanditsError
        The fault, with its agent and its round.
    """
    stopped = np.flatnonzero(faults[:, 0])
    if not len(stopped):
        return
    agent = int(stopped[np.argmin(faults[stopped, 1])])
    kind, round_ = (int(value) for value in faults[agent])
    place = f"agent {agent}, round {round_}"
    remedy = 'raise it or set out_of_bounds = "clip"'
    around = f", less reward_centre = {constants.centre:g}," if constants.centre else ""
    messages: dict[int, str] = {
        CONTEXT_TOO_LONG: f"{place}: a context is longer than context_bound = "
        f"{constants.context_bound:g}; {remedy}",
        REWARD_TOO_LARGE: f"{place}: a reward{around} exceeds reward_bound = "
        f"{constants.reward_bound:g}; {remedy}",
        NOT_A_NUMBER: f"{place}: a context or reward is not a finite number; mend the data or set "
        'out_of_bounds = "clip"',
    }
    if kind in messages:
        raise BoundExceededError(messages[kind])
    raise FedbanditsError(
        f"round {round_}: the released Gram matrix is not positive definite even after the shift; "
        "the noise exceeded its bound, which has probability at most alpha"
    )


def first_arrays(plan: AgentsPlan, sums: int, views: int) -> dict[str, Any]:
    """Return the fields that the states of all linear agents have, before the first round.

    Parameters
    ----------
    sums
        Number of running sums of all agents together.
    views
        Number of views.
    """
    constants = plan.constants
    agents, models, dimension = constants.agents, constants.models, constants.dimension
    persons = (plan.facts.persons or 0) if plan.counts_persons else 0
    return {
        "clock": new_clock(),
        "faults": np.zeros((agents, 2), np.int64),
        "tally": Tally(np.zeros(agents), np.zeros(agents)),
        "statistic": np.zeros((sums, *constants.statistic_shape)),
        "residuals": np.zeros((sums, models, 4)),
        "draws": np.zeros((sums, plan.release.slots, constants.release_size)),
        "views": empty_views(views, models, dimension),
        "visits": np.zeros((agents, persons), np.int64),
        "uncounted": nothing_uncounted(plan, sums),
    }


_SIZE = "environment.agents or environment.dim"
#: Draws of a normal, and the factorisation of a matrix a coefficient, in multiplications.
_DRAW, _FACTOR = 20.0, 10.0
#: Work of the smallest step or release.
_STEP = 300.0


def agent_needs(
    plan: AgentsPlan, *, sums: int, draws: int, released: int, views: int, pools: int, syncs: float,
    senders: int,
) -> Needs:  # fmt: skip
    """Return memory and work of one replicate.

    Parameters
    ----------
    sums, draws, released
        How many packed statistics are kept: records added up, noise, releases.
    views, pools
        How many of each are kept.
    syncs, senders
        How often releases are pooled, and of how many agents.
    """
    constants, facts = plan.constants, plan.facts
    d, models, agents = constants.dimension, constants.models, constants.agents
    square, packed = models * d * d, constants.release_size * F64
    columns = facts.features_shape[1]
    persons = agents * (facts.persons or 0) if plan.counts_persons else 0
    # Arrays that are never written to take no memory: matrices of a trigger that there is not.
    trigger = F64 if constants.schedule == TRIGGERED else 0
    parts = (
        Memory("records of agents, added up", sums * packed, _SIZE),
        Memory("noise that is kept for later releases", draws * packed, f"{_SIZE}, or sync less"),
        Memory("releases that are in use", released * packed, f"{_SIZE}, or gamma"),
        Memory("what agents act on", views * square * (F64 + F32 + trigger), _SIZE),
        Memory("what agents know", pools * square * (2 * F64 + trigger), _SIZE),
        Memory("visits of persons", persons * F64, "environment.agents, or set unit"),
        Memory("a decision set", (d * columns + 4 * facts.arms) * F32, "environment.arms"),
    )
    learn = 6.0 * square if constants.raw_view or constants.own_view else d * d
    choose = 0.5 * d * d * max(columns, models) + learn
    mixing = min(draws / agents, constants.releases) + _DRAW
    factored = 1 + (agents if constants.leaves_out_own else 0)
    release = senders * (constants.release_size * mixing + _STEP)
    pooling = syncs * (release + _FACTOR * square * d * factored)
    return Needs(parts, plan.rounds * agents * (choose + _STEP) + pooling)
