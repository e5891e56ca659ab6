"""Figure 8 of Ciucanu et al. (2022): time, reward and shares of work of SAMBA."""

from __future__ import annotations

from fedbandits.reproduce import samba_rewards, samba_times
from fedbandits.reproduce.context import Figure

_PAPER = "Ciucanu et al. 2022, Figure 8"

FIGURES: dict[str, Figure] = {
    "samba-8a": Figure(
        "Time over the budget", f"{_PAPER}(a)", "K = 20, N = 2,000 … 10,000",
        "K = 100, N = 50,000 … 100,000", samba_times.figure_8a,
    ),
    "samba-8b": Figure(
        "Time over the number of arms", f"{_PAPER}(b)", "N = 4,000, K = 10 … 50",
        "N = 100,000, K = 10 … 100", samba_times.figure_8b,
    ),
    "samba-8c": Figure(
        "Cumulative rewards", f"{_PAPER}(c)", "N = 100,000, K = 10 and 100, 20 runs",
        "the same, 50 runs", samba_rewards.figure_8c,
    ),
    "samba-8d": Figure(
        "Shares of time", f"{_PAPER}(d)", "N = 3,000, K = 10, 50, 100", "N = 100,000",
        samba_times.figure_8d,
    ),
}  # fmt: skip
