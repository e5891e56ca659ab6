"""What somebody may have meant who wrote a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """A question about the closest known name, with a space at its end; empty if none is close.

    Parameters
    ----------
    given
        What was written. Anything but a string is close to nothing.
    known
        The names that exist.
    """
    if not isinstance(given, str):
        return ""
    close = difflib.get_close_matches(given, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}? " if close else ""
