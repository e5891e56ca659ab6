"""Suggest the known name that is closest to an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """Ask about the closest known name, with a space at the end; return "" if no name is close.

    A value that is not a string has no close name.
    """
    if not isinstance(given, str):
        return ""
    close = difflib.get_close_matches(given, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}? " if close else ""


def close_names(given: object, known: Iterable[str], how: str, most: int = 4) -> str:
    """Return the allowed names for an error: of many names, only the ``most`` closest.

    The command ``how`` shows all names.
    """
    names = list(known)
    if len(names) <= 2 * most:
        return f"{did_you_mean(given, names)}allowed: {', '.join(names)}"
    text = given if isinstance(given, str) else ""
    close = difflib.get_close_matches(text, names, n=most, cutoff=0.5)
    listed = f"`{how}` shows all {len(names)}"
    if not close:
        return f"allowed: one of {len(names)} names; {listed}"
    others = f" (or {', '.join(close[1:])})" if close[1:] else ""
    return f"did you mean {close[0]!r}{others}? {listed}"
