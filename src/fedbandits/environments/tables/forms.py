"""Forms of a table: a class to name, or the rewards of all arms; :mod:`.logged` has the log.

A form is a named tuple with the names of its arms, and a method that makes a world of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Bools, Floats32, Ints
from fedbandits.environments.kernels.recorded import ClassificationWorld, TableWorld
from fedbandits.environments.tables.cells import RawTable, numbers
from fedbandits.errors import DataError
from fedbandits.random import Key

if TYPE_CHECKING:
    from fedbandits.environments.tables.scaling import Public


class DealtRows(NamedTuple):
    """Rows as the parties of one replicate own them."""

    rows: Floats32  # (rows, dim): contexts
    shards: Ints  # (rows,): row numbers, grouped by party
    starts: Ints  # (parties + 1,)
    drawn: bool  # whether a round shows a row at random; else the party's next one
    persons: Ints  # (rows,): whose row each is
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
        """Make the world of a replicate in which rows are dealt so."""
        ...


class Classes(NamedTuple):
    """Each arm is a class; the right one pays 1, all others 0."""

    arms: tuple[str, ...]
    labels: Ints  # (rows,)

    @property
    def right_or_wrong(self) -> bool:
        """Always true."""
        return True

    def world(self, dealt: DealtRows) -> ClassificationWorld | TableWorld:
        """Make a world; rows that are drawn make the world of bundled data sets."""
        if dealt.drawn:
            return ClassificationWorld(
                dealt.rows, self.labels, dealt.shards, dealt.starts, len(self.arms), dealt.persons
            )
        rewards = np.zeros((len(self.labels), len(self.arms)), np.float32)
        rewards[np.arange(len(self.labels)), self.labels] = 1.0
        return TableWorld(dealt.rows, rewards, self.labels, *dealt[1:5])


class Rewarded(NamedTuple):
    """Each arm is a column, which holds its reward in every row."""

    arms: tuple[str, ...]
    rewards: Floats32  # (rows, arms) in [0, 1]

    @property
    def right_or_wrong(self) -> bool:
        """True if each reward is one end of its range."""
        return bool(np.isin(self.rewards, (0.0, 1.0)).all())

    def world(self, dealt: DealtRows) -> TableWorld:
        """Make a world; see :class:`Form`."""
        best = self.rewards.argmax(axis=1).astype(np.int64)
        return TableWorld(dealt.rows, self.rewards, best, *dealt[1:5])


def scaled_rewards(raw: RawTable, column: str, key: str, public: Public) -> Any:
    """Read a column of rewards that ``key`` names, scaled from the stated range to [0, 1].

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
