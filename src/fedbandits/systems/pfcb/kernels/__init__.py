"""Compiled code of P-FCB, and its arguments: the constants of a run, and all that changes in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.systems.kernels import Clock

#: Contents of a report: batches in clear, noisy batches, noisy running sums.
CLEAR, BATCHES, RUNNING = 0, 1, 2
#: How a report is judged.
ALWAYS, WITHIN_RADIUS, WITHIN_DEVIATIONS = 0, 1, 2


class Constants(NamedTuple):
    """Numbers that are constant in a run, as compiled code takes them."""

    agents: int
    producers: int
    exploration: int  # rounds
    explores_whole: bool  # all that capacities allow, or a unit each
    every_round: bool
    exchange_times: Ints
    releases: int
    raw_view: bool
    reports: int  # CLEAR, BATCHES or RUNNING
    published_budgets: bool
    scale: float  # noise of a draw, in capacities; published noise has one of its own a release
    budget: float  # √(2 ln(1.25/δ))/ε
    log_horizon: float  # of T, as the published budgets have it
    mechanism: int  # of the running sums, a code of privacy.kernels
    coefficients: Floats  # of the running sums
    share: float  # noise of a draw of one buyer's share of a secure sum, in capacities
    step: float  # q, of the whole numbers that secure sums add up; 0 where reports are seen
    mixing: Floats  # (2, 2): draws to noise of (w, y)
    covariance: Floats  # (2, 2)
    acceptance: int
    tolerance: float  # ω₁, or deviations
    judged_by_own: bool  # a report is judged by the buyer's own purchases alone
    judging_factor: float  # n or 1, times the round in the log of the radius it must lie within
    omega2: float  # 0: by inverse variance
    caution: float  # standard deviations of a purchase's quality; negative: optimistic
    oracle: int
    radius_factor: float  # n or 1, times the round in the log
    radius_divisor: float  # n as printed in Algorithm 1, else 1
    exploration_scale: float
    target: float  # α + γ
    revenue: float  # ρ

    @property
    def release_size(self) -> int:
        """Number of values in a report."""
        return 2 * self.producers


def draw_deviation(constants: Constants, release: int) -> float:
    """Return the deviation of the noise that a report draws, in capacities; compiled code calls it.

    Published: √(2 ln(1.25/δ))/ε_z of equations 10 and 11, with ε_z = ε/(2 log T) + ε/2^(z+1) of
    section 5.3, where z is the report's number, from 1.
    """
    if not constants.published_budgets:
        return constants.scale
    return constants.budget / (0.5 / constants.log_horizon + 0.5 ** (release + 1))


class Books(NamedTuple):
    """Books of a buyer; with a first axis of buyers, those of all of them."""

    combined: Floats  # (2, m): W and Y of Algorithm 2, all that it acts on, others' units weighed
    own: Floats  # (2, m): all own purchases
    fresh: Floats  # (2, m): those since the last report, w and y


def empty_books(producers: int, *buyers: int) -> Books:
    """Make the books of a buyer that has bought nothing, or those of so many buyers."""
    return Books(*(np.zeros((*buyers, 2, producers)) for _ in Books._fields))


@compiled
def one_book(books: Books, agent: int) -> Books:
    """Return the books of one buyer."""
    return Books(books.combined[agent], books.own[agent], books.fresh[agent])


@compiled
def note_purchase(raw_view: bool, purchase: Ints, good: Ints, books: Books) -> None:
    """Enter a round's purchase (equation 9)."""
    for i in range(purchase.size):
        if purchase[i] > 0:
            for row, units in enumerate((purchase[i], good[i])):
                books.own[row, i] += units
                books.fresh[row, i] += units
                if raw_view:
                    books.combined[row, i] += units


class Tally(NamedTuple):
    """Counts and sums of every buyer, (agents,)."""

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
    faults: Ints  # (agents,): the fault of a purchase
    books: Books  # with a first axis of buyers
    draws: Floats  # (agents, slots, 2 m): noise draws in use
    reports: Floats  # (agents, 2, m): the last ones; none where they are added up
    total: Ints  # (2 m or 0,): a secure sum in whole steps
    tally: Tally
