"""Mistakes that an audit must find: each is one change to a mechanism that holds without it.

First mechanisms made of the package's own parts with one part wrong, then whole parties in which
one function that they call is replaced. Each unmutated counterpart must hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Classification, Clustered, Linear, Procurement
from fedbandits.errors import NoiseReuseError
from fedbandits.experiments.audits.verdict import judge
from fedbandits.privacy import gaussian, running_sum, secure_noise
from fedbandits.privacy.auditing import audit
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.continual import ContinualPlan, calibrated, noise_pattern
from fedbandits.privacy.ledger import LedgeredNoise
from fedbandits.privacy.likelihood import attacker
from fedbandits.privacy.noise_check import check_noise
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.privacy.sensitivity_check import check_sensitivity
from fedbandits.random import Key, Purpose, normals
from fedbandits.settings.experiment import system
from fedbandits.systems.agents import audit as agents_audit
from fedbandits.systems.agents import audit_releases as agents_releases
from fedbandits.systems.agents.audit_releases import simulated_numbers
from fedbandits.systems.agents.kernels import audit as agents_kernels
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.fclub import SYSTEM as FCLUB
from fedbandits.systems.fclub import audit as fclub_audit
from fedbandits.systems.feducb import SYSTEM as FEDUCB
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    audit_key,
    opposite_records,
    packed_record,
)
from fedbandits.systems.party_games import SmallWorld
from fedbandits.systems.pfcb import SYSTEM as PFCB
from fedbandits.systems.pfcb import audit as pfcb_audit
from fedbandits.systems.pfcb.audit import releases as pfcb_releases
from fedbandits.systems.pfcb.kernels import rounds as pfcb_kernels
from fedbandits.systems.pfcb.roles import buyer as pfcb_buyer
from fedbandits.testing.replicates import federate, plan_of, system_of
from tests.privacy.ledgers import ledger_at
from tests.sized import sized

# ---------------------------------------------------------------- mechanisms with one part wrong

EPSILON, DELTA = 4.0, 0.01
RELEASES, DIMENSION = 4, 2
#: Different bounds make the noise's shape matter, large ones its unit.
CONTEXT_BOUND, REWARD_BOUND = 2.0, 1.0
NORM = gaussian.record_sensitivity(CONTEXT_BOUND, REWARD_BOUND)
PATTERN = noise_pattern(1, DIMENSION)
SIZE = len(PATTERN)
RUNS = 2000
#: Standard normals by step.
Draw = Callable[[int], np.ndarray]

#: The release of a report, as it is before a test breaks it.
_report = pfcb_buyer.release_report


class Parts(NamedTuple):
    """A mechanism that releases running sums in which a record is replaced."""

    plan: ContinualPlan
    pattern: np.ndarray = PATTERN
    batches: tuple[int, ...] = (1,)  # in which the record is counted
    noise: Callable[[Draw], Draw] = lambda draw: draw  # what the releasing code is given
    restarts: bool = False  # after the last release, and makes all of them again
    frozen: bool = False  # every release carries the last one's noise


def stated(mechanism="toeplitz"):
    return calibrated(mechanism, RELEASES, gaussian.mu_of(EPSILON, DELTA), NORM)


def play(parts: Parts, record: np.ndarray, run: int) -> np.ndarray:
    """All releases of one run, by the code that parties release with."""

    def draw(step):
        return normals(SIZE, audit_key(1), run, step, Purpose.PRIVACY_NOISE)

    noise, nothing = parts.noise(draw), running_sum.init(parts.plan, SIZE)
    released = _released(parts, record, nothing, noise)
    if parts.frozen:
        kept = released[-1] - _total(parts, record, RELEASES)
        released = [kept + _total(parts, record, k) for k in range(1, RELEASES + 1)]
    if parts.restarts:
        released += _released(parts, record, nothing, lambda step: noise(step + RELEASES))
    return np.array(released)


def _released(parts, record, state, noise):
    released = []
    for step in range(1, RELEASES + 1):
        total = _total(parts, record, step)
        state, noisy = running_sum.release(parts.plan, state, total, parts.pattern, noise)
        released.append(noisy)
    return released


def _total(parts, record, step):
    return record * float(sum(batch <= step for batch in parts.batches))


def game_of(parts: Parts) -> ContentsGame:
    """The attacker knows the mechanism as it is stated; whatever is wrong it must find out."""
    pair = opposite_records(DIMENSION, CONTEXT_BOUND, REWARD_BOUND)
    moved = [packed_record(record) for record in pair]
    sees = attacker(stated(), (moved[0], moved[1]), np.arange(1, RELEASES + 1))
    if parts.restarts:
        sees = sees._replace(over_time=np.kron(np.eye(2), sees.over_time))
    releases = len(sees.over_time)

    def look(world, first, count):
        values = np.array([play(parts, moved[world], first + i) for i in range(count)])
        scores = sees.scores(values, np.ones((count, releases)), np.ones(count))
        # Not what numbers without noise show: a score and what is learned must do.
        return Look(values.reshape(count, -1), scores, np.zeros((count, 0)))

    return ContentsGame("contents of releases", releases * SIZE, look)


def attacked(parts: Parts):
    return audit(game_of(parts), RUNS, DELTA)


def judged(finding):
    claim = PrivacyClaim(
        unit="one record",
        from_whom="everybody",
        relation="replace-one",
        holds_for="fixed log",
        epsilon=EPSILON,
        epsilon_contents=EPSILON,
        delta=DELTA,
        mu=gaussian.mu_of(EPSILON, DELTA),
    )
    return judge("mechanism", claim, (finding,), 0.99)


def reused(draw: Draw) -> Draw:
    """Noise that was drawn once serves all steps."""
    return lambda step: draw(1)


def missing(draw: Draw) -> Draw:
    return lambda step: np.zeros(SIZE)


def wrong_column(draw: Draw) -> Draw:
    """The moment's noise h is a column of the Gram matrix's noise H: u - V e₁ has none."""
    rows, _ = np.triu_indices(DIMENSION)
    first = np.flatnonzero(rows == 0)

    def taken(step):
        drawn = draw(step).copy()
        drawn[len(rows) :] = (PATTERN * drawn)[first]
        return drawn

    return taken


def scaled(plan, scale):
    return msgspec.structs.replace(plan, scale=scale)


SOUND = stated()
MUTANTS = {
    "noise is not added": Parts(SOUND, noise=missing),
    "noise is drawn once and reused": Parts(SOUND, noise=reused),
    "noise of a tree is drawn once and reused": Parts(stated("tree"), noise=reused),
    "h is a column of H": Parts(SOUND, noise=wrong_column),
    "the deviation is taken for a variance": Parts(scaled(SOUND, SOUND.scale**0.5)),
    # Replacing a record moves z zᵀ by √2 (L² + B²), not by what adding one does.
    "sensitivity lacks √2": Parts(scaled(SOUND, SOUND.scale / 2**0.5)),
    # A noise matrix of equal entries is not isotropic: a change of diagonal entries sticks out.
    "diagonal entries lack √2": Parts(SOUND, pattern=np.ones(SIZE)),
    # One release's price for all of them: a record is in every running sum.
    "composition is forgotten": Parts(scaled(SOUND, SOUND.scale / SOUND.sensitivity())),
    # A record of the first batch is in all releases: no difference of two tells of it.
    "all releases carry the same noise": Parts(SOUND, batches=(2,), frozen=True),
    "steps are drawn again after a restart": Parts(SOUND, restarts=True),
    "a record is counted in two batches": Parts(SOUND, batches=(1, 2)),
}


@pytest.mark.parametrize("mechanism", ["tree", "toeplitz"])
@pytest.mark.parametrize("batch", [1, 2, RELEASES])
def test_without_a_mistake_the_claim_holds(mechanism, batch):
    verdict = judged(attacked(Parts(stated(mechanism), batches=(batch,))))
    assert verdict.outcome == "holds", verdict.line


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mistake_is_found(name):
    verdict = judged(attacked(MUTANTS[name]))
    assert verdict.epsilon_low > EPSILON, verdict.line
    assert verdict.outcome == "broken"


def test_a_variance_taken_for_a_deviation_wastes_noise_and_is_seen_too():
    """It breaks nothing, and would go unnoticed if verdicts did not say how tight a claim is."""
    right, wasteful = attacked(Parts(SOUND)), attacked(Parts(scaled(SOUND, SOUND.scale**2)))
    assert judged(wasteful).outcome == "holds"
    assert judged(right).tightness >= 0.8 > judged(wasteful).tightness
    assert judged(right).noise_measured == pytest.approx(1.0, rel=0.1)
    assert judged(wasteful).noise_measured == pytest.approx(SOUND.scale, rel=0.2)


# -------------------------------------------------------------------------------- whole parties

#: So few suffice: whole parties are dear, and what is broken here is broken thoroughly. Without an
#: error in 40 runs a side ε_low is 1.6, and ε is 1.
FEW_RUNS, TRAINING = 40, 20
#: Noise that some of the parties lack shows in some of the runs alone.
MORE_RUNS = {"runs": 60, "training": 40}
#: Without a mistake more runs could show more.
RUNS_THAT_HOLD = sized("runs", FEW_RUNS, 100)


def attacked_parties(game, runs=FEW_RUNS, training=TRAINING):
    return audit(game, runs, DELTA, training=training)


FIRST, LATE = 0, 2


def agents(which=FIRST, privatizer="toeplitz"):
    """A game of agents in which a record of the first batch is replaced, or of the second."""
    config = system("feducb", schedule="every(2)", privatizer=privatizer, delta=DELTA).config
    return agents_audit.messages_games(FEDUCB, config)[which]


def holds(finding, epsilon=1.0):
    return finding.epsilon_low <= epsilon


class TestAgents:
    """FedUCB's agents and controller, and everything that an agent sends."""

    @pytest.fixture(autouse=True)
    def three_releases(self, monkeypatch):
        monkeypatch.setattr(agents_audit, "_HORIZONS", (8,))

    @RUNS_THAT_HOLD
    @pytest.mark.parametrize("which", [FIRST, LATE])
    def test_without_a_mistake_the_claim_holds(self, which, runs):
        assert holds(attacked_parties(agents(which), runs))

    def test_noise_that_is_not_added_is_found(self, monkeypatch):
        monkeypatch.setattr(running_sum, "add_release_noise", lambda *_: None)
        assert not holds(attacked_parties(agents()))

    @pytest.mark.parametrize("privatizer", ["tree", "toeplitz"])
    def test_draws_that_are_reused_are_found(self, monkeypatch, privatizer):
        real = running_sum.release

        def release(plan, state, total, pattern, noise):
            return real(plan, state, total, pattern, lambda _: noise(1))

        monkeypatch.setattr(running_sum, "release", release)
        assert not holds(attacked_parties(agents(privatizer=privatizer)))

    def test_all_noise_that_is_reused_is_found_by_a_record_that_misses_a_release(self, monkeypatch):
        real = running_sum.release

        def release(plan, state, total, pattern, noise):
            fresh = running_sum.init(plan, len(total))
            _, first = real(plan, fresh, total, pattern, noise)
            return state._replace(made=state.made + 1), first

        monkeypatch.setattr(running_sum, "release", release)
        assert not holds(attacked_parties(agents(LATE)))

    @pytest.mark.parametrize("number", [0, 1, 4])
    def test_any_number_that_gets_no_noise_is_found(self, monkeypatch, number):
        """The records that are furthest apart differ in one number alone where L = B."""
        real = running_sum.release

        def release(plan, state, total, pattern, noise):
            state, released = real(plan, state, total, pattern, noise)
            released[number] = total[number]
            return state, released

        monkeypatch.setattr(running_sum, "release", release)
        assert not holds(attacked_parties(agents(LATE)))

    def test_a_trigger_on_raw_data_is_found(self):
        config = system("feducb-published", delta=DELTA).config
        (game,) = agents_audit.trigger_games(FEDUCB, config)
        finding = attacked_parties(game)
        assert not holds(finding)
        assert "which messages there are" in finding.attack

    def test_a_schedule_fixed_in_advance_has_nothing_to_find(self):
        config = system("feducb", delta=DELTA).config
        assert agents_audit.trigger_games(FEDUCB, config) == []


