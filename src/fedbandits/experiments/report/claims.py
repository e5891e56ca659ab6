"""The claims of a report, in full, and what their terms mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fedbandits._html import table
from fedbandits.experiments.claims_page import OVERVIEW, OVERVIEW_NOTE, overview
from fedbandits.experiments.html import as_table, as_text
from fedbandits.experiments.report.officer import kind_of
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.settings.reference.glossary import TERMS

#: Terms of every report, in the order in which they are met.
_MET = (
    "regret", "alone", "pooled in clear", "replicate", "95% interval", "sync", "unit", "person",
    "from whom", "ε", "δ", "μ", "false alarm", "power", "ε claimed", "ε accounted",
    "contents alone", "message times", "in clear", "neighbouring data sets", "interactive",
    "fixed log", "secure noise", "simulated noise",
)  # fmt: skip
_MET_IN_AUDITS = ("audit", "holds", "broken", "ε_low", "tightness", "noise × needed")


def claims_section(claims: Mapping[str, PrivacyClaim]) -> str:
    """All claims beside one another, then each in full."""
    beside = as_table(OVERVIEW, overview(claims), _unbroken, "overview")
    each = "".join(_claim(label, claim) for label, claim in claims.items())
    return (
        "<section><h2>What each system claims about privacy</h2>"
        f"{beside}<p class=note>{as_text(OVERVIEW_NOTE)}</p>"
        f'<div class="pairs">{each}</div></section>'
    )


def glossary_section(audited: bool) -> str:
    """What the terms of the report mean."""
    terms: Iterable[str] = (*_MET, *(_MET_IN_AUDITS if audited else ()))
    listed = "".join(f"<dt>{as_text(t)}</dt><dd>{as_text(TERMS[t])}</dd>" for t in terms)
    return f"<section><h2>Glossary</h2><dl>{listed}</dl></section>"


def _unbroken(cell: str) -> str:
    return as_text(cell).replace(" = ", "&nbsp;=&nbsp;")


def _claim(label: str, claim: PrivacyClaim) -> str:
    body = table((title, "\n".join(lines)) for title, lines in claim.rows())
    heading = f"<h3>{as_text(label)}</h3><p>{as_text(claim.headline)}</p>"
    return f'<article class="claim{kind_of(claim)}">{heading}{body}</article>'
