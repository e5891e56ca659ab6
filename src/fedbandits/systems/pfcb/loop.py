"""A P-FCB run as one compiled loop: buyer by buyer between two exchanges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.environments.procurement import (
    Procurement,
    draw_good_units,
    earned,
    purchase_regret,
)
from fedbandits.learners.purchasing import is_empty
from fedbandits.privacy.bounds import NO_FAULT, purchase_fault, require_within
from fedbandits.privacy.continual import TOEPLITZ, draw_slot
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.drivers import TalliedReplicate
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.kernels import (
    Scratch,
    decide,
    new_scratch,
    note_purchase,
    one_book,
)
from fedbandits.systems.pfcb.plan import CLEAR, RUNNING, Constants, Plan, make_plan
from fedbandits.systems.pfcb.reports import (
    next_exchange,
    next_noise,
    open_pool,
    take_report,
    write_report,
)
from fedbandits.systems.pfcb.state import State, initial_state

_NOISE = int(Purpose.PRIVACY_NOISE)


@compiled
def draw_noise(constants: Constants, key: Key, agent: int, release: int, draws: Floats) -> None:
    """A report's simulated noise, into its slot of ``draws`` (slots, 2 m)."""
    if constants.reports != CLEAR:
        slot = draw_slot(TOEPLITZ, release) if constants.reports == RUNNING else 0
        fill_normal(draws[slot], key, agent, release, _NOISE)


@compiled
def _play(
    world: Any, constants: Constants, state: State, scratch: Scratch, key: Key, agent: int, start: int,
    end: int,
) -> None:  # fmt: skip
    """One buyer, rounds start + 1 … end: decide, buy, inspect, remember."""
    books, tally = one_book(state.books, agent), state.tally
    cost, capacity = world.cost[agent], world.capacity[agent]
    truth = world.revenue * world.quality - cost
    margin = world.quality - world.threshold
    best, worst = world.best[agent], world.worst[agent]
    noise = next_noise(constants, state.releases[0])
    for round_ in range(start + 1, end + 1):
        decide(constants, round_, books, noise, cost, capacity, scratch)
        draw_good_units(world, key, agent, round_, scratch.purchase, scratch.good)
        state.faults[agent] = purchase_fault(scratch.purchase, scratch.good, capacity)
        if state.faults[agent] != NO_FAULT:
            return
        note_purchase(constants.raw_view, scratch.purchase, scratch.good, books)
        regret, missed = purchase_regret(truth, margin, best, worst, scratch.purchase)
        tally.regret[agent] += regret
        if round_ > constants.exploration:
            tally.late_regret[agent] += regret
            tally.violations[agent] += int(missed)
            tally.empty[agent] += int(is_empty(scratch.purchase))
        for i in range(cost.size):
            tally.units[agent] += scratch.purchase[i]
        tally.reward[agent] += earned(world, agent, scratch.purchase, scratch.good)


@compiled
def _exchange(world: Any, constants: Constants, state: State, key: Key) -> None:
    """All buyers report, then each takes what the others reported, in their order."""
    release, round_ = state.releases[0] + 1, state.round_[0]
    for agent in range(constants.agents):
        draw_noise(constants, key, agent, release, state.draws[agent])
        write_report(
            constants, release, world.capacity[agent], state.draws[agent],
            one_book(state.books, agent), state.reports[agent],
        )  # fmt: skip
    for receiver in range(constants.agents):
        books = one_book(state.books, receiver)
        open_pool(constants, books)
        for sender in range(constants.agents):
            mine = sender == receiver
            if not (mine and constants.raw_view):
                take_report(
                    constants, release, round_, world.capacity[sender], state.reports[sender], mine,
                    books.pool, state.tally.judged[receiver],
                )  # fmt: skip
    state.releases[0] = release


@compiled
def run_until(
    world: Any, constants: Constants, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done, or a purchase is out of bounds."""
    while state.round_[0] < stop and not state.faults.any():
        start = state.round_[0]
        exchange = next_exchange(constants, start)
        end = min(exchange, stop)
        for agent in range(constants.agents):
            _play(world, constants, state, scratch, key, agent, start, end)
        if state.faults.any():
            return
        state.round_[0] = end
        if end == exchange and state.releases[0] < constants.releases:
            _exchange(world, constants, state, key)


class Simulation(TalliedReplicate):
    """One replicate of one P-FCB variant.

    Parameters
    ----------
    config, environment
        What is run, and where.
    rounds
        T; the schedule is planned for it.
    seed, replicate
        Name the draws.
    threads
        Not used: replicates run side by side instead.
    """

    def __init__(
        self,
        config: PFCB,
        environment: Procurement,
        rounds: int,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = make_plan(config, environment.facts, rounds)
        self.state: State = initial_state(self.plan)
        self._scratch = new_scratch(self.plan.constants.producers)

    @property
    def done(self) -> int:
        """Rounds played."""
        return int(self.state.round_[0])

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done."""
        stop = min(stop, self.rounds)
        run_until(self.world, self.plan.constants, self.state, self._scratch, self.key, stop)
        require_within(int(self.state.faults.max()), f"after round {self.done}")

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """What procurement is judged by besides, (agents,) each."""
        tally = self.state.tally
        late = max(0, self.done - self.plan.constants.exploration)
        return {
            "regret_after_exploration": tally.late_regret,
            "violation_share": tally.violations / max(1, late),
            "empty_rounds": tally.empty,
            "units": tally.units,
            "reports_accepted": tally.judged[:, 0],
            "reports_refused": tally.judged[:, 1],
        }

    @property
    def syncs(self) -> int:
        """Exchanges so far."""
        return int(self.state.releases[0])

    @property
    def messages(self) -> int:
        """Messages so far: everybody to everybody else, every exchange."""
        agents = self.plan.constants.agents
        return self.syncs * agents * (agents - 1)

    @property
    def bytes(self) -> int:
        """Bytes of reports so far, two numbers a producer."""
        return self.messages * 16 * self.plan.constants.producers

    @property
    def epsilon(self) -> float:
        """ε that the contents of what a buyer has sent so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs, self.config.delta)
