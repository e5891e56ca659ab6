"""Asynchronous FedLinUCB as one compiled loop over rounds and agents.

Within a round agents play in order, and an exchange takes effect at once: who plays later in the
same round and exchanges too gets what was just uploaded.
"""

from __future__ import annotations

from typing import Any

from fedbandits._compile import borrowing, compiled
from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment, decision_set_workspace
from fedbandits.learners.assign import add_to, any_fault, fill, put_square
from fedbandits.random import Key
from fedbandits.systems.agents.batches import BatchedReplicate
from fedbandits.systems.agents.plan import Constants
from fedbandits.systems.agents.play import Scratch, note_fault, play
from fedbandits.systems.agents.views import Pool, Views, begin_view, empty_pool, one_view
from fedbandits.systems.fedlinucb_async.kernels import exchange_due, take_over
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan
from fedbandits.systems.fedlinucb_async.state import State, initial_state


@compiled
def begin(constants: Constants, state: State, pool: Pool) -> None:
    """Set up what every agent knows before the first round."""
    for agent in range(constants.agents):
        view = one_view(state.views, agent)
        begin_view(constants, constants.base, constants.log_term, pool, view)
        put_square(pool.terms, state.terms, agent)


@borrowing
def _exchange(
    constants: Constants, state: State, pool: Pool, view: Views, agent: int, round_: int
) -> None:
    """One agent uploads what it has learned since its last exchange and downloads the total."""
    local = state.local[agent]
    for m in range(constants.models):
        add_to(state.total[m], local[m])
        fill(local[m], 0.0)
    fault = take_over(constants, state.total, pool, view)
    put_square(pool.terms, state.terms, agent)
    state.clock.exchanges[0] += 1
    note_fault(state.faults, agent, fault, round_)


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
    world : named tuple
        Arrays of the replicate's world.
    constants : Constants
        What is constant in the run.
    state : State
        All that changes in the course of the run.
    scratch : Scratch
        Buffers; nothing in them outlives a round.
    pool : Pool
        A buffer; nothing in it outlives an exchange.
    key : Key
        It names the random draws.
    stop : int
        How many rounds are to be done.
    """
    workspace = decision_set_workspace(world)
    while state.clock.round_[0] < stop and not any_fault(state.faults):
        round_ = state.clock.round_[0] + 1
        for agent in range(constants.agents):
            view, terms = one_view(state.views, agent), state.terms[agent]
            play(
                world,
                workspace,
                constants,
                constants.log_term,
                terms,
                view,
                None,  # nobody has a joint view
                state.local[agent],
                None,  # nor are persons protected
                state.tally,
                state.faults,
                scratch,
                key,
                agent,
                round_,
                round_,
                1,
            )
            if exchange_due(constants.threshold, terms, view.trigger_log_det):
                _exchange(constants, state, pool, view, agent, round_)
        if not any_fault(state.faults):
            state.clock.round_[0] = round_


class Replicate(BatchedReplicate[AsyncPlan]):
    """One replicate. Any agent may exchange after any round, so all are played in step."""

    def __init__(
        self,
        plan: AsyncPlan,
        environment: ContextualEnvironment,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        del threads  # any agent may exchange after any round, so they are played in step
        super().__init__(plan, environment, seed, replicate)
        constants = plan.constants
        self.state: State = initial_state(constants)
        self._pool = empty_pool(constants.models, constants.dimension)
        begin(constants, self.state, self._pool)

    def _run_until(self, stop: int) -> None:
        constants, scratch = self.plan.constants, self._scratch[0]
        run_until(self.world, constants, self.state, scratch, self._pool, self.key, stop)

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        return self.state.terms[v], self.plan.constants.log_term

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
        return self.messages * 8 * self.plan.constants.release_size
