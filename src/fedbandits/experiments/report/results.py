"""Tables and figures of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import xarray as xr

from fedbandits.experiments.html import as_figure, as_number, as_table, as_text
from fedbandits.experiments.intervals import FEWEST
from fedbandits.experiments.labels import Labels, labels_of
from fedbandits.experiments.numbers import spelled, spelled_epsilon
from fedbandits.experiments.offline import BAND_NOTE, is_of_log, of_decision
from fedbandits.experiments.plots import Picture
from fedbandits.experiments.result import own_metrics
from fedbandits.privacy.statements import MESSAGE_TIMES
from fedbandits.settings.experiment import Experiment

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
    """Tables, then figures side by side, ε beside regret.

    Parameters
    ----------
    experiment, result
        What was run, and what came of it.
    rows
        The summary.
    plots
        The plots by name.
    """
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
    """A plot in words, for whoever cannot see it."""
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
    """What some systems report beside what all do."""
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
        if getattr(entry.config, "exploration_scale", 1.0) != 1.0
    ]
    if not scaled:
        return ""
    return (
        "<p class=note>Exploration scaled below or above the theorem's radius (1): "
        f"{as_text(', '.join(scaled))}. The confidence guarantee then no longer holds.</p>"
    )


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
