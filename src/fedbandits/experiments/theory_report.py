"""The section of a report that compares theorems with measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import get_args

from fedbandits.experiments.html import as_figure, as_number, as_table, as_text
from fedbandits.experiments.plots import Picture
from fedbandits.experiments.theory import Comparison, Verdict
from fedbandits.systems.theory import Bound, Quantity

_VERDICTS: dict[Verdict, str] = {
    "holds": "holds",
    "vacuous": "vacuous: nothing that can be played exceeds it",
    "exceeded": "<span class=warning>exceeded</span>",
    "unknown": "unknown: replicates are missing",
}


def theory_section(comparisons: Sequence[Comparison], plots: Mapping[str, Picture]) -> list[str]:
    """Table, formulas and plots, as parts of a page; nothing where nothing is proved."""
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
    return ["<h2>Beside what is proved</h2>", _table(comparisons), *_formulas(comparisons), *drawn]


def _caption(quantity: Quantity, bounds: Sequence[Bound]) -> str:
    """What the lines of a plot are."""
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


def _table(comparisons: Sequence[Comparison]) -> str:
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


def _verdict(comparison: Comparison) -> str:
    """What was seen, and whether it was promised at all."""
    seen = _VERDICTS[comparison.verdict]
    return f"{seen} (a condition is not met: see below)" if comparison.bound.departs else seen


def _formulas(comparisons: Sequence[Comparison]) -> list[str]:
    """Each formula once, of which systems it is, and what of its conditions they do not meet."""
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
