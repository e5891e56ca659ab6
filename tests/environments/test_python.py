"""A world in plain Python: every system plays in it, and meets what it makes."""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.draws import Draws
from fedbandits.environments import registry as environment_registry
from fedbandits.environments.python import PythonEnvironment, show
from fedbandits.errors import BoundExceededError, ConfigError, DataError
from fedbandits.random import Purpose, normal, replicate_key, uniform
from fedbandits.testing.replicates import federate, simulate
from tests.worlds import decision_set, draw_rewards

KEY = replicate_key(11, 2)


class Disc(PythonEnvironment, tag="disc"):
    """Contexts on a disc; what an arm pays depends on how far it reaches along a direction."""

    arms: int = 4
    reach: float = 0.9

    @property
    def dimension(self):
        return 2

    @property
    def arm_count(self):
        return self.arms

    def begin(self, draws):
        angle = 2 * np.pi * draws.uniform()
        return np.array([np.cos(angle), np.sin(angle)])

    def decision_set(self, world, agent, round_, draws):
        angles = 2 * np.pi * draws.uniform(self.arms)
        contexts = self.reach * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return contexts, 0.5 + 0.5 * contexts @ world


class Graded(Disc, tag="graded"):
    """The same, with rewards between 0 and 1."""

    def draw_reward(self, world, expected, draws):
        return 0.5 * expected + 0.5 * draws.uniform() * expected


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(environment_registry, "_registered", {})
    fb.register(Disc)
    fb.register(Graded)


@pytest.mark.parametrize("preset", ["feducb", "feducb-published", "linucb-alone", "feducb-p2p"])
@pytest.mark.parametrize("world", [Disc(agents=3), Graded(agents=3)], ids=["0 or 1", "graded"])
def test_the_compiled_loop_and_the_parties_meet_the_same(preset, world):
    config = fb.system(preset).config
    compiled, parties = (play(config, world, 80, 1, 0) for play in (simulate, federate))
    for run in (compiled, parties):
        run.advance(80)
    np.testing.assert_array_equal(compiled.regret, parties.regret)
    # The loop adds up batches, the parties one by one.
    np.testing.assert_allclose(compiled.reward, parties.reward, rtol=1e-12)
    assert compiled.reward.sum() > 0


def test_a_learner_is_better_than_chance():
    world = Disc(agents=3)
    learning = simulate(fb.system("linucb-pooled").config, world, 2000, 1, 0)
    learning.advance(2000)
    by_chance = np.mean([
        (expected.max() - expected).mean()
        for _, expected, _ in (
            decision_set(world, world.world(KEY), KEY, 0, t) for t in range(1, 200)
        )
    ])  # fmt: skip
    assert learning.regret.sum() < 0.3 * by_chance * 3 * 2000


def test_rewards_are_what_they_say():
    world = Disc(agents=1)
    drawn = draw_rewards(world, 0.3, KEY, 4000)
    assert set(drawn) == {0.0, 1.0}
    assert abs(np.mean(drawn) - 0.3) < 5 * np.sqrt(0.21 / 4000)


def test_it_runs_from_a_file_side_by_side_and_again(tmp_path):
    experiment = fb.Experiment(
        rounds=200, replicates=3, environment=Disc(agents=2, reach=0.5),
        systems=(fb.system("feducb"), fb.system("linucb-alone")),
    )  # fmt: skip
    result = fb.run(experiment, out=tmp_path / "out", jobs=2)
    assert 'kind = "disc"' in (tmp_path / "out" / "config.toml").read_text()
    again = fb.run(tmp_path / "out" / "config.toml", jobs=1)
    assert again.regret.equals(result.regret)
    regret = result.regret.isel(round=-1)
    assert not np.allclose(regret.isel(replicate=0), regret.isel(replicate=1))


