"""Sections of a report with numbers: tables, figures, estimates from a log, theorems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import xarray as xr

from fedbandits.experiments.html import as_figure, as_number, as_table, as_text
from fedbandits.experiments.intervals import FEWEST, spelled, spelled_epsilon
from fedbandits.experiments.labels import Labels, labels_of
from fedbandits.experiments.log_values import (
    BAND_NOTE,
    INTERVAL_NOTE,
    NO_REGRET,
    Row,
    doubts,
    doubts_said,
    estimates_of,
    few_said,
    is_of_log,
    of_decision,
)
from fedbandits.experiments.plots import Picture
from fedbandits.experiments.plots.bounds import BoundCheck, BoundVerdict
from fedbandits.experiments.result import own_metrics
from fedbandits.privacy.statements import MESSAGE_TIMES
from fedbandits.settings.experiment import Experiment
from fedbandits.systems.theory import Bound, Quantity

_EPSILON_NOTE = (
    "ε claimed: what the paper states for a published variant, and for others what accounting "
    "supports. ε accounted: what accounting supports for everything that leaves an agent, "
    f"{MESSAGE_TIMES}. Encrypted: there is no ε."
)
_LOG_CAPTION = (
    "Reward is estimated from the log (doubly robust). ± is half of its 95% interval, for the "
    "chance of the log. More estimates stand below."
)


def results_section(
    experiment: Experiment,
    result: xr.Dataset,
    rows: list[dict[str, Any]],
    plots: Mapping[str, Picture],
) -> str:
    """Write the summary's tables, then figures side by side, ε beside regret."""
    labels = labels_of(result)
    figures = "".join(
        as_figure(caption, plots[name].svg, _seen(name, labels, rows))
        for name, caption in _captions(labels, is_of_log(rows)).items()
        if name in plots
    )
    return (
        f"<section><h2>Results</h2>{_table(labels, rows)}{_own_metrics(result, rows)}"
        f'{_exploration_note(experiment)}<div class="pairs">{figures}</div></section>'
    )


def _captions(labels: Labels, of_log: bool) -> dict[str, str]:
    how = ", estimated from the log (doubly robust)" if of_log else ""
    return {
        "regret": f"{_capital(labels.loss)}, added up over rounds: means over replicates. Less is "
        "better.",
        "reward": f"{_capital(labels.gain)}: mean of all decisions so far{how}. More is better.",
        "epsilon": f"ε accounted so far for everything that leaves one {labels.words.party}, at "
        "the system's δ. The hatched strip on top is infinity: no finite ε holds there.",
        "syncs": "How often parties have exchanged what they learned.",
    }


def _seen(name: str, labels: Labels, rows: list[dict[str, Any]]) -> str:
    """Describe a plot in words, for whoever cannot see it."""
    ends = {
        "regret": lambda row: spelled(row["regret_mean"] / labels.acting),
        "reward": lambda row: spelled(of_decision(row, labels.decisions.total)[0]),
        "epsilon": lambda row: spelled_epsilon(row["epsilon_accounted"]),
        "syncs": lambda row: f"{row['syncs']:,.0f}",
    }
    told = ", ".join(f"{row['system']}: {ends[name](row)}" for row in rows)
    return f"A line for each system over rounds. At the end, {told}."


def _table(labels: Labels, rows: list[dict[str, Any]]) -> str:
    lost, acting = any(math.isfinite(row["regret_mean"]) for row in rows), labels.acting
    decisions = labels.decisions.total
    titles = [
        "system", "replicates", *([labels.loss] if lost else []),
        f"reward{labels.per_party}" if lost else labels.gain, "syncs", "messages", "bytes",
        "ε claimed", "ε accounted", "δ",
    ]  # fmt: skip

    def cells(row: dict[str, Any]) -> Iterator[str]:
        yield as_text(row["system"])
        yield str(row["replicates"])
        if lost:
            yield spelled(row["regret_mean"] / acting, row["regret_ci95"] / acting)
        yield spelled(*of_decision(row, acting if lost else decisions))
        for name in ("syncs", "messages", "bytes"):
            yield as_number(row[name])
        yield spelled_epsilon(row["epsilon_claimed"])
        yield spelled_epsilon(row["epsilon_accounted"])
        yield as_number(row["delta"])

    has_band = any(math.isfinite(row["reward_ci95"]) for row in rows)
    caption = (
        BAND_NOTE
        if is_of_log(rows)
        else "± is half of the 95% interval of the mean, by Student's t over replicates."
        if has_band
        else f"No ±: there are fewer than {FEWEST} replicates."
    )
    caption = _LOG_CAPTION if is_of_log(rows) else caption
    table = as_table(titles, map(cells, rows), str, caption=caption)
    return f"{table}<p class=note>{as_text(_EPSILON_NOTE)}</p>"


def _own_metrics(result: xr.Dataset, rows: list[dict[str, Any]]) -> str:
    """Write a table of what only some systems report."""
    names = own_metrics(result)
    if not names:
        return ""
    titles = ["", *(row["system"] for row in rows)]
    cells = (
        [as_text(name.replace("_", " ")), *(_mean_and_most(row, name) for row in rows)]
        for name in names
    )
    caption = (
        "What systems report of themselves: mean over parties and replicates at the end, and the "
        "largest of any party in any replicate."
    )
    return as_table(titles, cells, str, caption=caption)


