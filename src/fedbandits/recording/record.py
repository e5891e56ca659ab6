"""Recording a run: a variant's parties play in a world, and every step is noted as plain values.

A step has a sentence. Values of states and messages are cut to the length of a page.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError
from fedbandits.federation.events import Deadline, Decide, EndRound, LetGo, Observe, Start
from fedbandits.federation.messages import Codec, Message
from fedbandits.federation.roles import Roles
from fedbandits.federation.watching import Happened
from fedbandits.recording.recording import (
    CodeLine,
    Reading,
    RecordedMessage,
    RecordedParty,
    RecordedStep,
    Recording,
    Sight,
)
from fedbandits.settings.experiment import Variant, system
from fedbandits.systems import System, find_system
from fedbandits.systems.base import PartiesReplicate, Plan
from fedbandits.systems.guide import Guide
from fedbandits.systems.simulated import plan_in

#: Most entries of a list, and most bytes, that are shown.
MOST = 12
#: Fields that messages of all types have.
ENVELOPE = frozenset(Message.__struct_fields__)


def shown(value: Any) -> Any:
    """Return ``value`` as a plain value that fits in JSON.

    Bytes become their length and beginning, arrays their shape and beginning. Lists and tables keep
    their first entries, and the number of the entries that follow.
    """
    if value is None or isinstance(value, str | bool | int):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return {"bytes": len(value), "hex": value[:MOST].hex()}
    if isinstance(value, np.ndarray):
        return {
            "shape": list(value.shape),
            "begin": list(map(shown, value.ravel()[:MOST].tolist())),
        }
    if isinstance(value, np.generic):
        return shown(value.item())
    if isinstance(value, msgspec.Struct):
        return fields_of(value)
    if hasattr(value, "_asdict"):  # a named tuple
        return {name: shown(field) for name, field in value._asdict().items()}
    if isinstance(value, dict):
        return _shown_table(value)
    if isinstance(value, Iterable):
        return _shown_list(list(value))
    return repr(value)


def fields_of(value: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a struct as plain values, without the envelope of a message."""
    hidden = ENVELOPE if isinstance(value, Message) else frozenset()
    names = (name for name in value.__struct_fields__ if name not in hidden)
    return {name: shown(getattr(value, name)) for name in names}


def _shown_list(values: list[Any]) -> list[Any]:
    entries = [shown(value) for value in values[:MOST]]
    return [*entries, f"and {len(values) - MOST} more"] if len(values) > MOST else entries


def _shown_table(values: dict[Any, Any]) -> dict[str, Any]:
    entries = {
        key[:MOST].hex() if isinstance(key, bytes) else str(key): shown(value)
        for key, value in islice(values.items(), MOST)
    }
    return entries | {"more": len(values) - MOST} if len(values) > MOST else entries


def sentence(happened: Happened, guide: Guide) -> str:
    """Describe an event of a party in a sentence."""
    sends = _sends(happened.sent, guide)
    return f"{_event_words(happened, guide)}{', and ' + sends if sends else ''}."


def _event_words(happened: Happened, guide: Guide) -> str:
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
    """Return a message in words, or its name if the guide has no words for the message."""
    kind = type(message).__name__
    return guide.passages[kind].words if kind in guide.passages else f"a {kind}"


def _sends(sent: Sequence[Message], guide: Guide) -> str:
    """List the sent messages by type, each type with its receivers."""
    receivers: dict[str, list[str]] = {}
    for message in sent:
        receivers.setdefault(words_of(message, guide), []).append(message.receiver)
    parts = [f"{words} to {_names(names)}" for words, names in receivers.items()]
    return f"sends {', '.join(parts)}" if parts else ""


