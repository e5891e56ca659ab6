"""Figures 7 and 8 of Ciucanu et al. (2022): who sees what, time, reward and shares of work."""

from __future__ import annotations

import functools

from fedbandits.reproduce.figure import Figure, made_by

_by = functools.partial(made_by, __name__)
_PAPER = "Ciucanu et al. 2022, Figure"
#: What ``--data`` takes, and what is drawn in its place.
_DATA = (
    "arm means (how many, then one a line) or ratings (MovieLens's u.data, Jester); without: 100 "
    "means drawn from Beta(1, 6)"
)

FIGURES: dict[str, Figure] = {
    "samba-7": Figure(
        "Who sees what, and what Comp works out", f"{_PAPER} 7",
        "a transcript of N = 40, K = 4; Comp's attack on 3 runs of N = 1,000, K = 5, 10, 50",
        "the same, 20 runs", _by("sight.figure_7"),
    ),
    "samba-8a": Figure(
        "Time over the budget", f"{_PAPER} 8(a)", "K = 20, N = 2,000 … 10,000, 5 runs",
        "K = 100, N = 50,000 … 100,000, 50 runs", _by("times.figure_8a"), _DATA,
    ),
    "samba-8b": Figure(
        "Time over the number of arms", f"{_PAPER} 8(b)", "N = 4,000, K = 10 … 50, 5 runs",
        "N = 100,000, K = 10 … 100, 50 runs", _by("times.figure_8b"), _DATA,
    ),
    "samba-8c": Figure(
        "Cumulative rewards", f"{_PAPER} 8(c)", "N = 100,000, K = 10 and 100, 20 runs",
        "the same, 50 runs", _by("rewards.figure_8c"), _DATA,
    ),
    "samba-8d": Figure(
        "Shares of time", f"{_PAPER} 8(d)", "N = 3,000, K = 10, 50, 100, 3 runs",
        "N = 100,000, 50 runs", _by("shares.figure_8d"), _DATA,
    ),
}  # fmt: skip
