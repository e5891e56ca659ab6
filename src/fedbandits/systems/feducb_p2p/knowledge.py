"""Releases that a party knows, and those that it may use by now. Nothing here is changed."""

from __future__ import annotations

import msgspec

from fedbandits._typing import Floats

#: A peer can have ended so many more rounds than this party. What is from later must wait.
MOST_AHEAD = 16


class Known(msgspec.Struct, frozen=True):
    """A release, and the round from whose end on it may be used."""

    release: int
    usable: int
    values: Floats


#: What is known of one estimator of one agent, oldest first: the release that serves, and those
#: that must still wait.
History = tuple[Known, ...]


def newest_number(history: History) -> int:
    """Return the number of the newest release that is known, usable or not; 0 if none is."""
    return history[-1].release if history else 0


def usable(history: History, round_: int) -> Known | None:
    """Return the newest release that may be used at the end of a round."""
    for known in reversed(history):
        if known.usable <= round_:
            return known
    return None


def extended(history: History, known: Known, round_: int) -> History:
    """Add a release that is newer than all before it; remove what it makes needless.

    Where more must wait than an honest agent can have made, those that have waited longest go.
    """
    serving = usable(history, round_)
    least = serving.release if serving else 0
    waiting = [k for k in history if k.release > least] + [known]
    return (*([serving] if serving else ()), *waiting[-MOST_AHEAD - 1 :])
