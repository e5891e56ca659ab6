"""What a report on real data says first: it is itself not private, and what may be passed on."""

from __future__ import annotations

from fedbandits.experiments.html import as_table, as_text

#: At the head of every printed page.
MARK = "made from real data: not private"
_WHY = (
    "This report is itself not private. Its figures and plots are computed from raw data, exactly "
    "and without noise. No ε covers them. Where sites or visits are few, they can tell something "
    "about a single person."
)
_WHO = (
    "Show it only to people who may see the raw data. If these data are public already, nothing of "
    "this applies."
)
_MAY = (
    (
        "what systems claim, what attacks found, and the configuration",
        "Yes, after a look. They follow from settings and public facts. But paths, names of sites "
        "and of columns, and how often people come may stand in them. Take out the digest: who "
        "knows all records but one finds the last one by it.",
    ),
    (
        "this report as a whole; answer.json, summary.csv, results.nc and the plots",
        "No. They are exact figures of raw data. One that must leave needs noise and a price of "
        "its own; nothing here adds that.",
    ),
    (
        "messages of this run, or its seed beside anything computed from it",
        "No. The noise of a simulation comes from the seed, and whoever has the seed can take it "
        "away.",
    ),
)


def real_data_box() -> str:
    """The box as HTML."""
    rows = [[as_text(cell) for cell in row] for row in _MAY]
    table = as_table(("what", "may it be passed on?"), rows, str)
    return (
        '<aside class="box real" aria-labelledby="real-data">'
        '<h2 id="real-data">This report is made from real data</h2>'
        f"<p><strong>{as_text(_WHY)}</strong></p><p>{as_text(_WHO)}</p>{table}</aside>"
    )
