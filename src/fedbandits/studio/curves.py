"""Curves of the page: lines of a result as plain values, also during the run."""

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
        The label of the system.
    rounds
        The recorded rounds.
    finished, playing
        Values of finished replicates, and the values so far of replicates in progress.
    """
    runs = np.array(list(finished.values()), np.float64).reshape(len(finished), len(rounds))
    return _curve(line_of(system, runs, np.array(list(finished), np.int64)), rounds, playing)


def curves_of(result: xr.Dataset) -> tuple[str, list[dict[str, Any]]]:
    """Return the unit of a result, and the curve of every system, as in the picture of a run."""
    lines = regret_lines(result) or reward_lines(result)
    rounds = [int(round_) for round_ in result["round"].values]
    return lines.unit, [_curve(line, rounds) for line in lines.systems]


def by_buttons(line: str) -> str:
    """Return a line of an answer that names buttons instead of options of the command line."""
    line = line.replace("--resume goes on", "Press Resume to go on")
    return line.replace("Run it with --replicates", "Change it, and run it again with replicates =")


def _curve(line: SystemLine, rounds: Sequence[int], playing: Runs | None = None) -> dict[str, Any]:
    count = len(line.runs)
    by_number = {**(playing or {}), **dict(zip(line.replicates.tolist(), line.runs, strict=True))}
    last = line.runs[:, -1] if count > 1 else None
    deviation = None if last is None else float(last.std(ddof=1))
    return {
        "system": line.label,
        "rounds": list(rounds),
        # By number, so that the k-th replicates of two systems are a pair; missing ones are empty.
        "replicates": [
            _finite(by_number.get(number, ())) for number in range(max(by_number, default=-1) + 1)
        ],
        "mean": _finite(line.mean) if count else [],
        "half": _finite(line.half) if np.isfinite(line.half).any() else None,
        "n": count,
        "deviation": deviation,
        "error": None if deviation is None else deviation / math.sqrt(count),
    }


def _finite(values: Iterable[float]) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]
