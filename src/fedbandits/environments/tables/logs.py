"""A log of decisions in a table: the columns of the action, its reward and its propensity."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.environments.kernels.log import LoggedWorld
from fedbandits.environments.tables.cells import numbers
from fedbandits.environments.tables.features import codes_of
from fedbandits.environments.tables.forms import Dealt, scaled_rewards
from fedbandits.environments.tables.logged import Log, logged_world
from fedbandits.environments.tables.raw import RawTable
from fedbandits.errors import DataError

if TYPE_CHECKING:
    from fedbandits.environments.table import Table
    from fedbandits.environments.tables.scaling import Public

#: How far K times a stated propensity may be from 1, as with 0.33 for three actions.
_NEARLY = 0.02
#: Propensities of a file have few digits.
_ROOM = 1e-6


class Decisions(NamedTuple):
    """The form of a log; each arm is an action that was logged, or could have been."""

    arms: tuple[str, ...]
    actions: Ints  # (rows,)
    rewards: Floats  # (rows,) in [0, 1]
    propensities: Floats  # (rows,)
    smallest: float  # the smallest probability with which any action is taken

    def world(self, dealt: Dealt) -> LoggedWorld:
        """Make a world; see :class:`Form`."""
        log = Log(
            dealt.rows, self.actions, self.rewards, self.propensities, self.smallest, len(self.arms)
        )
        return logged_world(log, dealt.key, dealt.shards, dealt.starts, dealt.persons)


def decisions_of(table: Table, raw: RawTable, public: Public) -> Decisions:
    """Read the log that a table's columns hold.

    Raises
    ------
    DataError
        Naming the line, for an action that is not listed, a reward outside its range, or a
        propensity that cannot be one.
    """
    actions = codes_of(raw, table.action or "", "classes", public.classes)
    rewards = scaled_rewards(raw, table.reward or "", "reward", public)
    arms = public.classes
    if isinstance(table.propensity, str):
        propensities, smallest = _column(table, raw, table.propensity)
    else:
        smallest = _of_all(table.propensity or 0.0, len(arms))
        propensities = np.full(len(actions), smallest)
    return Decisions(arms, actions, rewards, propensities, smallest)


def _column(table: Table, raw: RawTable, column: str) -> tuple[Floats, float]:
    """Read the propensities of a column, and the smallest one that there can be."""
    values = numbers(raw, column, "propensity")
    smallest = table.smallest_propensity
    remedy = "correct the row, or leave it out"
    _refuse(raw, column, values <= 0.0, "is not above 0", remedy)
    _refuse(raw, column, values > 1.0 + _ROOM, "is above 1", "write a fraction, not a percentage")
    if smallest is None:  # with consent: scaling = "data"
        return np.minimum(values, 1.0), float(values.min())
    says, remedy = f"is below smallest_propensity = {smallest:g}", "lower it, or correct the row"
    _refuse(raw, column, values < smallest * (1.0 - _ROOM), says, remedy)
    return np.clip(values, smallest, 1.0), smallest


def _refuse(raw: RawTable, column: str, wrong: Bools, says: str, remedy: str) -> None:
    """Refuse a column if a row is wrong, naming the first one."""
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"{raw.place(row, column)}: the propensity {says} ({int(wrong.sum())} such rows); "
            f"{remedy}"
        )


def _of_all(given: float, arms: int) -> float:
    """Return the one propensity of all actions, which were equally likely."""
    if abs(given * arms - 1.0) > _NEARLY:
        raise DataError(
            f"environment.propensity: given {given:g}, but each of {arms} actions that are equally "
            f"likely has {1.0 / arms:g}; name the column that has the propensities, or correct "
            "classes"
        )
    return 1.0 / arms
