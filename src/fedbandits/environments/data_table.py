"""Own data as a bandit: the rows of a table, divided among the sites that they come from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import msgspec
from msgspec import Meta

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment, Words, plural
from fedbandits.environments.classification import Classification
from fedbandits.environments.drift import drifting
from fedbandits.environments.facts import ContextualFacts
from fedbandits.environments.kernels import drift, recorded
from fedbandits.environments.kernels.recorded import ClassificationWorld, LoggedWorld, TableWorld
from fedbandits.environments.kernels.worlds import expected_reward
from fedbandits.environments.needs import F64, Memory, Needs
from fedbandits.environments.open_world import WorldKernels
from fedbandits.environments.shards import Dealing
from fedbandits.environments.tables.reading import (
    Decimal,
    Reading,
    Separator,
    Thousands,
    reading_of,
)
from fedbandits.errors import ConfigError
from fedbandits.random import Key

if TYPE_CHECKING:  # a configuration is read without what reads data
    from fedbandits.environments.tables.prepared import Prepared


#: Bytes a row that a log's world keeps: whether it is shown, and what was chosen.
_NOTED = 3


class Table(ContextualEnvironment, frozen=True, kw_only=True, tag="table"):
    """Your own data: each row is a visit, and the sites that rows come from are the parties.

    The table has one of three forms. With ``target``, each class is an arm, and the right one pays
    1. With ``rewards``, each column is an arm and holds its reward. With ``action`` and ``reward``,
    the table is a log of past decisions. Each arm has its own linear model of the row.

    Numbers are counted in spreads from their centre, or scaled to [-1, 1] by their range; texts
    become one coordinate for each category. All of it is refused with its line where it cannot be
    used. ``docs/your-data.md`` shows how.

    Parameters
    ----------
    path
        Path of a CSV or Parquet file, which gzip, bzip2, xz or zip may have packed. The first line
        of a CSV file names the columns. Empty for a table from memory, which
        ``fb.environments.table`` makes.
    site
        Column that names the party of each row, such as the hospital. Give it, or ``agents``.
    agents
        Number of parties among whom rows are dealt at random. 0 where ``site`` names the parties.
    shards
        How rows are dealt to ``agents``: ``disjoint``, equally many, or ``skewed(0.3)``, by class.
    person
        Column that names the person of each row. Without it each row counts as another person.
    features
        Columns that make up a context.
    target
        Column with the right class of each row.
    classes
        All classes of the target, a public fact.
    rewards
        Columns with the reward of each arm, all of the same range.
    reward_range
        Smallest and largest possible reward, a public fact. Rewards are scaled from it to [0, 1],
        and results count them so.
    action, reward
        Columns of a log: the arm that was chosen, and its reward.
    propensity
        Column of a log with the probability with which the chosen arm was chosen. A number if all
        arms were equally likely: ``0.25`` for four arms. It is never guessed.
    smallest_propensity
        Smallest probability with which the logging policy chooses any arm, a public fact. It is
        needed where ``propensity`` is a column.
    centre, spread
        Typical value of columns of numbers, and typical deviation from it: public facts, for which
        rough guesses do. A number becomes (value - centre) / spread, and is cut off at ±10.
    ranges
        Smallest and largest value of other columns of numbers, public facts. Values outside are
        replaced by the nearer end. Most rows are then short, see ``norm``.
    categories
        Categories of each column of texts, public facts. ``"*"`` stands for all others.
    scaling
        ``stated``: ranges, categories and classes must be stated as public facts. ``data``: those
        that are not stated are computed from all rows, and count as public in every privacy claim.
    missing_marks
        Texts that stand for a missing value, such as ``["-999"]``. By default those that are
        usual: ``NA``, ``?``, ``-`` and more. If they are given, no others count, but an empty cell
        does.
    missing
        ``refuse``: a missing value is an error with its line. ``drop``: its row is left out.
        ``indicator``: each feature gets a second coordinate that is 1 where it is missing.
    visits
        ``drawn``: every round shows a row of the site at random, with replacement. ``once``: rows
        come in random order, each once. ``in order``: they come as they stand in the table. A log
        is not drawn from.
    norm
        Rows are divided by this norm of their scaled features; longer rows are shortened. By
        default it is the root of the number of features: the largest norm that ranges and
        categories make possible, and the typical norm where numbers are counted in spreads.
    intercept
        Share of the squared norm that a constant coordinate gets. 0 means no such coordinate.
    encoding
        Encoding of a CSV file, such as ``latin-1``. It is not guessed.
    separator
        What separates cells of a CSV file. By default it is found out: a comma, a semicolon, a tab
        or ``|``.
    decimal
        Decimal sign of numbers, ``.`` or ``,``. A number such as ``1,234`` is refused without it,
        because it can be read in two ways.
    thousands
        Sign between thousands, one of ``,`` ``.`` ``'`` and a blank, which stands for every kind of
        blank. By default there is none.
    digest
        SHA-256 of the data. A run records it, and refuses other data when it is resumed.
    """

    WORDS: ClassVar[Words] = Words(turn="visit")
    REAL_DATA: ClassVar[bool] = True
    SECOND_WORLD: ClassVar[str] = "arms change places: each pays what the arm before it pays"
    LATER_KEYS: ClassVar[tuple[str, ...]] = ("shards",)

    path: str
    site: str | None = None
    agents: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    shards: Dealing = "disjoint"
    person: str | None = None
    features: tuple[str, ...] = ()
    target: str | None = None
    classes: tuple[str | int, ...] = ()
    rewards: tuple[str, ...] = ()
    reward_range: tuple[float, float] | None = None
    action: str | None = None
    reward: str | None = None
    propensity: str | float | None = None
    smallest_propensity: Annotated[float, Meta(gt=0.0, le=1.0)] | None = None
    centre: dict[str, float] | None = None
    spread: dict[str, float] | None = None
    ranges: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    categories: dict[str, tuple[str | int, ...]] = msgspec.field(default_factory=dict)
    scaling: Literal["stated", "data"] = "stated"
    missing: Literal["refuse", "drop", "indicator"] = "refuse"
    missing_marks: tuple[str | int | float, ...] | None = None
    visits: Literal["drawn", "once", "in order"] = "drawn"
    norm: Annotated[float, Meta(ge=1e-100)] | None = None
    intercept: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.25
    encoding: str = "utf-8"
    separator: Separator | None = None
    decimal: Decimal | None = None
    thousands: Thousands | None = None
    digest: str = ""

    def validate(self) -> None:
        from fedbandits.environments.tables.settings import refuse_settings

        refuse_settings(self)
        for name, usual in (("drift", None), ("delay", None), ("first_round", 1)):
            if self.form == "log" and getattr(self, name) != usual:
                raise ValueError(f"{name}: a log is played back as it was written; leave it out")

    @property
    def form(self) -> Literal["target", "rewards", "log"]:
        """Name of the form that the table has, one of three."""
        if self.target is not None:
            return "target"
        return "rewards" if self.rewards else "log"

    @property
    def regret_is_known(self) -> bool:
        return self.form != "log"

    @property
    def class_names(self) -> tuple[str, ...]:
        """The stated classes as texts."""
        from fedbandits.environments.tables.cells import listed_text

        return tuple(map(listed_text, self.classes))

    @property
    def reading(self) -> Reading:
        """The way in which the file is read."""
        return reading_of(self)

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
    def words(self) -> Words:
        site = self.site or self.WORDS.party
        several = plural(site) if site.isascii() else site
        loss = "mistakes" if self.form == "target" else self.WORDS.loss
        return Words(site, several, loss, self.WORDS.turn)

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
        prepared = self._data().row_deviation is None  # by ranges, rows would be too short
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

    def prepared(self) -> Table | None:
        from fedbandits.environments.tables.measured import measured_spreads

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
        from fedbandits.environments.tables.logged import measures

        return measures(world, rounds)

    def _data(self) -> Prepared:
        from fedbandits.environments.tables.prepared import prepare_table

        return prepare_table(self)


#: What compiled code asks of a table, by what its rows say of the arms.
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
