"""More tables for ``own_tables.py``: some that verdicts are tried on, and ten that are held out.

All of them were written down before any of them was played. No default was chosen by ``HELD_OUT``.
"""

from __future__ import annotations

import numpy as np
from sklearn import datasets

from own_worlds import Array, Rows, World, drawn, labelled, sites, thirds, warfarin

_SEED = 561


def spread_over(values: Array, labels: Array, clinics: int, rows: int, seed: int) -> Rows:
    """Give each clinic some rows of a bundled data set, without replacement."""
    draws = np.random.default_rng(seed)
    some = [draws.choice(len(values), rows, replace=False) for _ in range(clinics)]
    chosen = np.concatenate(some)
    return labelled(values[chosen], labels[chosen], sites(clinics, rows))


def classes_by(scores: Array, draws: np.random.Generator) -> Array:
    """Draw classes whose log-odds are ``scores``, (rows, classes)."""
    return np.asarray((scores + draws.gumbel(size=scores.shape)).argmax(axis=1))


# ----------------------------------------------------------------------- ten for verdicts


def wide_blobs() -> Rows:
    """Return five blobs that overlap."""
    values, labels = datasets.make_blobs(40 * 60, 6, centers=5, cluster_std=5.0, random_state=_SEED)
    return labelled(values, labels, sites(40, 60))


def two_circles() -> Rows:
    """Return a circle in a circle: no line tells them apart."""
    values, labels = datasets.make_circles(30 * 60, noise=0.15, factor=0.4, random_state=_SEED)
    return labelled(values, labels, sites(30, 60))


def wines() -> Rows:
    """Return wines by all 13 columns, some at each of 60 clinics."""
    values, labels = datasets.load_wine(return_X_y=True)
    return spread_over(values, labels, 60, 40, _SEED)


def four_digits() -> Rows:
    """Return pictures of 0 to 3, by all 64 pixels."""
    values, labels = datasets.load_digits(return_X_y=True)
    few = labels < 4
    return spread_over(values[few], labels[few], 50, 60, _SEED)


def friedman() -> Rows:
    """Return thirds of Friedman's first function: half of it is linear."""
    values, progress = datasets.make_friedman1(60 * 50, 10, noise=1.0, random_state=_SEED)
    return labelled(values, thirds(progress), sites(60, 50))


def two_camps() -> Rows:
    """Return clinics of two kinds: what is right at one half is wrong at the other."""
    draws = np.random.default_rng(_SEED)
    values, weights = draws.normal(size=(40 * 80, 5)), draws.normal(size=(5, 2))
    sign = np.where(sites(40, 80) % 2, 1.0, -1.0)[:, None]
    return labelled(values, classes_by(2 * sign * (values @ weights), draws), sites(40, 80))


def nothing_to_learn() -> Rows:
    """Return classes that no column tells anything of."""
    draws = np.random.default_rng(_SEED)
    return labelled(draws.normal(size=(50 * 60, 6)), draws.integers(3, size=3000), sites(50, 60))


def rare_class() -> Rows:
    """Return two classes, of which one is rare."""
    values, labels = datasets.make_classification(
        60 * 80, 8, n_informative=4, weights=[0.95], flip_y=0.01, random_state=_SEED
    )
    return labelled(values, labels, sites(60, 80))


def heavy_tails() -> Rows:
    """Return columns in which a few values are far out."""
    draws = np.random.default_rng(_SEED)
    values, weights = draws.standard_t(2, size=(50 * 80, 6)), draws.normal(size=(6, 3))
    return labelled(values, classes_by(values @ weights, draws), sites(50, 80))


def alike_columns() -> Rows:
    """Return twenty columns that are nearly made of three."""
    draws = np.random.default_rng(_SEED)
    hidden = draws.normal(size=(80 * 60, 3))
    values = hidden @ draws.normal(size=(3, 20)) + 0.1 * draws.normal(size=(80 * 60, 20))
    scores = 3 * hidden @ draws.normal(size=(3, 3))
    return labelled(values, classes_by(scores, draws), sites(80, 60))


# ------------------------------------------------------------------------------- ten held out


def digits_by_three() -> Rows:
    """Return pictures of digits, by what is left when they are divided by three."""
    values, labels = datasets.load_digits(return_X_y=True)
    return spread_over(values, labels % 3, 60, 60, _SEED + 1)


def wines_dealt() -> Rows:
    """Return wines of which each of six cellars has its own."""
    values, labels = datasets.load_wine(return_X_y=True)
    return labelled(values, labels, np.empty(0, np.int64), agents=6)


def shells() -> Rows:
    """Return shells around one another, by quantiles of a distance."""
    values, labels = datasets.make_gaussian_quantiles(
        n_samples=50 * 60, n_features=8, n_classes=3, random_state=_SEED
    )
    return labelled(values, labels, sites(50, 60))


