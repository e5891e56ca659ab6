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
import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from fedbandits.environments import Environment
from fedbandits.errors import WrongTypeError
from fedbandits.experiments.checkpoint import CheckpointFolder, Progressed
from fedbandits.experiments.trace import ReplicateTrace
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.seats import routes
from fedbandits.privacy.noise_check import check_noise
from fedbandits.privacy.sensitivity_check import check_sensitivity
from fedbandits.settings.experiment import Experiment, system
from fedbandits.systems import Simulation, find_preset
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.party_games import paired_games
from fedbandits.systems.terms import terms_of
from fedbandits.testing.message_times import Watch
from fedbandits.testing.mutants import AttackedParty, Mutants
from fedbandits.testing.restored import MortalParty
from fedbandits.testing.worlds import small_world

#: Long enough that every preset syncs, or has every reason to.
ROUNDS = 60


def _begin(preset: str, replicate: int = 0, threads: int = 1) -> Simulation:
    found, plan, world = _setting(preset)
    simulation: Simulation = found.simulate(plan, world, 1, replicate, threads)
    return simulation


def _setting(preset: str) -> tuple[Any, Any, Environment]:
    found = find_preset(preset)
    assert found is not None, f"no preset is called {preset!r}"
    world = small_world(found)
    return found, system(preset).plan(world, ROUNDS), world


def _standing(run: Any) -> tuple[Any, ...]:
    counts = (run.done, run.syncs, run.messages, run.bytes, run.epsilon)
    return (*counts, run.regret.tolist(), run.reward.tolist())


def _reported(run: Simulation) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in run.metrics.items()}


def says_what_it_is(preset: str) -> None:
    """Check that a preset has a description, and its system names its paper."""
    found, _, _ = _setting(preset)
    assert len(found.presets[preset].description) > 20
    assert found.paper


def claims_something_definite(preset: str) -> None:
    """Check that the claim says what is protected, from whom, and what is not."""
    found, plan, _ = _setting(preset)
    stated = found.claim(plan)
    assert stated.unit
    assert stated.from_whom
    assert stated.not_protected
    assert stated.epsilon >= stated.epsilon_contents
    assert (stated.holds_for == "nothing") == (not stated.is_private)
    assert stated.headline


def claims_what_was_asked_for(preset: str) -> None:
    """Check that a private system claims no larger ε than its ``epsilon``, at its ``delta``."""
    found, plan, _ = _setting(preset)
    stated, asked = found.claim(plan), getattr(plan.config, "epsilon", None)
    if asked is None or not (stated.is_private and 0.0 < stated.mu < math.inf):
        return
    largest = max(asked) if isinstance(asked, tuple | list) else asked
    assert stated.epsilon <= largest * (1 + 1e-9), (
        f"the setting asks for ε = {largest:g}, and ε = {stated.epsilon:g} is claimed"
    )
    assert stated.delta == plan.config.delta


def agrees_on_no_seed(preset: str) -> None:
    """Check that the terms are plain values without a seed, the same for all replicates."""
    found, plan, _ = _setting(preset)
    if found.roles(plan) is None:
        return
    terms = terms_of(found, plan, "secure")
    agreed = msgspec.to_builtins(terms)
    assert agreed["schedule"]["rounds"] == ROUNDS
    assert terms.difference(terms_of(found, plan, "secure").content) is None
    simulated = terms_of(found, plan, "simulated").content
    assert terms.difference(simulated) == ("noise", "secure", "simulated")
    assert not any("seed" in key or "replicate" in key for key in _keys(agreed, inside="graph"))


def _keys(table: Any, inside: str) -> set[str]:
    """List all keys in nested tables, but those below ``inside``: a graph has its own seed."""
    if isinstance(table, dict):
        below = [_keys(value, inside) for key, value in table.items() if key != inside]
        return set(table).union(*below)
    if isinstance(table, list | tuple):
        return set().union(*(_keys(value, inside) for value in table))
    return set()


def is_determined_by_seed_and_replicate(preset: str) -> None:
    """Check that seed and replicate determine the run, and others give another run."""
    one, two, other = _begin(preset), _begin(preset), _begin(preset, replicate=1)
    for run in (one, two, other):
        run.advance(ROUNDS)
    assert _standing(one) == _standing(two)
    assert _standing(one) != _standing(other)


def does_not_depend_on_threads(preset: str) -> None:
    """Check that results do not depend on the number of threads."""
    one, several = _begin(preset), _begin(preset, threads=2)
    for run in (one, several):
        run.advance(ROUNDS)
    assert _standing(one) == _standing(several)


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
    """Check that every number that a party releases has the noise that the claim needs.

    It is compared with the draws that it is made of, in ``scale`` times as many runs as usual.
    """
    found, plan, world = _setting(preset)
    checks = found.noise_checks(plan, world)
    assert checks or not 0.0 < found.claim(plan).mu < math.inf, "noise that nobody can check"
    for numbers in checks:
        finding = check_noise(numbers, scale=scale)
        assert finding.right, f"{finding.looks_at}: {finding.named}"


