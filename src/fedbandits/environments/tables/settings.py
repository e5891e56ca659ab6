"""Keys of a table of one's own data, and refusals of keys that do not fit together."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from fedbandits.environments.base import ContextualEnvironment, Words, plural
from fedbandits.environments.shards import Dealing, Skewed
from fedbandits.environments.tables.formats import (
    OTHER,
    Decimal,
    Reading,
    Separator,
    Thousands,
    listed_text,
    reading_of,
    refuse_reading,
    tidy,
)
from fedbandits.rows import why_no_scale

_FORMS = (
    "a table has one of three forms: target = the column with the right class; rewards = a list of "
    "columns, one for each arm; or action and reward = two columns of a log of past decisions"
)
#: Settings that name one column.
_COLUMNS = ("site", "person", "target", "action", "reward", "propensity")


class TableKeys(ContextualEnvironment, frozen=True, kw_only=True):
    """Keys of a table, checked together before any data is read.

    Parameters
    ----------
    path
        Path of a CSV or Parquet file, which gzip, bzip2, xz or zip may have packed. The first line
        of a CSV file names the columns. Empty for a table from memory, which
        ``fb.environments.table`` makes.
    site
        Column that names the party of each row, such as the hospital. Give ``site`` or ``agents``.
    agents
        Number of parties among whom rows are dealt at random. 0 where ``site`` names the parties.
    shards
        Division of rows among ``agents``: ``disjoint``, equally many, or ``skewed(0.3)``, by class.
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
        Smallest and largest possible reward, a public fact. Rewards are scaled from this range to
        [0, 1], also in results.
    action, reward
        Columns of a log: the chosen arm, and its reward.
    propensity
        Column of a log with the probability of the chosen arm. A number if all
        arms were equally likely: ``0.25`` for four arms. It is never guessed.
    smallest_propensity
        Smallest probability with which the logging policy chooses any arm, a public fact. It is
        needed where ``propensity`` is a column.
    centre, spread
        Typical value of columns of numbers, and typical deviation from it: public facts; rough
        guesses
        are enough. A number becomes (value - centre) / spread, and is cut off at ±10.
    ranges
        Smallest and largest value of other columns of numbers, public facts. Values outside are
        replaced by the nearer end. Most rows are then short, see ``norm``.
    categories
        Categories of each column of texts, public facts. ``"*"`` stands for all others.
    scaling
        ``stated``: ranges, categories and classes must be stated as public facts. ``data``: missing
        facts are computed from all rows, and count as public in every privacy claim.
    missing_marks
        Texts that stand for a missing value, such as ``["-999"]``. By default the usual marks:
        ``NA``, ``?``, ``-`` and more. Stated marks replace the usual marks, but an empty cell is
        always missing.
    missing
        ``refuse``: a missing value is an error with its line. ``drop``: its row is left out.
        ``indicator``: each feature gets a second coordinate that is 1 for a missing value.
    visits
        ``drawn``: every round shows a row of the site at random, with replacement. ``once``: rows
        come in random order, each once. ``in order``: rows come in the order of the table. A log
        is not drawn from.
    norm
        Rows are divided by this norm of their scaled features; longer rows are shortened. By
        default it is the root of the number of features: the largest norm that ranges and
        categories make possible, and the typical norm where numbers are counted in spreads.
    intercept
        Share of the squared norm for a constant coordinate. 0 means no such coordinate.
    encoding
        Encoding of a CSV file, such as ``latin-1``. It is not guessed.
    separator
        Separator of cells in a CSV file. By default it is determined from the file: a comma, a
        semicolon, a tab or ``|``.
    decimal
        Decimal sign of numbers, ``.`` or ``,``. Without it a number such as ``1,234`` is refused,
        because the number has two readings.
    thousands
        Sign between thousands, one of ``,`` ``.`` ``'`` and a blank, which stands for every kind of
        blank. By default there is none.
    digest
        SHA-256 of the data. A run records the digest, and refuses other data when it is resumed.
    """

    WORDS: ClassVar[Words] = Words(turn="visit")
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
        _refuse_source(self)
        _refuse_form(self)
        _refuse_parties(self)
        _refuse_columns(self)
        _refuse_facts(self)
        for name, usual in (("drift", None), ("delay", None), ("first_round", 1)):
            if self.form == "log" and getattr(self, name) != usual:
                raise ValueError(f"{name}: a log is played back as it was written; leave it out")

    @property
    def form(self) -> Literal["target", "rewards", "log"]:
        """The form of the table."""
        if self.target is not None:
            return "target"
        return "rewards" if self.rewards else "log"

    @property
    def class_names(self) -> tuple[str, ...]:
        """The stated classes as texts."""
        return tuple(map(listed_text, self.classes))

    @property
    def reading(self) -> Reading:
        """The format of the file."""
        return reading_of(self)

    @property
    def words(self) -> Words:
        site = self.site or self.WORDS.party
        several = plural(site) if site.isascii() else site
        loss = "mistakes" if self.form == "target" else self.WORDS.loss
        return Words(site, several, loss, self.WORDS.turn)


def _refuse_source(table: TableKeys) -> None:
    if not table.path and not table.digest:
        raise ValueError(
            "path: missing; give the path of a CSV or Parquet file, or make the environment with "
            "fb.environments.table(data, …)"
        )
    refuse_reading(table)


def _refuse_form(table: TableKeys) -> None:
    logged = table.action is not None or table.reward is not None
    given = [table.target is not None, bool(table.rewards), logged]
    if sum(given) != 1:
        raise ValueError(f"target: {'none' if not any(given) else 'several'} given; {_FORMS}")
    if logged and (table.action is None or table.reward is None):
        name = "reward" if table.reward is None else "action"
        raise ValueError(f"{name}: missing; a log has both action and reward")
    for key in ("propensity", "smallest_propensity"):
        if getattr(table, key) is not None and not logged:
            raise ValueError(f"{key}: belongs to a log, which has action and reward")
    if logged:
        _refuse_log(table)
    if table.rewards and len(table.rewards) < 2:
        raise ValueError("rewards: one column given, allowed: at least two, one for each arm")
    if table.classes and table.target is None and table.action is None:
        raise ValueError("classes: given without a target; its columns name the arms")
    if table.reward_range is not None and table.target is not None:
        raise ValueError("reward_range: belongs to rewards or a log; a right class pays 1")


def _refuse_log(table: TableKeys) -> None:
    if table.propensity is None:
        raise ValueError(
            "propensity: missing; a log needs the probability with which each action was taken, "
            "allowed: the name of its column, or a number if all actions were equally likely (0.25 "
            "for four); it is not guessed, because estimates would be wrong"
        )
    if isinstance(table.propensity, float) and table.smallest_propensity is not None:
        raise ValueError(
            "smallest_propensity: given beside one propensity for all actions; remove it"
        )
    if table.visits == "drawn":
        raise ValueError(
            'visits: given "drawn", allowed for a log: "once" (events in random order) or "in '
            'order" (as they stand, for a log whose policy changed on the way); each event is met '
            "once at most"
        )


def _refuse_parties(table: TableKeys) -> None:
    if (table.site is None) == (table.agents == 0):
        given = "both" if table.agents else "neither"
        raise ValueError(
            f"site: {given} of site and agents given, allowed: one of them: site = the column that "
            "names the party of each row, or agents = the number of parties that rows are dealt to "
            "at random (1 to learn alone)"
        )
    if isinstance(table.shards, Skewed):
        _refuse_skewed(table, f"shards: given skewed({table.shards.concentration:g})")


def _refuse_skewed(table: TableKeys, given: str) -> None:
    if table.site is not None:
        raise ValueError(
            f"{given} beside site, whose column names the owner of each row; leave out shards, or "
            "set agents in place of site"
        )
    if table.target is None:
        raise ValueError(
            f"{given} without target, by whose classes rows are divided; leave out shards"
        )
    if table.visits != "drawn":
        raise ValueError(
            f'{given} beside visits = "{table.visits}", which shows each row once, and an agent '
            'may have a single row; set visits = "drawn", or leave out shards'
        )


def _refuse_columns(table: TableKeys) -> None:
    if not table.features:
        raise ValueError("features: none given, allowed: the columns that make up a context")
    for key in ("features", "rewards"):
        names = [tidy(name) for name in getattr(table, key)]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"{key}: {min(twice)!r} is given twice")
    features = {tidy(name) for name in table.features}
    singles = {key: tidy(name) for key in _COLUMNS if isinstance(name := getattr(table, key), str)}
    for key in ("target", "action", "reward", "propensity"):
        if singles.get(key) in features:
            raise ValueError(
                f"features: {singles[key]!r} is the {key}: it would give the answer away; leave it "
                "out"
            )
    shown = features & {tidy(name) for name in table.rewards}
    if shown:
        raise ValueError(
            f"features: {min(shown)!r} is a reward: it would give the answer away; leave it out"
        )


def _refuse_facts(table: TableKeys) -> None:
    features = {tidy(name) for name in table.features}
    for key in ("ranges", "centre", "spread", "categories"):
        for name in getattr(table, key) or ():
            if tidy(name) not in features:
                raise ValueError(f"{key}: {name!r} is not among the features; add it, or remove it")
    _refuse_two_kinds(table)
    _refuse_spreads(table)
    for name, (low, high) in table.ranges.items():
        _refuse_range(f"ranges: {name!r}", low, high)
    if table.reward_range is not None:
        _refuse_range("reward_range:", *table.reward_range)
    for name, levels in table.categories.items():
        _refuse_levels(f"categories: {name!r}", [*map(listed_text, levels)])
    if table.classes:
        _refuse_levels("classes:", [*table.class_names])
        if OTHER in table.class_names:
            raise ValueError(f'classes: "{OTHER}" is not a class; list all of them')


def _refuse_two_kinds(table: TableKeys) -> None:
    """Refuse a column with two stated ways of scaling."""
    ways = {"ranges": "range", "spread": "spread", "categories": "list of categories"}
    known: dict[str, str] = {}
    for key, what in ways.items():
        for name in map(tidy, getattr(table, key) or ()):
            if name in known:
                raise ValueError(f"{key}: {name!r} has a {known[name]} already; remove one of them")
            known[name] = what


def _refuse_spreads(table: TableKeys) -> None:
    """Refuse spreads and centres that are not pairs, or that cannot scale numbers."""
    stated = {
        key: {tidy(name): value for name, value in (getattr(table, key) or {}).items()}
        for key in ("centre", "spread")
    }
    for key, other in (("centre", "spread"), ("spread", "centre")):
        if alone := stated[key].keys() - stated[other].keys():
            raise ValueError(
                f"{other}: {min(alone)!r} has a {key} only; give it a number in both, a typical "
                "value in centre and a typical deviation in spread, or remove it"
            )
    for name, centre in stated["centre"].items():
        if wrong := why_no_scale(centre, stated["spread"][name]):
            key, _, why = wrong.partition(": ")
            raise ValueError(f"{key}: {name!r} {why}")


def _refuse_range(what: str, low: float, high: float) -> None:
    if not -1e300 <= low < high <= 1e300:
        raise ValueError(
            f"{what} given [{low:g}, {high:g}], allowed: the smallest value, then a larger one"
        )


def _refuse_levels(what: str, levels: list[str]) -> None:
    if len(levels) < 2:
        raise ValueError(f"{what} given {len(levels)}, allowed: at least two")
    if len(set(levels)) < len(levels):
        raise ValueError(f"{what} has the same one twice")
