"""Tables of reports: their titles, and the cells of each row as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import xarray as xr

from fedbandits._html import text
from fedbandits.experiments.audits.verdict import Audit, Verdict
from fedbandits.experiments.intervals import FEWEST, spelled, spelled_epsilon
from fedbandits.experiments.labels import Labels
from fedbandits.experiments.log_values import (
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
from fedbandits.privacy.error_rates import Guess
from fedbandits.settings.experiment import Experiment
from fedbandits.systems.theory import Bound, Quantity


class Table(NamedTuple):
    """A table of a report."""

    titles: Sequence[str]
    rows: Sequence[Iterable[str]]
    kind: str = ""  # class of its style
    caption: str = ""


class Figure(NamedTuple):
    """An image of a report, with its caption and a description in words."""

    caption: str
    image: bytes
    seen: str = ""


def as_number(value: float) -> str:
    """Write a number with the digits that a reader needs."""
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


_LOG_CAPTION = (
    "Reward is estimated from the log (doubly robust). ± is half of its 95% interval, for the "
    "chance of the log. More estimates stand below."
)


def summary_table(labels: Labels, rows: list[dict[str, Any]]) -> Table:
    """Make the table of a run's summary: a row for each system."""
    lost, acting = any(math.isfinite(row["regret_mean"]) for row in rows), labels.acting
    decisions = labels.decisions.total
    titles = [
        "system", "replicates", *([labels.loss] if lost else []),
        f"reward{labels.per_party}" if lost else labels.gain, "syncs", "messages", "bytes",
        "ε claimed", "ε accounted", "δ",
    ]  # fmt: skip

    def cells(row: dict[str, Any]) -> Iterator[str]:
        yield row["system"]
        yield str(row["replicates"])
        if lost:
            yield spelled(row["regret_mean"] / acting, row["regret_ci95"] / acting)
        yield spelled(*of_decision(row, acting if lost else decisions))
        for name in ("syncs", "messages", "bytes"):
            yield as_number(row[name])
        yield spelled_epsilon(row["epsilon_claimed"])
        yield spelled_epsilon(row["epsilon_accounted"])
        yield as_number(row["delta"])

    if is_of_log(rows):
        caption = _LOG_CAPTION
    elif any(math.isfinite(row["reward_ci95"]) for row in rows):
        caption = "± is half of the 95% interval of the mean, by Student's t over replicates."
    else:
        caption = f"No ±: there are fewer than {FEWEST} replicates."
    return Table(titles, list(map(cells, rows)), caption=caption)


def own_metrics_table(result: xr.Dataset, rows: list[dict[str, Any]]) -> Table | None:
    """Make a table of the metrics of some systems; None without such metrics."""
    names = own_metrics(result)
    if not names:
        return None
    cells = [
        [name.replace("_", " "), *(_mean_and_most(row, name) for row in rows)] for name in names
    ]
    caption = (
        "What systems report of themselves: mean over parties and replicates at the end, and the "
        "largest of any party in any replicate."
    )
    return Table(["", *(row["system"] for row in rows)], cells, caption=caption)


def _mean_and_most(row: dict[str, Any], name: str) -> str:
    mean, most = as_number(row[name]), as_number(row[f"{name}_max"])
    return mean if math.isnan(row[name]) else f"{mean} (at most {most})"


def scaled_exploration(experiment: Experiment) -> list[str]:
    """List systems that scale the radius of a theorem, each with the scale."""
    return [
        f"{entry.label} ({entry.config.exploration_scale:g})"
        for entry in experiment.systems
        if getattr(entry.config, "confidence", "") in ("adaptive", "published")
        and entry.config.exploration_scale != 1.0
    ]


