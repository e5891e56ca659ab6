"""The first section of a report, which says whether it pays."""

from __future__ import annotations

from fedbandits.experiments.answer import Answer
from fedbandits.experiments.answer_words import with_error
from fedbandits.experiments.comparison import Comparison
from fedbandits.experiments.html import as_table, as_text

_STYLE = """
.answer .headline { font-size: 1.45rem; line-height: 1.35; font-weight: 600; margin: .8rem 0; }
.answer p { margin: .4rem 0; } .answer td { white-space: normal; }
.answer td:nth-child(2), .answer th:nth-child(2) { text-align: left; }
"""
_AGAINST = {"alone": "learning alone", "pooled": "everything pooled in clear"}


def answer_section(answer: Answer) -> str:
    """The answer as HTML: its first line large, then all comparisons in a table.

    Parameters
    ----------
    answer
        The answer to show.
    """
    lines = "".join(f"<p>{as_text(line)}</p>" for line in answer.lines[1:])
    parts = [
        f"<style>{_STYLE}</style><h2>Does it pay?</h2>",
        f"<p class=headline>{as_text(answer.headline)}</p>{lines}",
        _table(answer),
        f"<p class=note>{as_text(answer.how)}</p>" if answer.how else "",
    ]
    return f"<section class=answer>{''.join(parts)}</section>"


def _table(answer: Answer) -> str:
    if not answer.comparisons:
        return ""
    titles = ("system", "compared with", f"saves: {answer.unit}", "share", "ε", "replicates")
    table = as_table(titles, map(_row, answer.comparisons), as_text)
    return f"{table}<p class=note>A number below 0: the system is worse.</p>"


def _row(one: Comparison) -> list[str]:
    saves = "–" if one.saves is None else with_error(one.saves, one.half_width)
    sign = "\N{MINUS SIGN}" if one.share is not None and one.share < 0.0 else ""
    return [
        one.system,
        f"{_AGAINST[one.kind]} ({one.baseline})",
        saves,
        "–" if one.share is None else f"{sign}{abs(one.share):.1%}",
        "encrypted" if one.epsilon is None else f"{one.epsilon:.4g}",
        str(one.replicates),
    ]
