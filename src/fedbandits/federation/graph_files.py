"""Edge lists: a communication graph as a file, two agents a line."""

from __future__ import annotations

import re

from fedbandits.environments.text_files import is_whole, read_text
from fedbandits.errors import DataError

Edges = tuple[tuple[int, int], ...]

#: A name with more characters is none, but a file of something else.
_LONGEST = 100


def read_edges(path: str, agents: int) -> Edges:
    """Read a graph's edges.

    A line names two agents, separated by spaces, tabs, a comma or a semicolon; ``#`` begins a
    comment. Whole numbers, from wherever they start, stand for the agents in their order; other
    names for the agents in order of appearance.

    Raises
    ------
    DataError
        If the file is missing, empty or malformed, or names another number of agents: the line is
        named, and what was expected.
    """
    pairs = _pairs(path, read_text(path))
    names = _in_order(dict.fromkeys(name for pair in pairs for name in pair))
    if len(names) != agents:
        raise DataError(f"{path}: names {len(names)} agents, environment.agents is {agents}")
    number = {name: i for i, name in enumerate(names)}
    return tuple((number[one], number[other]) for one, other in pairs)


def _pairs(path: str, text: str) -> list[tuple[str, str]]:
    first_seen: dict[frozenset[str], int] = {}
    pairs: list[tuple[str, str]] = []
    for line_number, line in enumerate(text.splitlines(), 1):
        words = [word for word in re.split(r"[\s,;]+", line.partition("#")[0]) if word]
        if not words:
            continue
        place = f"{path}, line {line_number}"
        if len(words) != 2:
            raise DataError(f"{place}: expected two agents, found {len(words)} words")
        if max(map(len, words)) > _LONGEST:
            raise DataError(f"{place}: expected names of at most {_LONGEST} characters")
        one, other = (_canonical(word) for word in words)
        if one == other:
            raise DataError(f"{place}: {one} is linked to itself, expected two different agents")
        edge = frozenset((one, other))
        if edge in first_seen:
            raise DataError(
                f"{place}: {one} and {other} were linked in line {first_seen[edge]} already"
            )
        first_seen[edge] = line_number
        pairs.append((one, other))
    if not pairs:
        raise DataError(f"{path}: is empty, expected two agents on each line")
    return pairs


def _canonical(word: str) -> str:
    """One spelling a number: 01 and 1 are one agent."""
    return str(int(word)) if is_whole(word) else word


def _in_order(names: dict[str, None]) -> list[str]:
    if all(map(is_whole, names)):
        return sorted(names, key=int)
    return list(names)
