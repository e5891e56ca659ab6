"""The same contexts and rewards for all: what a world has drawn, written down.

A stream holds the reward of every arm in every round, also of those that nobody chooses. So who
chooses the same arm gets the same reward, and regrets can be compared. Nothing of this package is
imported here: a peer's process has only the peer in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Stream(NamedTuple):
    """What all contenders of a world see.

    ``contexts`` has one column for each arm, or one that all arms share. Without contexts it has
    no rows.
    """

    contexts: Any  # (steps, d, arms or 1) float32
    rewards: Any  # (steps, arms) float64: what each arm would pay
    expected: Any  # (steps, arms) float64

    @property
    def shared_model(self) -> bool:
        """Whether every arm shows a context of its own, and one model scores all."""
        return bool(self.contexts.shape[2] > 1)

    @property
    def arms(self) -> int:
        """Number of arms, K."""
        return int(self.rewards.shape[1])


def regret(stream: Stream, arms: Any) -> Any:
    """Cumulative regret, (steps,), of the arms that somebody chose."""
    steps = len(arms)
    chosen = stream.expected[np.arange(steps), arms]
    return np.cumsum(stream.expected[:steps].max(axis=1) - chosen)


def save_stream(stream: Stream, path: Path) -> None:
    """Write a stream to a file that :func:`load_stream` reads."""
    np.savez(path, **stream._asdict())


def load_stream(path: Path) -> Stream:
    """Read a stream."""
    with np.load(path) as arrays:
        return Stream(**arrays)
