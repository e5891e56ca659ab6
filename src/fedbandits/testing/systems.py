"""The contract suite for systems: checks that every preset must pass.

Each check takes ``preset``, the name of a preset, and raises AssertionError. Use the checks for the
presets of your own system::

    @pytest.mark.parametrize("check", CHECKS)
    def test_my_system(check):
        check("my-preset")
"""

from __future__ import annotations

import math
import pathlib
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import msgspec
import numpy as np

from fedbandits.environments import Environment
from fedbandits.errors import WrongTypeError
from fedbandits.experiments.checkpoint import CheckpointFolder, Progressed
from fedbandits.experiments.trace import ReplicateTrace
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision
from fedbandits.federation.links import Receipt
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Supplies
from fedbandits.federation.seats import routes
from fedbandits.privacy.noise_check import check_noise
from fedbandits.privacy.secure_noise import GRID_BITS, SecureNoise
from fedbandits.privacy.sensitivity_check import check_sensitivity
from fedbandits.random import Purpose, normals, replicate_key
from fedbandits.settings.experiment import Experiment, system
from fedbandits.systems import Simulation, System, find_preset
from fedbandits.systems.base import PartiesReplicate, Plan
from fedbandits.systems.party_games import paired_games
from fedbandits.systems.terms import terms_of
from fedbandits.testing.mutants import AttackedParty, Mutants
from fedbandits.testing.restored import MortalParty
from fedbandits.testing.worlds import small_world

#: Rounds of a run, enough for a sync of every preset.
ROUNDS = 60
_PACKAGE = str(pathlib.Path(__file__).parents[1])


def _begin(preset: str, replicate: int = 0, threads: int = 1) -> Simulation:
    declared, plan, world = _setting(preset)
    simulation: Simulation = declared.simulate(plan, world, 1, replicate, threads)
    return simulation


def _setting(preset: str) -> tuple[Any, Any, Environment]:
    declared = find_preset(preset)
    assert declared is not None, f"no preset is called {preset!r}"
    world = small_world(declared)
    return declared, system(preset).plan(world, ROUNDS), world


def _standing(run: Any) -> tuple[Any, ...]:
    counts = (run.done, run.syncs, run.messages, run.bytes, run.epsilon)
    return (*counts, run.regret.tolist(), run.reward.tolist())


def _reported(run: Simulation) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in run.metrics.items()}


def says_what_it_is(preset: str) -> None:
    """Check that a preset has a description, and its system names its paper."""
    declared, _, _ = _setting(preset)
    assert len(declared.presets[preset].description) > 20
    assert declared.paper


def claims_something_definite(preset: str) -> None:
    """Check that the claim names the unit, the observers, and the limits of protection."""
    declared, plan, _ = _setting(preset)
    stated = declared.claim(plan)
    assert stated.unit
    assert stated.from_whom
    assert stated.not_protected
    assert stated.epsilon >= stated.epsilon_contents
    assert (stated.holds_for == "nothing") == (not stated.is_private)
    assert stated.headline


def claims_what_was_asked_for(preset: str) -> None:
    """Check that a private system claims no larger ε than its ``epsilon``, at its ``delta``."""
    declared, plan, _ = _setting(preset)
    stated, asked = declared.claim(plan), getattr(plan.config, "epsilon", None)
    if asked is None or not (stated.is_private and 0.0 < stated.mu < math.inf):
        return
    largest = max(asked) if isinstance(asked, tuple | list) else asked
    assert stated.epsilon <= largest * (1 + 1e-9), (
        f"the setting asks for ε = {largest:g}, and ε = {stated.epsilon:g} is claimed"
    )
    assert stated.delta == plan.config.delta


def agrees_on_no_seed(preset: str) -> None:
    """Check that the terms are plain values without a seed, the same for all replicates."""
    declared, plan, _ = _setting(preset)
    if declared.roles(plan) is None:
        return
    terms = terms_of(declared, plan, "secure")
    agreed = msgspec.to_builtins(terms)
    assert agreed["schedule"]["rounds"] == ROUNDS
    assert terms.difference(terms_of(declared, plan, "secure").content) is None
    simulated = terms_of(declared, plan, "simulated").content
    assert terms.difference(simulated) == ("noise", "secure", "simulated")
    assert not any("seed" in key or "replicate" in key for key in _keys(agreed, inside="graph"))


