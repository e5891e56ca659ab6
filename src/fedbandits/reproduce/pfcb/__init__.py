"""Figures 2 to 5 of Solanki et al. (2022): P-FCB's regret."""

from __future__ import annotations

import functools

from fedbandits.reproduce.figure import Figure, made_by

_by = functools.partial(made_by, __name__)
_PAPER = "Solanki et al. 2022, Figure"
_FULL = "5 instances, 20 runs each, T = 100,000"

FIGURES: dict[str, Figure] = {
    "pfcb-2": Figure(
        "FRR without privacy, buyers alike or not", f"{_PAPER} 2",
        "2 instances, 1 run each, T = 100,000", _FULL, _by("alike.figure_2"),
    ),
    "pfcb-3": Figure(
        "Regret over rounds", f"{_PAPER} 3",
        "3 instances, 1 run each, T = 100,000", _FULL, _by("regret.figure_3"),
    ),
    "pfcb-4": Figure(
        "FRR over the privacy budget", f"{_PAPER} 4",
        "3 instances, 1 run each, ε = 0.1 … 2, T = 100,000",
        f"{_FULL}, ε = 0.1, 0.2 … 1.1, then 1.5 and 2", _by("sweeps.figure_4"),
    ),
    "pfcb-5": Figure(
        "Regret over the number of buyers", f"{_PAPER} 5",
        "2 instances, 1 run each, n = 8 … 42, T = 100,000",
        f"{_FULL}, n = 8, 10 … 42", _by("sweeps.figure_5"),
    ),
}  # fmt: skip
