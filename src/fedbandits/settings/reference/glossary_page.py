"""The page docs/glossary.md, made from the terms that `fedbandits explain` knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fedbandits.settings.reference.glossary import COLUMNS, VARIABLES
from fedbandits.settings.reference.terms import SUBJECTS

_HEAD = """# Glossary

Every term that a report, a page or a command uses, in one or two sentences. It is for readers of
any of them; you need not have read the others. `fedbandits explain TERM` shows the same in the
terminal.

<!-- Made by `python -m fedbandits.settings.reference.glossary_page > docs/glossary.md`. -->
"""
_CODED = {"Columns of summary.csv": COLUMNS, "Variables of results.nc": VARIABLES}


def glossary_page() -> str:
    """The glossary as Markdown, a list for every subject."""
    return "\n".join([_HEAD, *_lists()])


def _lists() -> Iterator[str]:
    for subject, terms in SUBJECTS.items():
        yield f"## {subject}\n"
        yield from (f"* **{term}**: {_quoted(meaning)}" for term, meaning in terms.items())
        yield ""
    for subject, names in _CODED.items():
        yield f"## {subject}\n"
        yield from (f"* **`{name}`**: {_quoted(meaning)}" for name, meaning in names.items())
        yield ""


def _quoted(meaning: str) -> str:
    """The meaning with names of columns and presets as code, so that Markdown leaves them alone."""
    return re.sub(r"(?<![\w`])[a-z]+(?:_[a-z]+)+", lambda name: f"`{name[0]}`", meaning)


if __name__ == "__main__":
    print(glossary_page(), end="")
