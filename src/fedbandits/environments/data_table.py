"""Own data as a bandit: the rows of a table, divided among sites."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from fedbandits._typing import Floats
from fedbandits.environments.base import F64, Memory, Needs
from fedbandits.environments.classification import Classification
from fedbandits.environments.drift import drifting
from fedbandits.environments.kernels import drift, recorded
from fedbandits.environments.kernels.recorded import ClassificationWorld, LoggedWorld, TableWorld
from fedbandits.environments.kernels.worlds import expected_reward
from fedbandits.environments.open_world import WorldKernels
from fedbandits.environments.tables.settings import TableKeys
from fedbandits.errors import ConfigError
from fedbandits.facts import ContextualFacts
from fedbandits.random import Key

if TYPE_CHECKING:  # reading a configuration needs no readers of data
    from fedbandits.environments.tables.prepared import Prepared


#: Bytes a row that a log's world keeps: whether the row is shown, and the chosen action.
_NOTED = 3


class Table(TableKeys, frozen=True, kw_only=True, tag="table"):
    """Your own data: each row is a visit, and the sites of the rows are the parties.

    The table has one of three forms. With ``target``, each class is an arm, and the right class
    pays
    1. With ``rewards``, each column is an arm and holds its reward. With ``action`` and ``reward``,
    the table is a log of past decisions. Each arm has its own linear model of the row.

    Numbers are counted in spreads from their centre, or scaled to [-1, 1] by their range; texts
    become one coordinate for each category. Unusable values are refused with their line.
    ``docs/your-data.md`` shows how.
    """

    REAL_DATA: ClassVar[bool] = True
    SECOND_WORLD: ClassVar[str] = "arms change places: each pays what the arm before it pays"

    @property
    def regret_is_known(self) -> bool:
        return self.form != "log"

    @property
    def parties(self) -> int:
        return self.agents or self._data().sites.parties

    @property
    def party_names(self) -> tuple[str, ...]:
        return self._data().sites.names

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arms: classes, columns of rewards, or actions."""
        return self._data().form.arms

    @property
    def dimension(self) -> int:
        return int(self._data().contexts.shape[1])

    @property
    def arm_count(self) -> int:
        return len(self._data().form.arms)

    @property
    def models(self) -> int:
        return self.arm_count

    @property
    def has_constant(self) -> bool:
        prepared = self._data().row_deviation is None  # with ranges, rows would be too short
        return self.intercept > 0.0 and prepared

    @property
    def right_or_wrong(self) -> bool:
        return self._data().form.right_or_wrong

    @property
    def row_deviation(self) -> float | None:
        return self._data().row_deviation

    @property
    def facts(self) -> ContextualFacts:
        data = self._data()
        visits = data.persons.visits(self.visits == "drawn")
        return msgspec.structs.replace(super().facts, public=data.public, **visits)

    def identified(self) -> Self:
        from fedbandits.environments.tables.files import file_digest_of

        if self.digest or not self.path:
            return self
        return msgspec.structs.replace(self, digest=file_digest_of(self.path))

    def prepare(self) -> None:
        self._data()

    def prepared(self) -> TableKeys | None:
        from fedbandits.environments.tables.prepared import measured_spreads

        return measured_spreads(self)

    def refuse_rounds(self, rounds: int) -> None:
        from fedbandits.environments.tables.sites import refuse_rounds

        refuse_rounds(self, self._data().sites, rounds)

    def cautions(self) -> Iterable[str]:
        return self._data().cautions

    def refuse_elsewhere(self) -> None:
        from fedbandits.environments.tables.files import refuse_elsewhere

        refuse_elsewhere(self.path)

    def needs(self, rounds: int) -> Needs:
        rows = self._data().sites.rows
        return Needs(
            (Memory("rows by party", rows * (F64 + _NOTED), "environment.path"),),
            float(rounds * self.parties * self.dimension),
        )

    def world(self, key: Key) -> Any:
        world = self._data().world(key, self.visits)
        return drifting(self, key, world, drift.OtherRewards(drift.MOVED))

    def kernels(self, world: Any) -> WorldKernels:
        return _KERNELS[type(world)]

    def measures(self, world: Any, rounds: int) -> Mapping[str, Floats]:
        if self.form != "log":
            return {}
        from fedbandits.environments.tables.forms import measures

        return measures(world, rounds)

    def _data(self) -> Prepared:
        from fedbandits.environments.tables.prepared import prepare_table

        return prepare_table(self)


#: The kernels of a table, by its world, which depends on the table's form.
_KERNELS: dict[type, WorldKernels] = {
    ClassificationWorld: Classification.KERNELS,
    TableWorld: WorldKernels(recorded.fill_table, expected_reward, recorded.person_of_row),
    LoggedWorld: WorldKernels(
        recorded.fill_log, recorded.logged_reward, recorded.person_of_event, recorded.note_chosen
    ),
}


def table(data: Any, *, columns: Sequence[str] | None = None, **settings: Any) -> Table:
    """Make an environment of your own data.

    Parameters
    ----------
    data
        Path of a CSV or Parquet file, a pandas or polars DataFrame, a dictionary of columns, or a
        numpy array. Data in memory stays in this process: a run does not store it.
    columns
        Names of the columns of a 2-D array.
    **settings
        Settings of :class:`Table`: ``site="hospital", features=["age"], target="diagnosis"``.

    Raises
    ------
    ConfigError
        If the settings do not fit together.
    DataError
        If ``data`` is no table.
    """
    if isinstance(data, str | os.PathLike):
        return Table(path=os.fspath(data), **settings)
    from fedbandits.environments.tables.sources import hold, table_in_memory

    digest, given = hold(table_in_memory(data, columns)), settings.pop("digest", "")
    if given not in ("", digest):
        raise ConfigError(
            f"Table.digest: given {given[:15]}…, but this table is {digest[:15]}…: it is another "
            "one; give the table that was recorded, or leave out digest"
        )
    return Table(path="", digest=digest, **settings)