def _mean_and_most(row: dict[str, Any], name: str) -> str:
    mean, most = as_number(row[name]), as_number(row[f"{name}_max"])
    return mean if math.isnan(row[name]) else f"{mean} (at most {most})"


def _exploration_note(experiment: Experiment) -> str:
    scaled = [
        f"{entry.label} ({entry.config.exploration_scale:g})"
        for entry in experiment.systems
        if getattr(entry.config, "confidence", "") in ("adaptive", "published")
        and entry.config.exploration_scale != 1.0
    ]
    if not scaled:
        return ""
    return (
        "<p class=note>Exploration scaled below or above the theorem's radius (1): "
        f"{as_text(', '.join(scaled))}. The confidence guarantee then no longer holds.</p>"
    )


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


_TITLES = ("system", "estimate", "value", "95% interval", "events that match", "effective events")


def offline_section(result: xr.Dataset) -> list[str]:
    """Write each system's value by each method, as parts of a page; none if no log was played."""
    rows = estimates_of(result)
    if not rows:
        return []
    warned = [said for said in (doubts_said(doubts(result)), few_said(rows)) if said]
    return [
        "<h2>Value on the log</h2>",
        f"<p>{as_text(NO_REGRET)}</p>",
        as_table(_TITLES, (_cells(row) for row in rows), str),
        *(f"<p class=warning>{as_text(said)}</p>" for said in warned),
        f"<p class=note>{as_text(INTERVAL_NOTE)} IPS, self-normalised IPS and doubly robust use "
        "every event in which the system chose the logged action. Replay uses those of them that "
        "rejection sampling accepted, from which the system has learned. All rest on the "
        "propensities that were stated.</p>",
    ]


def _cells(row: Row) -> list[str]:
    return [
        as_text(row.system), as_text(row.name), as_number(row.value),
        f"{as_number(row.low)} to {as_number(row.high)}",
        f"{row.matched:,.0f} of {row.events:,.0f}", f"{row.effective:,.0f}",
    ]  # fmt: skip


_VERDICTS: dict[BoundVerdict, str] = {
    "holds": "holds",
    "vacuous": "vacuous: nothing that can be played exceeds it",
    "exceeded": "<span class=warning>exceeded</span>",
    "unknown": "unknown: replicates are missing",
}


def theory_section(comparisons: Sequence[BoundCheck], plots: Mapping[str, Picture]) -> list[str]:
    """Write a table, formulas and plots, as parts of a page; nothing where nothing is proved."""
    if not comparisons:
        return []
    drawn = [
        as_figure(
            _caption(quantity, [c.bound for c in comparisons if c.bound.quantity == quantity]),
            plots[f"theory-{quantity}"].svg,
        )
        for quantity in get_args(Quantity)
        if f"theory-{quantity}" in plots
    ]
    return [
        "<h2>Beside what is proved</h2>",
        _compared(comparisons),
        *_formulas(comparisons),
        *drawn,
    ]


def _caption(quantity: Quantity, bounds: Sequence[Bound]) -> str:
    """Say what the lines of a plot are."""
    measured = sorted({_measured(bound) for bound in bounds})
    text = (
        f"{quantity.capitalize()} of all parties: measured, solid ({' or '.join(measured)}, as the "
        "theorem is about the one or the other); what theorems promise, dashed"
        if len(measured) > 1
        else f"{quantity.capitalize()} of all parties: measured, solid ({measured[0]}); what "
        "theorems promise, dashed"
    )
    known = any(math.isfinite(bound.largest) for bound in bounds)
    return f"{text}; the most that can be, dotted." if known else f"{text}."


def _measured(bound: Bound) -> str:
    return "mean of the replicates" if bound.in_mean else "largest replicate"


def _compared(comparisons: Sequence[BoundCheck]) -> str:
    titles = (
        "system", "proved in", "of", "measured", "which is", "bound", "measured ÷ bound", "verdict",
    )  # fmt: skip
    cells = (
        (
            as_text(each.label), as_text(each.bound.theorem), each.bound.quantity,
            as_number(each.measured), _measured(each.bound), as_number(each.limit),
            as_number(each.measured / each.limit), _verdict(each),
        )
        for each in comparisons
    )  # fmt: skip
    return as_table(titles, cells, str, "overview")


def _verdict(comparison: BoundCheck) -> str:
    """Write what was seen, and whether it was promised at all."""
    seen = _VERDICTS[comparison.verdict]
    return f"{seen} (a condition is not met: see below)" if comparison.bound.departs else seen


def _formulas(comparisons: Sequence[BoundCheck]) -> list[str]:
    """Write each formula once, with its systems, and the conditions that they do not meet."""
    labels: dict[tuple[str, str], list[str]] = {}
    for each in comparisons:
        labels.setdefault((each.bound.theorem, each.bound.statement), []).append(each.label)
    parts = [
        f"<b>{as_text(name)}</b> ({as_text(', '.join(of))}): {as_text(text)}"
        for (name, text), of in labels.items()
    ]
    parts += [
        f"{as_text(each.label)}, {as_text(each.bound.theorem)}: {as_text(sentence)}"
        for each in comparisons
        for sentence in each.bound.departs
    ]
    return [f"<p class=note>{part}</p>" for part in parts]
