"""Parts of pages that are made from the code: keys, presets, commands, words, the API.

A page asks for one with a comment on a line of its own, as ``<!-- made: environments -->``. GitHub
shows the page without that part.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import api_pages
import commands
import executed
import repository_links
import settings_pages
from sphinx.application import Sphinx

_ASKED = re.compile(r"^<!-- made: (?P<name>[\w-]+)(?P<given>(?: \S+)*) -->$", re.MULTILINE)

#: What makes each part; it takes the words after its name.
MAKERS: dict[str, Callable[..., str]] = {
    "api": api_pages.page,
    "api-settings": api_pages.settings,
    "presets": settings_pages.presets,
    "preset-functions": settings_pages.preset_functions,
    "experiment": settings_pages.experiment,
    "environments": settings_pages.environments,
    "systems": settings_pages.systems,
    "words": settings_pages.words,
    "exit-codes": settings_pages.exit_codes,
    "examples": settings_pages.examples,
    "figures": settings_pages.figures,
    "commands": commands.page,
    "gallery": executed.gallery,
    "file": repository_links.text_of,
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("source-read", fill)
    app.connect("env-check-consistency", api_pages.check_that_nothing_is_left_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put what is asked for in its place."""
    source[0] = _ASKED.sub(lambda asked: MAKERS[asked["name"]](*asked["given"].split()), source[0])