def hastie() -> Rows:
    """Return two classes by the length of ten numbers."""
    values, labels = datasets.make_hastie_10_2(40 * 60, random_state=_SEED)
    return labelled(values, labels, sites(40, 60))


def hidden_circles() -> Rows:
    """Return two circles that are turned into six columns."""
    draws = np.random.default_rng(_SEED)
    values, labels = datasets.make_circles(50 * 60, noise=0.1, factor=0.5, random_state=_SEED)
    turned, _ = np.linalg.qr(draws.normal(size=(6, 6)))
    wide = np.c_[values, 0.5 * draws.normal(size=(50 * 60, 4))] @ turned
    return labelled(wide, labels, sites(50, 60))


def other_patients() -> Rows:
    """Return one rule for all clinics, whose patients are far from each other."""
    draws = np.random.default_rng(_SEED)
    middle = np.repeat(1.5 * draws.normal(size=(60, 7)), 80, axis=0)
    values, weights = middle + draws.normal(size=(60 * 80, 7)), draws.normal(size=(7, 3))
    return labelled(values, classes_by(1.5 * values @ weights, draws), sites(60, 80))


def skewed_cancer() -> Rows:
    """Return breast cancer by 30 columns, of which 20 clinics have very different shares."""
    values, labels = datasets.load_breast_cancer(return_X_y=True)
    return labelled(values, labels, np.empty(0, np.int64), agents=20, shards="skewed(0.3)")


def own_intercepts() -> Rows:
    """Return clinics that share all slopes, and have their own intercepts."""
    draws = np.random.default_rng(_SEED)
    values, weights = draws.normal(size=(60 * 80, 6)), draws.normal(size=(6, 3))
    own = np.repeat(1.5 * draws.normal(size=(60, 3)), 80, axis=0)
    return labelled(values, classes_by(1.5 * values @ weights + own, draws), sites(60, 80))


def offers() -> Rows:
    """Return five offers that one reader in ten takes."""
    draws = np.random.default_rng(_SEED)
    values, weights = draws.normal(size=(100 * 100, 6)), draws.normal(size=(6, 5)) * 0.7
    rates = 1.0 / (1.0 + np.exp(2.5 - values @ weights))
    paid = (draws.random(rates.shape) < rates).astype(float)
    return Rows(values, sites(100, 100), paid, right=False)


def few_rows() -> Rows:
    """Return thirds of Friedman's second function, at 400 clinics of twelve rows."""
    values, progress = datasets.make_friedman2(400 * 12, noise=50.0, random_state=_SEED)
    return labelled(values, thirds(progress), sites(400, 12))


#: Tables of the sketch that nothing was asked of; verdicts are tried on them.
MORE = {
    "warfarin-3": World("warfarin-like (3, 1,000)", lambda: warfarin(3), 1000),
    "warfarin-5": World("warfarin-like (5, 1,000)", lambda: warfarin(5), 1000),
    "clicks": World("clicks, one in a hundred (200, 1,000)", lambda: drawn()["clicks"], 1000),
}
#: Ten on which verdicts are tried.
OWN = {
    "wide-blobs": World("five wide blobs (40, 150)", wide_blobs, 150),
    "two-circles": World("two circles (30, 200)", two_circles, 200),
    "wines": World("wine, 13 columns (60, 100)", wines, 100),
    "four-digits": World("four digits, 64 pixels (50, 100)", four_digits, 100),
    "friedman": World("Friedman 1 in thirds (60, 150)", friedman, 150),
    "two-camps": World("two camps (40, 300)", two_camps, 300),
    "nothing": World("nothing to learn (50, 200)", nothing_to_learn, 200),
    "rare": World("a rare class (60, 200)", rare_class, 200),
    "heavy-tails": World("heavy tails (50, 200)", heavy_tails, 200),
    "alike-columns": World("20 columns made of 3 (80, 150)", alike_columns, 150),
}
#: Ten that served no choice.
HELD_OUT = {
    "digits-by-three": World("digits modulo 3, 64 pixels (60, 150)", digits_by_three, 150),
    "wines-dealt": World("wine, each its own rows (6, 200)", wines_dealt, 200),
    "shells": World("shells, d = 8 (50, 200)", shells, 200),
    "hastie": World("Hastie's ten numbers (40, 200)", hastie, 200),
    "hidden-circles": World("circles in six columns (50, 200)", hidden_circles, 200),
    "other-patients": World("other patients, one rule (60, 200)", other_patients, 200),
    "skewed-cancer": World("breast cancer, skewed(0.3) (20, 150)", skewed_cancer, 150),
    "own-intercepts": World("own intercepts (60, 200)", own_intercepts, 200),
    "offers": World("five offers, one in ten taken (100, 300)", offers, 300),
    "few-rows": World("Friedman 2, twelve rows each (400, 40)", few_rows, 40),
}
