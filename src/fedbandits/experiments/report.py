"""The report of a run: one HTML file that needs nothing beside itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import xarray as xr

from fedbandits._html import table
from fedbandits.experiments.answer import Answer
from fedbandits.experiments.answer_page import answer_section
from fedbandits.experiments.audit_report import audit_section
from fedbandits.experiments.claims_page import OVERVIEW, OVERVIEW_NOTE, overview
from fedbandits.experiments.html import as_figure, as_number, as_table, as_text
from fedbandits.experiments.plots import Picture
from fedbandits.experiments.result import own_metrics
from fedbandits.experiments.theory import Comparison
from fedbandits.experiments.theory_report import theory_section
from fedbandits.experiments.verdict import Audit
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import MESSAGE_TIMES
from fedbandits.settings.experiment import Experiment

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .35rem .6rem; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
td { white-space: nowrap; } .claim td { white-space: normal; }
.overview th, .overview td { text-align: left; vertical-align: top; white-space: normal; }
.overview td:first-child { white-space: nowrap; }
.claim { border-left: 4px solid #009E73; padding: .1rem 1rem; margin: 1rem 0; background: #f7f9f8; }
.claim.broken { border-color: #D55E00; background: #fdf6f2; }
.claim.clear { border-color: #888; background: #f6f6f6; }
.claim th, .claim td { text-align: left; vertical-align: top; }
.claim th { width: 11rem; font-weight: 600; }
.wide { overflow-x: auto; } img { max-width: 100%; }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto; }
.note { color: #555; } .warning { color: #a33c00; font-weight: 600; }
"""
_CAPTIONS = {
    "regret": "Cumulative regret (an agent's, where several act a round), mean over replicates "
    "with a 95% band.",
    "syncs": "Syncs so far.",
    "epsilon": "ε that the contents of one agent's messages have cost so far, at the system's δ.",
}


def render_report(
    experiment: Experiment,
    result: xr.Dataset,
    rows: list[dict[str, Any]],
    plots: dict[str, Picture],
    comparisons: Sequence[Comparison] = (),
    audit: Audit | None = None,
    answer: Answer | None = None,
) -> str:
    """The report as HTML text, images embedded; theorems in a section of their own."""
    claims = experiment.claims()
    parts = [
        f"<h1>{as_text(experiment.name)}</h1>",
        _subtitle(experiment, result),
        *([] if answer is None else [answer_section(answer)]),
        "<h2>Results</h2>",
        _results_table(rows),
        _own_metrics(result, rows),
        _exploration_note(experiment),
        *(
            as_figure(_CAPTIONS[name], image.svg)
            for name, image in plots.items()
            if name in _CAPTIONS
        ),
        *theory_section(comparisons, plots),
        "<h2>What each system claims about privacy</h2>",
        _claims_overview(claims),
        *(_claim(label, claim) for label, claim in claims.items()),
        *([] if audit is None else ["<h2>Audit</h2>", audit_section(audit)]),
        "<h2>Configuration</h2>",
        "<p class=note>Resolved; save it as a file to run this again.</p>",
        f"<pre>{as_text(experiment.to_toml())}</pre>",
        f"<p class=note>{as_text(_versions(result))}</p>",
    ]
    return _page(experiment.name, parts)


def render_audit(experiment: Experiment, audit: Audit) -> str:
    """An audit as an HTML page of its own, with the claims that were attacked."""
    claims = experiment.claims()
    parts = [
        f"<h1>Audit of {as_text(experiment.name)}</h1>",
        audit_section(audit),
        "<h2>What each system claims about privacy</h2>",
        _claims_overview(claims),
        *(_claim(label, claim) for label, claim in claims.items()),
        "<h2>Configuration</h2>",
        f"<pre>{as_text(experiment.to_toml())}</pre>",
    ]
    return _page(f"Audit of {experiment.name}", parts)


def _page(title: str, parts: list[str]) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{as_text(title)}</title><style>{_STYLE}</style>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _subtitle(experiment: Experiment, result: xr.Dataset) -> str:
    environment = experiment.environment
    line = (
        f"{environment.parties} {environment.words.parties}, {experiment.rounds:,} rounds, "
        f"replicates: {experiment.replicates}, seed {experiment.seed}. All systems meet the same "
        "contexts and reward draws. Privacy noise is simulated, drawn from the seed."
    )
    if result.attrs["interrupted"]:
        line += (
            " <span class=warning>Interrupted: only finished replicates are counted, and systems "
            "may differ in how many they finished.</span>"
        )
    return f"<p class=note>{line}</p>"


def _results_table(rows: list[dict[str, Any]]) -> str:
    columns = {
        "system": "system",
        "replicates": "replicates",
        "regret_mean": "group regret",
        "regret_sem": "± s.e.",
        "reward_mean": "group reward",
        "syncs": "syncs",
        "messages": "messages",
        "bytes": "bytes",
        "epsilon_claimed": "ε claimed",
        "epsilon_accounted": "ε accounted",
        "delta": "δ",
    }
    cells = ([as_number(row[key]) for key in columns] for row in rows)
    return (
        f"{as_table(columns.values(), cells, str)}<p class=note>"
        "ε claimed: what the paper states for a published variant, and for others what accounting "
        "supports. ε accounted: what accounting supports for everything that "
        f"leaves an agent, {MESSAGE_TIMES}.</p>"
    )


def _own_metrics(result: xr.Dataset, rows: list[dict[str, Any]]) -> str:
    """What some systems report beside what all do."""
    names = own_metrics(result)
    if not names:
        return ""
    columns = ["system", *(column for name in names for column in (name, f"{name}_max"))]
    titles = (name.replace("_", " ") for name in columns)
    cells = ([as_number(row[key]) for key in columns] for row in rows)
    return (
        f"{as_table(titles, cells, str)}"
        "<p class=note>Mean over parties and replicates, at the end; max: the largest of any party "
        "in any replicate.</p>"
    )


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


def _claims_overview(claims: dict[str, PrivacyClaim]) -> str:
    return (
        f"{as_table(OVERVIEW, overview(claims), _unbroken, 'overview')}"
        f"<p class=note>{as_text(OVERVIEW_NOTE)}</p>"
    )


def _unbroken(cell: str) -> str:
    return as_text(cell).replace(" = ", "&nbsp;=&nbsp;")


def _claim(label: str, claim: PrivacyClaim) -> str:
    kind = "" if claim.is_private else " broken" if claim.paper_claims else " clear"
    body = table((title, "\n".join(lines)) for title, lines in claim.rows())
    headline = f"<p><b>{as_text(label)}</b>: {as_text(claim.headline)}</p>"
    return f'<div class="claim{kind}">{headline}{body}</div>'


def _versions(result: xr.Dataset) -> str:
    versions = json.loads(result.attrs["versions"])
    return "Made with " + ", ".join(f"{name} {number}" for name, number in versions.items()) + "."
