"""Forms of a table: a class to name, the rewards of all arms, or a log of past decisions.

A form is a named tuple with the names of its arms, and a method that makes a world.

A log is replayed by rejection sampling (Li, Chu, Langford & Wang 2011). A round shows one logged
event. Its reward is observed if the system chooses the logged action, and if the event was
accepted: with probability smallest propensity / its propensity. So every action is observed equally
often, whatever the logging policy preferred. In all other rounds nothing is observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Bools, Floats, Floats32, Ints
from fedbandits.environments.kernels.recorded import (
    ClassificationWorld,
    LoggedWorld,
    Noted,
    TableWorld,
    draw_shown,
)
from fedbandits.environments.tables.cells import RawTable, numbers
from fedbandits.environments.tables.features import codes_of
from fedbandits.environments.tables.scaling import Public
from fedbandits.environments.tables.settings import TableKeys
from fedbandits.errors import DataError
from fedbandits.offline.estimates import METHODS, PARTS, sums_of
from fedbandits.offline.methods import Logged, dr_terms, ips_terms, replay_terms, snips_terms
from fedbandits.random import Key

#: Code of a choice that was not made yet.
NOT_MET = 65_535
#: Largest difference of K times a stated propensity from 1, as with 0.33 for three actions.
_NEARLY = 0.02
#: Relative tolerance for propensities in files, which have few digits.
_ROOM = 1e-6
#: Prefix of the names of a log's sums, see :func:`measures`.
NOTED = "log."


class DealtRows(NamedTuple):
    """The rows of one replicate, divided among the parties."""

    rows: Floats32  # (rows, dim): contexts
    shards: Ints  # (rows,): row numbers, grouped by party
    starts: Ints  # (parties + 1,)
    drawn: bool  # whether a round shows a random row; else the party's next row
    persons: Ints  # (rows,): the person of each row
    key: Key  # of the random draws of the replicate


class Form(Protocol):
    """The interface that all forms of a table have."""

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        ...

    @property
    def right_or_wrong(self) -> bool:
        """True if every reward is known to be 0 or 1."""
        ...

    def world(self, dealt: DealtRows) -> Any:
        """Make the world of a replicate with the divided rows."""
        ...


class Classes(NamedTuple):
    """Each arm is a class; the right class pays 1, all others 0."""

    arms: tuple[str, ...]
    labels: Ints  # (rows,)

    @property
    def right_or_wrong(self) -> bool:
        """True: every reward is 0 or 1."""
        return True

    def world(self, dealt: DealtRows) -> ClassificationWorld | TableWorld:
        """Make a world; with random visits, the world of bundled data sets."""
        if dealt.drawn:
            return ClassificationWorld(
                dealt.rows, self.labels, dealt.shards, dealt.starts, len(self.arms), dealt.persons
            )
        rewards = np.zeros((len(self.labels), len(self.arms)), np.float32)
        rewards[np.arange(len(self.labels)), self.labels] = 1.0
        return TableWorld(dealt.rows, rewards, self.labels, *dealt[1:5])


class Rewarded(NamedTuple):
    """Each arm is a column, which holds the arm's reward in every row."""

    arms: tuple[str, ...]
    rewards: Floats32  # (rows, arms) in [0, 1]

    @property
    def right_or_wrong(self) -> bool:
        """True if each reward is an end of the range."""
        return bool(np.isin(self.rewards, (0.0, 1.0)).all())

    def world(self, dealt: DealtRows) -> TableWorld:
        """Make a world; see :class:`Form`."""
        best = self.rewards.argmax(axis=1).astype(np.int64)
        return TableWorld(dealt.rows, self.rewards, best, *dealt[1:5])


def scaled_rewards(raw: RawTable, column: str, key: str, public: Public) -> Any:
    """Return a column of rewards, which ``key`` names, scaled from the stated range to [0, 1].

    Raises DataError with the line of the first reward outside the range.
    """
    low, high = public.reward_range
    values = numbers(raw, column, key)
    outside: Bools = (values < low) | (values > high)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise DataError(
            f"{raw.place(row, column)}: the reward is outside reward_range = [{low:g}, {high:g}] "
            f"({int(outside.sum())} such rows); widen the range, or correct the row"
        )
    return np.clip((values / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0), 0.0, 1.0)


class LoggedActions(NamedTuple):
    """The form of a log; each arm is an action in the log, or another possible action."""

    arms: tuple[str, ...]
    actions: Ints  # (rows,)
    rewards: Floats  # (rows,) in [0, 1]
    propensities: Floats  # (rows,)
    smallest: float  # smallest probability of any action, a public fact

    @property
    def right_or_wrong(self) -> bool:
        """False: rewards of other arms are not known."""
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


def logged_actions(table: TableKeys, raw: RawTable, public: Public) -> LoggedActions:
    """Read the log from a table's columns.

    Raises DataError with the line, for an action that is not listed, a reward outside its range, or
    an impossible propensity.
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


def _propensities_of_column(table: TableKeys, raw: RawTable, column: str) -> tuple[Floats, float]:
    """Return the propensities of a column, and their smallest possible value."""
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
    """Refuse a column with ``wrong`` rows, naming the first."""
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"{raw.place(row, column)}: the propensity {says} ({int(wrong.sum())} such rows); "
            f"{remedy}"
        )


def _equal_propensity(given: float, arms: int) -> float:
    """Return the propensity of each action, for equally likely actions."""
    if abs(given * arms - 1.0) > _NEARLY:
        raise DataError(
            f"environment.propensity: given {given:g}, but each of {arms} actions that are equally "
            f"likely has {1.0 / arms:g}; name the column that has the propensities, or correct "
            "classes"
        )
    return 1.0 / arms


def log_sums(world: LoggedWorld, rounds: int) -> Floats:
    """Compute the sums for estimates: (parties, methods, parts).

    ``world`` is the world after a run of ``rounds`` rounds.
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
    # An event that replay rejects matches nothing for replay, but counts as met.
    return np.stack([sums_of(*term, sites, parties) for term in terms], axis=1)


def _places_met(world: LoggedWorld, rounds: int) -> tuple[Ints, Ints]:
    """Return the places met in ``rounds`` rounds, round by round, and the party of each place."""
    counts = np.minimum(np.diff(world.starts), rounds)
    sites = np.repeat(np.arange(len(counts)), counts)
    turns = np.arange(len(sites)) - np.repeat(np.cumsum(counts) - counts, counts)
    in_time = np.lexsort((sites, turns))
    met: Ints = (world.starts[:-1][sites] + turns)[in_time]
    return met, sites[in_time]


def measures(world: LoggedWorld, rounds: int) -> Mapping[str, Floats]:
    """Return the sums by name, (parties,) each, as a run notes them at every checkpoint."""
    sums = log_sums(world, rounds)
    return {
        f"{NOTED}{method}.{part}": sums[:, i, j]
        for i, method in enumerate(METHODS)
        for j, part in enumerate(PARTS)
    }
