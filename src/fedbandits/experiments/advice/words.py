"""Advice in words: from where on it pays, and between which tried values that changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fedbandits.environments.words import Words
from fedbandits.experiments.advice.tried import Curve, Tried

_STATES = {True: "it pays", False: "it does not", None: "no difference was found"}


class _Phrases(NamedTuple):
    """The words of one axis."""

    before: str
    after: str
    every: str
    value: Callable[[Tried], str]
    bare: Callable[[Tried], str]


def advice_lines(curves: Sequence[Curve], words: Words) -> tuple[str, ...]:
    """A line for each curve, and what to do where there is none.

    Parameters
    ----------
    curves
        What was tried.
    words
        Words of the environment.
    """
    if not curves:
        return ("Nothing could be tried: neither the number of parties nor ε can be varied here.",)
    return tuple(_line(curve.tried, _phrases(curve, words)) for curve in curves)


def advice_how(curves: Sequence[Curve], replicates: int, system: str, baseline: str) -> str:
    """How the advice was found."""
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
    """Where it pays: everywhere, nowhere, on one side of a value, or here and there."""
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
    """Which values are in which state."""
    parts = []
    for state in states:
        found = [say.bare(one) for one in tried if one.pays is state]
        if found:
            *rest, last = found
            values = f"{', '.join(rest)} and {last}" if rest else last
            unit = say.value(tried[0]).replace(say.bare(tried[0]), values)
            parts.append(f"with {unit} {_STATES[state]}")
    return "; ".join(parts)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