class TestBuyers:
    """P-FCB's buyers, and all reports that one sends."""

    @pytest.fixture
    def game(self, monkeypatch):
        monkeypatch.setattr(pfcb_audit, "ROUNDS", 12)  # makes a report less
        config = system("pfcb", schedule="every", delta=DELTA).config
        small = pfcb_audit.small_world(PFCB, config)
        last = pfcb_audit.exchange_rounds_of(small.plan)[-1]
        return pfcb_audit.messages_game(small, "fixed log", (1, last))

    @RUNS_THAT_HOLD
    def test_without_a_mistake_the_claim_holds(self, game, runs):
        assert holds(attacked_parties(game, runs))

    @pytest.mark.usefixtures("few_pairs")
    @sized("pairs", 0.0, 0.5)
    def test_a_purchase_that_is_counted_in_two_batches_is_found(self, monkeypatch, game, pairs):
        """What was reported is still fresh when the next report is due, and ever after.

        Receivers would refuse such reports: they do not look.
        """
        monkeypatch.setattr(pfcb_buyer, "any_implausible", lambda *_: False)

        def release_report(plan, release, capacity, books, state, noise):
            fresh = books.fresh.copy()
            done = _report(plan, release, capacity, books, state, noise)
            books.fresh[:] = fresh
            return done

        assert not check_sensitivity(game.paired(), pairs).too_far
        monkeypatch.setattr(pfcb_buyer, "release_report", release_report)
        assert check_sensitivity(game.paired(), pairs).too_far

    @pytest.mark.parametrize("row", [0, 1])
    def test_units_bought_or_good_without_noise_are_found(self, monkeypatch, game, row):
        def release_report(plan, release, capacity, books, state, noise):
            raw = books.fresh[row].copy()
            state, report = _report(plan, release, capacity, books, state, noise)
            report[row] = raw
            return state, report

        monkeypatch.setattr(pfcb_buyer, "release_report", release_report)
        assert not holds(attacked_parties(game))

    def test_noise_of_running_sums_that_is_reused_is_found_by_a_later_purchase(self, monkeypatch):
        config = system("pfcb", schedule="growing(2)", privatizer="continual", delta=DELTA).config
        world = Procurement(agents=2, producers=2, max_capacity=5)
        games = PFCB.games(PFCB.plan(config, world.facts, 100), world)
        (late,) = (game for game in games if "a purchase of rounds 2 to" in game.looks_at)
        first = {}

        def release_report(plan, release, capacity, books, state, noise):
            exact = books.own.copy()
            _, report = _report(plan, release, capacity, books, state, noise)
            kept = first.setdefault(noise, report - exact)  # a source a buyer and run
            return state, exact + kept

        monkeypatch.setattr(pfcb_buyer, "release_report", release_report)
        assert not holds(attacked_parties(late, runs=60, training=60))


