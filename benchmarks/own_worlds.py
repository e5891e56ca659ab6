"""Tables as a user has them, prepared as ``init`` prepares them, and other worlds beside them.

They are frozen: a table is made of the same draws each time, so figures of other versions can be
laid beside each other. ``own_tables.py`` plays them. A table is held in memory; nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets

import fedbandits as fb
import unlike_world
from fedbandits.environments import Classification, Linear
from fedbandits.environments.base import Environment
from fedbandits.random import replicate_key
from fedbandits.rows import centre_and_spread

Array = np.ndarray[Any, np.dtype[Any]]
#: The seed of what is drawn for tables one after another.
_SEED = 20261128


class Rows(NamedTuple):
    """A table before it is prepared."""

    values: Array  # (rows, columns)
    site: Array  # (rows,) the clinic of each row, from 0; empty where rows are dealt
    paid: Array  # (rows, arms) the reward of each arm
    right: bool = True  # whether exactly one arm pays, the right class
    dealt: tuple[tuple[str, Any], ...] = ()  # settings by which rows are dealt to agents

    def environment(self) -> Environment:
        """Prepare the table as ``init`` does: each number counts in spreads from its centre."""
        columns: dict[str, Any] = {f"x{i}": column for i, column in enumerate(self.values.T)}
        facts = {name: centre_and_spread(column) for name, column in columns.items()}
        scaled = {name: pair for name, pair in facts.items() if pair}
        settings = self._arms() | {
            "features": list(scaled),
            "centre": {name: pair[0] for name, pair in scaled.items()},
            "spread": {name: pair[1] for name, pair in scaled.items()},
        }
        return fb.environments.table(columns | self._columns(), **settings)

    def met(self, rounds: int, seed: int, replicate: int) -> Array:
        """Return the row that each party meets in each round of a replicate, (rounds, parties).

        It is asked of the same table with one column, the number of the row: draws do not depend on
        columns.
        """
        last = len(self.values) - 1
        numbers: dict[str, Any] = {"row": np.arange(last + 1)}
        world = fb.environments.table(
            numbers | self._columns(), **self._arms(), features=["row"], ranges={"row": (0, last)},
            norm=1.0, intercept=0.0,
        )  # fmt: skip
        shown = world.open(replicate_key(seed, replicate))
        places = np.empty((rounds, world.parties))
        for party in range(world.parties):
            for round_ in range(rounds):
                shown.fill(party, round_ + 1)
                places[round_, party] = shown.features[0, 0]
        return np.rint((places + 1.0) / 2.0 * last).astype(np.int64)

    def of_first(self, clinics: int) -> Rows:
        """Return the rows of the first clinics."""
        there = self.site < clinics
        return self._replace(
            values=self.values[there], site=self.site[there], paid=self.paid[there]
        )

    def _columns(self) -> dict[str, Any]:
        """Return the columns that say whose a row is, and what arms pay."""
        found: dict[str, Any] = {}
        if len(self.site):
            found["clinic"] = np.char.add("s", self.site.astype(str))
        if self.right:
            found["label"] = np.char.add("c", self.paid.argmax(axis=1).astype(str))
            return found
        return found | {f"r{k}": column for k, column in enumerate(self.paid.T)}

    def _arms(self) -> dict[str, Any]:
        arms = range(self.paid.shape[1])
        whose = {"site": "clinic"} if len(self.site) else dict(self.dealt)
        if self.right:
            return whose | {"target": "label", "classes": [f"c{k}" for k in arms]}
        return whose | {"rewards": [f"r{k}" for k in arms], "reward_range": (0.0, 1.0)}


class World(NamedTuple):
    """A world, how long it is played, and what the table asks for."""

    title: str
    make: Callable[[], Rows | Environment]
    rounds: int
    asked: float | None = None  # the largest ratio, or the largest loss
    is_loss: bool = False

    def made(self) -> tuple[Environment, Rows | None]:
        """Return the environment, and the rows if it is a table."""
        found = self.make()
        return (found.environment(), found) if isinstance(found, Rows) else (found, None)


def sites(clinics: int, rows: int) -> Array:
    """Return the clinic of each row where all have equally many."""
    return np.repeat(np.arange(clinics), rows)


def labelled(values: Array, labels: Array, site: Array, **more: Any) -> Rows:
    """Make a table whose rows have a class to name; numbers have five digits, as in a file."""
    short = np.array([[float(f"{value:.5g}") for value in row] for row in values])
    _, known = np.unique(labels, return_inverse=True)
    paid = np.eye(known.max() + 1)[known]
    return Rows(short, site, paid, dealt=tuple(more.items()))


def thirds(progress: Array) -> Array:
    """Cut a number into three classes that are equally likely."""
    return np.digitize(progress, np.quantile(progress, [1 / 3, 2 / 3]))


# ------------------------------------------------------------------------- frozen tables


def moons() -> Rows:
    """Return two moons, whose border is no line."""
    values, labels = datasets.make_moons(50 * 60, noise=0.25, random_state=1)
    return labelled(values, labels, sites(50, 60))


def made_classes() -> Rows:
    """Return four classes of scikit-learn's generator."""
    values, labels = datasets.make_classification(
        100 * 60, 10, n_informative=6, n_redundant=2, n_classes=4, n_clusters_per_class=2,
        class_sep=1.2, random_state=2,
    )  # fmt: skip
    return labelled(values, labels, sites(100, 60))