def result_figures(
    labels: Labels, rows: list[dict[str, Any]], plots: Mapping[str, Picture]
) -> list[Figure]:
    """Return the plots of a run with captions, and descriptions for readers who cannot see them."""
    how = ", estimated from the log (doubly robust)" if is_of_log(rows) else ""
    captions = {
        "regret": f"{capitalised(labels.loss)}, added up over rounds: means over replicates. Less "
        "is better.",
        "reward": f"{capitalised(labels.gain)}: mean of all decisions so far{how}. More is better.",
        "epsilon": f"ε accounted so far for everything that leaves one {labels.words.party}, at "
        "the system's δ. The hatched strip on top is infinity: no finite ε holds there.",
        "syncs": "How often parties have exchanged what they learned.",
    }
    ends = {
        "regret": lambda row: spelled(row["regret_mean"] / labels.acting),
        "reward": lambda row: spelled(of_decision(row, labels.decisions.total)[0]),
        "epsilon": lambda row: spelled_epsilon(row["epsilon_accounted"]),
        "syncs": lambda row: f"{row['syncs']:,.0f}",
    }

    def seen(name: str) -> str:
        at_end = ", ".join(f"{row['system']}: {ends[name](row)}" for row in rows)
        return f"A line for each system over rounds. At the end, {at_end}."

    return [
        Figure(caption, plots[name].svg, seen(name))
        for name, caption in captions.items()
        if name in plots
    ]


def capitalised(text: str) -> str:
    """Write the first letter as a capital."""
    return f"{text[0].upper()}{text[1:]}"


def estimates_on_log(result: xr.Dataset) -> tuple[Table | None, list[str]]:
    """Make the table of each system's value by each method, and warnings; none without a log."""
    rows = estimates_of(result)
    if not rows:
        return None, []
    titles = (
        "system", "estimate", "value", "95% interval", "events that match", "effective events",
    )  # fmt: skip
    warnings = [said for said in (doubts_said(doubts(result)), few_said(rows)) if said]
    return Table(titles, [_estimate_row(row) for row in rows]), warnings


def _estimate_row(row: Row) -> tuple[str, ...]:
    return (
        row.system, row.name, as_number(row.value),
        f"{as_number(row.low)} to {as_number(row.high)}",
        f"{row.matched:,.0f} of {row.events:,.0f}", f"{row.effective:,.0f}",
    )  # fmt: skip


class _Exceeded(str):
    """The text after the warning *exceeded*, which pages show in a colour."""

    __slots__ = ()

    def __html__(self) -> str:
        return f"<span class=warning>exceeded</span>{text(self)}"


_SEEN: dict[BoundVerdict, str] = {
    "holds": "holds",
    "vacuous": "vacuous: nothing that can be played exceeds it",
    "unknown": "unknown: replicates are missing",
}


def theory_table(checks: Sequence[BoundCheck]) -> Table:
    """Make the table of theorems beside measurements."""
    titles = (
        "system", "proved in", "of", "measured", "which is", "bound", "measured ÷ bound", "verdict",
    )  # fmt: skip
    return Table(titles, [_bound_row(check) for check in checks], "overview")


def _bound_row(check: BoundCheck) -> tuple[str, ...]:
    not_met = " (a condition is not met: see below)" if check.bound.departs else ""
    return (
        check.label, check.bound.theorem, check.bound.quantity, as_number(check.measured),
        _measured(check.bound), as_number(check.limit), as_number(check.measured / check.limit),
        _Exceeded(not_met) if check.verdict == "exceeded" else _SEEN[check.verdict] + not_met,
    )  # fmt: skip


def _measured(bound: Bound) -> str:
    return "mean of the replicates" if bound.in_mean else "largest replicate"


def formulas(checks: Sequence[BoundCheck]) -> dict[tuple[str, str], str]:
    """List each theorem with its formula, and the labels of its systems."""
    labels: dict[tuple[str, str], str] = {}
    for check in checks:
        formula = check.bound.theorem, check.bound.statement
        labels[formula] = f"{labels[formula]}, {check.label}" if formula in labels else check.label
    return labels