# ------------------------------------------------------------------ where nobody looked, once

WORLDS = {
    "feducb": Linear(agents=2, dim=2, arms=2),
    "feducb-p2p": Linear(agents=2, dim=2, arms=2),
    "pfcb": Procurement(agents=2, producers=2, max_capacity=5),
    "fclub": Clustered(users=4, clusters=2, servers=2, dim=2),
}
#: Enough for a mistake that shows without an error in some of the runs.
FEW = 400


def rebuilt(kernel, **parts):
    """A kernel as plain Python, with some of what it calls replaced."""
    plain = kernel.py_func
    return FunctionType(plain.__code__, plain.__globals__ | parts)


def attacked_contents(game):
    return audit(game, FEW, DELTA, training=FEW)


def wrong(checks):
    """What checks of noise name, of all numbers that they are given, in one run."""
    return [name for numbers in checks for name in check_noise(numbers, scale=0.0).named]


class TestConfiguredReleases:
    """Releases as configured: of any agent, of any model, at any time, about any producer."""

    AGENTS = Linear(agents=3, dim=2, arms=3)

    def plan(self, world=AGENTS, rounds=40, **parts):
        config = system("feducb", delta=DELTA, **parts).config
        return config, FEDUCB.plan(config, world.facts, rounds)

    def with_constants(self, plan, **constants):
        return msgspec.structs.replace(plan, constants=plan.constants._replace(**constants))

    def test_without_a_mistake_the_claim_holds(self):
        for parts in ({"schedule": "every(4)"}, {"schedule": "every(4)", "privatizer": "tree"}):
            _, plan = self.plan(**parts)
            for game in agents_releases.contents_games(plan):
                assert holds(attacked_contents(game))
            assert wrong([simulated_numbers(plan)]) == []

    @pytest.mark.parametrize("epsilon", [1.0, (1.0, 0.5, 1.0)])
    @pytest.mark.parametrize("agent", [0, 1, 2])
    def test_an_agent_without_noise_is_found(self, agent, epsilon):
        _, plan = self.plan(epsilon=epsilon)
        scales = plan.constants.noise_deviation.copy()
        scales[agent] = 0.0
        broken = self.with_constants(plan, noise_deviation=scales)
        games = agents_releases.contents_games(broken)
        assert not all(holds(attacked_contents(game)) for game in games)
        names = wrong([simulated_numbers(broken)])
        assert names
        assert all(name.startswith(f"agent {agent}, ") for name in names)

    @pytest.mark.parametrize("model", [0, 1, 2])
    def test_a_model_without_noise_is_found(self, model):
        world = Classification(agents=2, dataset="wine", components=2)
        _, plan = self.plan(world, out_of_bounds="clip")
        scale = plan.constants.entry_scale.reshape(3, -1).copy()
        scale[model] = 0.0
        broken = self.with_constants(plan, entry_scale=scale.reshape(-1))
        game = agents_releases.contents_games(broken)[0]
        assert not holds(attacked_contents(game))
        names = wrong([simulated_numbers(broken)])
        assert names
        assert all(f"of model {model}:" in name for name in names)

    def test_releases_without_noise_that_are_no_powers_of_two_are_found(self, monkeypatch):
        """All that there is to say of a record in sound releases of a tree, those powers say."""
        kernels, real = agents_kernels, agents_kernels.simulate_release

        def simulate_release(constants, statistic, draws, k, key, agent, name, noisy):
            real(constants, statistic, draws, k, key, agent, name, noisy)
            if k & (k - 1):
                noisy[:] = statistic.reshape(-1)

        some = rebuilt(kernels.release_some, simulate_release=simulate_release)
        monkeypatch.setattr(agents_releases, "release_some", some)
        _, plan = self.plan(privatizer="tree", schedule="every(4)")
        assert not holds(attacked_contents(agents_releases.contents_games(plan)[0]))
        names = wrong([simulated_numbers(plan)])
        assert names
        # By itself, or with another that its draw is worked out from.
        releases = [[int(k) for k in re.findall(r"release (\d+), ", name)] for name in names]
        assert [3] in releases
        assert all(any(k & (k - 1) for k in each) for each in releases)

    @pytest.mark.parametrize("privatizer", ["correlated", "continual"])
    @pytest.mark.parametrize("producer", [0, 2])
    def test_a_producer_without_noise_is_found(self, monkeypatch, producer, privatizer):
        config = system("pfcb", privatizer=privatizer, schedule="growing(2)", delta=DELTA).config
        plan = PFCB.plan(config, Procurement(agents=2, producers=3, max_capacity=5).facts, 100)
        real = pfcb_kernels.write_report

        def write_report(constants, release, capacity, draws, books, report):
            raw = (books.own if plan.continual is not None else books.fresh)[:, producer].copy()
            real(constants, release, capacity, draws, books, report)
            report[:, producer] = raw

        for name in ("play_reports", "draw_reports"):
            broken = rebuilt(getattr(pfcb_kernels, name), write_report=write_report)
            monkeypatch.setattr(pfcb_releases, name, broken)
        assert not holds(attacked_contents(pfcb_releases.contents_games(plan)[0]))
        names = wrong([pfcb_releases.simulated_numbers(plan)])
        assert names
        assert all(f"producer {producer}:" in name for name in names)

    @pytest.mark.parametrize("name", ["fclub", "fclub-clusters"])
    def test_a_server_without_noise_is_found(self, monkeypatch, name):
        config = system(name, delta=DELTA).config
        plan = FCLUB.plan(config, Clustered(users=6, clusters=2, servers=3, dim=2).facts, 200)
        real = fclub_audit.simulated_noise

        def simulated_noise(plan, key, server, release):
            return real(plan, key, server, release) * (server != 1)

        monkeypatch.setattr(fclub_audit, "simulated_noise", simulated_noise)
        assert not holds(attacked_contents(FCLUB.games(plan, None)[0]))
        assert wrong(FCLUB.noise_checks(plan, None)[:1])


