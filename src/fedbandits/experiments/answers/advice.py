"""Advice: the tried values, and in words those from which collaboration pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from fedbandits.environments.base import Words

#: The varied key: the number of parties, or ε.
Axis = Literal["parties", "epsilon"]


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A tried value."""

    value: float  # the value of the key
    epsilon: float  # the ε that accounting supports there
    parties: int  # number of parties there
    replicates: int  # number of replicates that both systems have finished
    unit: str  # unit of ``saves``
    saves: float  # mean loss that the private system saves beside learning alone
    #: Half the width of its 95% interval; None with too few replicates.
    half_width: float | None
    share: float | None  # ``saves`` as a share of the loss of learning alone; None if that is 0
    #: True if the whole interval is above 0, False if it is below, None if it contains 0.
    pays: bool | None


class Curve(msgspec.Struct, frozen=True):
    """The tried values of one key, in ascending order."""

    axis: Axis  # the varied key in a word
    key: str  # path of the key
    tried: tuple[Tried, ...]  # the comparison at each value
    left_out: tuple[str, ...] = ()  # values that this experiment cannot have, with reasons


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of parties, and the ε, from which private collaboration pays."""

    lines: tuple[str, ...]  # the advice in words
    how: str  # the method in words
    unit: str  # unit of all differences
    parties: str  # what parties are called: ``hospitals``
    #: Labels of the private system, and of the system with parties alone.
    system: str
    baseline: str
    replicates: int  # replicates of every value
    curves: tuple[Curve, ...]  # the tried values of each key

    def __str__(self) -> str:
        return "\n".join(self.lines)


_STATES = {True: "it pays", False: "it does not", None: "no difference was found"}


class _Phrases(NamedTuple):
    """The words of one axis."""

    before: str
    after: str
    every: str
    value: Callable[[Tried], str]
    bare: Callable[[Tried], str]


def advice_lines(curves: Sequence[Curve], words: Words) -> tuple[str, ...]:
    """Write a line for each curve, with the values from which collaboration pays."""
    if not curves:
        return ("Nothing could be tried: neither the number of parties nor ε can be varied here.",)
    return tuple(_line(curve.tried, _phrases(curve, words)) for curve in curves)


def advice_how(curves: Sequence[Curve], replicates: int, system: str, baseline: str) -> str:
    """Describe the method of the advice."""
    points = sum(len(curve.tried) for curve in curves)
    text = (
        f"{points} values were tried, with {replicates} replicates each, and {system} was compared "
        f"with {baseline}. It pays if the whole 95% interval of the paired difference is on the "
        "good side. Each interval stands for itself. Between two tried values nothing is known."
    )
    reasons = [reason for curve in curves for reason in curve.left_out]
    return f"{text} Not tried: {'; '.join(reasons)}." if reasons else text


def _phrases(curve: Curve, words: Words) -> _Phrases:
    first = curve.tried[0]
    if curve.axis == "parties":
        return _Phrases(
            before="",
            after=f" at ε = {first.epsilon:.3g}",
            every=f"number of {words.parties}",
            value=lambda one: f"{one.parties:,} {words.parties}",
            bare=lambda one: f"{one.parties:,}",
        )
    return _Phrases(
        before=f"With {first.parties:,} {words.parties} ",
        after="",
        every="ε",
        value=lambda one: f"ε = {one.epsilon:.3g}",
        bare=lambda one: f"{one.epsilon:.3g}",
    )


def _line(tried: Sequence[Tried], say: _Phrases) -> str:
    """Write where it pays: everywhere, nowhere, on one side of a value, or at some values."""
    states = [one.pays for one in tried]
    pays = [place for place, state in enumerate(states) if state]
    low, high = say.bare(tried[0]), say.bare(tried[-1])
    span = f"from {low} to {high}{say.after}"
    if len(pays) == len(tried):
        return _sentence(f"{say.before}it pays with every {say.every} that was tried, {span}.")
    if not pays and None not in states:
        return _sentence(f"{say.before}it pays with no {say.every} that was tried, {span}.")
    if not pays:
        return _sentence(
            f"{say.before}it was not found to pay with any {say.every} that was tried, {span}: "
            f"{_listed(tried, say, (False, None))}."
        )
    first, last = pays[0], pays[-1]
    whole = len(pays) == last - first + 1
    if whole and last == len(tried) - 1:
        return _sentence(
            f"{say.before}it pays from {say.value(tried[first])} on{say.after}, as far as was "
            f"tried ({high}); with {say.value(tried[first - 1])} {_STATES[states[first - 1]]}."
        )
    if whole and first == 0:
        return _sentence(
            f"{say.before}it pays up to {say.value(tried[last])}{say.after}; "
            f"with {say.value(tried[last + 1])} {_STATES[states[last + 1]]}."
        )
    return _sentence(
        f"{say.before}there is no single threshold{say.after}: "
        f"{_listed(tried, say, (True, False, None))}."
    )


def _listed(tried: Sequence[Tried], say: _Phrases, states: Sequence[bool | None]) -> str:
    """List the values that are in each state."""
    parts = []
    for state in states:
        bare = [say.bare(one) for one in tried if one.pays is state]
        if bare:
            *rest, last = bare
            values = f"{', '.join(rest)} and {last}" if rest else last
            unit = say.value(tried[0]).replace(say.bare(tried[0]), values)
            parts.append(f"with {unit} {_STATES[state]}")
    return "; ".join(parts)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
