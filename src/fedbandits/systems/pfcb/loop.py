"""A P-FCB run as one compiled loop: buyer by buyer between two exchanges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.environments.base import Environment
from fedbandits.environments.procurement import draw_good_units, earned, purchase_regret
from fedbandits.environments.purchase_truth import keep_up, truth_of
from fedbandits.learners.purchasing import is_empty
from fedbandits.privacy.bounds import NO_FAULT, require_within
from fedbandits.privacy.kernels import TOEPLITZ, draw_slot, purchase_fault
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.pfcb.kernels.books import note_purchase, one_book
from fedbandits.systems.pfcb.kernels.purchases import Scratch, decide, new_scratch
from fedbandits.systems.pfcb.kernels.reports import (
    begin_exchange,
    next_exchange,
    next_noise,
    take_report,
    write_report,
)
from fedbandits.systems.pfcb.plan import CLEAR, RUNNING, Constants, PFCBPlan
from fedbandits.systems.pfcb.state import State, initial_state
from fedbandits.systems.replicate import CompiledReplicate

_NOISE = int(Purpose.PRIVACY_NOISE)


@compiled
def draw_noise(constants: Constants, key: Key, agent: int, release: int, draws: Floats) -> None:
    """A report's simulated noise, into its slot of ``draws`` (slots, 2 m)."""
    if constants.reports != CLEAR:
        slot = draw_slot(TOEPLITZ, release) if constants.reports == RUNNING else 0
        fill_normal(draws[slot], key, agent, release, _NOISE)


@compiled
def _play(
    world: Any, constants: Constants, state: State, scratch: Scratch, key: Key, agent: int,
    start: int, end: int,
) -> None:  # fmt: skip
    """One buyer, rounds start + 1 … end: decide, buy, inspect, remember."""
    books, tally = one_book(state.books, agent), state.tally
    cost, capacity = world.cost[agent], world.capacity[agent]
    truth = truth_of(world, agent)
    unit_revenue, surplus, ends = truth.unit_revenue, truth.surplus, truth.ends
    drifts = world.other.size > 0
    noise = next_noise(constants, state.clock.releases[0])
    for round_ in range(start + 1, end + 1):
        decide(constants, round_, books, noise, cost, capacity, scratch)
        draw_good_units(world, key, agent, round_, scratch.purchase, scratch.good)
        state.faults[agent] = purchase_fault(scratch.purchase, scratch.good, capacity)
        if state.faults[agent] != NO_FAULT:
            return
        note_purchase(constants.raw_view, scratch.purchase, scratch.good, books)
        if drifts:  # it takes as many arguments as a decision takes time
            keep_up(world, agent, round_, truth)
        regret, missed = purchase_regret(unit_revenue, surplus, ends[0], ends[1], scratch.purchase)
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
    release, round_ = state.clock.releases[0] + 1, state.clock.round_[0]
    for agent in range(constants.agents):
        draw_noise(constants, key, agent, release, state.draws[agent])
        write_report(
            constants, release, world.capacity[agent], state.draws[agent],
            one_book(state.books, agent), state.reports[agent],
        )  # fmt: skip
    for receiver in range(constants.agents):
        books = one_book(state.books, receiver)
        begin_exchange(constants, books)
        for sender in range(constants.agents):
            mine = sender == receiver
            if not (mine and constants.raw_view):
                take_report(
                    constants, release, round_, world.capacity[sender], state.reports[sender], mine,
                    books, state.tally.judged[receiver],
                )  # fmt: skip
    state.clock.releases[0] = release


@compiled
def run_until(
    world: Any, constants: Constants, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done, or a purchase is out of bounds."""
    clock = state.clock
    while clock.round_[0] < stop and not state.faults.any():
        start = clock.round_[0]
        exchange = next_exchange(constants, start)
        end = min(exchange, stop)
        for agent in range(constants.agents):
            _play(world, constants, state, scratch, key, agent, start, end)
        if state.faults.any():
            return
        clock.round_[0] = end
        if end == exchange and clock.releases[0] < constants.releases:
            _exchange(world, constants, state, key)


class Replicate(CompiledReplicate[PFCBPlan]):
    """One replicate of one P-FCB variant."""

    def __init__(
        self, plan: PFCBPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> None:
        super().__init__(plan, environment, seed, replicate, threads)
        self.state: State = initial_state(plan)
        self._scratch = new_scratch(plan.constants.producers)

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done."""
        stop = min(stop, self.plan.rounds)
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
        return int(self.state.clock.releases[0])

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
        return self.plan.epsilon_spent(self.syncs)
