"""Figures after Liu et al. (2022): FCLUB's regret, messages and time, and where privacy pays."""

from __future__ import annotations

import functools

from fedbandits.reproduce.figure import Figure, made_by

_by = functools.partial(made_by, __name__)
_PAPER = "Liu et al. 2022"
_QUICK = "40 users, 5 servers, T = 131,071, 3 replicates"
_FULL = "the same, 10 replicates"
_USERS = "vectors (.npy) or ratings (MovieLens's u.data); else users are drawn"

FIGURES: dict[str, Figure] = {
    "fclub-2a": Figure(
        "Regret over rounds, synthetic users", f"{_PAPER}, Figure 2(a)", _QUICK, _FULL,
        _by("regret.figure_2a"), _USERS,
    ),
    "fclub-2b": Figure(
        "Regret over rounds, users as given", f"{_PAPER}, Figure 2(b)", _QUICK,
        "the same, 10 replicates; of given users all, T = 2,000,000", _by("regret.figure_2b"),
        _USERS,
    ),
    "fclub-sweeps": Figure(
        "Regret over L, m, d, n and ε", f"{_PAPER}, Appendix E.2", _QUICK, _FULL,
        _by("sweeps.sweeps"),
    ),
    "fclub-communication": Figure(
        "Messages over rounds", f"{_PAPER}, Theorem 2 and Appendix E.3", _QUICK, _FULL,
        _by("communication.communication"),
    ),
    "fclub-time": Figure(
        "Running time", f"{_PAPER}, Appendix E.4", "40 and 1,000 users, 3 repetitions",
        "the same, 10 repetitions", _by("time.running_time"), _USERS,
    ),
    "fclub-parameters": Figure(
        "Regret over our parameters", f"the world of {_PAPER}, Figure 2(a)",
        "40 users, 5 servers, T = 131,071, 2 replicates", _FULL, _by("parameters.parameters"),
        _USERS,
    ),
    "fclub-pays": Figure(
        "From where private collaboration pays", f"the world of {_PAPER}, Figure 2(a)",
        "20 to 160 users, T = 20,000 … 524,284, 3 replicates", _FULL, _by("pays.pays"),
    ),
}  # fmt: skip
