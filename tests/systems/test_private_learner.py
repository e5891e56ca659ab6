"""Learners in plain Python that share under noise: sums, noise, price, claim, bounds."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.errors import BoundExceededError, ConfigError, LearnerError
from fedbandits.experiments.audits import parts as audit_parts
from fedbandits.experiments.audits.audit import audit
from fedbandits.federation.messages import ImplausibleError, unpack
from fedbandits.privacy import gaussian, running_sum
from fedbandits.privacy.accounting import mu
from fedbandits.privacy.auditing import audit as attack
from fedbandits.privacy.gaussian import ROUNDING_MARGIN
from fedbandits.privacy.likelihood import decoder
from fedbandits.privacy.rounding import grid_step
from fedbandits.random import Purpose, normals, replicate_key
from fedbandits.systems import find_system, party_games, registry
from fedbandits.systems.python_learners import application
from fedbandits.systems.python_learners import audit as audit_rooms
from fedbandits.systems.python_learners.plan import RECORD_ROOM
from fedbandits.systems.python_learners.roles import AgentRelease, RecordSum, Total, within_bound
from fedbandits.testing import applications
from fedbandits.testing.deployed_systems import does_as_simulated
from fedbandits.testing.replicates import federate, plan_of
from fedbandits.testing.systems import CHECKS
from tests.contracts.test_claims import require_plain_words
from tests.own_things import SharedRidge
from tests.sized import in_two_sizes, sized
from tests.systems.private_learners import PrivateLinUCB, PrivateMeans

LINEAR = fb.environments.Linear(agents=3, dim=3, arms=4)
WINE = fb.environments.Classification(agents=3, dataset="wine", components=4)
PRESETS = ["private-lin-ucb", "private-means"]
SEED, REPLICATE = 4, 0


class Lying(PrivateLinUCB):
    """Its records are three times as long as it says."""

    def record(self, context, arm, reward):
        return 3.0 * super().record(context, arm, reward)


class Remembering(PrivateLinUCB):
    """Its decisions leave something behind."""

    def decide(self, contexts, draws):
        self.last = contexts[0].copy()
        return 0


class Counting(PrivateLinUCB):
    """Its records leave something behind."""

    def record(self, context, arm, reward):
        self.theta = self.theta + 1.0
        return super().record(context, arm, reward)


class Shrinking(PrivateMeans):
    """Its records are not always of one size."""

    def record(self, context, arm, reward):
        return super().record(context, arm, reward)[arm:]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    for learner in (PrivateLinUCB, PrivateMeans, Lying, Remembering, Counting, Shrinking):
        fb.register(learner)
    fb.register(SharedRidge)


def play(preset, rounds=60, world=LINEAR, **settings):
    run = federate(fb.system(preset, **settings).config, world, rounds, SEED, REPLICATE)
    run.advance(rounds)
    return run


def plan_for(preset, rounds=60, world=LINEAR, **settings):
    return plan_of(fb.system(preset, **settings).config, world, rounds)


#: Runs of whole parties on which attacks are chosen.
TRAINING = sized("training", 20, None)
#: Runs of whole parties a world, in the small size.
FEW_RUNS = 20

# ---------------------------------------------------------------- contracts


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("check", in_two_sizes(CHECKS))
def test_they_are_held_to_what_all_systems_are(check, preset):
    check(preset)


@pytest.mark.parametrize("preset", [*PRESETS, "shared-ridge"])
@pytest.mark.parametrize("check", applications.CHECKS, ids=lambda check: check.__name__)
def test_applications_ask_them_as_they_ask_all(check, preset):
    check(preset)


@pytest.mark.parametrize("preset", [*PRESETS, "shared-ridge"])
def test_between_machines_they_do_as_simulated(preset, tmp_path):
    does_as_simulated(preset, tmp_path, restarts=True)


# ---------------------------------------------------------------- what is released


@pytest.fixture
def noted(monkeypatch):
    """All interactions of every agent, in order; agents learn nothing of them."""
    found = {agent: [] for agent in range(3)}

    def note(self, context, arm, reward):
        found[self.agent].append((context, arm, reward))

    monkeypatch.setattr(fb.Learner, "observe", note)
    return found


def test_a_release_is_the_sum_of_records_and_noise_of_known_draws(noted):
    """By hand: all records so far, and draws weighed by the coefficients of the square root."""
    run = play("private-lin-ucb", schedule="every(7)")
    plan, key, found = run.plan, replicate_key(SEED, REPLICATE), {}
    for _, message in run.network.transcript.deliveries:
        if type(message) is AgentRelease:
            found[message.sender, message.release] = unpack(message.statistic, plan.size)
    assert set(found) == {(f"agent-{i}", k) for i in range(3) for k in range(1, 9)}
    learner, weights = plan.make(0), decoder(plan.release, np.arange(1, 9))
    for agent in range(3):
        draws = [normals(plan.size, key, agent, k, Purpose.PRIVACY_NOISE) for k in range(1, 9)]
        noise = plan.release.scale * weights @ np.array(draws)
        records = np.array([learner.record(*each) for each in noted[agent]])
        for k in range(1, 9):
            expected = records[: 7 * k].sum(axis=0) + noise[k - 1]
            np.testing.assert_allclose(found[f"agent-{agent}", k], expected, rtol=0, atol=1e-9)


def test_a_total_is_what_all_have_told_and_its_noise_is_known():
    run = play("private-lin-ucb", schedule="every(7)")
    plan = run.plan
    last = {m.sender: m for _, m in run.network.transcript.deliveries if type(m) is AgentRelease}
    total = sum(unpack(message.statistic, plan.size) for message in last.values())
    weights = decoder(plan.release, np.array([8]))
    deviation = plan.release.scale * np.linalg.norm(weights) * math.sqrt(3)
    for agent in run.players:
        assert agent.learner.noise_deviation == pytest.approx(deviation, rel=1e-12)
        fresh = plan.make(0)
        fresh.receive_under_noise(total, agent.learner.noise_deviation)
        np.testing.assert_allclose(agent.learner.theta, fresh.theta, rtol=1e-9)


def test_who_has_not_released_is_not_in_a_total_nor_is_their_noise():
    run = federate(fb.system("private-lin-ucb", schedule="every(5)").config, LINEAR, 20, SEED, 0)
    run.advance(4)
    controller = run.run.one("controller")
    for agent in run.players[:2]:
        for message in agent.end_round(5):
            controller.receive(message)
    (total, *_) = controller.deadline(controller.awaited)
    assert (total.release, total.newest) == (1, (1, 1, 0))
    run.players[0].receive(total)
    expected = run.plan.release.scale * math.sqrt(2)
    assert run.players[0].learner.noise_deviation == pytest.approx(expected, rel=1e-12)


def test_records_beyond_those_of_a_round_each_wait_for_later_releases(noted):
    """Which records are in a release must not depend on how many an agent was asked for."""
    run = federate(fb.system("private-lin-ucb", schedule="every(5)").config, LINEAR, 20, SEED, 0)
    agent = run.players[0]
    rng = np.random.default_rng(1)
    for _ in range(12):
        contexts = rng.normal(size=(3, 4))
        contexts /= np.linalg.norm(contexts, axis=0) * 1.001
        agent.observe(agent.decide(contexts.astype(np.float32)), 1.0)
    learner, sums = run.plan.make(0), []
    for end in (5, 10, 15):
        agent.end_round(end)
        sums.append(agent.state.statistic)
    records = np.array([learner.record(*each) for each in noted[0]])
    for count, found in zip((5, 10, 12), sums, strict=True):
        np.testing.assert_allclose(found, records[:count].sum(axis=0), rtol=0, atol=1e-12)
    assert not agent.state.kept


vectors = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3).map(np.array)


@given(st.lists(vectors, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_sums_are_exact_in_any_order(found, chance):
    plan = plan_for("private-means", 1000, fb.environments.Linear(agents=2, dim=2, arms=3))
    constant = plan.rounding
    rounded = [(np.array(each) + constant) - constant for each in found]
    shuffled = list(rounded)
    chance.shuffle(shuffled)
    np.testing.assert_array_equal(sum(rounded), sum(shuffled))
    step = grid_step(constant)
    for before, after in zip(found, rounded, strict=True):
        assert np.abs(after - before).max() <= 0.5 * step
        np.testing.assert_array_equal(after / step, np.rint(after / step))


def test_one_record_moves_a_sum_by_no_more_than_the_noise_has_room_for():
    """Two records of opposite directions, each rounded: the worst that a replacement can do."""
    plan, rng = plan_for("private-lin-ucb", 20_000), np.random.default_rng(2)
    most = plan.record_norm * (1.0 + ROUNDING_MARGIN)
    for _ in range(200):
        record = rng.normal(size=plan.size)
        record *= plan.record_bound * (1.0 + RECORD_ROOM) / np.linalg.norm(record)
        one, other = ((sign * record + plan.rounding) - plan.rounding for sign in (1.0, -1.0))
        assert np.linalg.norm(one - other) <= most


# ---------------------------------------------------------------- bounds


@given(st.lists(st.floats(), min_size=1, max_size=5), st.floats(1e-3, 1e3))
def test_whatever_a_record_is_it_can_be_cut_to_its_bound(values, bound):
    record = np.array(values)
    cut = within_bound(record, bound, clips=True)
    assert np.isfinite(cut).all()
    assert np.linalg.norm(cut) <= bound * (1.0 + RECORD_ROOM)
    refused = within_bound(record, bound, clips=False)
    if refused is None:
        with np.errstate(over="ignore"):
            assert not np.linalg.norm(record) <= bound
    else:
        np.testing.assert_array_equal(refused, cut)


def test_a_record_that_is_longer_than_it_says_stops_the_run():
    with pytest.raises(
        BoundExceededError, match=r"Lying\.record is longer than record_bound = 1\.2"
    ):
        play("lying")


def test_or_is_cut_down_to_its_bound(noted):
    run = play("lying", schedule="every(59)", out_of_bounds="clip")
    learner, bound = run.plan.make(0), run.plan.record_bound
    expected = np.zeros(run.plan.size)
    for each in noted[0][:59]:
        record = learner.record(*each)
        expected += record * min(1.0, bound / np.linalg.norm(record))
    np.testing.assert_allclose(run.players[0].state.released.sums[0], expected, rtol=1e-9)


def test_a_refused_record_changes_nothing():
    run = federate(fb.system("lying").config, LINEAR, 60, SEED, REPLICATE)
    agent = run.players[0]
    context = np.zeros((3, 4), np.float32)
    context[0] = 1.0
    decision = agent.decide(context)
    before = agent.dump()
    with pytest.raises(BoundExceededError):
        agent.observe(decision, 1.0)
    assert agent.dump() == before


def test_a_record_counts_once_though_learning_from_it_failed_at_first(monkeypatch):
    agent = federate(fb.system("private-means").config, LINEAR, 60, SEED, REPLICATE).players[0]
    decision = agent.decide(LINEAR.stage(replicate_key(SEED, 0)).situation(1, 0))

    def failing(self, context, arm, reward):
        raise OSError("a disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(PrivateMeans, "observe", failing)
        with pytest.raises(OSError, match="a disk is full"):
            agent.observe(decision, 1.0)
    agent.observe(decision, 1.0)
    assert agent.state.statistic.sum() == 2.0


@pytest.mark.parametrize(
    ("preset", "why"),
    [("remembering", "Remembering.decide: has changed what the learner keeps"),
     ("counting", "Counting.record: has changed the learner"),
     ("shrinking", "Shrinking.record: returned . numbers, and 8 for another")],
)  # fmt: skip
def test_code_that_breaks_its_side_of_the_claim_is_refused(preset, why):
    with pytest.raises(LearnerError, match=why):
        play(preset)


def test_a_learner_with_a_piece_missing_is_refused():
    class NoRecord(fb.PrivateLearner):
        def receive(self, total): ...

    class NoReceive(fb.PrivateLearner):
        def record(self, context, arm, reward): ...

    class Both(PrivateMeans):
        def release(self): ...

    for learner, why in ((NoRecord, "needs record, but"), (NoReceive, "needs receive, but"),
                         (Both, "overrides record instead")):  # fmt: skip
        with pytest.raises(LearnerError, match=why):
            fb.register(learner)


def test_a_bound_that_is_worked_out_is_no_setting():
    class Scaled(PrivateLinUCB):
        """Its bound follows from the world."""

        @property
        def record_bound(self):
            return 2.0 * self.facts.context_norm

    fb.register(Scaled)
    assert plan_for("scaled").record_bound == 2.0
    with pytest.raises(ConfigError, match="unknown key"):
        fb.system("scaled", record_bound=1.0)
    assert plan_for("private-lin-ucb").record_bound == 1.5**0.5
    assert plan_for("private-lin-ucb", record_bound=3.0).record_bound == 3.0


def fields(message):
    return {name: getattr(message, name) for name in message.__struct_fields__}


def test_a_total_of_releases_that_were_never_made_is_refused():
    run = play("private-lin-ucb", rounds=12, schedule="every(5)")
    total = next(m for _, m in run.network.transcript.deliveries if type(m) is Total)
    fresh = federate(run.plan.config, LINEAR, 12, SEED, REPLICATE)
    receipt = fresh.players[0].receive(total)
    assert isinstance(receipt.why, ImplausibleError)


# ---------------------------------------------------------------- the claim


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.3, 1e-6), (8.0, 0.01)])
def test_it_costs_what_dp_accounting_says(epsilon, delta):
    """From the matrices: releases are B (C q + noise) with B C = A, and a record moves q by 2b."""
    plan = plan_for("private-lin-ucb", 300, epsilon=epsilon, delta=delta, schedule="every(10)")
    n = plan.release.releases
    encoder = np.linalg.solve(decoder(plan.release, np.arange(1, n + 1)), np.tril(np.ones((n, n))))
    moved = 2.0 * plan.record_bound * np.linalg.norm(encoder, axis=0).max()
    assert mu(plan.event()) == pytest.approx(moved / plan.release.scale, rel=1e-9)
    assert n == 29
    event = dp_accounting.GaussianDpEvent(plan.release.scale / moved)
    found = pld.from_gaussian_mechanism(
        event.noise_multiplier, value_discretization_interval=1e-4
    ).get_epsilon_for_delta(delta)
    claim = find_system("private-lin-ucb").claim(plan)
    assert claim.epsilon == pytest.approx(found, rel=2e-3)
    assert epsilon * (1.0 - 1e-3) <= claim.epsilon <= epsilon


def test_it_is_charged_as_releases_are_made():
    run = federate(fb.system("private-lin-ucb", schedule="every(7)").config, LINEAR, 60, SEED, 0)
    spent = []
    for stop in (6, 7, 30, 60):
        run.advance(stop)
        spent.append(run.epsilon)
    assert spent[0] == 0.0 < spent[1] < spent[2] < spent[3] <= 1.0
    first = gaussian.epsilon_of(run.plan.record_norm / run.plan.release.scale, 1e-5)
    assert spent[1] == pytest.approx(first)


def test_what_is_claimed_follows_from_what_the_learner_sees():
    released = find_system("private-lin-ucb").claim(plan_for("private-lin-ucb"))
    raw = find_system("private-means").claim(plan_for("private-means"))
    assert (released.holds_for, raw.holds_for) == ("interactive", "fixed log")
    assert any("decide follows from" in line for line in released.conditional_on)
    assert all("record" in line for line in (released.conditional_on[2], raw.conditional_on[2]))
    assert any("later decisions" in limit.what for limit in raw.not_protected)
    clipped = find_system("private-means").claim(plan_for("private-means", out_of_bounds="clip"))
    assert len(clipped.conditional_on) == len(raw.conditional_on) - 1


@pytest.mark.parametrize("preset", [*PRESETS, "shared-ridge"])
@pytest.mark.parametrize("world", [LINEAR, WINE], ids=["visits", "persons"])
def test_what_is_claimed_can_be_understood_at_the_first_reading(preset, world):
    stated = find_system(preset).claim(plan_for(preset, 60, world))
    require_plain_words(stated)
    assert len(set(stated.limits)) == len(stated.limits)
    if math.isfinite(stated.epsilon):
        assert any("cost k times μ" in limit.why for limit in stated.not_protected)


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"epsilon": 0.0}, "epsilon"), ({"delta": 1.0}, "delta"), ({"record_bound": 0.0}, "record"),
     ({"out_of_bounds": "cut"}, "out_of_bounds")],
)  # fmt: skip
def test_impossible_settings_are_refused(settings, key):
    with pytest.raises(ConfigError, match=key):
        fb.system("private-lin-ucb", **settings)


def test_more_releases_than_the_mechanism_should_make_are_refused():
    with pytest.raises(ConfigError, match="release less often"):
        plan_for("private-lin-ucb", 20_000, schedule="every(1)")


@TRAINING
def test_arms_that_have_a_model_each_are_told_of_too(monkeypatch, training):
    run = play("private-means", 60, WINE, schedule="every(10)")
    assert run.plan.facts.models == run.plan.facts.arms == 3
    assert run.players[0].learner.noise_deviation > 0
    assert audited(monkeypatch, "private-means", WINE, training).outcome == "holds"


def test_agents_keep_going_where_they_were_restored():
    run = federate(fb.system("private-means", schedule="every(5)").config, LINEAR, 40, SEED, 0)
    run.advance(23)
    other = federate(run.plan.config, LINEAR, 40, SEED, REPLICATE)
    for party, restored in zip(run.run.parties, other.run.parties, strict=True):
        restored.load(party.dump())
        assert restored.dump() == party.dump()
    np.testing.assert_array_equal(run.players[0].learner.sums, other.players[0].learner.sums)
    assert run.players[0].learner.noise_deviation == other.players[0].learner.noise_deviation > 0


def test_a_record_is_what_the_learner_says_on_the_grid():
    plan = plan_for("private-lin-ucb")
    context = np.array([0.6, 0.0, 0.7])
    found = RecordSum(plan, 1).record("here", context, 0, 0.3)
    said = plan.make(1).record(context, 0, 0.3)
    steps = found / grid_step(plan.rounding)
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert (found != said).any()
    np.testing.assert_allclose(found, said, rtol=0, atol=grid_step(plan.rounding))


def test_a_private_linucb_of_thirty_lines_does_as_well_as_feducb():
    """Of the same order at the same ε; docs and benchmarks have longer runs."""
    world = fb.environments.Linear(agents=10, dim=5, arms=10)
    own = play("private-lin-ucb", 600, world).regret.sum()
    built_in = play("feducb", 600, world).regret.sum()
    assert own < 2.0 * built_in


# ---------------------------------------------------------------- the audit


def audited(monkeypatch, preset="private-lin-ucb", world=LINEAR, training=None):
    """A verdict on releases and noise; whole parties play few runs, the fewer for ``training``."""

    def attack_of_few(game, *given, **named):
        few = training if game.sees == "messages" else None
        return attack(game, *given, **(named | {"training": few}))

    monkeypatch.setattr(audit_parts, "attack", attack_of_few)
    if training is None:
        monkeypatch.setattr(party_games, "PARTY_RUNS", 60)
    else:
        monkeypatch.setattr(party_games, "PARTY_RUNS", FEW_RUNS)
        monkeypatch.setattr(audit_parts, "LEAST_RUNS", FEW_RUNS)
    experiment = fb.Experiment(rounds=200, environment=world, systems=(fb.system(preset),))
    (verdict,) = audit(experiment, runs=20_000).verdicts
    return verdict


@TRAINING
@pytest.mark.parametrize("preset", PRESETS)
def test_an_audit_finds_that_the_claim_holds_and_little_noise_is_wasted(
    monkeypatch, preset, training
):
    verdict = audited(monkeypatch, preset, training=training)
    assert verdict.outcome == "holds"
    assert 0.6 < verdict.tightness <= 1.0
    assert verdict.noise_measured == pytest.approx(1.0, abs=0.05)
    assert "every released number has its planned noise" in verdict.noise_line
    assert {finding.neighbours for finding in verdict.findings} == {"fixed log", "interactive"}
    # Counts of arms tell which arm was chosen: no log of them is fixed, whatever the contexts are.
    compared = {finding.neighbours for finding in verdict.moved}
    assert ("fixed log" in compared) == (preset != "private-means")
    assert all(finding.right for finding in verdict.moved)


def half_the_supply(monkeypatch):
    whole = application.simulated_noise
    monkeypatch.setattr(application, "simulated_noise", lambda *name: 0.5 * whole(*name))


def half_of_every_draw(monkeypatch):
    whole = running_sum.checked_noise
    monkeypatch.setattr(running_sum, "checked_noise", lambda *drawn: 0.5 * whole(*drawn))


def no_noise_in_the_last_number(monkeypatch):
    release = running_sum.release

    def bare(plan, state, sums, pattern, noise):
        after, released = release(plan, state, sums, pattern, noise)
        released[-1] = sums[-1]
        return after, released

    monkeypatch.setattr(running_sum, "release", bare)


@pytest.fixture
def releases_alone(monkeypatch):
    """What whole parties show would take longer, and is not needed to see these flaws."""
    monkeypatch.setattr(audit_rooms, "messages_games", lambda *_: [])
    monkeypatch.setattr(audit_rooms, "moves_games", lambda *_: [])


@pytest.mark.usefixtures("releases_alone")
@pytest.mark.parametrize("flaw", [half_the_supply, half_of_every_draw, no_noise_in_the_last_number])
def test_an_audit_finds_noise_that_is_missing(monkeypatch, flaw):
    flaw(monkeypatch)
    assert audited(monkeypatch).outcome == "broken"


@pytest.mark.usefixtures("releases_alone")
def test_noise_of_half_the_size_shows_in_releases_alone(monkeypatch):
    half_of_every_draw(monkeypatch)
    verdict = audited(monkeypatch)
    (contents, *_) = verdict.findings
    assert contents.epsilon_low > verdict.epsilon
    assert verdict.noise_measured == pytest.approx(0.5, abs=0.05)


def test_an_audit_has_nothing_to_say_of_what_is_shared_in_clear(monkeypatch):
    assert audited(monkeypatch, "shared-ridge").outcome == "nothing claimed"


class TestBudget:
    """A subclass may change the defaults of the budget, and nothing else of it."""

    @pytest.mark.parametrize(
        ("settings", "message"),
        [({"epsilon": -1.0}, "epsilon: given -1.0, allowed: a number > 0"),
         ({"delta": 1.5}, "delta: given 1.5, allowed: a number > 0 and < 1")],
    )  # fmt: skip
    def test_its_bounds_stay(self, settings, message):
        class Loose(PrivateLinUCB):
            epsilon: float = 0.5
            delta: float = 1e-6

        fb.register(Loose)
        assert fb.system("loose").config.epsilon == 0.5
        with pytest.raises(ConfigError) as refusal:
            fb.system("loose", **settings)
        assert message in str(refusal.value)

    def test_it_is_no_property(self):
        class Moving(PrivateLinUCB):
            @property
            def epsilon(self):
                return 1.0

        with pytest.raises(LearnerError, match=r"Moving\.epsilon: is a setting"):
            fb.register(Moving)

    def test_more_rounds_than_rounding_has_room_for_are_refused(self):
        plan_of(fb.system("private-lin-ucb").config, LINEAR, 1000)
        with pytest.raises(ConfigError, match="round"):
            plan_of(fb.system("private-lin-ucb").config, LINEAR, 4_000_000_000)

    @pytest.mark.parametrize("returned", [np.array([1j]), ["1.5"], [object()]])
    def test_records_of_something_else_are_refused(self, returned):
        class Odd(PrivateLinUCB):
            def record(self, context, arm, reward):
                return returned

        fb.register(Odd)
        with pytest.raises(
            LearnerError, match=r"Odd\.record: must return an array of real numbers"
        ):
            plan_of(fb.system("odd").config, LINEAR, 100)
