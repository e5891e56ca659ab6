"""Curves of the page: lines of a result as plain values, also while it is being played."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from fedbandits.experiments.measure import SystemLine, line_of, regret_lines, reward_lines

#: Values of replicates at the recorded rounds, by their numbers.
Runs = Mapping[int, Sequence[float]]


def playing_curve(system: str, rounds: Sequence[int], finished: Runs, playing: Runs) -> Any:
    """Return the curve of a system that is being played.

    Parameters
    ----------
    system
        Its label.
    rounds
        The recorded rounds.
    finished, playing
        Values of finished replicates, and of those that are being played: as many as there are.
    """
    runs = np.array(list(finished.values()), np.float64).reshape(len(finished), len(rounds))
    return _curve(line_of(system, runs, np.array(list(finished), np.int64)), rounds, playing)


def curves_of(result: xr.Dataset) -> tuple[str, list[dict[str, Any]]]:
    """Return the unit of a result, and the curve of every system, as its picture has them."""
    found = regret_lines(result) or reward_lines(result)
    rounds = [int(each) for each in result["round"].values]
    return found.unit, [_curve(line, rounds) for line in found.systems]


def by_buttons(line: str) -> str:
    """Return a line of an answer, with buttons where the command line has options."""
    line = line.replace("--resume goes on", "Press Resume to go on")
    return line.replace("Run it with --replicates", "Change it, and run it again with replicates =")


def _curve(line: SystemLine, rounds: Sequence[int], playing: Runs | None = None) -> dict[str, Any]:
    count = len(line.runs)
    everything = {**(playing or {}), **dict(zip(line.replicates.tolist(), line.runs, strict=True))}
    last = line.runs[:, -1] if count > 1 else None
    deviation = None if last is None else float(last.std(ddof=1))
    return {
        "system": line.label,
        "rounds": list(rounds),
        # By number, so that the k-th of two systems are a pair; one that is missing is empty.
        "replicates": [
            _finite(everything.get(number, ())) for number in range(max(everything, default=-1) + 1)
        ],
        "mean": _finite(line.mean) if count else [],
        "half": _finite(line.half) if np.isfinite(line.half).any() else None,
        "n": count,
        "deviation": deviation,
        "error": None if deviation is None else deviation / math.sqrt(count),
    }


def _finite(values: Iterable[float]) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]