def moves_no_further_than_charged(preset: str, scale: float = 1.0) -> None:
    """Check that a record moves releases as far as charged, for ``scale`` of the usual records."""
    found, plan, world = _setting(preset)
    claim, games = found.claim(plan), found.games(plan, world)
    assert games or not 0.0 < claim.epsilon_contents < math.inf, "a claim that no game attacks"
    for paired in paired_games(games):
        if (claim.holds_for, paired.neighbours) == ("fixed log", "interactive"):
            continue
        finding = check_sensitivity(paired, scale)
        assert finding.right, f"one record moves releases too far: ε = {finding.epsilon:.4g}"


def does_what_its_claim_rests_on(preset: str) -> None:
    """Check what a claim rests on beside noise: masks, members of sums, visits that count."""
    found, plan, world = _setting(preset)
    for check in found.protocol_checks(plan, world):
        _, wrong = check.play()
        assert not wrong, f"{check.looks_at}: {'; '.join(wrong)}"


def spends_within_its_claim(preset: str) -> None:
    """Check that the ε that a run has spent is at most the claimed ε of contents."""
    found, plan, _ = _setting(preset)
    run = _begin(preset)
    run.advance(ROUNDS)
    assert run.epsilon <= found.claim(plan).epsilon_contents * (1 + 1e-12)


def survives_save_and_load(preset: str) -> None:
    """Check that a replicate that is saved and loaded continues bit for bit, if it can be."""
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
    found, plan, world = _setting(preset)
    if found.roles(plan) is None:
        return
    events: Counter[str] = Counter()
    smooth = PartiesReplicate(found, plan, world, 1, 0)
    rough = PartiesReplicate(
        found, plan, world, 1, 0, embody=lambda make: MortalParty(make, events)
    )
    rounds = _rounds_of_all_messages(found, plan, world)
    for run in (smooth, rough):
        run.advance(rounds)
    assert _standing(smooth) == _standing(rough)
    assert events.total() >= rounds


def _rounds_of_all_messages(found: Any, plan: Any, world: Environment) -> int:
    """Return how many rounds have messages of all kinds that there are: a third, two, or all."""
    run = PartiesReplicate(found, plan, world, 1, 0)
    kinds: dict[int, set[type[Message]]] = {}
    for stop in (ROUNDS // 3, 2 * ROUNDS // 3, ROUNDS):
        run.advance(stop)
        kinds[stop] = {type(message) for _, message in run.network.transcript.deliveries}
    return next(stop for stop in kinds if kinds[stop] == kinds[ROUNDS])


def refuses_mutants_without_a_trace(preset: str) -> None:
    """Check that a changed message is taken, or refused with an error and no other change."""
    found, plan, world = _setting(preset)
    roles = found.roles(plan)
    if roles is None:
        return
    outcomes: Counter[str] = Counter()
    mutants, counts = Mutants(roles.codec, 1), dict.fromkeys(roles.parties, 3)

    def embody(make: Callable[[], Party[Any]]) -> Any:
        return AttackedParty(make, roles.codec, mutants, counts, outcomes)

    smooth = PartiesReplicate(found, plan, world, 1, 0)
    attacked = PartiesReplicate(found, plan, world, 1, 0, embody=embody)
    rounds = _rounds_of_all_messages(found, plan, world)
    for run in (smooth, attacked):
        run.advance(rounds)
    assert _standing(smooth) == _standing(attacked)
    assert outcomes.total() == 3 * attacked.messages


def is_played_alike_by_parties(preset: str) -> None:
    """Check that parties that exchange messages report the same as the simulation.

    They do so round by round. Every message is sent between the roles that the table of messages
    allows.
    """
    found, plan, world = _setting(preset)
    roles = found.roles(plan)
    if roles is None:
        return
    compiled, parties = _begin(preset), PartiesReplicate(found, plan, world, 1, 0)
    for stop in range(1, ROUNDS + 1):
        compiled.advance(stop)
        parties.advance(stop)
        if not roles.messages_set_pace or stop == ROUNDS:
            assert _standing(compiled) == _standing(parties)
    for _, message in parties.network.transcript.deliveries:
        route = type(message), roles.role_of(message.sender), roles.role_of(message.receiver)
        assert route in routes(roles.table), type(message).__name__


def takes_nothing_but_messages(preset: str) -> None:
    """Check that whatever is no message raises a named error and changes nothing."""
    found, plan, world = _setting(preset)
    if found.roles(plan) is None:
        return
    run = PartiesReplicate(found, plan, world, 1, 0)
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


def releases_as_soon_as_a_round_is_over(preset: str) -> None:
    """Check that a private party sends its releases as soon as a round is over.

    It sends nothing at any other event. It draws no noise while a release waits to be sent. For all
    data it calls the same functions in the same order.
    """
    found, plan, world = _setting(preset)
    claim = found.claim(plan)
    if found.roles(plan) is None or not (claim.is_private and claim.events):
        return
    seen = []
    for replicate in (0, 1, 2):
        watch = Watch(found, plan, world, replicate)
        watch.run.advance(ROUNDS)
        assert watch.releases
        seen.append(watch.releases)
    _, one, other = seen  # the first one compiles what is called
    assert one == other


#: All of them.
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