def iris() -> Rows:
    """Return all irises in each of 30 clinics."""
    values, labels = datasets.load_iris(return_X_y=True)
    return labelled(np.tile(values, (30, 1)), np.tile(labels, 30), sites(30, 150))


def warfarin(clinics: int, rows: int = 200) -> Rows:
    """Return patients and the third of warfarin's dose that fits: nearly linear, clinics differ."""
    draws = np.random.default_rng(clinics)
    weights = np.array([-0.25, 0.3, 0.25, -0.15, 0.1, -0.9, -0.55, 0.25, 0.1, 0.12])
    patients, doses = [], []
    for _ in range(clinics):
        age = np.clip(draws.normal(63 + draws.normal(0, 6), 13, rows), 18, 95)
        weight = np.clip(draws.normal(78 + draws.normal(0, 9), 18, rows), 35, 160)
        height = np.clip(draws.normal(168 + draws.normal(0, 4), 10, rows), 130, 205)
        asian = draws.random(rows) < np.clip(draws.beta(0.5, 1), 0.02, 0.95)
        amiodarone = draws.random(rows) < 0.07
        vkorc1 = draws.binomial(2, np.where(asian, 0.85, 0.38))
        cyp2c9 = draws.binomial(2, np.where(asian, 0.03, 0.12))
        inducer = draws.random(rows) < 0.03
        smokes = draws.random(rows) < draws.uniform(0.05, 0.3)
        male = draws.random(rows) < draws.uniform(0.4, 0.65)
        rest = (asian, amiodarone, vkorc1, cyp2c9, inducer, smokes, male)
        known = np.c_[(age - 60) / 15, (weight - 75) / 20, (height - 168) / 10, *rest]
        bent = -0.15 * known[:, 5] * known[:, 1] - 0.3 * (known[:, 6] == 2)
        root = 5.6 + known @ weights + bent + draws.normal(0, 0.45, rows)
        doses.append(np.digitize(np.maximum(root, 1.2) ** 2, [21, 35]))
        patients.append(np.c_[age, weight, height, *rest].astype(float))
    return labelled(np.vstack(patients), np.concatenate(doses), sites(clinics, rows))


def groups(clinics: int, rows: int) -> Rows:
    """Return three classes of scikit-learn's generator, easy ones, at clinics of few rows."""
    values, labels = datasets.make_classification(
        1000 * 30, 6, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1,
        class_sep=1.0, random_state=5,
    )  # fmt: skip
    taken = clinics * rows
    return labelled(values[:taken], labels[:taken], sites(clinics, rows))


def own_parameters(draws: np.random.Generator, spread: float) -> Rows:
    """Return classes by weights that each of 60 clinics has for itself."""
    common = draws.normal(size=(3, 6))
    values, labels = [], []
    for _ in range(60):
        own = common + spread * draws.normal(size=(3, 6))
        values.append(draws.normal(size=(100, 6)))
        labels.append((3 * values[-1] @ own.T + draws.gumbel(size=(100, 3))).argmax(axis=1))
    return labelled(np.vstack(values), np.concatenate(labels), sites(60, 100))


def own_classes(draws: np.random.Generator) -> Rows:
    """Return classes that are frequent at some of 60 clinics, and rare at others."""
    centres = draws.normal(size=(5, 8)) * 1.1
    values, labels = [], []
    for _ in range(60):
        labels.append(draws.choice(5, 100, p=draws.dirichlet(np.full(5, 0.4))))
        values.append(centres[labels[-1]] + draws.normal(size=(100, 8)))
    return labelled(np.vstack(values), np.concatenate(labels), sites(60, 100))


