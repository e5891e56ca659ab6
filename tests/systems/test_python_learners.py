"""Learners in plain Python: on the same draws, in the same tables, held to the same contracts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import fedbandits as fb
from fedbandits.draws import Draws
from fedbandits.errors import ConfigError, LearnerError
from fedbandits.facts import ContextualFacts
from fedbandits.federation.events import Decision
from fedbandits.random import Purpose, replicate_key
from fedbandits.systems import registry
from fedbandits.testing.replicates import federate, plan_of
from fedbandits.testing.systems import CHECKS
from tests.own_things import SharedRidge

FACTS = ContextualFacts(parties=3, dimension=2, arms=3)
LINEAR = fb.environments.Linear(agents=3, dim=3, arms=4)
WINE = fb.environments.Classification(agents=3, dataset="wine", components=4)


class Fixed(fb.Learner):
    """Plays one arm for ever, whatever comes of it."""

    arm: int = 0

    def decide(self, contexts, draws):
        return self.arm


class Wandering(fb.Learner):
    """Plays any arm, and keeps count of what it has seen."""

    def begin(self):
        self.seen, self.notes = 0, {"rewards": [], "shape": (0, 0)}

    def decide(self, contexts, draws):
        self.notes["shape"] = contexts.shape
        return draws.integer(len(contexts))

    def observe(self, context, arm, reward):
        self.seen += 1
        self.notes["rewards"].append(reward)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    for learner in (SharedRidge, Fixed, Wandering):
        fb.register(learner)
    fb.register(fb.learners.from_sklearn(Ridge(), name="sklearn-ridge"))


def play(preset, world=LINEAR, rounds=200, **settings):
    run = federate(fb.system(preset, **settings).config, world, rounds, 4, 0)
    run.advance(rounds)
    return run


@pytest.mark.parametrize("preset", ["shared-ridge", "fixed", "wandering", "sklearn-ridge"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_they_are_held_to_what_all_systems_are(check, preset):
    check(preset)


@pytest.mark.parametrize("world", [LINEAR, WINE], ids=["shared model", "a model an arm"])
def test_an_arm_for_ever_pays_what_it_pays_any_other_system(world):
    """The same draws: FedUCB's parties, told to play that arm, earn the very same rewards."""
    run = play("fixed", world, 50, arm=1)
    stage, earned = world.stage(run.run.stage.key), np.zeros(3)
    for round_ in range(1, 51):
        for agent in range(3):
            stage.situation(round_, agent)
            earned[agent] += stage.outcome(round_, agent, 1)
    np.testing.assert_array_equal(run.reward, earned)


def test_agents_that_share_know_what_all_have_seen():
    """With a sync after every round, each agent's sums are those of all records so far."""
    run = play("shared-ridge", rounds=60, schedule="every(1)")
    learners = [agent.learner for agent in run.run.of("agent")]
    # After the last sync, at the end of round 59, each has added one record of its own.
    told = sum(learner.own for learner in learners)
    for learner in learners:
        others = told - learner.own
        missing = told - learner.all  # the last records of the others
        assert np.abs(others).sum() > 0
        assert np.linalg.matrix_rank(missing, tol=1e-9) == 2
    assert run.syncs == 59
    assert run.messages == 59 * 6


def test_sharing_helps():
    world = fb.environments.Linear(agents=8, dim=10, arms=10)
    alone = play("shared-ridge", world, 600, schedule="every(599)").regret.sum()
    shared = play("shared-ridge", world, 600, schedule="every(20)").regret.sum()
    assert shared < 0.8 * alone