def _keys(table: Any, inside: str) -> set[str]:
    """List all keys in nested tables, except keys below ``inside``: a graph has its own seed."""
    if isinstance(table, dict):
        below = [_keys(value, inside) for key, value in table.items() if key != inside]
        return set(table).union(*below)
    if isinstance(table, list | tuple):
        return set().union(*(_keys(value, inside) for value in table))
    return set()


def is_determined_by_seed_and_replicate(preset: str) -> None:
    """Check that seed and replicate determine the run, and others give another run."""
    first, again, other = _begin(preset), _begin(preset), _begin(preset, replicate=1)
    for run in (first, again, other):
        run.advance(ROUNDS)
    assert _standing(first) == _standing(again)
    assert _standing(first) != _standing(other)


def does_not_depend_on_threads(preset: str) -> None:
    """Check that results do not depend on the number of threads."""
    single, several = _begin(preset), _begin(preset, threads=2)
    for run in (single, several):
        run.advance(ROUNDS)
    assert _standing(single) == _standing(several)


def reports_what_is_cumulative(preset: str) -> None:
    """Check that reported values never fall, and no round is played after the horizon."""
    run, last = _begin(preset), None
    for stop in (1, 7, 8, 30, ROUNDS, ROUNDS + 9):
        run.advance(stop)
        assert run.done == min(stop, ROUNDS)
        counts = (run.syncs, run.messages, run.bytes, run.epsilon)
        now = (run.regret.sum(), run.reward.sum(), *counts)
        if last is not None:
            assert all(a >= b for a, b in zip(now, last, strict=True))
        last = now


def adds_its_planned_noise(preset: str, scale: float = 1.0) -> None:
    """Check that every released number has the noise that the claim needs.

    The noise of a number is compared with its draws, in ``scale`` times the usual runs.
    """
    declared, plan, world = _setting(preset)
    checks = declared.noise_checks(plan, world)
    assert checks or not 0.0 < declared.claim(plan).mu < math.inf, "noise that nobody can check"
    for numbers in checks:
        finding = check_noise(numbers, scale=scale)
        assert finding.right, f"{finding.looks_at}: {finding.named}"


def moves_no_further_than_charged(preset: str, scale: float = 1.0) -> None:
    """Check that a record moves releases as far as charged, for ``scale`` of the usual records."""
    declared, plan, world = _setting(preset)
    claim, games = declared.claim(plan), declared.games(plan, world)
    assert games or not 0.0 < claim.epsilon_contents < math.inf, "a claim that no game attacks"
    for paired in paired_games(games):
        if (claim.holds_for, paired.neighbours) == ("fixed log", "interactive"):
            continue
        finding = check_sensitivity(paired, scale)
        assert finding.right, f"one record moves releases too far: ε = {finding.epsilon:.4g}"


def does_what_its_claim_rests_on(preset: str) -> None:
    """Check further conditions of a claim: masks, members of sums, visits that count."""
    declared, plan, world = _setting(preset)
    for check in declared.protocol_checks(plan, world):
        _, wrong = check.play()
        assert not wrong, f"{check.looks_at}: {'; '.join(wrong)}"


def spends_within_its_claim(preset: str) -> None:
    """Check that the ε that a run has spent is at most the claimed ε of contents."""
    declared, plan, _ = _setting(preset)
    run = _begin(preset)
    run.advance(ROUNDS)
    assert run.epsilon <= declared.claim(plan).epsilon_contents * (1 + 1e-12)


def survives_save_and_load(preset: str) -> None:
    """Check that a saved and loaded replicate continues bit for bit, if replicates are saved."""
    run, resumed = _begin(preset), _begin(preset)
    if run.state is None:
        return
    world = _setting(preset)[2]
    experiment = Experiment(rounds=ROUNDS, environment=world, systems=(system(preset),))
    trace = ReplicateTrace.empty(0, 0, np.array([ROUNDS]), len(run.regret))
    progressed = Progressed(0, ((1.0, 2.5),))
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = CheckpointFolder(pathlib.Path(folder) / "out", experiment)
        checkpoints.begin(resume=False)
        run.advance(23)
        checkpoints.save(trace, run, progressed)
        assert checkpoints.load(trace, resumed) == progressed
    assert _standing(run) == _standing(resumed)
    run.advance(ROUNDS)
    resumed.advance(ROUNDS)
    assert _standing(run) == _standing(resumed)
    assert _reported(run) == _reported(resumed)


