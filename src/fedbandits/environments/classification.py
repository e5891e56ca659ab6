"""Classification data as a bandit: a visit shows a row, and the agent names its class."""

from __future__ import annotations

import functools
import re
import warnings
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.base import F64, ContextualEnvironment, Memory, Needs, Words
from fedbandits.environments.drift import drifting
from fedbandits.environments.kernels import drift, recorded
from fedbandits.environments.kernels.recorded import ClassificationWorld
from fedbandits.environments.open_world import WorldKernels
from fedbandits.environments.shards import Shards, Skewed, deal, smallest_shard
from fedbandits.errors import DataError
from fedbandits.facts import ContextualFacts
from fedbandits.random import Key

#: Statistics that a privacy claim takes as public.
_PREPARATION = (
    "The preparation of the features (column means and deviations, principal components, norm "
    "quantile, class names) is public. It is computed here from the whole data set."
)
#: Patterns of paths; no data set has such a name.
_PATH = re.compile(
    r"[/\\]|\A[.~]|\.(?:csv|tsv|tab|txt|dat|data|json|jsonl|arff|parquet|pq|feather|xlsx?|ods|sav|dta"
    r"|npy|npz|pkl|h5|hdf5|zip|gz|bz2|xz)\Z",
    re.IGNORECASE,
)
_BUNDLED = ("breast_cancer", "digits", "wine")


class Classification(ContextualEnvironment, frozen=True, kw_only=True, tag="classification"):
    """Rows of a labelled data set, divided among agents; each class is an arm.

    Each agent owns a random share of the rows. Every round the agent draws one of its rows, with
    replacement. Each class has its own linear model of the row (``models == arms``). The true
    rewards are not linear: the right class pays 1, all others 0. So regret is the number of
    mistakes.

    Parameters
    ----------
    dataset
        ``breast_cancer``, ``digits`` or ``wine``, which come with scikit-learn. Any other name is
        that of an OpenML data set, which scikit-learn downloads.
    components
        Number of principal components to keep; by default all columns are kept.
    shards
        ``disjoint``: every row belongs to one agent. ``shared``: every agent draws from all rows,
        like hospitals that treat one population. ``skewed(0.3)``: every row belongs to one agent,
        and agents have different shares of each class, like hospitals that treat different people.
    clip_quantile
        After standardising, rows are divided by this quantile of their norms. Rows that are then
        longer than 1 are scaled back to norm 1.
    intercept
        Share of the squared norm for a constant coordinate. 0 means no such coordinate.
    """

    WORDS: ClassVar[Words] = Words(loss="mistakes", turn="visit")
    REAL_DATA: ClassVar[bool] = True
    SECOND_WORLD: ClassVar[str] = (
        "the names of the classes change places: each row has the next one"
    )

    KERNELS: ClassVar[WorldKernels] = WorldKernels(
        recorded.fill_classification, person=recorded.person_of_drawn_row
    )

    dataset: str = "breast_cancer"
    components: Annotated[int, Meta(ge=1)] | None = None
    shards: Literal["disjoint", "shared"] | Skewed = "disjoint"
    clip_quantile: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.1
    intercept: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.25

    @property
    def words(self) -> Words:
        if self.dataset == "breast_cancer":  # tumours are seen in hospitals
            return self.WORDS._replace(party="hospital", parties="hospitals")
        return self.WORDS

    @property
    def dimension(self) -> int:
        return int(self._data()[0].shape[1])

    @property
    def arm_count(self) -> int:
        return int(self._data()[1].max()) + 1

    @property
    def models(self) -> int:
        return self.arm_count

    @property
    def has_constant(self) -> bool:
        return self.intercept > 0.0

    @property
    def right_or_wrong(self) -> bool:
        return True

    @property
    def facts(self) -> ContextualFacts:
        rows, shared = len(self._data()[1]), self.shards == "shared"
        most_share = self.agents / rows
        if self.shards != "shared":  # more agents than rows are refused
            most_share = 1 / max(1, smallest_shard(self.shards, rows, self.agents))
        return msgspec.structs.replace(
            super().facts,
            public=(_PREPARATION,),
            persons=rows,
            most_share=most_share,
            most_parties=self.agents if shared else 1,
            share_at_one=1 / rows if shared else None,
        )

    def prepare(self) -> None:
        rows = len(self._data()[1])
        if self.shards != "shared" and self.agents > rows:
            raise DataError(
                f"environment.agents: {self.agents} agents cannot share the {rows} rows of "
                f'{self.dataset!r}; use at most {rows}, or shards = "shared"'
            )

    def needs(self, rounds: int) -> Needs:
        copies = self.agents if self.shards == "shared" else 1
        dealt = Memory("rows by agent", copies * len(self._data()[1]) * F64, "environment.agents")
        return Needs((dealt,), float(rounds * self.agents * self.dimension))

    def world(self, key: Key) -> Any:
        rows, labels = self._data()
        count = len(labels)
        if self.shards == "shared":
            all_rows = np.tile(np.arange(count), self.agents)
            dealt = Shards(all_rows, np.arange(self.agents + 1) * count)
        else:
            dealt = deal(self.shards, labels, self.agents, key)
        persons = np.arange(count)  # each row is a person, who visits again and again
        world = ClassificationWorld(rows, labels, *dealt, self.arm_count, persons)
        return drifting(self, key, world, drift.OtherRewards(drift.MOVED))

    def _data(self) -> tuple[Floats32, Ints]:
        return _prepared(self.dataset, self.components, self.clip_quantile, self.intercept)


