"""Everything constant in a run of P-FCB, as compiled code takes it."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits._typing import Floats, Ints

#: What a report holds: batches in clear, noisy batches, noisy running sums.
CLEAR, BATCHES, RUNNING = 0, 1, 2
#: How a report is judged.
ALWAYS, WITHIN_RADIUS, WITHIN_DEVIATIONS = 0, 1, 2


class Constants(NamedTuple):
    """Everything constant in a run, as compiled code takes it."""

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
    coefficients: Floats  # of the running sums
    mixing: Floats  # (2, 2): draws to noise of (w, y)
    covariance: Floats  # (2, 2)
    acceptance: int
    tolerance: float  # ω₁, or deviations
    judged_by_own: bool  # a report: by what the buyer bought itself alone
    judging_factor: float  # n or 1, times the round in the log of the radius it must lie within
    omega2: float  # 0: by inverse variance
    caution: float  # standard deviations of a purchase's quality; negative: optimistic
    oracle: int
    radius_factor: float  # n or 1, times the round in the log
    radius_divisor: float  # n as printed in Algorithm 1, else 1
    exploration_scale: float
    target: float  # α + γ
    revenue: float  # ρ


def draw_deviation(constants: Constants, release: int) -> float:
    """Return the deviation of the noise that a report draws, in capacities; compiled code calls it.

    Published: √(2 ln(1.25/δ))/ε_z of equations 10 and 11, with ε_z = ε/(2 log T) + ε/2^(z+1) of
    section 5.3.

    Parameters
    ----------
    constants : Constants
        They say how reports are made noisy.
    release : int
        z, the report's number, from 1.
    """
    if not constants.published_budgets:
        return constants.scale
    return constants.budget / (0.5 / constants.log_horizon + 0.5 ** (release + 1))
