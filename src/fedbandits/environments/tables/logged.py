"""A log as a world: a round shows one logged event, and pays only if the choice agrees with it.

This is replay by rejection sampling (Li, Chu, Langford & Wang 2011). A reward is observed if the
system chooses the logged action, and if the event was accepted: with probability smallest
propensity / its propensity. So every action is observed equally often, whatever the logging policy
preferred. In all other rounds nothing is observed, and nothing learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.environments.kernels.recorded import LoggedWorld, Noted, draw_shown
from fedbandits.environments.tables.cells import RawTable, numbers
from fedbandits.environments.tables.features import codes_of
from fedbandits.environments.tables.forms import DealtRows, scaled_rewards
from fedbandits.errors import DataError
from fedbandits.offline.estimates import METHODS, PARTS, sums_of
from fedbandits.offline.methods import Logged, dr_terms, ips_terms, replay_terms, snips_terms

if TYPE_CHECKING:
    from fedbandits.environments.data_table import Table
    from fedbandits.environments.tables.scaling import Public

#: In place of a choice that was not made yet.
NOT_MET = 65_535
#: How far K times a stated propensity may be from 1, as with 0.33 for three actions.
_NEARLY = 0.02
#: Propensities of a file have few digits.
_ROOM = 1e-6


class LoggedActions(NamedTuple):
    """The form of a log; each arm is an action that was logged, or could have been."""

    arms: tuple[str, ...]
    actions: Ints  # (rows,)
    rewards: Floats  # (rows,) in [0, 1]
    propensities: Floats  # (rows,)
    smallest: float  # the smallest probability with which any action is taken, a public fact

    @property
    def right_or_wrong(self) -> bool:
        """Never true: rewards of other arms are not known."""
        return False

    def world(self, dealt: DealtRows) -> LoggedWorld:
        """Make a replicate in which parties meet the events, each party its own in order."""
        order, starts = dealt.shards, dealt.starts
        shown = np.zeros(len(order), np.bool_)
        draw_shown(self.smallest / self.propensities[order], starts, dealt.key, shown)
        chosen = np.full(len(order), NOT_MET, np.uint16)
        return LoggedWorld(
            dealt.rows, self.actions, self.rewards, self.propensities, order, starts, shown,
            len(self.arms), dealt.persons, Noted(chosen),
        )  # fmt: skip


def logged_actions(table: Table, raw: RawTable, public: Public) -> LoggedActions:
    """Read the log that a table's columns hold.

    Raises DataError with the line, for an action that is not listed, a reward outside its range, or
    a propensity that cannot be one.
    """
    actions = codes_of(raw, table.action or "", "classes", public.classes)
    rewards = scaled_rewards(raw, table.reward or "", "reward", public)
    arms = public.classes
    if isinstance(table.propensity, str):
        propensities, smallest = _propensities_of_column(table, raw, table.propensity)
    else:
        smallest = _equal_propensity(table.propensity or 0.0, len(arms))
        propensities = np.full(len(actions), smallest)
    return LoggedActions(arms, actions, rewards, propensities, smallest)


def _propensities_of_column(table: Table, raw: RawTable, column: str) -> tuple[Floats, float]:
    """Read the propensities of a column, and the smallest one that there can be."""
    values = numbers(raw, column, "propensity")
    smallest = table.smallest_propensity
    remedy = "correct the row, or leave it out"
    _refuse_propensities(raw, column, values <= 0.0, "is not above 0", remedy)
    _refuse_propensities(
        raw, column, values > 1.0 + _ROOM, "is above 1", "write a fraction, not a percentage"
    )
    if smallest is None:  # with consent: scaling = "data"
        return np.minimum(values, 1.0), float(values.min())
    says, remedy = f"is below smallest_propensity = {smallest:g}", "lower it, or correct the row"
    _refuse_propensities(raw, column, values < smallest * (1.0 - _ROOM), says, remedy)
    return np.clip(values, smallest, 1.0), smallest


def _refuse_propensities(raw: RawTable, column: str, wrong: Bools, says: str, remedy: str) -> None:
    """Refuse a column if a row is wrong, naming the first one."""
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"{raw.place(row, column)}: the propensity {says} ({int(wrong.sum())} such rows); "
            f"{remedy}"
        )


def _equal_propensity(given: float, arms: int) -> float:
    """Return the one propensity of all actions, which were equally likely."""
    if abs(given * arms - 1.0) > _NEARLY:
        raise DataError(
            f"environment.propensity: given {given:g}, but each of {arms} actions that are equally "
            f"likely has {1.0 / arms:g}; name the column that has the propensities, or correct "
            "classes"
        )
    return 1.0 / arms


def log_sums(world: LoggedWorld, rounds: int) -> Floats:
    """Compute the sums that estimates are made from: (parties, methods, parts).

    ``world`` is that after a run of so many rounds.
    """
    parties = len(world.starts) - 1
    met, sites = _places_met(world, rounds)
    if not len(met):
        return np.zeros((parties, len(METHODS), len(PARTS)))
    events = world.order[met]
    log = Logged(
        world.actions[events],
        world.rewards[events],
        world.propensities[events],
        world.noted.chosen[met].astype(np.int64),
    )
    terms = (
        replay_terms(log, world.shown[met]),
        ips_terms(log),
        snips_terms(log),
        dr_terms(log, world.rows[events], world.arms),
    )
    # What replay passes over is no event for it that matches, but it was met.
    return np.stack([sums_of(*each, sites, parties) for each in terms], axis=1)


def _places_met(world: LoggedWorld, rounds: int) -> tuple[Ints, Ints]:
    """Find the places met in so many rounds, round by round, and the party of each."""
    counts = np.minimum(np.diff(world.starts), rounds)
    sites = np.repeat(np.arange(len(counts)), counts)
    turns = np.arange(len(sites)) - np.repeat(np.cumsum(counts) - counts, counts)
    in_time = np.lexsort((sites, turns))
    met: Ints = (world.starts[:-1][sites] + turns)[in_time]
    return met, sites[in_time]


def measures(world: LoggedWorld, rounds: int) -> Mapping[str, Floats]:
    """Return the same sums by name, (parties,) each, as a run notes them at every checkpoint."""
    sums = log_sums(world, rounds)
    return {
        f"{NOTED}{method}.{part}": sums[:, i, j]
        for i, method in enumerate(METHODS)
        for j, part in enumerate(PARTS)
    }


#: What the names of these sums begin with.
NOTED = "log."
