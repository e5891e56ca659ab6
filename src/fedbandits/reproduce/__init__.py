"""The figures of the papers, made again: their table, which needs no plotting, and their files."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fedbandits._lazy import lazily
from fedbandits.experiments.files import replace_durably

__all__ = ["FIGURES", "Context", "Figure", "Outcome", "Verdict", "write_outcome"]

if TYPE_CHECKING:  # plots and runs take long to import
    from fedbandits.reproduce.engine import Context, Outcome, Verdict
else:
    __getattr__, __dir__ = lazily(__name__, __all__)


class Figure(NamedTuple):
    """A figure of a paper.

    Parameters
    ----------
    title
        The quantities on its axes.
    source
        The paper, and the figure's number in it.
    quick, full
        The runs of each scale, in words.
    make
        The function that plays the runs of the figure and draws it.
    data
        Files that ``--data`` takes, and the stand-in for them; empty if the figure takes none. No
        figure needs a file.
    """

    title: str
    source: str
    quick: str
    full: str
    make: Callable[[Context], Outcome]
    data: str = ""


def _make(function: str, context: Context) -> Outcome:
    """Make a figure by ``function``, and import the module of the function only now.

    The name is ``feducb.sweeps.figure_2``: a paper's package, a module of it, and the function.
    """
    module, _, name = function.rpartition(".")
    outcome: Outcome = getattr(importlib.import_module(f"{__name__}.{module}"), name)(context)
    return outcome


def _by(function: str) -> Callable[[Context], Outcome]:
    return partial(_make, function)


_FEDUCB = "Dubey & Pentland 2020, Figure"
_FEDUCB_FULL = "K = 100 or d², T = 10⁷, 100 runs"
_SAMBA = "Ciucanu et al. 2022, Figure"
_MEANS = (
    "arm means (how many, then one a line) or ratings (MovieLens's u.data, Jester); without: 100 "
    "means drawn from Beta(1, 6)"
)
_PFCB = "Solanki et al. 2022, Figure"
_PFCB_FULL = "5 instances, 20 runs each, T = 100,000"
_FCLUB = "Liu et al. 2022"
_FCLUB_QUICK = "40 users, 5 servers, T = 131,071, 3 replicates"
_FCLUB_FULL = "the same, 10 replicates"
_USERS = "vectors (.npy) or ratings (MovieLens's u.data); else users are drawn"

#: Every figure, by the name that ``fedbandits reproduce`` takes.
FIGURES: dict[str, Figure] = {
    "feducb-1a": Figure(
        "Regret over the privacy budget, by number of agents", f"{_FEDUCB} 1A",
        "M = 10 … 100, K = 20, T = 10,000, 4 runs", f"M = 10 … 100, {_FEDUCB_FULL}",
        _by("feducb.sweeps.figure_1a"),
    ),
    "feducb-1b": Figure(
        "Regret over communication", f"{_FEDUCB} 1B",
        "M = 100, K = 20, T = 10,000, 4 runs", f"M = 100, {_FEDUCB_FULL}",
        _by("feducb.curves.figure_1b"),
    ),
    "feducb-1c": Figure(
        "Regret over the dimension", f"{_FEDUCB} 1C",
        "M = 100, K = 20, T = 10,000, 4 runs", f"M = 100, {_FEDUCB_FULL}",
        _by("feducb.curves.figure_1c"),
    ),
    "feducb-2": Figure(
        "Regret over the gap", f"{_FEDUCB} 2",
        "M = 10, K = 20, T = 60,000, 8 runs", f"M = 10, {_FEDUCB_FULL}",
        _by("feducb.sweeps.figure_2"),
    ),
    "samba-7": Figure(
        "Who sees what, and what Comp works out", f"{_SAMBA} 7",
        "a transcript of N = 40, K = 4; Comp's attack on 3 runs of N = 1,000, K = 5, 10, 50",
        "the same, 20 runs", _by("samba.sight.figure_7"),
    ),
    "samba-8a": Figure(
        "Time over the budget", f"{_SAMBA} 8(a)", "K = 20, N = 2,000 … 10,000, 5 runs",
        "K = 100, N = 50,000 … 100,000, 50 runs", _by("samba.times.figure_8a"), _MEANS,
    ),
    "samba-8b": Figure(
        "Time over the number of arms", f"{_SAMBA} 8(b)", "N = 4,000, K = 10 … 50, 5 runs",
        "N = 100,000, K = 10 … 100, 50 runs", _by("samba.times.figure_8b"), _MEANS,
    ),
    "samba-8c": Figure(
        "Cumulative rewards", f"{_SAMBA} 8(c)", "N = 100,000, K = 10 and 100, 20 runs",
        "the same, 50 runs", _by("samba.rewards.figure_8c"), _MEANS,
    ),
    "samba-8d": Figure(
        "Shares of time", f"{_SAMBA} 8(d)", "N = 3,000, K = 10, 50, 100, 3 runs",
        "N = 100,000, 50 runs", _by("samba.shares.figure_8d"), _MEANS,
    ),
    "pfcb-2": Figure(
        "FRR without privacy, buyers alike or not", f"{_PFCB} 2",
        "2 instances, 1 run each, T = 100,000", _PFCB_FULL, _by("pfcb.figures.figure_2"),
    ),
    "pfcb-3": Figure(
        "Regret over rounds", f"{_PFCB} 3",
        "3 instances, 1 run each, T = 100,000", _PFCB_FULL, _by("pfcb.figures.figure_3"),
    ),
    "pfcb-4": Figure(
        "FRR over the privacy budget", f"{_PFCB} 4",
        "3 instances, 1 run each, ε = 0.1 … 2, T = 100,000",
        f"{_PFCB_FULL}, ε = 0.1, 0.2 … 1.1, then 1.5 and 2", _by("pfcb.figures.figure_4"),
    ),
    "pfcb-5": Figure(
        "Regret over the number of buyers", f"{_PFCB} 5",
        "2 instances, 1 run each, n = 8 … 42, T = 100,000",
        f"{_PFCB_FULL}, n = 8, 10 … 42", _by("pfcb.figures.figure_5"),
    ),
    "fclub-2a": Figure(
        "Regret over rounds, synthetic users", f"{_FCLUB}, Figure 2(a)", _FCLUB_QUICK, _FCLUB_FULL,
        _by("fclub.regret.figure_2a"), _USERS,
    ),
    "fclub-2b": Figure(
        "Regret over rounds, users as given", f"{_FCLUB}, Figure 2(b)", _FCLUB_QUICK,
        "the same, 10 replicates; of given users all, T = 2,000,000", _by("fclub.regret.figure_2b"),
        _USERS,
    ),
    "fclub-sweeps": Figure(
        "Regret over L, m, d, n and ε", f"{_FCLUB}, Appendix E.2", _FCLUB_QUICK, _FCLUB_FULL,
        _by("fclub.parameters.sweeps"),
    ),
    "fclub-communication": Figure(
        "Messages over rounds", f"{_FCLUB}, Theorem 2 and Appendix E.3", _FCLUB_QUICK, _FCLUB_FULL,
        _by("fclub.costs.communication"),
    ),
    "fclub-time": Figure(
        "Running time", f"{_FCLUB}, Appendix E.4", "40 and 1,000 users, 3 repetitions",
        "the same, 10 repetitions", _by("fclub.costs.running_time"), _USERS,
    ),
    "fclub-parameters": Figure(
        "Regret over our parameters", f"the world of {_FCLUB}, Figure 2(a)",
        "40 users, 5 servers, T = 131,071, 2 replicates", _FCLUB_FULL,
        _by("fclub.parameters.parameters"),
        _USERS,
    ),
    "fclub-pays": Figure(
        "From where private collaboration pays", f"the world of {_FCLUB}, Figure 2(a)",
        "20 to 160 users, T = 20,000 … 524,284, 3 replicates", _FCLUB_FULL,
        _by("fclub.regret.pays"),
    ),
}  # fmt: skip


def write_outcome(context: Context, figure: Figure, outcome: Outcome) -> None:
    """Write ``figure.png``, ``table.csv`` and ``remarks.md`` into the figure's folder."""
    context.out.mkdir(parents=True, exist_ok=True)
    image = io.BytesIO()
    outcome.plot.savefig(image, format="png", dpi=130)
    replace_durably(context.out / "figure.png", image.getvalue())
    text = io.StringIO()
    writer = csv.DictWriter(text, list(outcome.rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(outcome.rows)
    replace_durably(context.out / "table.csv", text.getvalue().encode())
    scale = figure.full if context.full else figure.quick
    lines = [f"# {figure.title}", "", f"{figure.source}. Scale: {scale}.", ""]
    lines += [f"* {remark}" for remark in outcome.remarks]
    lines += ["", f"**{outcome.verdict.line}**"]
    replace_durably(context.out / "remarks.md", ("\n".join(lines) + "\n").encode())