def theory_figures(checks: Sequence[BoundCheck], plots: Mapping[str, Picture]) -> list[Figure]:
    """Return the plots of theorems, with captions that explain the lines."""
    return [
        Figure(
            _caption(quantity, [c.bound for c in checks if c.bound.quantity == quantity]),
            plots[f"theory-{quantity}"].svg,
        )
        for quantity in get_args(Quantity)
        if f"theory-{quantity}" in plots
    ]


def _caption(quantity: Quantity, bounds: Sequence[Bound]) -> str:
    measured = sorted({_measured(bound) for bound in bounds})
    about = " or ".join(measured)
    if len(measured) > 1:
        about += ", as the theorem is about the one or the other"
    dotted = any(math.isfinite(bound.largest) for bound in bounds)
    return (
        f"{quantity.capitalize()} of all parties: measured, solid ({about}); "
        f"what theorems promise, dashed{'; the most that can be, dotted' if dotted else ''}."
    )


def verdict_table(audit: Audit) -> Table:
    """Make the table of an audit's verdicts."""
    titles = (
        "system", "verdict", "claimed", "ε at least", "tightness", "noise × needed", "measured",
    )  # fmt: skip
    return Table(titles, [_verdict_row(verdict) for verdict in audit.verdicts], "overview")


def _verdict_row(verdict: Verdict) -> tuple[str, ...]:
    head = verdict.system, verdict.outcome
    if verdict.examined is not None:
        return (*head, "no ε: encrypted", "–", "–", "–", "–")
    if not verdict.tested:
        return (*head, "–", "–", "–", "–", "–")
    measured = (
        verdict.epsilon_low, verdict.tightness, verdict.noise_factor, verdict.noise_measured,
    )  # fmt: skip
    claimed = f"ε = {_short(verdict.epsilon)}, δ = {verdict.delta:g}, {verdict.claimed_by}"
    return (*head, claimed, *map(_short, measured))


def findings_table(audit: Audit) -> Table:
    """Make the table of attacks, with the lower bound on ε of each."""
    titles = ("system", "what attackers saw", "neighbours", "ε at least", "best attack", "runs")
    rows = [
        (v.system, f.looks_at, f.neighbours, _short(f.epsilon_low), f.attack, f"{f.runs:,}")
        for v in audit.verdicts
        for f in v.findings
    ]
    return Table(titles, rows, "overview")


def noise_table(audit: Audit) -> Table:
    """Make the table of checks of noise."""
    titles = ("system", "numbers that leave", "checked", "of", "runs", "draws", "planned noise")
    rows = [
        (
            v.system, f.looks_at, f"{f.numbers:,}", f"{f.planned:,}", f"{f.runs:,}",
            f"{f.draws:,}", "; ".join(f.named) or "in every one",
        )
        for v in audit.verdicts
        for f in v.noise
    ]  # fmt: skip
    return Table(titles, rows, "overview")


def sensitivity_table(audit: Audit) -> Table:
    """Make the table of the farthest moves of releases by a record."""
    titles = (
        "system", "what was played", "neighbours", "farthest move costs ε", "charged ε", "pairs",
    )  # fmt: skip
    rows = [
        (v.system, f.looks_at, f.neighbours, _short(f.epsilon), _short(f.charged), f"{f.runs:,}")
        for v in audit.verdicts
        for f in v.moved
    ]
    return Table(titles, rows, "overview")


def protocol_table(audit: Audit) -> Table:
    """Make the table of checks of further conditions of claims."""
    rows = [
        (v.system, f.looks_at, "; ".join(f.wrong) or f.found)
        for v in audit.verdicts
        for f in v.protocol
    ]
    return Table(("system", "what was held against what", "what came out"), rows, "overview")


def guesses_table(guesses: Iterable[Guess]) -> Table:
    """Make the table of participants' guesses."""
    rows = [
        (g.who, g.what, g.share, f"{g.chance:.1%}", "yes" if g.stated else "no") for g in guesses
    ]
    return Table(("who", "guesses", "right", "by chance", "the claim says so"), rows, "overview")


def _short(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.3g}"
