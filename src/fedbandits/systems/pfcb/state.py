"""All that changes in a P-FCB run, as arrays that compiled code and a file can hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.needs import F64, Needs, Part
from fedbandits.systems.pfcb.kernels.books import Books, empty_books
from fedbandits.systems.pfcb.plan import PFCBPlan


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


def initial_state(plan: PFCBPlan) -> State:
    """The state before the first round."""
    n, m = plan.constants.agents, plan.constants.producers
    return State(
        clock=Clock(np.zeros(1, np.int64), np.zeros(1, np.int64)),
        faults=np.zeros(n, np.int64),
        books=empty_books(n, m),
        draws=np.zeros((n, plan.slots, 2 * m)),
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


def needs(plan: PFCBPlan) -> Needs:
    """What :func:`initial_state` will take, and the rounds after it."""
    pairs = plan.constants.agents * plan.constants.producers
    keys = "environment.agents or environment.producers"
    parts = (
        Part("books and reports of buyers", 8 * pairs * F64, keys),
        Part("noise that is kept for later reports", 2 * plan.slots * pairs * F64, keys),
    )
    exchanges = min(plan.constants.releases, plan.rounds)
    judged = 10.0 * plan.constants.agents  # everybody judges everybody's report
    report = 40.0 + plan.slots + judged
    return Needs(parts, pairs * (30.0 * plan.rounds + exchanges * report))
