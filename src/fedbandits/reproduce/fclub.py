"""Figures after Liu et al. (2022): FCLUB's regret and messages, and where privacy pays."""

from __future__ import annotations

from fedbandits.reproduce import fclub_regret, fclub_sweeps
from fedbandits.reproduce.context import Figure

_PAPER = "Liu et al. 2022"
_QUICK = "40 users, 5 servers, T = 131,071, 3 replicates"
_FULL = "the same, 10 replicates"

FIGURES: dict[str, Figure] = {
    "fclub-2a": Figure(
        "Regret over rounds, synthetic users", f"{_PAPER}, Figure 2(a)", _QUICK, _FULL,
        fclub_regret.figure_2a,
    ),
    "fclub-2b": Figure(
        "Regret over rounds, users as given", f"{_PAPER}, Figure 2(b)", _QUICK,
        "the same, 10 replicates; of given users all, T = 2,000,000", fclub_regret.figure_2b,
    ),
    "fclub-communication": Figure(
        "Messages over rounds", f"{_PAPER}, Theorem 2", _QUICK, _FULL, fclub_regret.communication
    ),
    "fclub-parameters": Figure(
        "Regret over parameters", f"{_PAPER}, Appendix E.2",
        "40 users, 5 servers, T = 131,071, 2 replicates", _FULL, fclub_sweeps.parameters,
    ),
    "fclub-pays": Figure(
        "From where private collaboration pays", f"the world of {_PAPER}, Figure 2(a)",
        "20 to 160 users, T = 20,000 … 524,284, 3 replicates", _FULL, fclub_sweeps.pays,
    ),
}  # fmt: skip
