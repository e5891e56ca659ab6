"""Guides: what a system tells of its parties to whoever looks at a run step by step.

A guide has pseudocode for each role, keyed by the transitions of its parties. It has words for each
message, and says what can be made of it. It names the protections that a run may be shown without,
and tells what somebody finds out in the run that is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fedbandits.federation.state import Transitions
from fedbandits.federation.watching import Happened

#: Stands for every stage in which an event is possible.
ANY_STAGE = "*"
#: So many numbers of a message are written out.
MOST_NUMBERS = 12


class Line(NamedTuple):
    """One line of pseudocode.

    Parameters
    ----------
    text
        The line, indented by two spaces a level.
    at
        Transitions that carry it out: a stage and an event, such as ``"idle Setup"``. ``*`` stands
        for every stage.
    sends
        The message that is sent, if the line is carried out only where it is.
    """

    text: str
    at: tuple[str, ...] = ()
    sends: str | None = None

    def keys(self, transitions: Transitions) -> Iterator[str]:
        """List the transitions of a party that carry the line out, with stages written out."""
        known = [(stage, event.__name__) for stage, event in transitions]
        for wanted, event in (key.split() for key in self.at):
            for stage, name in known:
                if name == event and wanted in (ANY_STAGE, stage):
                    yield f"{stage} {name}"


def line(text: str, *at: str, sends: str | None = None) -> Line:
    """Make the line ``text`` of pseudocode, carried out ``at`` some transitions.

    If ``sends`` is given, it is carried out only where that message is sent. See :class:`Line`.
    """
    return Line(text, at, sends)


#: Lines by role.
Pseudocode = Mapping[str, tuple[Line, ...]]


class Passage(NamedTuple):
    """Words about one type of message.

    Parameters
    ----------
    words
        What the message is, to follow "sends" and "receives".
    reads
        A function from the event of receiving it to what the receiver makes of it, by its own keys.
    heard
        The same of somebody who hears the message and has no key. By default it is what the
        receiver reads.
    releases
        Whether something leaves with it that a privacy claim is about, or a sync.
    """

    words: str
    reads: Callable[[Happened], str]
    heard: Callable[[Happened], str] | None = None
    releases: bool = False


def numbers(values: Iterable[float]) -> str:
    """Write out the first of ``values``, and whether there are more."""
    found = list(values)
    some = [f"{value:.6g}" for value in found[:MOST_NUMBERS]]
    return ", ".join(some) + (", …" if len(found) > MOST_NUMBERS else "")


class Acts(NamedTuple):
    """Acts of parties, in words: ``{}`` stands for the decision, or the outcome."""

    decides: str
    observes: str


class Found(NamedTuple):
    """Findings in a run that was played to its end.

    Parameters
    ----------
    who
        Who looked.
    table
        A datum, and how each of them sees it.
    text
        What somebody worked out or guessed, in sentences.
    """

    who: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    text: str


class Guide(NamedTuple):
    """Guide to the parties of one plan.

    Parameters
    ----------
    pseudocode
        Lines by role.
    passages
        What is told of each message, by its name.
    acts
        What acting parties do, in words.
    protections
        What a run may be shown without, and what each hides, by name.
    without
        A function from the system and names of protections to the same system without them.
    find
        A function from a run that was played to its end, and its seed, to what was found out in it.
    """

    pseudocode: Pseudocode = MappingProxyType({})
    passages: Mapping[str, Passage] = MappingProxyType({})
    acts: Acts = Acts("decides: {}", "learns what came of it: {}")
    protections: Mapping[str, str] = MappingProxyType({})
    without: Callable[[Any, Collection[str]], Any] | None = None  # of a System
    find: Callable[[Any, int], Found] | None = None  # in a PartiesReplicate
