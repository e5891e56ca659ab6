"""Consequences of a schedule: its rounds, where they are fixed in advance, or its threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbandits.errors import ConfigError
from fedbandits.facts import ContextualFacts
from fedbandits.learners.confidence import SpectralBounds
from fedbandits.systems.agents.config import (
    AgentsConfig,
    Determinant,
    Evenly,
    Every,
    Growing,
    Never,
    Schedule,
)
from fedbandits.systems.agents.noise import releases_of_all, ridge
from fedbandits.systems.aggregation import SecureTotals

#: Later than any round.
NEVER = np.int64(2**62)


def settled(schedule: Schedule, rounds: int, agents: int) -> Schedule:
    """Return the schedule with B worked out, where that is ``"auto"``."""
    if isinstance(schedule, Every) and schedule.rounds == "auto":
        return Every(math.ceil(math.sqrt(rounds / agents)))
    return schedule


def sync_rounds(schedule: Schedule, rounds: int, first: int = 1) -> Sequence[int] | None:
    """Return rounds, from 1, after which a settled schedule syncs; None if data decide.

    A sync after the last round would serve nobody and is left out. ``first`` stands in for
    ``"auto"``.

    Raises
    ------
    ConfigError
        If there are to be more syncs than rounds before the last.
    """
    match schedule:
        case Every():
            if schedule.rounds == "auto":
                raise ValueError('every("auto") must be settled first')
            return range(schedule.rounds, rounds, schedule.rounds)
        case Evenly():
            return _even(schedule.syncs, rounds)
        case Growing():
            start = first if schedule.first == "auto" else schedule.first
            return _growing(schedule.factor, start, rounds)
        case Never():
            return range(0)
        case Determinant():
            return None


def first_useful_round(
    agents: float, dimension: int, context_bound: float, deviation: float, rounds: int
) -> int:
    """Return the round by which pooled data can stand out from noise, by public facts alone.

    M agents that explore evenly have seen M t L²/d in every direction by round t; the noise of
    their sum has operator norm near 2√d · τ√M, where all of it is equally noisy. The first sync is
    where the two meet, but not later than a twentieth of the horizon.
    """
    meets = 2.0 * dimension**1.5 * deviation / (math.sqrt(agents) * context_bound**2)
    return int(min(max(1.0, math.ceil(meets)), max(1, rounds // 20)))


def sync_times(
    config: AgentsConfig, facts: ContextualFacts, rounds: int, record_norm: float, typical: float,
    secure: SecureTotals | None,
) -> Sequence[int] | None:  # fmt: skip
    """Return sync rounds; ``first = "auto"`` follows from the noise of an eager schedule.

    Parameters
    ----------
    config
        Configuration of the variant, its schedule settled.
    record_norm
        How far one replaced record can move a running sum.
    typical
        How many agents' releases there are in a pooled sum.
    secure
        The numbers of secure sums; None where releases are seen.
    """
    eager = sync_rounds(config.schedule, rounds)
    if eager is None or not len(eager) or not config.is_private:
        return eager
    noise = releases_of_all(config, facts.parties, len(eager), record_norm, secure)
    first = first_useful_round(
        typical,
        facts.dimension,
        config.context_bound,
        noise.relative_deviation * noise.most_noise.largest_deviation(),
        rounds,
    )
    return sync_rounds(config.schedule, rounds, first)


def sync_threshold(
    config: AgentsConfig, facts: ContextualFacts, uses: int, bounds: SpectralBounds | None,
    divisor: float,
) -> float:  # fmt: skip
    """Return D: given, by Theorem 1, or such that about n syncs happen in ``uses`` rounds.

    With the published shifts the trigger's left side sits near d ln 2 whatever the data, so a
    sync comes about every D/(d ln 2) rounds: D = d ln 2 · T/n.

    Parameters
    ----------
    uses
        Rounds in which one estimator is used.
    divisor
        Divisor of a threshold, unless the threshold is named by the communication aimed at.
    """
    if not isinstance(config.schedule, Determinant):
        return 0.0
    threshold = config.schedule.threshold
    dimension = facts.dimension * facts.models
    if threshold == "theory":
        low = bounds.rho_min if bounds else ridge(config) / facts.parties
        high = bounds.rho_max if bounds else low
        growth = math.log(high / low + uses * config.context_bound**2 / (dimension * low))
        return 2.0 * uses * dimension / (growth + 1.0) / divisor
    if threshold == "wang":
        pooled = facts.parties * uses
        return uses * math.log(pooled) / (dimension * facts.parties) / divisor
    if isinstance(threshold, str):
        syncs = {
            "M log T": math.ceil(math.log2(max(uses, 2))),
            "M^1.5": math.ceil(math.sqrt(facts.parties)),
            "MT": uses,
        }[threshold]
        return dimension * math.log(2.0) * uses / syncs
    return float(threshold) / divisor


def _even(syncs: int, rounds: int) -> Sequence[int]:
    if syncs >= rounds:
        raise ConfigError(
            f"schedule: given evenly({syncs}), allowed: fewer syncs than the {rounds:,} rounds"
        )
    if rounds % (syncs + 1) == 0:  # a range takes no memory: there may be millions
        return range(rounds // (syncs + 1), rounds, rounds // (syncs + 1))
    return [k * rounds // (syncs + 1) for k in range(1, syncs + 1)]


def _growing(factor: float, first: int, rounds: int) -> list[int]:
    times: list[int] = []
    time = first
    while time < rounds:
        times.append(time)
        time = max(time + 1, math.ceil(factor * time))
    return times
