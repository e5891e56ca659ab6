"""The report of a run: one HTML file that needs nothing beside itself, on screen and on paper."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from fedbandits.experiments.answers.answer import Answer
from fedbandits.experiments.answers.page import answer_section
from fedbandits.experiments.audits.report import audit_section
from fedbandits.experiments.audits.verdict import Audit
from fedbandits.experiments.html import as_text
from fedbandits.experiments.offline_page import offline_section
from fedbandits.experiments.plots import Picture
from fedbandits.experiments.report.claims import claims_section, glossary_section
from fedbandits.experiments.report.officer import officer_section
from fedbandits.experiments.report.page import page
from fedbandits.experiments.report.real_data import MARK, real_data_box
from fedbandits.experiments.report.results import results_section
from fedbandits.experiments.theory import Comparison
from fedbandits.experiments.theory_report import theory_section
from fedbandits.settings.experiment import Experiment

__all__ = ["render_audit", "render_report"]


def render_report(
    experiment: Experiment,
    result: xr.Dataset,
    rows: list[dict[str, Any]],
    plots: Mapping[str, Picture],
    comparisons: Sequence[Comparison] = (),
    audit: Audit | None = None,
    answer: Answer | None = None,
) -> str:
    """The report as HTML text: the answer first, then what a privacy officer must know.

    Parameters
    ----------
    experiment, result
        What was run, and what came of it.
    rows
        The summary.
    plots
        The plots by name; they become part of the text.
    comparisons
        Theorems beside what was measured.
    audit
        What attacks found, if there was an audit.
    answer
        Whether it pays.
    """
    claims, is_real = experiment.claims(), experiment.environment.REAL_DATA
    parts = [
        f"<h1>{as_text(experiment.name)}</h1>",
        _subtitle(experiment, result),
        *([real_data_box()] if is_real else []),
        *([] if answer is None else [answer_section(answer)]),
        officer_section(claims, audit),
        results_section(experiment, result, rows, plots),
        *offline_section(result),
        *theory_section(comparisons, plots),
        claims_section(claims),
        *([] if audit is None else ["<h2>Audit</h2>", audit_section(audit)]),
        _configuration(experiment),
        f"<p class=note>{as_text(_versions(result))}</p>",
        glossary_section(audit is not None),
    ]
    return page(experiment.name, parts, MARK if is_real else "")


def render_audit(experiment: Experiment, audit: Audit) -> str:
    """An audit as an HTML page of its own, with the claims that were attacked."""
    claims = experiment.claims()
    parts = [
        f"<h1>Audit of {as_text(experiment.name)}</h1>",
        audit_section(audit),
        officer_section(claims, audit),
        claims_section(claims),
        _configuration(experiment),
        glossary_section(audited=True),
    ]
    return page(f"Audit of {experiment.name}", parts)


def _subtitle(experiment: Experiment, result: xr.Dataset) -> str:
    environment = experiment.environment
    line = (
        f"{environment.parties} {environment.words.parties}, {experiment.rounds:,} rounds, "
        f"replicates: {experiment.replicates}, seed {experiment.seed}. All systems meet the same "
        "contexts and reward draws. Privacy noise is simulated, drawn from the seed."
    )
    if environment.drift is not None:
        line += " The world drifts: rewards change in the course of a run."
    if environment.delay is not None:
        line += " Rewards are observed late."
    if environment.first_rounds:
        line += f" Some {environment.words.parties} join late."
    if result.attrs["interrupted"]:
        line += (
            " <span class=warning>Interrupted: only finished replicates are counted, and systems "
            "may differ in how many they finished.</span>"
        )
    return f"<p class=note>{line}</p>"


def _configuration(experiment: Experiment) -> str:
    return (
        "<section><h2>Configuration</h2>"
        "<p class=note>Resolved; save it as a file to run this again.</p>"
        f"<pre>{as_text(experiment.to_toml())}</pre></section>"
    )


def _versions(result: xr.Dataset) -> str:
    versions = json.loads(result.attrs["versions"])
    return "Made with " + ", ".join(f"{name} {number}" for name, number in versions.items()) + "."
