"""Steps in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbandits.federation.events import Deadline, Decide, EndRound, LetGo, Observe, Start
from fedbandits.federation.messages import Message
from fedbandits.federation.watching import Happened
from fedbandits.systems.guide import Guide


def sentence(happened: Happened, guide: Guide) -> str:
    """Say in a sentence what has happened to a party."""
    sends = _sends(happened.sent, guide)
    return f"{_what(happened, guide)}{', and ' + sends if sends else ''}."


def _what(happened: Happened, guide: Guide) -> str:
    name, event = happened.party.name, happened.event
    match event:
        case Decide():
            return f"{name} {guide.acts.decides.format(brief(happened.answer.action))}"
        case Observe():
            return f"{name} {guide.acts.observes.format(brief(event.outcome))}"
        case LetGo():
            return f"{name} learns that nothing will come of decision {event.decision.number}"
        case EndRound():
            return f"{name} ends round {event.round_}"
        case Deadline():
            return f"{name} waits no longer"
        case Start():
            return f"{name} begins"
        case Message():
            return f"{name} receives {words_of(event, guide)} from {event.sender}"
        case _:
            return f"{name}: {type(event).__name__}"


def words_of(message: Message, guide: Guide) -> str:
    """Return a message in words; its name where the guide has none."""
    kind = type(message).__name__
    return guide.passages[kind].words if kind in guide.passages else f"a {kind}"


def _sends(sent: Sequence[Message], guide: Guide) -> str:
    """Say what is sent to whom, each type of message once."""
    receivers: dict[str, list[str]] = {}
    for message in sent:
        receivers.setdefault(words_of(message, guide), []).append(message.receiver)
    parts = [f"{words} to {_names(names)}" for words, names in receivers.items()]
    return f"sends {', '.join(parts)}" if parts else ""


def _names(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{len(names)} parties"


def brief(value: Any) -> str:
    """Write a decision or an outcome in a few characters."""
    if isinstance(value, np.ndarray):
        flat = value.ravel()[:6].tolist()
        return ", ".join(map(brief, flat)) + (", …" if value.size > 6 else "")
    return f"{value:.4g}" if isinstance(value, float) else str(value)
