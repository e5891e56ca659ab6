"""Distinguisher: whether a server's views tell two worlds apart, by 500 features chosen before.

A channel is everything of one meaning in the views (:mod:`fedbandits.systems.samba.audit.views`):
what reached the server, and what it can make of that. Single words tell nothing even where
randomness is used twice. What tells then is how words differ: from their neighbour, from the turn
before, from another word of the same owner. So features are made of differences, sums and exclusive
ors. Places and bits are counted.

:func:`compare` tries two ways. A classifier that has learned the best of the features from half of
the runs names the world of the others. And every feature's distributions are compared, with all
runs (Kolmogorov-Smirnov), the smallest p-value being taken times the number of features
(Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.kernels.comparison import OPENING_BITS, OPENINGS
from fedbandits.systems.samba.audit.views import (
    FirstView,
    Opened,
    SecondView,
    open_first,
    open_second,
)

FEATURES = 500
#: One opening of every stage says which of two is the larger: the last one.
RESULT = OPENINGS - 1
#: Where the fixed list of single pairs begins; any number does.
_LIST = 20_260_101
_WORD_BITS = 64
#: Two-sided, of a normal variable.
_Z99 = float(stats.norm.ppf(0.995))


class Channel(NamedTuple):
    """Words of one meaning."""

    values: Words64  # (runs, turns, words)
    bits: int = 64  # of each word
    by_owner: bool = False  # word i is owner i's: such channels are added to one another


class Channels(NamedTuple):
    """All that one party saw in some runs."""

    words: dict[str, Channel]
    places: dict[str, Ints]  # (runs, turns, any): few values, of which some may come often


def first_channels(views: Sequence[FirstView], arity: int) -> Channels:
    """Sort everything that the first server, the Controller, sees.

    Parameters
    ----------
    views
        One a turn; its selections are the runs.
    arity
        Contenders of a group at most.
    """
    opened = [open_first(view, arity) for view in views]
    seen = list(zip(views, opened, strict=True))
    owned = {
        "share": [view.scores for view in views],
        "ahead": [view.ahead for view in views],
        "masked": [view.scores + view.ahead for view in views],
        "moved": [_sorted(made.share, made.had.places) for made in opened],
        "dealt back": [view.returned for view in views],
        "unit": [view.unit for view in views],
        "unit by owner": [_sorted(view.unit, made.had.places) for view, made in seen],
        "answers": [view.answers for view in views],
        "told": [made.told for made in opened],
        "seed": [view.words[:, : view.ahead.shape[1]] for view in views],
    }
    return _channels(views, opened, owned, {"dealt": [view.shuffled for view in views]})


def second_channels(views: Sequence[SecondView], arity: int) -> Channels:
    """Sort everything that the second server, Comp, sees; see :func:`first_channels`."""
    opened = [open_second(view, arity) for view in views]
    had = [made.had for made in opened]
    owned = {
        "pads": [view.pads for view in views],
        "answer pads": [view.answer_pads for view in views],
        "moved": [view.moved for view in views],
        "share": [_sorted(made.share, made.had.places) for made in opened],
        "mask": [each.mask for each in had],
        "mask back": [each.returned_mask for each in had],
        "share before": [each.share for each in had],
        "share back": [each.returned_share for each in had],
    }
    others = {
        "dealt": [view.shuffled for view in views],
        "dealt bits": [view.bits for view in views],
        "dealt joined": [view.joined for view in views],
    }
    return _channels(views, opened, owned, others)


def _channels(
    views: Sequence[FirstView | SecondView],
    opened: Sequence[Opened],
    owned: Mapping[str, list[Words64]],
    others: Mapping[str, list[Words64]],
) -> Channels:
    """Put together words of owners, other words, openings and places."""
    words = {name: Channel(_by_run(values), by_owner=True) for name, values in owned.items()}
    words |= {name: Channel(_by_run(values)) for name, values in others.items()}
    shares = [(view.openings, made) for view, made in zip(views, opened, strict=True)]
    return Channels(words | _opened(shares), _places(opened))


def _opened(seen: Sequence[tuple[tuple[Words64, ...], Opened]]) -> dict[str, Channel]:
    """Sort openings of all stages by level: the other server's shares and what was opened."""
    channels = {}
    for number, bits in enumerate(OPENING_BITS):
        others = [np.hstack(openings[number::OPENINGS]) for openings, _ in seen]
        values = [np.hstack(made.values[number::OPENINGS]) for _, made in seen]
        channels[f"opened {number}"] = Channel(_by_run(values), bits)
        if number != RESULT:  # a share of a result says no more than the result
            channels[f"of other {number}"] = Channel(_by_run(others), bits)
    return channels


