"""Guides to secure sums: lines and words for their controller and helpers, and for members.

Nobody has published these lines; :mod:`fedbandits.federation.totals` says how sums are made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fedbandits._typing import Words64
from fedbandits.federation.totals import statements
from fedbandits.federation.totals.messages import unpack_words
from fedbandits.federation.watching import Happened
from fedbandits.systems.guide import MOST_NUMBERS, Line, Passage, line, numbers

#: A protection of every secure sum.
MASKS = {"masks": "Each member's numbers are masked: the controller reads their sum alone."}
#: How a member sends and hears, whatever it decides on.
MEMBER = (
    line("  when a round of release ends:", "ready EndRound"),
    line(
        "    send the own sums, a share of the noise and a mask a helper to the controller",
        "ready EndRound",
        sends="Increment",
    ),
    line("  if all helpers confirm what is in the total: go on from it", "ready Total"),
    line("  (but on none while most others had another one)", "ready Total"),
    line("  if one does not: say so, and send nothing more", "ready Total", sends="Retired"),
)
_CONTROLLER = (
    line("hold the masked numbers of each member", "* Increment"),
    line("wait no more for a member that sends nothing more", "* Retired"),
    line("when all have come, or at a deadline: ask all helpers whom they know", "* Increment",
         "* Retired", "* Deadline", sends="Check"),
    line("fix the members; ask all helpers for the sum of their masks", "* Checked", "* Deadline",
         "* Increment", "* Retired", sends="Opening"),
    line("  (leave out whoever a helper would not open)", "* Checked"),
    line("  (if an answer is late: ask again)", "* Deadline"),
    line("keep the masks that a helper has added up", "* Opened"),
    line("when all have answered: take the masks off the sum; tell it to all members",
         "* Opened", sends="Total"),
    line("tell the last total again to whoever asks", "* Increment", sends="Total"),
)  # fmt: skip
_HELPER = (
    line("check what members have stated: say whose numbers it would not open", "serving Check"),
    line("  (nor those of members whose last total differs from that of most)", "serving Check"),
    line("once for each sum, for enough members: add up their masks", "serving Opening"),
)
#: Lines of the parties that add up.
PSEUDOCODE: Mapping[str, tuple[Line, ...]] = {"controller": _CONTROLLER, "helper": _HELPER}


def passages(off: Collection[str], step: float, size: int) -> dict[str, Passage]:
    """Return what is told of each message of sums of ``size`` numbers, in units of ``step``."""
    masked = "masks" not in off
    words = _Words(masked, "noise" not in off, step, size)
    return {
        "Increment": Passage(
            f"{'masked' if masked else 'bare'} sums", words.increment, releases=True
        ),
        "Retired": Passage("a farewell", _reads_farewell),
        "Check": Passage("a check of members", _reads_members),
        "Checked": Passage("an answer to a check", _reads_checked),
        "Opening": Passage("a request for masks", _reads_members),
        "Opened": Passage("the sum of its masks", words.masks),
        "Total": Passage("the total", words.total, releases=True),
    }


class _Words:
    """Words for numbers, which depend on what is left of their protection."""

    def __init__(self, masked: bool, noisy: bool, step: float, size: int) -> None:
        self._masked, self._step, self._size = masked, step, size
        self._noise = "under noise" if noisy else "without noise"

    def increment(self, happened: Happened) -> str:
        """Say what is seen of a member's numbers without the masks of all helpers."""
        message: Any = happened.event
        words = unpack_words(message.statistic, self._size)
        if self._masked:
            return (
                f"{self._size} numbers modulo 2⁶⁴: {_words(words)}. Without the masks of all "
                "helpers they look uniform."
            )
        return f"What is new in the sums of {message.sender}, {self._noise}: {self._plain(words)}."

    def masks(self, happened: Happened) -> str:
        """Say what is seen of the sum of one helper's masks."""
        message: Any = happened.event
        if not self._masked:
            return f"All masks of {message.sender}, added up: zeros."
        some = _words(unpack_words(message.masks, self._size))
        return (
            f"All masks of {message.sender}, added up: {some}. With those of all helpers they open "
            "the sum, and no part of it."
        )

    def total(self, happened: Happened) -> str:
        """Say what is seen of a total."""
        message: Any = happened.event
        values = self._plain(unpack_words(message.statistic, self._size))
        return f"The sum of all members, {self._noise}: {values}. Whose part is what does not show."

    def _plain(self, words: Any) -> str:
        return numbers((self._step * words.view("int64")).tolist())


def _words(values: Words64) -> str:
    return ", ".join(f"{word:#018x}" for word in values[:2].tolist()) + ", …"


def _reads_farewell(happened: Happened) -> str:
    message: Any = happened.event
    return f"{message.sender} sends nothing more: what it was told was not confirmed."


def _reads_members(happened: Happened) -> str:
    message: Any = happened.event
    places = statements.unpack_members(message.members)["place"].tolist()
    some = ", ".join(map(str, places[:MOST_NUMBERS])) + (
        ", …" if len(places) > MOST_NUMBERS else ""
    )
    return (
        f"Members {some or 'none'} of sum {message.release}, the digests of their last totals, and "
        "their tags: no number of theirs."
    )


def _reads_checked(happened: Happened) -> str:
    message: Any = happened.event
    unfit = len(statements.unpack_places(message.unfit))
    differing = len(statements.unpack_places(message.differing))
    return (
        f"{unfit} members of sum {message.release} would not be opened, {differing} of them as "
        "their last total is another one than that of most."
    )
