"""A P-FCB run as one loop: buyer by buyer between two exchanges."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.kernels.procurement import (
    ProcurementWorld,
    draw_good_units,
    earned,
    keep_up,
    purchase_regret,
    truth_of,
)
from fedbandits.learners.kernels.purchasing import is_empty
from fedbandits.privacy.kernels import NO_FAULT, TOEPLITZ, draw_slot, purchase_fault
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.pfcb.kernels.books import Books, note_purchase, one_book
from fedbandits.systems.pfcb.kernels.constants import CLEAR, RUNNING, Constants
from fedbandits.systems.pfcb.kernels.purchases import Scratch, decide
from fedbandits.systems.pfcb.kernels.reports import (
    begin_exchange,
    next_exchange,
    next_noise,
    take_report,
    write_report,
)

_NOISE = int(Purpose.PRIVACY_NOISE)


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # rounds played
    releases: Ints  # exchanges made


class Tally(NamedTuple):
    """What is counted of every buyer, (agents,)."""

    regret: Floats
    late_regret: Floats  # after the exploration
    reward: Floats  # ρ a good unit, less what all units cost
    violations: Ints  # rounds after the exploration that miss the constraint
    empty: Ints  # rounds in which nothing was bought
    units: Ints
    judged: Ints  # (agents, 2): reports accepted and refused, a producer at a time


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    faults: Ints  # (agents,): what is wrong with a purchase
    books: Books  # with a first axis of buyers
    draws: Floats  # (agents, slots, 2 m): noise draws in use
    reports: Floats  # (agents, 2, m): the last ones
    tally: Tally


@compiled
def draw_noise(constants: Constants, key: Key, agent: int, release: int, draws: Floats) -> None:
    """A report's simulated noise, into its slot of ``draws`` (slots, 2 m)."""
    if constants.reports != CLEAR:
        slot = draw_slot(TOEPLITZ, release) if constants.reports == RUNNING else 0
        fill_normal(draws[slot], key, agent, release, _NOISE)


@compiled
def _play(
    world: ProcurementWorld, constants: Constants, state: State, scratch: Scratch, key: Key,
    agent: int, start: int, end: int,
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
def _exchange(world: ProcurementWorld, constants: Constants, state: State, key: Key) -> None:
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
    world: ProcurementWorld,
    constants: Constants,
    state: State,
    scratch: Scratch,
    key: Key,
    stop: int,
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
