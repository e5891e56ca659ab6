"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is of names, and all others of numbers.

    Raises
    ------
    ValueError
        If a row has another number of cells than the head.
    """
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"a row has {len(row)} cells, the head has {len(head)}: {row}")
        lines.append(row)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value: float) -> str:
    """A number with three digits that count, and commas between thousands."""
    if value >= 100:
        digits = len(str(int(value))) - 3
        return f"{round(value, -digits):,.0f}"
    return f"{value:.3g}"


def ratio(value: float) -> str:
    """How many times as much, with two digits that count or more."""
    digits = ".2g" if value < 1 else ".1f" if value < 10 else ",.0f"
    return f"{value:{digits}} ×"


def mean_and_error(values: Sequence[float]) -> str:
    """The mean and its standard error; of one value, that."""
    if len(values) == 1:
        return f"{values[0]:.1f}"
    return f"{fmean(values):.1f} ± {stdev(values) / len(values) ** 0.5:.1f}"