class Silent:
    """Covers values with nothing."""

    def cover(self, step, values):
        return values


def silenced(noise):
    """A source that adds nothing, of the same kind."""
    if hasattr(noise, "cover"):
        return Silent()
    return lambda step: np.zeros_like(noise(step))


class TestAnyParty:
    """Whole parties: whoever has the record, whichever of its records, whatever noise they have.

    That sound parties pass checks of the usual size, ``tests/contracts`` shows.
    """

    @pytest.fixture(autouse=True)
    def three_releases(self, monkeypatch):
        monkeypatch.setattr(agents_audit, "_HORIZONS", (8,))
        monkeypatch.setattr(agents_audit, "_MOST_RELEASES", 7)
        monkeypatch.setattr(pfcb_audit, "ROUNDS", 24)
        monkeypatch.setattr(fclub_audit, "ROUNDS", 32)

    @pytest.fixture(params=["feducb", "feducb-p2p", "pfcb", "fclub"])
    def played(self, request):
        """Games of whole parties, and the check of all that they release."""
        schedule = {"fclub": "growing(1.2, 20)", "pfcb": "growing(2)"}.get(
            request.param, "every(2)"
        )
        config = system(request.param, schedule=schedule, delta=DELTA).config
        found, world = system_of(config), WORLDS[request.param]
        plan = found.plan(config, world.facts, 100)
        games = [game for game in found.games(plan, world) if game.sees == "messages"]
        games = [game for game in games if game.attacked]
        secure = [
            numbers for numbers in found.noise_checks(plan, world) if "secure" in numbers.looks_at
        ]
        assert len(secure) == 1
        return games, secure

    def test_without_a_mistake_every_number_has_its_noise(self, played):
        _, secure = played
        assert wrong(secure) == []

    def test_a_party_other_than_the_first_without_noise_is_found(self, monkeypatch, played):
        games, secure = played
        begin = SmallWorld.begin

        def begun(*arguments, **named):
            made = begin(*arguments, **named)
            for party in made.players:
                if not party.name.endswith("-0"):
                    party._noise = silenced(party._noise)
            return made

        monkeypatch.setattr(SmallWorld, "begin", begun)
        assert not holds(attacked_parties(games[-1], **MORE_RUNS))
        assert wrong(secure)

    def test_a_source_of_secure_noise_that_gives_none_is_found(self, monkeypatch, played):
        """Nothing but some games draw from it."""
        _, secure = played
        monkeypatch.setattr(secure_noise, "own_sampler", lambda count: [0] * count)
        assert len(wrong(secure)) == 3

    @pytest.mark.parametrize("played", ["feducb", "pfcb"], indirect=True)
    def test_a_source_of_secure_noise_that_gives_too_little_is_found(self, monkeypatch, played):
        """Too little for attacks of so few runs, not for a look at the noise itself."""
        _, secure = played
        real = secure_noise.own_sampler

        def sampler(count):
            return [int(drawn * 2**-0.5) for drawn in real(count)]

        monkeypatch.setattr(secure_noise, "own_sampler", sampler)
        (name,) = wrong(secure)
        assert name.startswith("all draws: deviation ")
        assert float(name.split()[3]) == pytest.approx(2**-0.5, rel=0.05)

    @pytest.mark.parametrize("played", ["feducb", "pfcb"], indirect=True)
    def test_a_single_number_that_goes_past_the_noise_is_found(self, monkeypatch, played):
        """The last one of every release."""
        _, secure = played
        real = SecureNoise.cover

        def cover(self, step, values):
            covered = real(self, step, values)
            covered.reshape(-1)[-1] = values.reshape(-1)[-1]
            return covered

        monkeypatch.setattr(SecureNoise, "cover", cover)
        assert wrong(secure)


class TestRestart:
    """What a party that forgot its state would do; the audit above shows what it would cost."""

    def test_the_ledger_refuses_to_draw_a_step_again(self, tmp_path):
        """An agent that begins anew gets as far as its first release, which does not leave."""
        config = system("feducb", schedule="every(4)", epsilon=1.0, delta=1e-5).config
        world = Linear(agents=1, dim=2, arms=3)
        with ledger_at(tmp_path / "ledger.db", "agent-0") as ledger:
            plan = plan_of(config, world, 12)

            def supply(role, place):
                noise = LedgeredNoise(ledger, "agent-0", "sums", plan.event, SecureNoise())
                return AgentSupply(noise, Key(0, 0))

            first, again = (federate(config, world, 12, 0, 0, supplies=supply) for _ in range(2))
            first.advance(9)
            assert first.network.transcript.messages["Upload"] == 2
            with pytest.raises(NoiseReuseError, match="step 1 was drawn before"):
                again.advance(9)
            assert again.network.transcript.messages["Upload"] == 0
            with ledger.read() as connection:
                assert len(ledger.draws(connection, "agent-0", "sums")) == 2