def clicks(draws: np.random.Generator) -> Rows:
    """Return ten advertisements, each clicked by one reader in a hundred."""
    values, weights = draws.normal(size=(200 * 100, 8)), draws.normal(size=(8, 10)) * 0.45
    rates = np.clip(0.012 * np.exp(values @ weights - 0.5 * 0.45**2 * 8), 0, 0.3)
    paid = (draws.random((200 * 100, 10)) < rates).astype(float)
    return Rows(values, sites(200, 100), paid, right=False)


@cache
def drawn() -> dict[str, Rows]:
    """Make the tables that share one generator, in their order."""
    draws = np.random.default_rng(_SEED)

    def some(of: int, clinics: int) -> Array:
        return np.concatenate([draws.choice(of, 60, replace=False) for _ in range(clinics)])

    made = {}
    values, labels = datasets.load_breast_cancer(return_X_y=True)
    rows = some(569, 200)
    made["bc30"] = labelled(values[rows], labels[rows], sites(200, 60))
    values, progress = datasets.load_diabetes(return_X_y=True)
    rows = some(442, 100)
    made["diabetes"] = labelled(values[rows], thirds(progress)[rows], sites(100, 60))
    made["own-classes"] = own_classes(draws)
    made["own-theta-half"] = own_parameters(draws, 0.5)
    made["own-theta-1"] = own_parameters(draws, 1.0)
    made["clicks"] = clicks(draws)
    values, labels = datasets.make_blobs(3 * 200, 4, centers=4, cluster_std=2.2, random_state=9)
    made["blobs"] = labelled(values, labels, draws.permutation(sites(3, 200)))
    return made


# ----------------------------------------------------------------------- worlds that are no tables


def bundled(dataset: str, components: int, agents: int) -> Environment:
    """Return a data set that comes along, of which all agents see all rows."""
    return Classification(agents=agents, dataset=dataset, components=components, shards="shared")


def linear(dim: int, arms: int, agents: int) -> Environment:
    """Return the synthetic world, where all agents share one parameter."""
    return Linear(agents=agents, dim=dim, arms=arms)


def unlike(spread: float) -> Environment:
    """Return a world whose agents have parameters of their own."""
    return unlike_world.Unlike(agents=40, spread=spread)


#: Tables and worlds, with the ratio that is asked for, or the loss.
WORLDS = {
    "bc30": World("breast cancer, 30 columns (200, 100)", lambda: drawn()["bc30"], 100, 0.8),
    "many": World("many (1,000, 50)", lambda: groups(1000, 30), 50, 0.65),
    "short": World("short (500, 20)", lambda: groups(500, 30), 20, 0.6),
    "iris": World("iris (30, 150)", iris, 150, 0.98),
    "made": World("four made classes (100, 200)", made_classes, 200, 0.98),
    "warfarin-50": World("warfarin-like (50, 400)", lambda: warfarin(50), 400, 0.98),
    "warfarin-10": World("warfarin-like (10, 1,000)", lambda: warfarin(10), 1000, 0.98),
    "diabetes": World("diabetes in thirds (100, 100)", lambda: drawn()["diabetes"], 100, 0.98),
    "moons": World("two moons (50, 200)", moons, 200, 1.02),
    "own-classes": World(
        "each its own classes (60, 300)", lambda: drawn()["own-classes"], 300, 1.05
    ),
    "own-theta-half": World(
        "each its own θ, spread ½ (60, 300)", lambda: drawn()["own-theta-half"], 300, 1.05
    ),
    "own-theta-1": World(
        "each its own θ, spread 1 (60, 300)", lambda: drawn()["own-theta-1"], 300, 1.10
    ),
    "blobs": World("blobs (3, 300)", lambda: drawn()["blobs"], 300, 1.05),
    "quickstart": World(
        "quickstart (500, 100)", lambda: bundled("breast_cancer", 5, 500), 100, 3.2, is_loss=True
    ),
    "digits": World(
        "digits, 8 components (100, 300)", lambda: bundled("digits", 8, 100), 300, 102.0,
        is_loss=True,
    ),
    "wine": World(
        "wine, 5 components (100, 100)", lambda: bundled("wine", 5, 100), 100, 5.5, is_loss=True
    ),
    "linear-200": World(
        "linear, d = 5, K = 10 (200, 500)", lambda: linear(5, 10, 200), 500, 0.92, is_loss=True
    ),
    "linear-40": World(
        "linear, d = 10, K = 20 (40, 3,000)", lambda: linear(10, 20, 40), 3000, 7.0, is_loss=True
    ),
    "unlike-half": World("unlike, spread 0.5 (40, 800)", lambda: unlike(0.5), 800, 1.05),
    "unlike-1": World("unlike, spread 1 (40, 800)", lambda: unlike(1.0), 800, 1.05),
}  # fmt: skip