class TestMistakes:
    """Whoever makes one is told which class and method, what was given, and what is allowed."""

    @pytest.mark.parametrize(
        ("returned", "error", "message"),
        [
            (3, DataError, "must return two arrays"),
            ((np.zeros((4, 3)), np.zeros(4)), DataError, r"of shape \(4, 3\).*\(4, 2\)"),
            ((np.zeros((4, 2)), np.zeros(3)), DataError, r"of shape \(3,\)"),
            ((np.full((4, 2), np.nan), np.zeros(4)), DataError, "not finite numbers"),
            ((np.full((4, 2), "a"), np.zeros(4)), DataError, "must return two arrays"),
            (
                (np.ones((4, 2)), np.zeros(4)),
                BoundExceededError,
                r"row 0 .* has the norm 1.41421356, allowed: 1,",
            ),
            ((np.zeros((4, 2)), np.full(4, 1.1)), BoundExceededError, r"outside \[0, 1\]"),
        ],
    )
    def test_a_decision_set_that_is_none(self, returned, error, message):
        class Broken(Disc, tag="broken"):
            def decision_set(self, world, agent, round_, draws):
                return returned

        fb.register(Broken)
        world = Broken(agents=2)
        for play in (simulate, federate):  # compiled code hands the error on
            with pytest.raises(error, match=rf"Broken\.decision_set: .*{message}"):
                play(fb.system("feducb").config, world, 50, 1, 0).advance(50)

    def test_a_reward_beyond_its_range(self):
        class Rich(Disc, tag="rich"):
            def draw_reward(self, world, expected, draws):
                return 2.0

        fb.register(Rich)
        for play in (simulate, federate):
            with pytest.raises(BoundExceededError, match=r"Rich\.draw_reward: round 1 has a rew"):
                play(fb.system("feducb").config, Rich(agents=2), 50, 1, 0).advance(50)

    def test_a_reward_that_is_no_number(self):
        class Talking(Disc, tag="talking"):
            def draw_reward(self, world, expected, draws):
                return "1"

        fb.register(Talking)
        with pytest.raises(DataError, match=r"Talking\.draw_reward: returned '1', allowed: a numb"):
            federate(fb.system("feducb").config, Talking(agents=2), 50, 1, 0).advance(50)

    def test_an_error_of_its_own_comes_through(self):
        class Failing(Disc, tag="failing"):
            def decision_set(self, world, agent, round_, draws):
                raise KeyError("a place that I know")

        fb.register(Failing)
        with pytest.raises(KeyError, match="a place that I know"):
            simulate(fb.system("feducb").config, Failing(agents=2), 50, 1, 0).advance(50)

    @pytest.mark.parametrize("name", ["feducb", "feducb-p2p", "fedlinucb-async"])
    def test_an_interruption_comes_through_and_nothing_is_asked_after_it(self, name):
        asked = []

        class Interrupted(Disc, tag="interrupted"):
            def decision_set(self, world, agent, round_, draws):
                asked.append(round_)
                if len(asked) == 7:
                    raise KeyboardInterrupt
                return super().decision_set(world, agent, round_, draws)

        fb.register(Interrupted)
        settings = {"graph": "ring", "gamma": 1} if name == "feducb-p2p" else {}
        run = simulate(fb.system(name, **settings).config, Interrupted(agents=2), 50, 1, 0)
        with pytest.raises(KeyboardInterrupt):
            run.advance(50)
        assert len(asked) == 7

    def test_threads_of_one_replicate_raise_what_a_thread_of_theirs_has_met(self, monkeypatch):
        from fedbandits.systems.agents import batches

        class Late(Disc, tag="late-failure"):
            def decision_set(self, world, agent, round_, draws):
                if (agent, round_) == (3, 9):
                    raise KeyError("agent 3 in round 9")
                return super().decision_set(world, agent, round_, draws)

        fb.register(Late)
        monkeypatch.setattr(batches, "_WORTH_SHARING", 1)
        run = simulate(fb.system("linucb-alone").config, Late(agents=4), 50, 1, 0, threads=2)
        with pytest.raises(KeyError, match="agent 3 in round 9"):
            run.advance(50)

    def test_a_kind_that_is_taken(self):
        class Linear(Disc, tag="linear"):
            """Not that one."""

        with pytest.raises(ConfigError, match="environment 'linear': the kind is taken"):
            fb.register(Linear)

    def test_one_that_nobody_has_registered(self):
        class Secret(Disc, tag="secret"):
            """Known to nobody."""

        with pytest.raises(ConfigError, match=r"Secret is not registered|given 'secret'"):
            fb.Experiment(rounds=5, environment=Secret(), systems=(fb.system("feducb"),))


