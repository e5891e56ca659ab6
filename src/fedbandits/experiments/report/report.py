"""The report of a run: one HTML file that needs nothing beside itself, on screen and on paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import xarray as xr

from fedbandits._html import table
from fedbandits.experiments.answers.advice import Advice, Tried
from fedbandits.experiments.answers.answer import Answer
from fedbandits.experiments.answers.sentences import Comparison
from fedbandits.experiments.audits.report import audit_section
from fedbandits.experiments.audits.verdict import Audit
from fedbandits.experiments.claims_page import OVERVIEW, OVERVIEW_NOTE, overview
from fedbandits.experiments.html import (
    MARK,
    as_figure,
    as_table,
    as_text,
    configuration,
    page,
    real_data_box,
)
from fedbandits.experiments.intervals import with_error
from fedbandits.experiments.plots import Picture
from fedbandits.experiments.plots.bounds import BoundCheck
from fedbandits.experiments.plots.swept import draw_advice
from fedbandits.experiments.report.officer import kind_of, officer_section
from fedbandits.experiments.report.results import offline_section, results_section, theory_section
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.reference.glossary import TERMS

__all__ = ["render_audit", "render_report"]


def render_report(
    experiment: Experiment,
    result: xr.Dataset,
    rows: list[dict[str, Any]],
    plots: Mapping[str, Picture],
    comparisons: Sequence[BoundCheck] = (),
    audit: Audit | None = None,
    answer: Answer | None = None,
) -> str:
    """Write the report as HTML text: the answer first, then what a privacy officer must know.

    It is made of the summary's ``rows``, of plots by name, of theorems beside what was measured, of
    an audit and of an answer, where there are such.
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
        configuration(experiment.to_toml(), result.attrs["versions"]),
        glossary_section(audit is not None),
    ]
    return page(experiment.name, parts, MARK if is_real else "")


def render_audit(experiment: Experiment, audit: Audit) -> str:
    """Write an audit as an HTML page of its own, with the claims that were attacked."""
    claims = experiment.claims()
    parts = [
        f"<h1>Audit of {as_text(experiment.name)}</h1>",
        audit_section(audit),
        officer_section(claims, audit),
        claims_section(claims),
        configuration(experiment.to_toml()),
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


#: Terms of every report, in the order in which they are met.
_MET = (
    "regret", "alone", "pooled in clear", "replicate", "95% interval", "sync", "unit", "person",
    "from whom", "ε", "δ", "μ", "false alarm", "power", "ε claimed", "ε accounted",
    "contents alone", "message times", "in clear", "neighbouring data sets", "interactive",
    "fixed log", "secure noise", "simulated noise",
)  # fmt: skip
_MET_IN_AUDITS = ("audit", "holds", "broken", "ε_low", "tightness", "noise × needed")


def claims_section(claims: Mapping[str, PrivacyClaim]) -> str:
    """Write all claims beside one another, then each in full."""
    beside = as_table(OVERVIEW, overview(claims), _unbroken, "overview")
    each = "".join(_claim(label, claim) for label, claim in claims.items())
    return (
        "<section><h2>What each system claims about privacy</h2>"
        f"{beside}<p class=note>{as_text(OVERVIEW_NOTE)}</p>"
        f'<div class="pairs">{each}</div></section>'
    )


def glossary_section(audited: bool) -> str:
    """Explain the terms of the report."""
    terms: Iterable[str] = (*_MET, *(_MET_IN_AUDITS if audited else ()))
    listed = "".join(f"<dt>{as_text(t)}</dt><dd>{as_text(TERMS[t])}</dd>" for t in terms)
    return f"<section><h2>Glossary</h2><dl>{listed}</dl></section>"


def _unbroken(cell: str) -> str:
    return as_text(cell).replace(" = ", "&nbsp;=&nbsp;")


def _claim(label: str, claim: PrivacyClaim) -> str:
    body = table((title, "\n".join(lines)) for title, lines in claim.rows())
    heading = f"<h3>{as_text(label)}</h3><p>{as_text(claim.headline)}</p>"
    return f'<article class="claim{kind_of(claim)}">{heading}{body}</article>'


_STYLE = """
.answer .headline { font-size: 1.45rem; line-height: 1.35; font-weight: 600; margin: .8rem 0; }
.answer p { margin: .4rem 0; } .answer td { white-space: normal; }
.answer td:nth-child(2), .answer th:nth-child(2) { text-align: left; }
"""
_AGAINST = {"alone": "learning alone", "pooled": "everything pooled in clear"}


def answer_section(answer: Answer) -> str:
    """Write the answer as HTML: its first line large, then all comparisons in a table."""
    lines = "".join(f"<p>{as_text(line)}</p>" for line in answer.lines[1:])
    parts = [
        f"<style>{_STYLE}</style><h2>Does it pay?</h2>",
        f"<p class=headline>{as_text(answer.headline)}</p>{lines}",
        _table(answer),
        f"<p class=note>{as_text(answer.how)}</p>" if answer.how else "",
        "" if answer.advice is None else advice_section(answer.advice),
    ]
    return f"<section class=answer>{''.join(parts)}</section>"


def advice_section(advice: Advice) -> str:
    """Write the advice as HTML: in words, as a plot, and as a table."""
    lines = "".join(f"<p><b>{as_text(line)}</b></p>" for line in advice.lines)
    parts = ["<h3>From where on does it pay?</h3>", lines]
    if advice.curves:
        caption = "What learning together privately saves, with 95% intervals; above 0 it pays."
        titles = (advice.parties, "ε", f"saves: {advice.unit}", "share", "it pays")
        rows = [_tried_row(one) for curve in advice.curves for one in curve.tried]
        parts += [as_figure(caption, draw_advice(advice)), as_table(titles, rows, as_text)]
    return "".join((*parts, f"<p class=note>{as_text(advice.how)}</p>"))


def _tried_row(one: Tried) -> list[str]:
    return [
        f"{one.parties:,}",
        f"{one.epsilon:.4g}",
        with_error(one.saves, one.half_width),
        _percent(one.share),
        {True: "yes", False: "no", None: "not known"}[one.pays],
    ]


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    sign = "\N{MINUS SIGN}" if share < 0.0 else ""
    return f"{sign}{abs(share):.1%}"


def _table(answer: Answer) -> str:
    if not answer.comparisons:
        return ""
    titles = ("system", "compared with", f"saves: {answer.unit}", "share", "ε", "replicates")
    table = as_table(titles, map(_row, answer.comparisons), as_text)
    return f"{table}<p class=note>A number below 0: the system is worse.</p>"


def _row(one: Comparison) -> list[str]:
    saves = "–" if one.saves is None else with_error(one.saves, one.half_width)
    return [
        one.system,
        f"{_AGAINST[one.kind]} ({one.baseline})",
        saves,
        _percent(one.share),
        "encrypted" if one.epsilon is None else f"{one.epsilon:.4g}",
        str(one.replicates),
    ]