def goes_on_from_any_event(preset: str) -> None:
    """Check that a party that is killed and restored at any event continues bit for bit."""
    declared, plan, world = _setting(preset)
    if declared.roles(plan) is None:
        return
    events: Counter[str] = Counter()
    smooth = PartiesReplicate(declared, plan, world, 1, 0)
    rough = PartiesReplicate(
        declared, plan, world, 1, 0, embody=lambda make: MortalParty(make, events)
    )
    rounds = _rounds_of_all_messages(declared, plan, world)
    for run in (smooth, rough):
        run.advance(rounds)
    assert _standing(smooth) == _standing(rough)
    assert events.total() >= rounds


def _rounds_of_all_messages(declared: Any, plan: Any, world: Environment) -> int:
    """Return the first third of the rounds, the first two, or all: with messages of all types."""
    run = PartiesReplicate(declared, plan, world, 1, 0)
    kinds: dict[int, set[type[Message]]] = {}
    for stop in (ROUNDS // 3, 2 * ROUNDS // 3, ROUNDS):
        run.advance(stop)
        kinds[stop] = {type(message) for _, message in run.network.transcript.deliveries}
    return next(stop for stop in kinds if kinds[stop] == kinds[ROUNDS])


def refuses_mutants_without_a_trace(preset: str) -> None:
    """Check that a changed message is taken, or refused with an error and no other change."""
    declared, plan, world = _setting(preset)
    roles = declared.roles(plan)
    if roles is None:
        return
    outcomes: Counter[str] = Counter()
    mutants, counts = Mutants(roles.codec, 1), dict.fromkeys(roles.parties, 3)

    def embody(make: Callable[[], Party[Any]]) -> Any:
        return AttackedParty(make, roles.codec, mutants, counts, outcomes)

    smooth = PartiesReplicate(declared, plan, world, 1, 0)
    attacked = PartiesReplicate(declared, plan, world, 1, 0, embody=embody)
    rounds = _rounds_of_all_messages(declared, plan, world)
    for run in (smooth, attacked):
        run.advance(rounds)
    assert _standing(smooth) == _standing(attacked)
    assert outcomes.total() == 3 * attacked.messages


def is_played_alike_by_parties(preset: str) -> None:
    """Check that parties that exchange messages report the same as the simulation.

    Both agree round by round. Every message is sent between the roles that the table of messages
    allows.
    """
    declared, plan, world = _setting(preset)
    roles = declared.roles(plan)
    if roles is None:
        return
    compiled, parties = _begin(preset), PartiesReplicate(declared, plan, world, 1, 0)
    for stop in range(1, ROUNDS + 1):
        compiled.advance(stop)
        parties.advance(stop)
        if not roles.messages_set_pace or stop == ROUNDS:
            assert _standing(compiled) == _standing(parties)
    for _, message in parties.network.transcript.deliveries:
        route = type(message), roles.role_of(message.sender), roles.role_of(message.receiver)
        assert route in routes(roles.table), type(message).__name__


def takes_nothing_but_messages(preset: str) -> None:
    """Check that objects that are no messages raise a named error and change nothing."""
    declared, plan, world = _setting(preset)
    if declared.roles(plan) is None:
        return
    run = PartiesReplicate(declared, plan, world, 1, 0)
    run.advance(ROUNDS // 2)
    for party in run.network.parties.values():
        for thing in (None, b"", "text", 3, [], {}, Message, object()):
            _refused(party, thing)
    seen = {type(message): message for _, message in run.network.transcript.deliveries}
    for message in seen.values():
        receiver = run.network.parties[message.receiver]
        for field in message.__struct_fields__:
            _refused(receiver, msgspec.structs.replace(message, **{field: {None}}))


def _refused(party: Any, thing: Any) -> None:
    before = party.dump()
    try:
        party.receive(thing)
    except WrongTypeError:
        assert party.dump() == before
    else:
        raise AssertionError(f"{party.name} took a {type(thing).__name__}")


class Watch:
    """Watch over the releases of parties whose noise is drawn as in a deployment.

    The parties play a ``replicate`` of the ``plan`` of a ``system`` in a ``world``.
    """

    def __init__(self, system: System[Any], plan: Plan, world: Environment, replicate: int) -> None:
        #: Functions that were called before each release left.
        self.releases: list[tuple[str, ...]] = []
        #: Whether a party is ending a round.
        self.ending = False
        self._key, self._samples = replicate_key(1, replicate), 0
        stage = world.stage(self._key)
        simulated = system.simulated_supplies(plan, stage.world, 1, replicate)
        self.run = PartiesReplicate(
            system, plan, world, 1, replicate, supplies=self._deployed(simulated)
        )
        self._folders = (_PACKAGE, _folder_of(system))
        for player in self.run.players:
            self._watch(player)

    def _deployed(self, simulated: Supplies) -> Supplies:
        def supply(role: str, place: int) -> Any:
            own = simulated(role, place)
            return own._replace(noise=SecureNoise(self._sample)) if hasattr(own, "noise") else own

        return supply

    def _sample(self, count: int) -> list[int]:
        assert not self.ending, "noise was drawn while a release was waited for"
        self._samples += 1  # of the whole federation: no two parties share noise
        drawn = normals(count, self._key, 0, self._samples, Purpose.PRIVACY_NOISE)
        return [int(z) for z in drawn * 2.0**GRID_BITS]

    def _watch(self, player: ActingParty[Any]) -> None:
        end_round = player.end_round

        def ended(round_: int) -> Any:
            calls: list[str] = []
            self.ending = True
            with calls_noted(calls, self._folders):
                messages = end_round(round_)
            self.ending = False
            if messages:
                self.releases.append(tuple(calls))
            return messages

        player.end_round = ended  # type: ignore[method-assign]
        observe, receive_bytes = player.observe, player.receive_bytes

        def observed(decision: Decision, outcome: Any) -> list[Message]:
            messages = observe(decision, outcome)
            assert not messages, f"{player.name} sends something when it learns of an outcome"
            return messages

        def received(data: bytes, link: str) -> Receipt:
            receipt = receive_bytes(data, link)
            assert not receipt.outgoing, f"{player.name} sends something when it is told something"
            return receipt

        player.observe, player.receive_bytes = observed, received  # type: ignore[method-assign]


def _folder_of(system: System[Any]) -> str:
    """Return the folder of a system's code, which may be outside this package."""
    file = getattr(sys.modules.get(type(system).__module__), "__file__", None) or _PACKAGE
    return str(pathlib.Path(file).parent)


@contextmanager
def calls_noted(calls: list[str], folders: tuple[str, ...] = (_PACKAGE,)) -> Iterator[None]:
    """Collect the names of all functions, Python's and C's, that code in some folders calls."""

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if not frame.f_code.co_filename.startswith(folders):
            return
        if event == "call":
            calls.append(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}")
        elif event == "c_call":
            calls.append(str(getattr(argument, "__qualname__", argument)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)


def releases_as_soon_as_a_round_is_over(preset: str) -> None:
    """Check that a private party sends its releases as soon as a round is over.

    The party sends nothing at any other event. It draws no noise while a release waits to be sent.
    For all data it calls the same functions in the same order.
    """
    declared, plan, world = _setting(preset)
    claim = declared.claim(plan)
    if declared.roles(plan) is None or not (claim.is_private and claim.events):
        return
    seen = []
    for replicate in (0, 1, 2):
        watch = Watch(declared, plan, world, replicate)
        watch.run.advance(ROUNDS)
        assert watch.releases
        seen.append(watch.releases)
    _, second, third = seen  # the first run compiles kernels
    assert second == third


#: All checks of the suite.
CHECKS: tuple[Callable[[str], None], ...] = (
    says_what_it_is,
    claims_something_definite,
    claims_what_was_asked_for,
    agrees_on_no_seed,
    is_determined_by_seed_and_replicate,
    does_not_depend_on_threads,
    reports_what_is_cumulative,
    adds_its_planned_noise,
    moves_no_further_than_charged,
    does_what_its_claim_rests_on,
    spends_within_its_claim,
    survives_save_and_load,
    is_played_alike_by_parties,
    goes_on_from_any_event,
    refuses_mutants_without_a_trace,
    takes_nothing_but_messages,
    releases_as_soon_as_a_round_is_over,
)