def _places(seen: Sequence[Opened]) -> dict[str, Ints]:
    """Return the winner's place as it is, and through the server's own permutation both ways."""
    return {
        name: np.stack([getattr(made, name) for made in seen], axis=1)[..., None]
        for name in ("won", "unshuffled", "shuffled")
    }


def _sorted(words: Words64, places: Ints) -> Words64:
    """Sort words by the order before the server's own shuffle."""
    rows = np.arange(len(words))[:, None]
    return np.asarray(words[rows, places])


def _by_run(turns: Sequence[NDArray[np.uint64]]) -> Words64:
    """Stack arrays by run, (runs, turns, words)."""
    return np.stack(turns, axis=1)


def published_channels(masked: Floats, chosen: Ints) -> Channels:
    """Sort what Comp sees in a published run: masked scores in a random order, and its choice.

    Parameters
    ----------
    masked
        (runs, turns, arms), by place. The bits of a positive number are, nearly, a multiple of its
        logarithm, so that a factor in common falls out of differences.
    chosen
        (runs, turns) places.
    """
    words = np.ascontiguousarray(masked).view(np.uint64)
    return Channels({"scores": Channel(words, by_owner=True)}, {"chosen": chosen[..., None]})


class Likeness(NamedTuple):
    """Measures of how well two worlds were told apart."""

    accuracy: float  # of the classifier, on runs that it has not learned from
    of: int  # such runs
    feature: str  # what it went by
    p_value: float  # the smallest of all features, times their number
    differs: str  # in which feature

    @property
    def at_chance(self) -> bool:
        """True if both ways find nothing: accuracy within 99% about one half, p above 1%."""
        within = abs(self.accuracy - 0.5) <= _Z99 * 0.5 / math.sqrt(self.of)
        return within and self.p_value > 0.01


def features(seen: Channels) -> tuple[tuple[str, ...], Floats]:
    """Return the features of every run.

    Parameters
    ----------
    seen
        What a party saw in some runs.

    Returns
    -------
    tuple of str
        What they are, 500 of them. It depends on the channels' names and shapes alone.
    (runs, 500) float64
        Their values.
    """
    made = dict(_features(seen))
    made |= _singles(seen.words, FEATURES - len(made))
    names = tuple(made)
    return names, np.stack([made[name] for name in names], axis=1)


