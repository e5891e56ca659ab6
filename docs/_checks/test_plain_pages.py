"""Pages are in plain words: short sentences, and a first paragraph that says what the page says."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

from test_plain_words import MOST_WORDS, plain

ROOT = pathlib.Path(__file__).parents[2]
#: A page of the site that is a copy of another file, such as the changes, has no text of its own.
COPY = "<!-- made: file"
PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/*.md")))
    if not page.read_text(encoding="utf-8").startswith(COPY)
]
LONGEST_START = 90

_FENCE = re.compile(r"^\s*(```|:::|~~~)")
_NEW = re.compile(r"^\s*(?:[*+-]|\d+\.|:)\s+")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)")
_WORD = re.compile(r"[A-Za-zÄÖÜäöüß]{2,}(?:['’-]\w+)*|[aI]\b")
_FORMULA = re.compile(r"[\[(][^\])]*[\])]|\$[^$]*\$")


def blocks(text: str) -> Iterator[str]:
    """The paragraphs and list entries of a page, without code, tables, headings and comments."""
    held: list[str] = []
    fence = None
    for line in [*re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).splitlines(), ""]:
        marker = _FENCE.match(line)
        if fence is not None or marker:
            if fence is None and marker:
                fence = marker.group(1)
            elif marker and marker.group(1) == fence:
                fence = None
            line = ""
        apart = not line.strip() or line.lstrip().startswith(("|", "#", "<")) or _target(line)
        if (apart or _NEW.match(line)) and held:
            yield " ".join(held)
            held = []
        if not apart:
            held.append(_NEW.sub("", line).strip())


def _target(line: str) -> bool:
    """Whether a line is the name of a place, as in ``(name)=``."""
    return bool(re.fullmatch(r"\([\w-]+\)=", line.strip()))


def sentences(block: str) -> list[str]:
    """What a block says, split where a sentence ends, and between links in a row."""
    text = plain(_LINK.sub(r"\1", block)).replace("**", "").replace("\\*", "")
    text = re.sub(r"(?<!\w)\*([^*]+)\*(?!\w)", r"\1", text)
    return [
        each for each in re.split(r"(?:(?<=[.!?])[)\"'”*]*\s+)|(?:\s·\s)", text.strip()) if each
    ]


def unplain(text: str) -> Iterator[str]:
    """What is wrong with a page's sentences."""
    for block in blocks(text):
        for each in sentences(block):
            count = len(_WORD.findall(each))
            if count > MOST_WORDS:
                yield f"{count} words: {each}"
            if _FORMULA.sub("", each).count(";") > 1:
                yield f"more than two clauses: {each}"


def start(text: str) -> str:
    """What stands first after a page's title, if it is a paragraph."""
    lines = [line for line in text.splitlines() if line.strip() and not _target(line)]
    if not lines or not lines[0].startswith("# ") or len(lines) < 2:
        return ""
    body = text.split(lines[0], 1)[1].strip()
    first = re.split(r"\n\s*\n", body)[0]
    return "" if first.lstrip().startswith(("|", "#", "```", ":::", "* ", "- ", "<")) else first


def test_pages_are_in_plain_words():
    wrong = {page.name: [*unplain(page.read_text(encoding="utf-8"))] for page in PAGES}
    assert {name: sentences for name, sentences in wrong.items() if sentences} == {}


def test_pages_begin_with_a_short_paragraph():
    counts = {
        page.name: len(_WORD.findall(start(page.read_text(encoding="utf-8")))) for page in PAGES
    }
    assert {name: count for name, count in counts.items() if not 0 < count <= LONGEST_START} == {}


def test_the_rules_find_what_is_not_plain():
    long = "word " * (MOST_WORDS + 1)
    assert [*unplain(f"# Title\n\n{long}.")]
    assert [*unplain(f"Fine.\n\n* {long}\n  and more.")]
    assert [*unplain("One; two; three.")]
    assert start("# Title\n\n| a | table |") == start("# Title") == start("Text.") == ""
    assert start("# Title\n\n## Section\n\nText.") == ""


def test_the_rules_leave_alone_what_is_plain():
    long = "word " * MOST_WORDS
    assert [*unplain(f"{long}.\n\n* {long}.\n* {long}.")] == []
    assert [
        *unplain(f"```python\n{long}{long}; ; ;\n```\n\n| {long}{long} |\n\n## {long}{long}")
    ] == []
    assert [*unplain(f"[{long}](page.md) · [{long}](page.md#place) · `{long}{long}`")] == []
    assert start("# Title\n\nFirst.\nStill first.\n\nSecond.") == "First.\nStill first."
