"""Sections of a report that say whether it pays, and from where on."""

from __future__ import annotations

from fedbandits.experiments.answers.advice import Advice, Tried
from fedbandits.experiments.answers.answer import Answer
from fedbandits.experiments.answers.sentences import Comparison
from fedbandits.experiments.html import as_figure, as_table, as_text
from fedbandits.experiments.intervals import with_error

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
    from fedbandits.experiments.plots.swept import draw_advice

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
