"""A log that nobody can flood: of warnings that are alike so many a minute, and how many more."""

from __future__ import annotations

import logging
from typing import TextIO

#: So many lines that are alike are written in so many seconds.
MOST_ALIKE, WINDOW = 10, 60.0
#: So many kinds of lines are told apart.
_MOST_KINDS = 1_000


class _Kind:
    """One kind of line: when its window began, how many lines came in it, and the newest."""

    def __init__(self, record: logging.LogRecord) -> None:
        self.began, self.count, self.newest = record.created, 0, record


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes lines to a stream, and leaves out most of those that are alike.

    Lines are alike if they come from one place in the code, whatever is put into them. What is left
    out is counted. The count is in a line of its own, with the first line after the window. Lines
    below a warning are always written.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._kinds: dict[tuple[str, int], _Kind] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless there were many like it."""
        self._end_windows(record.created)
        if record.levelno < logging.WARNING:
            super().emit(record)
            return
        kind = self._kinds.setdefault((record.pathname, record.lineno), _Kind(record))
        kind.count, kind.newest = kind.count + 1, record
        if kind.count <= MOST_ALIKE:
            super().emit(record)

    def close(self) -> None:
        """End, and say what was left out since."""
        self._end_windows(float("inf"))
        super().close()

    def _end_windows(self, now: float) -> None:
        """Say of each kind whose window is over how many lines were left out."""
        over = [key for key, kind in self._kinds.items() if now - kind.began >= WINDOW]
        if len(self._kinds) >= _MOST_KINDS:
            over = list(self._kinds)
        for key in over:
            kind = self._kinds.pop(key)
            left_out = kind.count - MOST_ALIKE
            if left_out > 0:
                newest = kind.newest
                said = f"{left_out:,} more lines like this one were left out: {newest.getMessage()}"
                told = logging.LogRecord(
                    newest.name, newest.levelno, newest.pathname, newest.lineno, "%s", (said,), None
                )
                super().emit(told)
