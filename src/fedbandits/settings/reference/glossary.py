"""The words of ``glossary.toml``, by subject: of results, reports, audits and pages.

``python -m fedbandits.settings.reference.glossary > docs/glossary.md`` makes the page.
"""

from __future__ import annotations

import pathlib
import re
import tomllib
from collections.abc import Iterator

_HEAD = """# Glossary

Every term that a report, a page or a command uses, in one or two sentences. It is for readers of
any of them; you need not have read the others. `fedbandits explain TERM` shows the same in the
terminal.

<!-- Made by `python -m fedbandits.settings.reference.glossary > docs/glossary.md`. -->
"""
_LISTS: dict[str, dict[str, str]] = tomllib.loads(
    pathlib.Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
#: Columns of ``summary.csv``, and variables of a result (``results.nc``); their names are code.
COLUMNS, VARIABLES = _LISTS["Columns of summary.csv"], _LISTS["Variables of results.nc"]
#: Terms of all subjects.
TERMS: dict[str, str] = {
    term: meaning
    for terms in _LISTS.values()
    if terms not in (COLUMNS, VARIABLES)
    for term, meaning in terms.items()
}
#: All lists of words, by the place where readers meet the words.
WORDS: dict[str, dict[str, str]] = {
    "a column of summary.csv": COLUMNS,
    "a variable of results": VARIABLES,
    "a term of reports and audits": TERMS,
}


def glossary_page() -> str:
    """Write the glossary as Markdown, a list for every subject."""
    return "\n".join([_HEAD, *_lists()])


def _lists() -> Iterator[str]:
    for subject, terms in _LISTS.items():
        mark = "`" if terms in (COLUMNS, VARIABLES) else ""
        yield f"## {subject}\n"
        for term, meaning in terms.items():
            yield f"* **{mark}{term}{mark}**: {_quoted(meaning)}"
        yield ""


def _quoted(meaning: str) -> str:
    """Mark names of columns and presets as code, so that Markdown leaves them alone."""
    return re.sub(r"(?<![\w`])[a-z]+(?:_[a-z]+)+", lambda name: f"`{name[0]}`", meaning)


if __name__ == "__main__":
    print(glossary_page(), end="")