def _names(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{len(names)} parties"


def brief(value: Any) -> str:
    """Write a decision or an outcome in few characters."""
    if isinstance(value, np.ndarray):
        flat = value.ravel()[:6].tolist()
        return ", ".join(map(brief, flat)) + (", …" if value.size > 6 else "")
    return f"{value:.4g}" if isinstance(value, float) else str(value)


#: Most steps of a recording, and about the most bytes of the recording as JSON.
MOST_STEPS, MOST_BYTES = 20_000, 4_000_000
#: The name of an observer who hears all messages and has no key.
LISTENER = "who listens"


class Recorder:
    """Recorder of parties, until the recording is full.

    Parameters
    ----------
    guide
        The words of the system for its parties and messages.
    codec
        Encodes the messages of the system.
    """

    def __init__(self, guide: Guide, codec: Codec) -> None:
        self.parties: list[RecordedParty] = []
        self.steps: list[RecordedStep] = []
        #: The current round, which the driver of the run sets.
        self.round: int | None = None
        #: Whether steps were left out.
        self.is_full = False
        self._guide, self._codec = guide, codec
        self._last: dict[str, dict[str, Any]] = {}
        self._bytes = 0

    def meet(self, party: Any) -> None:
        """Record the first state of a party."""
        first = fields_of(party.state)
        self.parties.append(RecordedParty(party.name, party.role, first))
        self._last[party.name] = first

    def see(self, happened: Happened) -> None:
        """Record a step."""
        if self.is_full:
            return
        step = self._step(happened)
        self._bytes += len(msgspec.json.encode(step))
        self.is_full = len(self.steps) == MOST_STEPS or self._bytes > MOST_BYTES
        if not self.is_full:
            self.steps.append(step)

    def _step(self, happened: Happened) -> RecordedStep:
        party, event = happened.party, happened.event
        name, was = type(event).__name__, happened.before.stage
        received = event if isinstance(event, Message) else None
        return RecordedStep(
            party=party.name, role=party.role, was=was, event=name, round=self.round,
            changed=self._changes(party),
            sent=tuple(map(self._message, happened.sent)),
            message=None if received is None else self._message(received),
            reads=() if received is None else self._readings(happened),
            told=_input(happened), sentence=sentence(happened, self._guide), key=f"{was} {name}",
            releases=any(map(self._releases, happened.sent)), pulls=isinstance(event, Observe),
        )  # fmt: skip

    def _changes(self, party: Any) -> dict[str, Any]:
        """Return the fields of the state that the step has changed."""
        before, now = self._last[party.name], fields_of(party.state)
        self._last[party.name] = now
        return {name: value for name, value in now.items() if before[name] != value}

    def _message(self, message: Message) -> RecordedMessage:
        size, fields = len(self._codec.encode(message)), fields_of(message)
        kind = type(message).__name__
        return RecordedMessage(kind, message.sender, message.receiver, size, fields)

    def _readings(self, happened: Happened) -> tuple[Reading, ...]:
        passage = self._guide.passages.get(type(happened.event).__name__)
        if passage is None:
            return ()
        heard = passage.heard or passage.reads
        return (
            Reading(happened.party.name, passage.reads(happened)),
            Reading(LISTENER, heard(happened)),
        )

    def _releases(self, message: Message) -> bool:
        """Tell whether a message is a release of its sender, and not a forwarded one."""
        passage = self._guide.passages.get(type(message).__name__)
        own = getattr(message, "origin", message.sender) == message.sender
        return passage is not None and passage.releases and own


def _input(happened: Happened) -> Any:
    event = happened.event
    if isinstance(event, Decide):
        return shown(happened.answer.action)
    return shown(event.outcome) if isinstance(event, Observe) else None


def record(
    variant: Variant | str, environment: Environment, rounds: int, seed: int = 0,
    off: Collection[str] = (),
) -> Recording:  # fmt: skip
    """Play a variant by its parties, and record every step.

    The run is the same as that of :func:`federate` with the same seed. Noise and keys are
    simulated. A run without some of its protections shows the values that the protections hide.
    Such a run cannot be deployed.

    Parameters
    ----------
    variant
        The variant, or the name of a preset.
    environment
        The world. A recording is for small worlds, with a few parties.
    rounds
        The horizon T, in rounds. Long recordings are cut.
    seed
        The seed, which determines all random draws.
    off
        Names of protections to leave out, from ``Guide.protections`` of the plan.

    Raises
    ------
    ConfigError
        If the variant has no parties, or the guide has no protection of such a name.
    """
    chosen = system(variant) if isinstance(variant, str) else variant
    declared = find_system(chosen.system)
    plan: Plan = plan_in(declared, chosen.config, environment, rounds)
    guide = declared.guide(plan, off) or Guide()
    if off:
        declared = _without(declared, guide, chosen.preset, off)
        plan = plan_in(declared, chosen.config, environment, rounds)
    roles = declared.roles(plan)
    if roles is None:
        raise ConfigError(f"preset: given {chosen.preset!r}, allowed: a preset with parties")
    recorder = Recorder(guide, roles.codec)
    run = PartiesReplicate(declared, plan, environment, seed, 0, watch=recorder)
    _play(run, recorder, to_the_end=guide.find is not None)
    findings = guide.find(run, seed) if guide.find is not None else None
    return Recording(
        preset=chosen.preset,
        off=tuple(sorted(off)),
        parties=tuple(recorder.parties),
        steps=tuple(recorder.steps),
        pseudocode=_code(guide, roles, run),
        sight=Sight(findings.who, findings.table) if findings and findings.table else None,
        attack=findings.text if findings else None,
        cut=recorder.is_full,
    )


def _without(declared: System[Any], guide: Guide, preset: str, off: Collection[str]) -> System[Any]:
    """Return the system without the protections ``off``; refuse names of other protections."""
    unknown = sorted(set(off) - set(guide.protections))
    if unknown or guide.without is None:
        allowed = ", ".join(guide.protections) or f"none, as {preset} has no protections"
        raise ConfigError(f"off: given {', '.join(unknown)}, allowed: {allowed}")
    without: System[Any] = guide.without(declared, off)
    return without


def _play(run: PartiesReplicate, recorder: Recorder, to_the_end: bool) -> None:
    """Play round by round, until the last round or until the recorder is full."""
    while run.done < run.rounds and (to_the_end or not recorder.is_full):
        recorder.round = run.done + 1
        run.advance(run.done + 1)


def _code(guide: Guide, roles: Roles, run: PartiesReplicate) -> dict[str, tuple[CodeLine, ...]]:
    """Return the pseudocode, with the transitions of each line written out."""
    tables = {role.name: run.of(role.name)[0].TRANSITIONS for role in roles.roles}
    return {
        role: tuple(
            CodeLine(line.text, tuple(line.keys(tables[role])), line.sends) for line in lines
        )
        for role, lines in guide.pseudocode.items()
    }