@functools.lru_cache(maxsize=8)
def _prepared(
    dataset: str, components: int | None, clip_quantile: float, intercept: float
) -> tuple[Floats32, Ints]:
    table, target = _load(dataset)
    _refuse_shapes(dataset, table, target)
    _refuse_unusable(dataset, table)
    try:
        classes, labels = np.unique(target, return_inverse=True)
    except TypeError:  # missing values among names
        raise DataError(
            f"data set {dataset!r}: its classes have different types; give all of them one type"
        ) from None
    if len(classes) < 2:
        raise DataError(
            f"data set {dataset!r} has only one class, but a bandit needs at least two arms; "
            "choose another"
        )
    rows = _standardise(dataset, table)
    if components is not None:
        rows = _principal_components(dataset, rows, components)
    norms = np.linalg.norm(rows, axis=1)
    rows = rows / np.maximum(norms, max(np.quantile(norms, clip_quantile), 1e-12))[:, None]
    if intercept > 0.0:
        constant = np.full((len(rows), 1), np.sqrt(intercept))
        rows = np.hstack([rows * np.sqrt(1.0 - intercept), constant])
    # In one layout, however the table was computed: loops are compiled anew for another layout.
    return (rows * (1.0 - 1e-6)).astype(np.float32, order="C"), labels.astype(np.int64)


def _load(dataset: str) -> tuple[Floats, NDArray[Any]]:
    from sklearn import datasets

    if dataset in _BUNDLED:
        bunch = getattr(datasets, f"load_{dataset}")()
        return np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target)
    if _PATH.search(dataset):  # no look-up: the name of a file may reveal its content
        raise DataError(
            f"environment.dataset: {dataset!r} looks like a path, and this environment reads data "
            f'sets by name; for a file of your own, set kind = "table" and path = "{dataset}"'
        )
    if not re.fullmatch(r"[\w.() -]{1,100}", dataset):
        raise DataError(f"environment.dataset: {dataset!r} is not the name of a data set")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of retries: the error below reports failures
            bunch = datasets.fetch_openml(name=dataset, as_frame=False, parser="liac-arff")
        return np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target)
    except (
        Exception
    ) as error:  # OpenML fails in many ways; all of them mean that the data is not available
        raise DataError(
            f"environment.dataset: {dataset!r} is not bundled ({', '.join(_BUNDLED)}) and OpenML "
            f"did not supply it as numbers ({type(error).__name__}); check the name and the network"
        ) from error


def _refuse_shapes(dataset: str, table: Floats, target: NDArray[Any]) -> None:
    if table.ndim != 2 or target.shape != (len(table),) or table.size == 0:
        raise DataError(
            f"data set {dataset!r}: expected a table and one class for each row, found "
            f"{table.shape} and {target.shape}"
        )


def _refuse_unusable(dataset: str, table: Floats) -> None:
    bad = ~np.isfinite(table)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise DataError(
            f"data set {dataset!r}: row {row}, column {column} is not a finite number "
            f"({int(bad.sum())} such cells); fill them in or remove these rows first"
        )


def _standardise(dataset: str, table: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = table.std(axis=0)
    if not np.isfinite(deviation).all():
        column = int(np.flatnonzero(~np.isfinite(deviation))[0])
        raise DataError(
            f"data set {dataset!r}: column {column} has values that are too large to be "
            "standardised; rescale it"
        )
    varying = deviation > 0.0
    if not varying.any():
        raise DataError(
            f"data set {dataset!r}: all columns are constant, so there is nothing to learn from"
        )
    scaled: Floats = (table[:, varying] - table[:, varying].mean(axis=0)) / deviation[varying]
    return scaled


def _principal_components(dataset: str, rows: Floats, components: int) -> Floats:
    from sklearn.decomposition import PCA

    if components > rows.shape[1]:
        raise DataError(
            f"environment.components: {components} asked for, {dataset!r} has {rows.shape[1]} "
            "columns that are not constant; use fewer"
        )
    projected: Floats = PCA(n_components=components, svd_solver="full").fit_transform(rows)
    return projected
