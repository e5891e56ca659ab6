"""Reports as configured, run after run, for an audit. Compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.random import Key
from fedbandits.systems.pfcb.kernels.books import Books
from fedbandits.systems.pfcb.kernels.constants import RUNNING, Constants
from fedbandits.systems.pfcb.kernels.reports import write_report
from fedbandits.systems.pfcb.kernels.rounds import draw_noise


@compiled
def play_reports(
    constants: Constants, steps: Ints, entered: Floats, record: Floats, targets: Ints,
    keys: NDArray[np.uint64], capacity: Ints, books: Books, draws: Floats, values: Floats,
) -> None:  # fmt: skip
    """Run after run write the reports ``steps`` (runs, n) about one producer, into ``values``.

    What is about other purchases is known to the attacker and left out; the replaced one is in the
    reports that ``entered`` (runs, n) says, of the buyer and the producer in ``targets`` (runs, 2).
    ``values`` are (runs, n, 2).
    """
    report = np.zeros((2, capacity.size))
    for run in range(steps.shape[0]):
        buyer, producer = targets[run, 0], targets[run, 1]
        key = Key(keys[run, 0], keys[run, 1])
        for place in range(steps.shape[1]):
            release = steps[run, place]
            draw_noise(constants, key, buyer, release, draws)
            books.own[:] = 0.0
            books.fresh[:] = 0.0
            for row in range(2):
                books.own[row, producer] = entered[run, place] * record[row]
                books.fresh[row, producer] = entered[run, place] * record[row]
            write_report(constants, release, capacity, draws, books, report)
            for row in range(2):
                values[run, place, row] = report[row, producer]


@compiled
def draw_reports(
    constants: Constants, steps: Ints, bought: float, key: Key, capacity: Ints, books: Books,
    draws: Floats, reports: Floats,
) -> None:  # fmt: skip
    """Write some reports of all buyers on as many units, into ``reports`` (buyers, steps, 2, m)."""
    for buyer in range(reports.shape[0]):
        done = 0
        for place in range(steps.size):
            release = steps[place]
            first = done + 1 if constants.reports == RUNNING else release
            for step in range(first, release + 1):
                draw_noise(constants, key, buyer, step, draws)
            books.own[:] = bought
            books.fresh[:] = bought
            write_report(constants, release, capacity, draws, books, reports[buyer, place])
            done = release