def test_it_stands_in_the_same_table_and_resumes(tmp_path):
    experiment = fb.Experiment(
        rounds=300, replicates=2, environment=LINEAR,
        systems=(fb.system("shared-ridge", explore=0.2), fb.system("feducb")),
    )  # fmt: skip
    result = fb.run(experiment, out=tmp_path / "out")
    summary = (tmp_path / "out" / "summary.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in summary] == ["system", "shared-ridge", "feducb"]
    assert "explore = 0.2" in (tmp_path / "out" / "config.toml").read_text()
    assert fb.run(tmp_path / "out" / "config.toml").regret.equals(result.regret)
    claim = experiment.claims()["shared-ridge"]
    assert (claim.epsilon, claim.epsilon_contents, claim.holds_for) == (np.inf, np.inf, "nothing")


def test_each_agent_draws_for_itself_and_not_what_the_world_draws():
    """Else agents would explore together, or contexts would tell what a learner draws."""
    system, plan = (
        registry.find_system("wandering"),
        plan_of(fb.system("wandering").config, LINEAR, 9),
    )
    supplies = system.simulated_supplies(plan, None, 4, 0)
    key = replicate_key(4, 0)
    firsts = []
    for place in range(3):
        for number in (1, 2):
            drawn = supplies("agent", place).draws(number).uniform()
            assert drawn == Draws(key, place, number, Purpose.LEARNER).uniform()
            assert drawn != Draws(key, place, number, Purpose.CONTEXT).uniform()
            firsts.append(drawn)
    assert len({*firsts}) == len(firsts)


def test_what_a_learner_is_shown_cannot_be_changed():
    class Scribbler(fb.Learner):
        def decide(self, contexts, draws):
            contexts[:] = 0.0
            return 0

    fb.register(Scribbler)
    with pytest.raises(ValueError, match="read-only"):
        play("scribbler")


def test_what_is_not_shared_costs_nothing():
    experiment = fb.Experiment(rounds=5, environment=LINEAR, systems=(fb.system("fixed"),))
    claim = experiment.claims()["fixed"]
    assert (claim.epsilon, claim.holds_for, claim.events) == (0.0, "interactive", ())


def test_an_agent_restored_goes_on_with_what_it_kept():
    run = play("wandering", rounds=30)
    agent, other = run.run.of("agent")[:2]
    saved = agent.dump()
    assert agent.learner.seen == 30
    agent.learner.seen = 0
    agent.load(saved)
    assert agent.learner.seen == 30
    assert agent.learner.notes["shape"] == (4, 3)
    assert agent.learner.notes != other.learner.notes


def test_rewards_may_come_late_and_in_any_order():
    agent = play("wandering", rounds=1).run.of("agent")[0]
    open_ = [agent.decide(np.zeros((3, 4), np.float32)) for _ in range(5)]
    for decision in reversed(open_):
        agent.observe(decision, 0.5)
    assert agent.learner.seen == 6
    with pytest.raises(fb.FedbanditsError, match="is not open"):
        agent.observe(open_[0], 0.5)
    with pytest.raises(fb.FedbanditsError, match="is not open"):
        agent.observe(Decision(99, 0), 0.5)


@pytest.mark.parametrize("reward", [1.5, -0.1, float("nan"), "1", None, True])
def test_a_reward_out_of_bounds_is_refused_and_nothing_changes(reward):
    agent = play("wandering", rounds=1).run.of("agent")[0]
    decision = agent.decide(np.zeros((3, 4), np.float32))
    before = agent.dump()
    with pytest.raises(fb.FedbanditsError, match="reward"):
        agent.observe(decision, reward)
    assert agent.dump() == before


class TestMistakes:
    """Whoever makes one is told which class and method, what was given, and what is allowed."""

    @pytest.mark.parametrize("arm", [7, -1, 1.0, "1", None, True])
    def test_an_arm_that_is_none(self, arm):
        class Wrong(fb.Learner):
            def decide(self, contexts, draws):
                return arm

        fb.register(Wrong)
        with pytest.raises(LearnerError, match=r"Wrong\.decide: returned .*, allowed: a row's"):
            play("wrong")

    def test_an_error_of_its_own_code_says_where_it_was(self):
        class Fails(fb.Learner):
            def decide(self, contexts, draws):
                return np.linalg.solve(np.eye(3), np.zeros(99))[0]

        fb.register(Fails)
        with pytest.raises(ValueError, match="mismatch") as caught:
            play("fails")
        assert caught.value.__notes__ == ["in Fails.decide of agent-0, after 0 decisions"]

    def test_only_half_of_sharing(self):
        class Half(fb.Learner):
            def release(self):
                return np.zeros(3)

        with pytest.raises(LearnerError, match="Half: a learner that shares needs both"):
            fb.register(Half)

    @pytest.mark.parametrize("release", ["text", [], [float("nan")], None])
    def test_a_release_that_is_none(self, release):
        class Mute(fb.Learner):
            def decide(self, contexts, draws):
                return 0

            def release(self):
                return release

            def receive(self, total):
                pass

        fb.register(Mute)
        with pytest.raises(LearnerError, match=r"Mute\.release: "):
            play("mute")

    def test_a_release_that_grows(self):
        class Growing(fb.Learner):
            def begin(self):
                self.size = 1

            def decide(self, contexts, draws):
                self.size += 1
                return 0

            def release(self):
                return np.zeros(self.size)

            def receive(self, total):
                pass

        fb.register(Growing)
        with pytest.raises(LearnerError, match="the size must not change"):
            play("growing")

    def test_memory_that_cannot_be_saved(self):
        class Hoarder(fb.Learner):
            def begin(self):
                self.things = [{1, 2}]

            def decide(self, contexts, draws):
                return 0

        fb.register(Hoarder)
        with pytest.raises(LearnerError, match=r"Hoarder\.things\[0\]: is a set"):
            play("hoarder").run.of("agent")[0].dump()

    def test_settings_that_cannot_be(self):
        class NoDefault(fb.Learner):
            share: float

        class Taken(fb.Learner):
            label: str = "mine"

        class Strange(fb.Learner):
            model: object = None
            other: np.random.Generator | None = None

        for learner, message in [
            (NoDefault, r"NoDefault\.share: a setting needs a default"),
            (Taken, r"Taken\.label: the name is taken"),
            (Strange, r"Strange\.\w+: has a type that a configuration cannot hold"),
        ]:
            with pytest.raises(LearnerError, match=message):
                fb.register(learner)
        with pytest.raises(ConfigError, match=r"system.explore: given 'a', allowed: a number"):
            fb.system("shared-ridge", explore="a")
        with pytest.raises(ConfigError, match="did you mean 'explore'"):
            fb.system("shared-ridge", exlore=0.1)

    def test_an_attribute_without_a_type_is_no_setting(self):
        class Bare(Fixed):
            explore = 0.1

        fb.register(Bare)
        with pytest.raises(ConfigError, match=r"system\.explore: .* write `explore: float = …`"):
            fb.system("bare", explore=0.2)
        with pytest.raises(ConfigError, match=r"system\.exlore: unknown key"):
            fb.system("bare", exlore=0.2)

    def test_a_class_that_cannot_play(self):
        class Idle(fb.Learner):
            """Decides nothing."""

        class Built(Fixed):
            def __init__(self):
                self.count = 0

        @dataclasses.dataclass
        class Data(Fixed):
            explore: float = 0.1

        class Horizon(Fixed):
            rounds: int = 3

        class Silent(Fixed):
            schedule: int = 3

        class Luckless(Fixed):
            def decide(self, contexts):
                return 0

        class Greedy(Fixed):
            def observe(self, context, arm, reward, *, weight):
                pass

        for learner, message in [
            (Idle, "Idle: a learner needs decide"),
            (Luckless, r"Luckless\.decide: must take .* its calls: decide\(contexts, draws\)"),
            (Greedy, r"Greedy\.observe: must take .* observe\(context, arm, reward\)"),
            (Built, r"Built\.__init__: a learner has no constructor"),
            (Data, r"Data\.__init__: a learner has no constructor"),
            (Horizon, r"Horizon\.rounds: the name is taken"),
            (Silent, r"Silent\.schedule: the name is taken"),
        ]:
            with pytest.raises(LearnerError, match=message):
                fb.register(learner)

    def test_what_cannot_be_registered(self):
        for thing in (3, fb.Learner(FACTS), "greedy", dict):
            with pytest.raises(ConfigError, match="register: given"):
                fb.register(thing)

        class FedUCB(Fixed, name="feducb"):
            """Not that one."""

        with pytest.raises(ConfigError, match="'feducb' is registered already"):
            fb.register(FedUCB)


class TestScikitLearn:
    def test_it_learns(self):
        random_arms = play("wandering", rounds=400).regret.sum()
        assert play("sklearn-ridge", rounds=400).regret.sum() < 0.6 * random_arms

    def test_a_classifier_with_a_model_an_arm(self):
        fb.register(fb.learners.from_sklearn(LogisticRegression(), name="logistic"))
        random_arms = play("wandering", WINE, rounds=300).regret.sum()
        run = play("logistic", WINE, rounds=300, first=60)
        assert run.regret.sum() < 0.7 * random_arms

    def test_it_is_ridge_regression(self):
        """Against the formula: without exploring, it plays what the fit on its records says."""
        agent = play("sklearn-ridge", rounds=60, explore=0.0, growth=1.0).run.of("agent")[0]
        kept = agent.learner
        contexts = np.random.default_rng(3).normal(size=(5, 3))
        centred = kept.contexts - kept.contexts.mean(axis=0)
        weights = np.linalg.solve(
            centred.T @ centred + np.eye(3), centred.T @ (kept.rewards - kept.rewards.mean())
        )
        assert kept.decide(contexts, None_draws()) == np.argmax(contexts @ weights)

    @pytest.mark.parametrize("thing", [Ridge, 3, np.zeros(3)])
    def test_what_is_no_estimator(self, thing):
        with pytest.raises(LearnerError, match="from_sklearn: given"):
            fb.learners.from_sklearn(thing, name="thing")

    def test_a_classifier_that_has_seen_one_reward_alone_predicts_it(self):
        fb.register(fb.learners.from_sklearn(LogisticRegression(), name="hasty"))
        run = play("hasty", WINE, rounds=60, first=2)
        assert all(all(agent.learner.fitted) for agent in run.run.of("agent"))

    def test_settings_that_mean_nothing(self):
        with pytest.raises(LearnerError, match="explore: given 2, allowed: 0 to 1"):
            play("sklearn-ridge", explore=2.0)


class None_draws:  # noqa: N801 - stands for draws that are certain
    def bernoulli(self, probability):
        return False
