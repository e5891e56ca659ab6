"""Figures of Dubey & Pentland (2020): FedUCB's regret."""

from __future__ import annotations

import functools

from fedbandits.reproduce.figure import Figure, made_by

_by = functools.partial(made_by, __name__)
_PAPER = "Dubey & Pentland 2020, Figure"
_FULL = "K = 100 or d², T = 10⁷, 100 runs"

FIGURES: dict[str, Figure] = {
    "feducb-1a": Figure(
        "Regret over the privacy budget, by number of agents", f"{_PAPER} 1A",
        "M = 10 … 100, K = 20, T = 10,000, 4 runs", f"M = 10 … 100, {_FULL}",
        _by("sweeps.figure_1a"),
    ),
    "feducb-1b": Figure(
        "Regret over communication", f"{_PAPER} 1B",
        "M = 100, K = 20, T = 10,000, 4 runs", f"M = 100, {_FULL}", _by("curves.figure_1b"),
    ),
    "feducb-1c": Figure(
        "Regret over the dimension", f"{_PAPER} 1C",
        "M = 100, K = 20, T = 10,000, 4 runs", f"M = 100, {_FULL}", _by("curves.figure_1c"),
    ),
    "feducb-2": Figure(
        "Regret over the gap", f"{_PAPER} 2",
        "M = 10, K = 20, T = 60,000, 8 runs", f"M = 10, {_FULL}", _by("sweeps.figure_2"),
    ),
}  # fmt: skip
