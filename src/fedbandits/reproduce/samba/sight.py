"""Figure 7 of Ciucanu et al. (2022): the data that participants see, and Comp's attack."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot
from matplotlib.patches import Rectangle

from fedbandits.environments import Bernoulli
from fedbandits.experiments.plots import line_style
from fedbandits.reproduce.engine import Context, Outcome, Row, Verdict, legend_beside, panels
from fedbandits.reproduce.samba import BITS, Sizes, parties
from fedbandits.settings.experiment import system
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.audit.adversary import Exposure
from fedbandits.systems.samba.audit.attack import count_recovered
from fedbandits.systems.samba.audit.examination import (
    FIGURE_7,
    OTHERS,
    OWN,
    PARTICIPANTS,
    security_table,
)
from fedbandits.systems.samba.keys import COMP

#: Size of the run with the examined transcript.
_ARMS, _PULLS = 4, 40
#: Largest rate of recovery by luck: more is more than "nothing".
_NOTHING = 0.01
_SHADES = {
    Exposure.NOT_SEEN: "#f2f2f2", Exposure.ENCRYPTED: "#cfe3f2", Exposure.GUESSED: "#f7c6a3",
    Exposure.MASKED_PERMUTED: "#fde9b0", Exposure.MASKED: "#f9d77e", Exposure.PERMUTED: "#f6c04d",
    Exposure.CLEAR: "#a8d8a0",
}  # fmt: skip
_REWARD, _STATISTICS = "the cumulative reward", "every (sᵢ, nᵢ), without names"
#: Cells that print the mask αₜ alone. Comp's lists are also permuted by σₜ, which hides more.
_MASK_ALONE = ((OWN, COMP), (OTHERS, COMP))
#: Exposure of every datum to every participant: by datum, then by participant.
Seen = Mapping[str, Mapping[str, Exposure]]
#: Attacked runs, quick and full.
ALGORITHMS = ("ucb", "softmax", "egreedy")
SIZES = Sizes([1000], [5, 10, 50], 3), Sizes([1000], [5, 10, 50], 20)


def figure_7(context: Context) -> Outcome:
    """Make the paper's table beside that of a run's transcript, and Comp's rate of recovery."""
    sizes = SIZES[context.full]
    seen = security_table(_played("ucb", _ARMS, _PULLS, 0))
    rates = [
        _Rate(algorithm, arms, *context.measure(
            f"recovered-{algorithm}-K{arms}", functools.partial(_recovered, algorithm, arms, sizes)
        ))
        for algorithm in ALGORITHMS
        for arms in sizes.arms
    ]  # fmt: skip
    rows = [*_cells(seen), *_recoveries(rates, sizes)]
    return Outcome(rows, _draw(seen, rates), _remarks(sizes), verdict(seen, rates))


class _Rate(NamedTuple):
    """Shares of comparisons before which Comp knows a datum, over runs."""

    algorithm: str
    arms: int
    statistics: float
    rewards: float
    least: float  # of the cumulative reward, in the worst run for Comp


def _recovered(algorithm: str, arms: int, sizes: Sizes) -> list[float]:
    (budget,), runs = sizes.budgets, sizes.repeats
    attacks = [count_recovered(_played(algorithm, arms, budget, seed)) for seed in range(runs)]
    rewards = [attack.rewards / attack.of for attack in attacks]
    statistics = [attack.statistics / attack.of for attack in attacks]
    return [sum(statistics) / runs, sum(rewards) / runs, min(rewards)]


def _played(algorithm: str, arms: int, pulls: int, seed: int) -> PartiesReplicate:
    """Play a run of parties, which keeps every message."""
    config = system(f"samba-{algorithm}", paillier_bits=BITS).config
    run = parties(config, Bernoulli(arms=arms), pulls, seed=seed)
    run.advance(pulls)
    return run


def _cells(seen: Seen) -> Iterator[Row]:
    for datum, row in seen.items():
        for participant, sight in row.items():
            yield _line(datum, participant, _printed(datum, participant), sight.text)


def _printed(datum: str, participant: str) -> Exposure:
    """Return the printed cell of the paper."""
    if (datum, participant) in _MASK_ALONE:
        return Exposure.MASKED
    return FIGURE_7[datum].get(participant, Exposure.NOT_SEEN)


def _line(datum: str, participant: str, printed: Exposure, here: str) -> Row:
    return {"what": datum, "who": PARTICIPANTS[participant], "paper": printed.text, "here": here}


def _recoveries(rates: Sequence[_Rate], sizes: Sizes) -> Iterator[Row]:
    for rate in rates:
        run = f"worked out: {rate.algorithm}, K = {rate.arms}, N = {sizes.budgets[0]:,}"
        least = f" (least {100 * rate.least:.2f}%)"
        for datum, printed, share, more in (
            (_REWARD, Exposure.NOT_SEEN, rate.rewards, least),
            (_STATISTICS, Exposure.MASKED_PERMUTED, rate.statistics, ""),
        ):
            here = f"before {100 * share:.2f}% of comparisons{more}"
            yield _line(f"{datum}, {run}", COMP, printed, here)