def compare(names: Sequence[str], a: Floats, b: Floats) -> Likeness:
    """Try to tell two sets of runs apart.

    Both are (runs, features), of as many runs, at least 20.
    """
    half = len(a) // 2
    found = [_threshold(x, y) for x, y in zip(a[:half].T, b[:half].T, strict=True)]
    best = max(range(len(names)), key=lambda i: found[i][0])
    _, at, sign = found[best]
    right = (sign * (a[half:, best] - at) <= 0).sum() + (sign * (b[half:, best] - at) > 0).sum()
    apart = [2.0 * _threshold(x, y)[0] - 1.0 for x, y in zip(a.T, b.T, strict=True)]
    least = int(np.argmax(apart))  # twice the best share less 1 is how far distributions differ
    return Likeness(
        accuracy=float(right) / (2 * (len(a) - half)),
        of=2 * (len(a) - half),
        feature=names[best],
        p_value=min(1.0, float(stats.kstwo.sf(apart[least], len(a) // 2)) * len(names)),
        differs=names[least],
    )


def _features(seen: Channels) -> Iterator[tuple[str, Floats]]:
    for name, places in seen.places.items():
        for what, values in _counted(places):
            yield f"{name}: {what}", values
    for name, channel in seen.words.items():
        if channel.bits == 1:
            yield from ((f"{name}: {what}", v) for what, v in _counted(channel.values.astype(int)))
            continue
        for how, derived in _derived(channel):
            for what, values in _summaries(derived, how):
                yield f"{name}: {how}: {what}", values
    owned = {name: channel.values for name, channel in seen.words.items() if channel.by_owner}
    for i, a in enumerate(owned):
        for b in list(owned)[i + 1 :]:
            for how, derived in (("+", owned[a] + owned[b]), ("-", owned[a] - owned[b])):
                sizes = _log_size(derived)
                yield f"{a} {how} {b}: size", sizes.mean(axis=(1, 2))


def _counted(places: Ints) -> Iterator[tuple[str, Floats]]:
    """Summarise few values: which they are, and how they come again."""
    flat = places.reshape(len(places), -1)
    yield "mean", flat.mean(axis=1)
    yield "spread", flat.std(axis=1)
    yield "first", places[:, :, 0].mean(axis=1)
    yield "zeros", (flat == 0).mean(axis=1)
    yield "repeats", (places[:, 1:] == places[:, :-1]).mean(axis=(1, 2))
    ordered = np.sort(flat, axis=1)
    yield "median", ordered[:, ordered.shape[1] // 2].astype(float)
    yield "different", 1.0 + (np.diff(ordered, axis=1) != 0).sum(axis=1)


def _derived(channel: Channel) -> Iterator[tuple[str, Words64]]:
    """Return words, and how they differ; the highest bit of each is moved to the top."""
    words = channel.values << np.uint64(_WORD_BITS - channel.bits)
    yield "word", words
    if words.shape[2] > 1:
        yield "from neighbour", words[:, :, 1:] - words[:, :, :-1]
        yield "with neighbour", words[:, :, 1:] ^ words[:, :, :-1]
    if words.shape[2] > 1 and channel.bits == _WORD_BITS:
        ordered = np.sort(words, axis=2)
        yield "from largest to next", ordered[:, :, -1:] - ordered[:, :, -2:-1]
        yield "from largest to least", ordered[:, :, -1:] - ordered[:, :, :1]
    if words.shape[1] > 1:
        yield "from turn before", words[:, 1:] - words[:, :-1]
        yield "with turn before", words[:, 1:] ^ words[:, :-1]


def _summaries(words: Words64, how: str) -> Iterator[tuple[str, Floats]]:
    flat = words.reshape(len(words), -1)
    yield "top bit", (flat >> np.uint64(63)).mean(axis=1)
    if how.startswith("with"):
        yield "ones", np.bitwise_count(flat).mean(axis=1)
        return
    size = _log_size(flat)
    yield "size", size.mean(axis=1)
    if how.startswith("from"):
        yield "least size", size.min(axis=1)


def _log_size(words: Words64) -> Floats:
    """Compute log2(1 + |x|) of words as signed numbers."""
    sizes: Floats = np.log2(1.0 + np.abs(words.view(np.int64).astype(np.float64)))
    return sizes


def _singles(words: dict[str, Channel], count: int) -> dict[str, Floats]:
    """Make differences of single pairs of words of a channel, from a fixed list."""
    wide = [(name, channel.values) for name, channel in words.items() if channel.bits == _WORD_BITS]
    made, k = dict[str, Floats](), 0
    while len(made) < count:
        name, values = wide[k % len(wide)]
        flat = values.reshape(len(values), -1)
        i, j = (_LIST * (k + 1)) % flat.shape[1], (_LIST * (k + 1) // 7) % flat.shape[1]
        made[f"{name}: {i} from {j}, {k}"] = (flat[:, i] - flat[:, j]).view(np.int64).astype(float)
        k += 1
    return made


def _threshold(a: Floats, b: Floats) -> tuple[float, float, float]:
    """Share named rightly, threshold, and 1 if the second world lies above it, else -1."""
    values = np.concatenate([a, b])
    order = np.argsort(values, kind="stable")
    values, is_second = values[order], (np.arange(len(values)) >= len(a))[order]
    # Right if everything up to a place is the first world's and all above it the second's.
    right = np.cumsum(~is_second) + (len(b) - np.cumsum(is_second))
    ends = np.append(values[1:] != values[:-1], True)
    share = np.where(ends, right / len(values), 0.5)
    up, down = int(np.argmax(share)), int(np.argmin(share))
    best, at, sign = max((share[up], up, 1.0), (1 - share[down], down, -1.0))
    middle = values[at] if at + 1 == len(values) else (values[at] + values[at + 1]) / 2
    return float(best), float(middle), sign
