"""A P-FCB run as one compiled loop: buyer by buyer between two exchanges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.procurement import draw_good_units, earned, purchase_regret
from fedbandits.learners.purchasing import is_empty
from fedbandits.privacy.bounds import NO_FAULT, purchase_fault
from fedbandits.privacy.continual import TOEPLITZ, draw_slot
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.pfcb.books import Books, empty_books, note_purchase, one_book
from fedbandits.systems.pfcb.buyer import Scratch, decide
from fedbandits.systems.pfcb.plan import CLEAR, RUNNING, Plan, Rules
from fedbandits.systems.pfcb.reports import (
    next_exchange,
    next_noise,
    open_pool,
    take_report,
    write_report,
)

_NOISE = int(Purpose.PRIVACY_NOISE)


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

    round_: Ints  # (1,)
    releases: Ints  # (1,)
    faults: Ints  # (agents,): what is wrong with a purchase
    books: Books  # with a first axis of buyers
    draws: Floats  # (agents, slots, 2 m): noise in use
    reports: Floats  # (agents, 2, m): the last ones
    tally: Tally


def initial_state(resolved: Plan) -> State:
    """The state before the first round."""
    rules = resolved.rules
    n, m = rules.agents, rules.producers
    slots = resolved.continual.slots if resolved.continual else int(rules.reports != CLEAR)
    return State(
        round_=np.zeros(1, np.int64),
        releases=np.zeros(1, np.int64),
        faults=np.zeros(n, np.int64),
        books=empty_books(n, m),
        draws=np.zeros((n, slots, 2 * m)),
        reports=np.zeros((n, 2, m)),
        tally=Tally(
            regret=np.zeros(n),
            late_regret=np.zeros(n),
            reward=np.zeros(n),
            violations=np.zeros(n, np.int64),
            empty=np.zeros(n, np.int64),
            units=np.zeros(n, np.int64),
            judged=np.zeros((n, 2), np.int64),
        ),
    )


@compiled
def draw_noise(rules: Rules, key: Key, agent: int, release: int, draws: Floats) -> None:
    """A report's simulated noise, into its slot of ``draws`` (slots, 2 m)."""
    if rules.reports != CLEAR:
        slot = draw_slot(TOEPLITZ, release) if rules.reports == RUNNING else 0
        fill_normal(draws[slot], key, agent, release, _NOISE)


@compiled
def _play(
    world: Any, rules: Rules, state: State, scratch: Scratch, key: Key, agent: int, start: int,
    end: int,
) -> None:  # fmt: skip
    """One buyer, rounds start + 1 … end: decide, buy, inspect, remember."""
    books, tally = one_book(state.books, agent), state.tally
    cost, capacity = world.cost[agent], world.capacity[agent]
    truth = world.revenue * world.quality - cost
    margin = world.quality - world.threshold
    best, worst = world.best[agent], world.worst[agent]
    noise = next_noise(rules, state.releases[0])
    for round_ in range(start + 1, end + 1):
        decide(rules, round_, books, noise, cost, capacity, scratch)
        draw_good_units(world, key, agent, round_, scratch.purchase, scratch.good)
        state.faults[agent] = purchase_fault(scratch.purchase, scratch.good, capacity)
        if state.faults[agent] != NO_FAULT:
            return
        note_purchase(rules.raw_view, scratch.purchase, scratch.good, books)
        regret, missed = purchase_regret(truth, margin, best, worst, scratch.purchase)
        tally.regret[agent] += regret
        if round_ > rules.exploration:
            tally.late_regret[agent] += regret
            tally.violations[agent] += int(missed)
            tally.empty[agent] += int(is_empty(scratch.purchase))
        for i in range(cost.size):
            tally.units[agent] += scratch.purchase[i]
        tally.reward[agent] += earned(world, agent, scratch.purchase, scratch.good)


@compiled
def _exchange(world: Any, rules: Rules, state: State, key: Key) -> None:
    """All buyers report, then each takes what the others reported, in their order."""
    release, round_ = state.releases[0] + 1, state.round_[0]
    for agent in range(rules.agents):
        draw_noise(rules, key, agent, release, state.draws[agent])
        write_report(
            rules, release, world.capacity[agent], state.draws[agent],
            one_book(state.books, agent), state.reports[agent],
        )  # fmt: skip
    for receiver in range(rules.agents):
        books = one_book(state.books, receiver)
        open_pool(rules, books)
        for sender in range(rules.agents):
            mine = sender == receiver
            if not (mine and rules.raw_view):
                take_report(
                    rules, release, round_, world.capacity[sender], state.reports[sender], mine,
                    books.pool, state.tally.judged[receiver],
                )  # fmt: skip
    state.releases[0] = release


@compiled
def run_until(
    world: Any, rules: Rules, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done, or a purchase is out of bounds."""
    while state.round_[0] < stop and not state.faults.any():
        start = state.round_[0]
        exchange = next_exchange(rules, start)
        end = min(exchange, stop)
        for agent in range(rules.agents):
            _play(world, rules, state, scratch, key, agent, start, end)
        if state.faults.any():
            return
        state.round_[0] = end
        if end == exchange and state.releases[0] < rules.releases:
            _exchange(world, rules, state, key)
