"""What a server of silent SAMBA sees, sorted for a classifier: like beside like, turn by turn.

A view (:mod:`fedbandits.systems.samba.silent.views`) holds what reached the server. Here stands
what it can make of that too: openings, the winner's place seen through its own permutation, and
sums of what it holds in the owners' order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.shares.comparison import OPENING_BITS, OPENINGS
from fedbandits.systems.samba.silent.views import (
    RESULT,
    FirstView,
    Opened,
    SecondView,
    expanded_first,
    expanded_second,
    open_first,
    open_second,
)


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
    """Everything that the first server, the Controller, sees.

    Parameters
    ----------
    views
        One a turn; its selections are the runs.
    arity
        Contenders of a group at most.
    """
    had = [expanded_first(view, arity) for view in views]
    seen = [(v, open_first(v, h, arity), h) for v, h in zip(views, had, strict=True)]
    owned = {
        "share": [view.scores for view in views],
        "ahead": [view.ahead for view in views],
        "masked": [view.scores + view.ahead for view in views],
        "moved": [_sorted(made.share, dealt.places) for _, made, dealt in seen],
        "dealt back": [view.returned for view in views],
        "unit": [view.unit for view in views],
        "unit by owner": [_sorted(view.unit, dealt.places) for view, _, dealt in seen],
        "answers": [view.answers for view in views],
        "told": [made.told for _, made, _ in seen],
        "seed": [view.words[:, : view.ahead.shape[1]] for view in views],
    }
    words = {name: Channel(_by_run(values), by_owner=True) for name, values in owned.items()}
    words["dealt"] = Channel(_by_run([view.shuffled for view in views]))
    opened = [(view.openings, made) for view, made, _ in seen]
    return Channels(words | _opened(opened), _places([made for _, made, _ in seen]))


def second_channels(views: Sequence[SecondView], arity: int) -> Channels:
    """Everything that the second server, Comp, sees; parameters as of :func:`first_channels`."""
    had = [expanded_second(view, arity) for view in views]
    seen = [(v, open_second(v, h, arity), h) for v, h in zip(views, had, strict=True)]
    owned = {
        "pads": [view.pads for view in views],
        "answer pads": [view.answer_pads for view in views],
        "moved": [view.moved for view in views],
        "share": [_sorted(made.share, dealt.places) for _, made, dealt in seen],
        "mask": [each.mask for each in had],
        "mask back": [each.returned_mask for each in had],
        "share before": [each.share for each in had],
        "share back": [each.returned_share for each in had],
    }
    words = {name: Channel(_by_run(values), by_owner=True) for name, values in owned.items()}
    words["dealt"] = Channel(_by_run([view.shuffled for view in views]))
    words["dealt bits"] = Channel(_by_run([view.bits for view in views]))
    words["dealt joined"] = Channel(_by_run([view.joined for view in views]))
    opened = [(view.openings, made) for view, made, _ in seen]
    return Channels(words | _opened(opened), _places([made for _, made, _ in seen]))


def _opened(seen: Sequence[tuple[tuple[Words64, ...], Opened]]) -> dict[str, Channel]:
    """Openings of all stages, by level: the other server's shares and what was opened."""
    channels = {}
    for number, bits in enumerate(OPENING_BITS):
        others = [np.hstack(openings[number::OPENINGS]) for openings, _ in seen]
        values = [np.hstack(made.values[number::OPENINGS]) for _, made in seen]
        channels[f"opened {number}"] = Channel(_by_run(values), bits)
        if number != RESULT:  # a share of a result says no more than the result
            channels[f"of other {number}"] = Channel(_by_run(others), bits)
    return channels


def _places(seen: Sequence[Opened]) -> dict[str, Ints]:
    """The winner's place as it is, and through the server's own permutation both ways."""
    return {
        name: np.stack([getattr(made, name) for made in seen], axis=1)[..., None]
        for name in ("won", "unshuffled", "shuffled")
    }


def _sorted(words: Words64, places: Ints) -> Words64:
    """By the order before the server's own shuffle."""
    rows = np.arange(len(words))[:, None]
    return np.asarray(words[rows, places])


def _by_run(turns: Sequence[NDArray[np.uint64]]) -> Words64:
    """(runs, turns, words)."""
    return np.stack(turns, axis=1)


def published_channels(masked: Floats, chosen: Ints) -> Channels:
    """What Comp sees of the published variant: masked scores in a random order, and its choice.

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
