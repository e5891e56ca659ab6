"""Compiled loops of P-FCB: the rounds of a run, and the reports of an audit's runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
from fedbandits.privacy.kernels import NO_FAULT, draw_slot, purchase_fault
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.pfcb.kernels import (
    CLEAR,
    RUNNING,
    Books,
    Constants,
    State,
    note_purchase,
    one_book,
)
from fedbandits.systems.pfcb.kernels.purchases import Scratch, decide
from fedbandits.systems.pfcb.kernels.reports import (
    begin_exchange,
    next_exchange,
    next_noise,
    noise_deviation,
    take_report,
    write_report,
)
from fedbandits.systems.pfcb.kernels.sums import (
    add_own_share,
    measures,
    take_total,
    write_sums,
)

_NOISE = int(Purpose.PRIVACY_NOISE)


@compiled
def draw_noise(constants: Constants, key: Key, agent: int, release: int, draws: Floats) -> None:
    """Draw a report's simulated noise, into its slot of ``draws`` (slots, 2 m)."""
    if constants.reports != CLEAR:
        slot = draw_slot(constants.mechanism, release) if constants.reports == RUNNING else 0
        fill_normal(draws[slot], key, agent, release, _NOISE)


@compiled
def _play(
    world: ProcurementWorld, constants: Constants, state: State, scratch: Scratch, key: Key,
    agent: int, start: int, end: int,
) -> None:  # fmt: skip
    """Play one buyer's rounds start + 1 … end: decide, buy, inspect, remember."""
    books, tally = one_book(state.books, agent), state.tally
    cost, capacity = world.cost[agent], world.capacity[agent]
    truth = truth_of(world, agent)
    unit_revenue, surplus, ends = truth.unit_revenue, truth.surplus, truth.ends
    drifts = world.other.size > 0
    noise = next_noise(constants, state.clock.syncs[0])
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
        tally.units[agent] += scratch.purchase.sum()
        tally.reward[agent] += earned(world, agent, scratch.purchase, scratch.good)


@compiled
def _exchange(world: ProcurementWorld, constants: Constants, state: State, key: Key) -> None:
    """Let all buyers report, then each take what the others reported, in their order."""
    release, round_ = state.clock.syncs[0] + 1, state.clock.round_[0]
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
    state.clock.syncs[0] = release


@compiled
def _exchange_total(world: ProcurementWorld, constants: Constants, state: State, key: Key) -> None:
    """Let all buyers add their shares, then each take what the sum says of the others."""
    release, round_ = state.clock.syncs[0] + 1, state.clock.round_[0]
    known, share = measures(world.capacity), np.zeros(2 * constants.producers)
    state.total[:] = 0
    for agent in range(constants.agents):
        draw_noise(constants, key, agent, release, state.draws[agent])
        write_sums(world.capacity[agent], known.most, state.books.own[agent], share)
        add_own_share(constants, release, known.most, state.draws[agent], share, state.total)
        state.books.fresh[agent] = 0.0
    scale = noise_deviation(constants, release)
    share[:] = 0.0
    for agent in range(constants.agents):
        if constants.raw_view:
            write_sums(world.capacity[agent], known.most, state.books.own[agent], share)
        take_total(
            constants, scale, round_, known, state.total, share, one_book(state.books, agent),
            state.tally.judged[agent],
        )  # fmt: skip
    state.clock.syncs[0] = release


@compiled
def run_until(
    world: ProcurementWorld, constants: Constants, state: State, scratch: Scratch, key: Key,
    stop: int,
) -> None:  # fmt: skip
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
        if end == exchange and clock.syncs[0] < constants.releases:
            if constants.step > 0.0:
                _exchange_total(world, constants, state, key)
            else:
                _exchange(world, constants, state, key)


@compiled
def play_reports(
    constants: Constants, steps: Ints, entered: Floats, record: Floats, targets: Ints,
    keys: NDArray[np.uint64], capacity: Ints, books: Books, draws: Floats, values: Floats,
) -> None:  # fmt: skip
    """Run after run write the reports ``steps`` (runs, n) about one producer, into ``values``.

    What is about other purchases is known to the attacker and left out; the replaced one is in the
    reports that ``entered`` (runs, n) says, of the buyer and the producer in ``targets`` (runs, 2).
    ``values`` are (runs, n, 2).
    """
    report = np.zeros((2, capacity.size))
    for run in range(steps.shape[0]):
        buyer, producer = targets[run, 0], targets[run, 1]
        key = Key(keys[run, 0], keys[run, 1])
        for place in range(steps.shape[1]):
            release = steps[run, place]
            draw_noise(constants, key, buyer, release, draws)
            books.own[:] = 0.0
            books.fresh[:] = 0.0
            books.own[:, producer] = entered[run, place] * record
            books.fresh[:, producer] = entered[run, place] * record
            write_report(constants, release, capacity, draws, books, report)
            values[run, place] = report[:, producer]


@compiled
def play_sums(
    constants: Constants, honest: int, entered: Floats, record: Floats, targets: Ints,
    keys: NDArray[np.uint64], most: Floats, draws: Floats, values: Floats,
) -> None:  # fmt: skip
    """Run after run add up honest buyers' shares, and write w and y of a producer into ``values``.

    ``values`` are (runs, n, 2): of the first n sums. Parameters are those of :func:`play_reports`,
    where all buyers have the capacities ``most`` (m,).
    """
    m, capacity = most.size, most.astype(np.int64)
    own, share, total = (
        np.zeros((2, m)),
        np.zeros(2 * m),
        np.zeros((values.shape[1], 2 * m), np.int64),
    )
    for run in range(values.shape[0]):
        buyer, producer = targets[run, 0], targets[run, 1]
        key = Key(keys[run, 0], keys[run, 1])
        total[:] = 0
        for other in range(honest):
            agent = (buyer + other) % constants.agents
            for place in range(values.shape[1]):
                draw_noise(constants, key, agent, place + 1, draws)
                own[:, producer] = entered[run, place] * record if other == 0 else 0.0 * record
                write_sums(capacity, most, own, share)
                add_own_share(constants, place + 1, most, draws, share, total[place])
        own[:, producer] = 0.0
        for place in range(values.shape[1]):
            bought = constants.step * total[place, producer]
            values[run, place, 0] = bought
            values[run, place, 1] = 0.5 * (bought + constants.step * total[place, m + producer])


@compiled
def draw_reports(
    constants: Constants, steps: Ints, bought: float, key: Key, capacity: Ints, books: Books,
    draws: Floats, reports: Floats,
) -> None:  # fmt: skip
    """Write some reports of all buyers on as many units, into ``reports`` (buyers, steps, 2, m)."""
    for buyer in range(reports.shape[0]):
        done = 0
        for place in range(steps.size):
            release = steps[place]
            first = done + 1 if constants.reports == RUNNING else release
            for step in range(first, release + 1):
                draw_noise(constants, key, buyer, step, draws)
            books.own[:] = bought
            books.fresh[:] = bought
            write_report(constants, release, capacity, draws, books, reports[buyer, place])
            done = release
