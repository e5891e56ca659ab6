"""The page of the papers' sentences: its counts, and the figures that it names."""

from __future__ import annotations

import pathlib
import re
from collections import Counter

from fedbandits.reproduce import FIGURES

ROOT = pathlib.Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "statements.md").read_text(encoding="utf-8")
#: Figures of ours, or of what is not in the papers' text.
OURS = {"fclub-parameters", "fclub-pays", "fclub-sweeps", "fclub-time"}
STATUS = re.compile(r"^\**(agrees|differs|not comparable|not played)\b")


def statuses():
    """What the last cell of every row says first."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    cells = [row.strip("| ").split(" | ")[-1] for row in rows]
    return [cell for cell in cells if STATUS.match(cell)], cells


def test_every_sentence_has_a_status():
    with_status, cells = statuses()
    papers = len(re.findall(r"^## ", PAGE, re.MULTILINE))
    assert papers == 4
    assert len(cells) - len(with_status) == 2 * papers  # heads and rules of tables


def test_the_headline_counts_the_rows():
    with_status, _ = statuses()
    found = Counter(STATUS.match(cell)[1] for cell in with_status)
    told = re.findall(
        r"Of (\d+) sentences .* (\d+) agree .* (\d+) differ, and (\d+) were not played", PAGE
    )
    assert [int(number) for number in told[0]] == [
        len(with_status), found["agrees"], found["differs"], found["not played"],
    ]  # fmt: skip


def test_every_figure_of_the_papers_is_named_and_there():
    named = set(re.findall(r"`((?:feducb|fclub|pfcb|samba)-\w+)`", PAGE)) - {"feducb-published"}
    assert named <= set(FIGURES)
    assert set(FIGURES) - named <= OURS
