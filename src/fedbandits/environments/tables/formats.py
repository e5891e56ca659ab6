"""Numbers as people write them: decimal signs, and signs between thousands.

``1,234`` is a little more than one in some countries, and more than a thousand in others. It is
never guessed: a number that can be read in two ways is refused until the format is stated.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from typing import NamedTuple

#: What may stand between thousands, as patterns. A blank stands for all kinds of blanks.
_BETWEEN = {",": ",", ".": r"\.", "'": "['’]", " ": "[ \u00a0\u2009\u202f]"}
#: What these signs are called.
SIGNS = {",": "a comma", ".": "a dot", "'": "an apostrophe", " ": "a blank"}
_EXPONENT = r"(?:[eE][+-]?\d{1,3})?"
#: With one of these signs a number can be read in two ways.
_TWO_WAYS = {sign: re.compile(rf"[+-]?[1-9]\d{{0,2}}\{sign}\d{{3}}\Z", re.ASCII) for sign in ",."}


class NumberFormat(NamedTuple):
    """The way in which numbers of a table are written; what is empty was not stated."""

    decimal: str = ""  # the decimal sign, a dot or a comma
    thousands: str = ""  # the sign between thousands
    commas: bool = False  # whether decimal commas are understood if nothing is stated

    @property
    def decimals(self) -> str:
        """The signs that are read as decimal signs."""
        if self.decimal:
            return self.decimal
        if self.thousands in (",", "."):
            return "." if self.thousands == "," else ","
        return ".," if self.commas else "."

    @property
    def doubtful(self) -> str:
        """The decimal signs that may as well stand between thousands."""
        return "" if self.decimal or self.thousands else self.decimals

    def read(self, text: str) -> float | None:
        """Read the number that a cell holds; None if it holds none."""
        if not _pattern(self.decimals, self.thousands).match(text):
            return None
        if self.thousands:
            text = re.sub(_BETWEEN[self.thousands], "", text)
        value = float(text.replace(",", "."))
        return value if math.isfinite(value) else None


@functools.lru_cache(maxsize=64)
def _pattern(decimals: str, thousands: str) -> re.Pattern[str]:
    whole = r"\d+"
    if thousands:
        whole = rf"(?:\d+|\d{{1,3}}(?:{_BETWEEN[thousands]}\d{{3}})+)"
    # As before a comma there may be no digit, but after it there must be one: "5," is cut off.
    after = {".": r"\.\d*", ",": r",\d+"}
    fraction = "|".join(after[sign] for sign in decimals)
    alone = "|".join(rf"\{sign}\d+" for sign in decimals)
    return re.compile(rf"[+-]?(?:{whole}(?:{fraction})?|{alone}){_EXPONENT}\Z", re.ASCII)


def in_two_ways(sign: str, texts: Iterable[str]) -> bool:
    """Tell whether each number with this sign can be read in two ways, and there is one."""
    signed = [text for text in texts if sign in text]
    return bool(signed) and all(map(_TWO_WAYS[sign].match, signed))


def with_thousands(text: str) -> NumberFormat | None:
    """Find the format under which a text is a number with signs between thousands.

    None if there is none.
    """
    for thousands in _BETWEEN:
        for decimal in ".,":
            found = NumberFormat(decimal, thousands)
            signs = thousands != decimal and re.search(_BETWEEN[thousands], text)
            if signs and found.read(text) is not None:
                return found
    return None


def with_comma(text: str) -> bool:
    """Tell whether a text is a number if its comma is a decimal sign."""
    return "," in text and NumberFormat(",").read(text) is not None


def remedy(sign: str) -> str:
    """Say how the meaning of a sign is stated."""
    return (
        f'set decimal = "{sign}" if it is a decimal sign, or thousands = "{sign}" if it stands '
        "between thousands"
    )