def _remarks(sizes: Sizes) -> list[str]:
    return [
        f"The table is made from the transcript of a run (UCB, K = {_ARMS}, N = {_PULLS}): every "
        "packet that reached a participant is tried with every key that can be found in it. The "
        "world is drawn (means uniform); no data is needed.",
        "The paper's Figure 7 has no entry for the cumulative reward at Comp: it should see no "
        "message about it. It sees none, but all scores of a step share one factor, so their "
        "ratios are in clear, and a UCB score is a public function of (sᵢ, nᵢ, t).",
        f"Comp's rates are means over {sizes.repeats} runs of N = {sizes.budgets[0]:,}, from its "
        "own transcript alone; with many arms the attack gives up on more than 4,096 explanations, "
        "so a low rate is a lower bound.",
    ]


def verdict(seen: Seen, rates: Sequence[_Rate]) -> Verdict:
    """Judge whether the cells are the paper's, and Comp learns nothing, as in Theorem 3."""
    cells = [
        (datum, name, sight)
        for datum, row in seen.items()
        for name, sight in row.items()
        if sight != _printed(datum, name)
    ]
    total = sum(len(row) for row in seen.values())
    parts = [f"{total - len(cells)} of {total} cells are the paper's"]
    hidden = [
        (datum, name, sight)
        for datum, name, sight in cells
        if (datum, name) in _MASK_ALONE and sight is Exposure.MASKED_PERMUTED
    ]
    if hidden:
        parts.append(
            f"{len(hidden)} more print Comp's mask alone, and hide the order too: "
            + ", ".join(datum for datum, _, _ in hidden)
        )
    cells = [cell for cell in cells if cell not in hidden]
    parts += [f"{PARTICIPANTS[name]}: {datum}: {sight.text}" for datum, name, sight in cells]
    known = [rate for rate in rates if rate.rewards > _NOTHING]
    most = max(rates, key=lambda rate: rate.rewards)
    if known:
        ucb = [rate for rate in rates if rate.algorithm == most.algorithm]
        at = ", ".join(f"{100 * rate.rewards:.2f}% at K = {rate.arms}" for rate in ucb)
        parts.append(
            f"but Comp, which the paper says learns nothing, works out {_REWARD} before {at} of "
            f"{most.algorithm}'s comparisons (Theorem 3 overlooks that ratios of scores are in "
            "clear)"
        )
    else:
        parts.append(f"Comp works out {_REWARD} before {100 * most.rewards:.2f}% of comparisons")
    return Verdict(not cells and not known, "; ".join(parts) + ".")


def _draw(seen: Seen, rates: Sequence[_Rate]) -> Plot:
    plot, axes = panels(1, 3, width=6.0, height=3.6)
    printed = {datum: {name: _printed(datum, name) for name in PARTICIPANTS} for datum in seen}
    _draw_table(axes[0], printed, "the paper's Figure 7")
    _draw_table(axes[1], seen, "from a run's transcript")
    _draw_rates(axes[2], rates)
    return plot


def _draw_table(axes: Axes, table: Seen, title: str) -> None:
    axes.grid(visible=False)
    for y, row in enumerate(table.values()):
        for x, sight in enumerate(row.values()):
            axes.add_patch(
                Rectangle(
                    (x - 0.5, y - 0.5), 1, 1, facecolor=_SHADES[sight], edgecolor="white",
                    linewidth=2,
                )
            )  # fmt: skip
            text = sight.text.replace(", ", ",\n")
            axes.text(x, y, text, ha="center", va="center", fontsize=7)
    titles = [name.replace("external ", "external\n") for name in PARTICIPANTS.values()]
    axes.set_xticks(range(len(titles)), titles, fontsize=7)
    data = [datum.replace(" and pulls", "\nand pulls") for datum in table]
    axes.set_yticks(range(len(data)), data, fontsize=7)
    axes.set(xlim=(-0.5, len(titles) - 0.5), ylim=(len(data) - 0.5, -0.5), title=title)
    axes.tick_params(length=0)


def _draw_rates(axes: Axes, rates: Sequence[_Rate]) -> None:
    algorithms = list(dict.fromkeys(rate.algorithm for rate in rates))
    sizes = list(dict.fromkeys(rate.arms for rate in rates))
    width = 0.8 / len(algorithms)
    for index, algorithm in enumerate(algorithms):
        mine = [rate for rate in rates if rate.algorithm == algorithm]
        x = [place + width * (index - (len(algorithms) - 1) / 2) for place in range(len(sizes))]
        colour = line_style(index)["color"]
        bars = axes.bar(x, [100 * r.rewards for r in mine], width, color=colour, label=algorithm)
        axes.bar_label(bars, fmt="%.1f", fontsize=7)
    axes.axhline(0.0, color="black", linestyle="--", label="the paper: nothing")
    axes.set_xticks(range(len(sizes)), [f"K = {arms}" for arms in sizes])
    axes.set(ylabel="comparisons (%)", title="Comp knows the cumulative reward before")
    axes.set_ylim(-3, 112)
    legend_beside(axes)