def test_contexts_of_norm_one_keep_their_bound_in_single_precision():
    class Sphere(Disc, tag="sphere"):
        def decision_set(self, world, agent, round_, draws):
            contexts, expected = super().decision_set(world, agent, round_, draws)
            return contexts / np.linalg.norm(contexts, axis=1, keepdims=True), expected

    for round_ in range(1, 200):
        features = show(Sphere(agents=1), KEY, 0, round_)[0].astype(np.float64)
        assert np.linalg.norm(features, axis=0).max() <= 1.0


class TestDraws:
    """Each has a name, so the same name gives the same draws."""

    def test_they_are_those_of_compiled_code(self):
        draws = Draws(KEY, 3, 7, Purpose.CONTEXT)
        assert draws.uniform() == uniform(KEY, 3, 7, int(Purpose.CONTEXT), 0)
        assert draws.normal() == normal(KEY, 3, 7, int(Purpose.CONTEXT), 2)
        assert draws.uniform() == uniform(KEY, 3, 7, int(Purpose.CONTEXT), 4)

    def test_none_is_given_twice(self):
        draws = Draws(KEY, 0, 1, Purpose.CONTEXT)
        found = [*draws.uniform(5), draws.uniform(), *draws.uniform(3), draws.uniform()]
        assert len({*found}) == len(found)
        normals = [*draws.normal(3), draws.normal(), *draws.normal(2)]
        assert len({*normals}) == len(normals)

    def test_they_have_their_distributions(self):
        draws = Draws(KEY, 0, 1, Purpose.CONTEXT)
        assert abs(draws.uniform(4000).mean() - 0.5) < 5 * np.sqrt(1 / 12 / 4000)
        assert abs(draws.normal(4000).std() - 1.0) < 0.06
        counts = np.bincount([draws.integer(4) for _ in range(2000)], minlength=4)
        assert (abs(counts - 500) < 5 * np.sqrt(2000 * 3 / 16)).all()
        assert sorted(draws.permutation(9)) == list(range(9))
        assert 0.2 < np.mean([draws.bernoulli(0.25) for _ in range(2000)]) < 0.3
        assert abs(draws.generator().beta(2.0, 2.0, 4000).mean() - 0.5) < 0.02

    def test_other_names_give_others(self):
        base = Draws(KEY, 0, 1, Purpose.LEARNER)
        for other in (
            Draws(KEY, 1, 1, Purpose.LEARNER),
            Draws(KEY, 0, 2, Purpose.LEARNER),
            Draws(KEY, 0, 1, Purpose.CONTEXT),
            Draws(replicate_key(11, 3), 0, 1, Purpose.LEARNER),
        ):
            assert (
                other.generator().random() != Draws(KEY, 0, 1, Purpose.LEARNER).generator().random()
            )
            assert other.uniform() != base.uniform()

    @pytest.mark.parametrize("size", [(2, 2), -1, 2.0, True])
    def test_a_size_that_is_none(self, size):
        draws = Draws(KEY, 0, 1, Purpose.LEARNER)
        for draw in (draws.uniform, draws.normal):
            with pytest.raises(ValueError, match="size: given"):
                draw(size)

    def test_what_cannot_be_drawn(self):
        draws = Draws(KEY, 0, 1, Purpose.LEARNER)
        for probability in (-0.1, 1.1, float("nan")):
            with pytest.raises(ValueError, match="bernoulli: given the probability"):
                draws.bernoulli(probability)
        with pytest.raises(ValueError, match="permutation: given the size"):
            draws.permutation(-1)

    @pytest.mark.parametrize("bound", [0, -3, 2**33, 2.5, True])
    def test_a_bound_that_is_none(self, bound):
        with pytest.raises(ValueError, match="given the bound"):
            Draws(KEY, 0, 1, Purpose.LEARNER).integer(bound)
