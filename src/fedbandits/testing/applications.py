"""The contract suite for applications, which ask the parties of a preset for decisions.

Each check takes ``preset``, the name of a preset with parties, and raises AssertionError.
"""

from __future__ import annotations

import math
import pathlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np

from fedbandits.environments import Environment
from fedbandits.environments.clustered import Arrival
from fedbandits.environments.open_world import Visit
from fedbandits.errors import FedbanditsError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.run import PartiesRun
from fedbandits.federation.terms import Terms
from fedbandits.privacy.ledger import Ledger
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import system
from fedbandits.systems import System, find_preset
from fedbandits.systems.application import Application
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.servers.application import live_round
from fedbandits.systems.terms import terms_of
from fedbandits.testing.resources import FederationResources
from fedbandits.testing.restored import MortalParty
from fedbandits.testing.worlds import small_world

#: Rounds of a run, enough for a sync of every preset.
ROUNDS = 40
#: Digits of every hostile number, which no error may show.
MARK = "76543"
#: A number beyond all counters.
FAR = 10**30
#: A legal number of a context, a number beyond the norm of contexts, and a number beyond float32.
_SMALL, _LONG, _HUGE = 0.07654321, 7.654321, 7.654321e307


class Setting:
    """A preset in a small world, with the facts that members of a federation would state.

    ``parts`` replace settings of the preset.
    """

    def __init__(self, preset: str, **parts: Any) -> None:
        declared = find_preset(preset)
        assert declared is not None, f"no preset is called {preset!r}"
        self.preset, self.parts = preset, parts
        self.system: System[Any] = declared
        self.world: Environment = small_world(declared)
        self.stated: Any = self.world.stage(replicate_key(1, 0)).world
        facts: Any = self.world.facts
        if hasattr(facts, "capacities"):
            capacities = tuple(map(tuple, self.stated.capacity.tolist()))
            largest = max(map(max, capacities))
            facts = msgspec.structs.replace(facts, capacities=capacities, largest_capacity=largest)
        self.plan: Any = declared.plan(system(preset, **parts).config, facts, ROUNDS)
        self.roles = declared.roles(self.plan)

    @property
    def application(self) -> Application[Any]:
        """The application that asks the acting parties."""
        application = self.system.application(self.plan)
        assert application is not None, "parties that act, and nobody can ask them"
        return application

    def begin(
        self, embody: Callable[[ActingParty[Any]], Any], supplies: Any = None,
        terms: Terms | None = None,
    ) -> PartiesRun:  # fmt: skip
        """Begin a run of simulated parties, in which ``embody`` replaces each acting party.

        ``supplies`` are the noise and keys of the parties, by default simulated. The default
        ``terms`` are the terms of a simulation.
        """
        terms = terms or terms_of(self.system, self.plan, "simulated")
        stage = self.world.stage(replicate_key(1, 0))
        brought = supplies or self.system.simulated_supplies(self.plan, stage.world, 1, 0)
        assert self.roles is not None

        def stand(make: Callable[[], Party[Any]]) -> Any:
            party = make()
            return embody(party) if isinstance(party, ActingParty) else party

        return PartiesRun(self.roles, brought, terms, stage, ROUNDS, embody=stand)

    def own(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Return the content of ``[own]`` in the settings of parties, by role and place."""
        costs = getattr(self.stated, "cost", None)
        if costs is None:
            return {}
        return {("buyer", place): {"costs": row.tolist()} for place, row in enumerate(costs)}


def asked_of(situation: Any, application: Application[Any]) -> dict[str, Any]:
    """Make the request of an application in ``situation``."""
    if isinstance(situation, Arrival):
        return {"user": int(situation.user), "items": situation.items.T.tolist()}
    if situation is None or not application.ASKED.__struct_fields__:
        return {}
    if isinstance(situation, Visit):
        return {**asked_of(situation.situation, application), "person": situation.person}
    field = application.ASKED.__struct_fields__[0]
    rows = situation.T.tolist()
    return {field: rows if field == "actions" else rows[0]}


def told_of(outcome: Any, application: Application[Any]) -> dict[str, Any]:
    """Make the report of an application on ``outcome``."""
    if isinstance(outcome, np.ndarray):
        return {"reward": outcome.tolist()}
    whole = application.ACTION is bool  # a pull has earned 0 or 1
    return {"reward": int(outcome) if whole else float(outcome)}


class DirectParty:
    """A wrapper that asks a party with arrays, in the rounds of a federation between machines."""

    def __init__(self, party: ActingParty[Any]) -> None:
        self.party = party

    def __getattr__(self, name: str) -> Any:
        return getattr(self.party, name)

    def decide(self, situation: Any) -> Decision:
        """Ask the party in ``situation``; an arrival gets the round of a live request."""
        if isinstance(situation, Arrival):
            situation = situation._replace(round_=live_round(self.party))
        return self.party.decide(situation)


class AskedParty(DirectParty):
    """A wrapper that asks a party with JSON, as an application does."""

    def __init__(self, party: ActingParty[Any], application: Application[Any]) -> None:
        super().__init__(party)
        self._application = application

    def decide(self, situation: Any) -> Decision:
        """Ask for a decision in ``situation`` with JSON, and read the answer."""
        data = msgspec.json.encode(asked_of(situation, self._application))
        asked = msgspec.json.decode(data, type=self._application.ASKED)
        _require_within(self._application, asked)
        decision = self.party.decide(self._application.situation(self.party, asked))
        answer = msgspec.json.encode(self._application.action(decision, asked))
        action = msgspec.json.decode(answer, type=self._application.ACTION)
        return Decision(decision.number, np.array(action) if isinstance(action, list) else action)

    def observe(self, decision: Decision, outcome: Any) -> list[Message]:
        """Report the ``outcome`` of ``decision`` with JSON, using only its number."""
        data = msgspec.json.encode(told_of(outcome, self._application))
        report = msgspec.json.decode(data, type=self._application.TOLD)
        _require_within(self._application, report)
        opened, learned = self._application.observation(self.party, decision.number, report)
        return self.party.observe(opened, learned)


def _require_within(application: Application[Any], request: Any) -> None:
    """Check that the fields of a request are within the bounds of the application."""
    bounds = application.bounds()
    fields = {*application.ASKED.__struct_fields__, *application.TOLD.__struct_fields__}
    assert set(bounds) <= fields, "bounds of fields that there are not"
    for name in set(bounds) & set(request.__struct_fields__):
        msgspec.convert(getattr(request, name), bounds[name])


def asks_alike_in_arrays_and_in_json(preset: str) -> None:
    """Check that JSON loses nothing: actions are the same, and the state, bit for bit."""
    setting = Setting(preset)
    if setting.roles is None:
        assert setting.system.application(setting.plan) is None
        return
    application = setting.application
    supplies = setting.system.simulated_supplies(setting.plan, setting.stated, 1, 0)
    direct = setting.begin(DirectParty, supplies)
    asked = setting.begin(lambda party: AskedParty(party, application), supplies)
    for stop in range(1, ROUNDS + 1):
        direct.advance(stop)
        asked.advance(stop)
        for pair in zip(direct.decisions, asked.decisions, strict=True):
            assert np.array_equal(*pair)
        assert [party.dump() for party in direct.players] == [p.dump() for p in asked.players]
    assert np.array_equal(direct.regret, asked.regret)
    assert direct.done == ROUNDS


def _hostile_requests(legal: dict[str, Any], plan: Any) -> Iterator[bytes]:
    """Make requests that are almost right, as JSON, from a ``legal`` request."""
    value: Any
    for value in ([], None, "x", {**legal, "unknown": 1}):
        yield msgspec.json.encode(value)
    yield b"{"
    for field, values in legal.items():
        yield msgspec.json.encode({key: v for key, v in legal.items() if key != field})
        for value in (None, "x", {}, True, [[["x"]]]):
            yield msgspec.json.encode({**legal, field: value})
        others = _contexts(values, plan) if isinstance(values, list) else _users(plan, values)
        for other in others:
            if not (_clips(plan) and (repr(_HUGE) in repr(other) or repr(_LONG) in repr(other))):
                yield msgspec.json.encode({**legal, field: other})
        if isinstance(values, list):
            for number in (b"NaN", b"1e400", b"-Infinity"):
                data = msgspec.json.encode({**legal, field: values})
                yield data.replace(b"[[", b"[[" + number + b",", 1).replace(b":[", b":[" + number)
    if "context" in legal:
        arms = plan.facts.arms
        for some in ([], [-1], [arms], [0, 0], [0.5], [FAR], "x", list(range(arms)) * 2):
            yield msgspec.json.encode({**legal, "available": some})


def _contexts(values: list[Any], plan: Any) -> Iterator[list[Any]]:
    """Make contexts of a wrong shape, or with numbers that no context has."""
    if not isinstance(values[0], list):
        yield from ([], [_SMALL] * (len(values) - 1), [_SMALL] * (len(values) + 1))
        yield [_HUGE] * len(values)
        yield [_LONG] * len(values)
        return
    rows, row = [[_SMALL] * len(values[0])] * len(values), [_SMALL] * len(values[0])
    most = plan.facts.arms if hasattr(plan.facts, "arms") else plan.facts.items
    yield from ([], [[]], [[]] * len(rows), [r[1:] for r in rows], [[*r, _SMALL] for r in rows])
    yield [row[1:], *rows[1:]]  # ragged
    yield [*rows[1:], [*row, _SMALL]]
    yield [*rows, row] if len(rows) == most else [row] * (most + 1)  # one too many
    yield [[_HUGE] * len(row)] * len(rows)
    yield [*rows[1:], [-_HUGE, *row[1:]]]
    yield [*rows[1:], [-_LONG, *row[1:]]]


def _users(plan: Any, user: int) -> Iterator[int]:
    """List users of other homes than the ``user``."""
    home = plan.facts.home
    yield from (-1, len(home), FAR, 7654321)
    yield from (other for other, server in enumerate(home) if server != home[user])


def _hostile_outcomes(outcome: Any, plan: Any) -> Iterator[bytes]:
    """Make outcomes that are almost right, as JSON, from a legal ``outcome``."""
    value: Any
    for value in ([], None, "x", {}, {"reward": None}, {"reward": "x"}, {"reward": {}}):
        yield msgspec.json.encode(value)
    for number in (b"NaN", b"1e400", b"-Infinity", b'"1"'):
        yield b'{"reward":' + number + b"}"
    yield msgspec.json.encode({"reward": 0, "unknown": 1})
    if isinstance(outcome, np.ndarray):
        none, beyond = [0] * outcome.size, [7654321] * outcome.size
        for good in (none[1:], [*none, 0], beyond, [-1, *none[1:]], [0.5, *none[1:]], [FAR] * 5):
            yield msgspec.json.encode({"reward": good})
        for units in (none[1:], beyond, [-1, *none[1:]], [2**64 - 1, *none[1:]]):
            yield msgspec.json.encode({"reward": none, "units": units})
        yield msgspec.json.encode({"reward": [1, *none[1:]], "units": none})
    elif not _clips(plan):
        for reward in (7654321.0, -7654321.0, _HUGE, -_HUGE, -math.pi):
            yield msgspec.json.encode({"reward": reward})


def _clips(plan: Any) -> bool:
    """Tell whether numbers out of bounds are clipped instead of refused."""
    return bool(getattr(getattr(plan, "constants", None), "clip", False))


def refuses_hostile_requests(preset: str) -> None:
    """Check that impossible requests raise named errors, change nothing and reveal nothing."""
    setting = Setting(preset)
    if setting.roles is None:
        return
    application, refused = setting.application, Counter[str]()

    class Attacked(AskedParty):
        def decide(self, situation: Any) -> Decision:
            if self.party.state.stage != "starting":
                legal = asked_of(situation, application)
                for data in _hostile_requests(legal, setting.plan):
                    refused[_refused(self.party, data, self._ask)] += 1
            return super().decide(situation)

        def _ask(self, data: bytes) -> None:
            asked = msgspec.json.decode(data, type=application.ASKED)
            self.party.decide(application.situation(self.party, asked))

    run = setting.begin(lambda party: Attacked(party, application))
    run.advance(8)
    assert refused["ValidationError"] > 0
    assert set(refused) <= {"ValidationError", "DecodeError", *_NAMED}


def refuses_hostile_outcomes(preset: str) -> None:
    """Check that impossible outcomes raise named errors, and the decision stays open."""
    setting = Setting(preset)
    if setting.roles is None:
        return
    application, refused = setting.application, Counter[str]()

    class Attacked(AskedParty):
        def observe(self, decision: Decision, outcome: Any) -> list[Message]:
            legal = msgspec.json.encode(told_of(outcome, application))
            for number in (0, -1, decision.number + 7, FAR):
                refused[_refused(self.party, legal, self._tell, number)] += 1
            for data in _hostile_outcomes(outcome, setting.plan):
                refused[_refused(self.party, data, self._tell, decision.number)] += 1
            sent = super().observe(decision, outcome)
            refused[_refused(self.party, legal, self._tell, decision.number)] += 1
            return sent

        def _tell(self, data: bytes, number: int) -> None:
            report = msgspec.json.decode(data, type=application.TOLD)
            self.party.observe(*application.observation(self.party, number, report))

    run = setting.begin(lambda party: Attacked(party, application))
    run.advance(8)
    assert refused["LocalProtocolError"] > 0
    assert set(refused) <= {"ValidationError", "DecodeError", *_NAMED}


_NAMED = ("LocalProtocolError", "BoundExceededError", "LateOutcomeError")


def _refused(party: Any, data: bytes, act: Callable[..., None], *arguments: Any) -> str:
    """Return the type of an act's error; nothing has changed, and the error shows no number."""
    before, refusal = party.dump(), None
    try:
        act(data, *arguments)
    except (FedbanditsError, msgspec.DecodeError) as error:
        refusal = error
    assert refusal is not None, f"{party.name} took {data!r} {arguments}"
    assert party.dump() == before, f"{data!r} was refused, and has changed {party.name}"
    assert MARK not in str(refusal), f"an error shows what was given: {refusal}"
    return type(refusal).__name__


def plays_with_what_it_brings(preset: str) -> None:
    """Check that parties play with the supplies of a deployment, and are killed at every event.

    Their noise is secure, charged and stored. No party is charged more than is claimed.
    """
    setting = Setting(preset)
    if setting.roles is None:
        return
    claim, events = setting.system.claim(setting.plan), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ledger.db"
        with Ledger.open(path, "test") as ledger:
            workplace = FederationResources(setting.system, setting.plan, ledger, setting.own())
            run = PartiesReplicate(
                setting.system, setting.plan, setting.world, 1, 0, supplies=workplace.supply,
                embody=lambda make: MortalParty(make, events),
            )  # fmt: skip
            run.advance(ROUNDS)
            assert run.done == ROUNDS
            assert events.total() > 0
            with ledger.read() as connection:
                ledger.verify(connection)
                for party in ledger.parties(connection):
                    statement = ledger.statement(connection, party)
                    assert statement.spent_mu <= claim.mu * (1 + 1e-12)
                paid = len(ledger.parties(connection))
    noisy = 0.0 < claim.mu < math.inf
    assert paid == (len(setting.roles.acting.parties) if noisy else 0)


#: All checks of the suite.
CHECKS: tuple[Callable[[str], None], ...] = (
    asks_alike_in_arrays_and_in_json,
    refuses_hostile_requests,
    refuses_hostile_outcomes,
    plays_with_what_it_brings,
)
