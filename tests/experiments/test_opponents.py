"""Opponents that are played beside a run: LinUCB on prepared rows, and logistic regression."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.errors import StoppedError
from fedbandits.experiments import opponents
from fedbandits.experiments.answers.rivals import Opponent, noted, opponents_in
from fedbandits.experiments.opponents import (
    LOGISTIC,
    MOST_PARTIES,
    ON_PREPARED_ROWS,
    PLAIN,
    Shown,
    logistic_sizes,
    opponents_of,
    play_alone,
    play_pooled,
    shown_to,
)
from fedbandits.experiments.run import Playing
from fedbandits.learners.logistic import fit_logistic, probability
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import Experiment

ALONE = fb.system("linucb-alone")
PLAYING = Playing(jobs=1)


def rows_of(sites=4, each=30, columns=3, seed=3):
    """A table whose numbers vary by far less than their ranges say."""
    draws = np.random.Generator(np.random.PCG64(seed))
    numbers = draws.normal(size=(sites * each, columns))
    label = (numbers @ draws.normal(size=columns) > 0.0).astype(int)
    table = {f"x{i}": 50.0 + numbers[:, i] for i in range(columns)}
    table["clinic"] = np.repeat([f"c{i}" for i in range(sites)], each)
    table["label"] = np.array(["no", "yes"])[label]
    return table


def table(**changes):
    """An old configuration: numbers are scaled by ranges."""
    settings = {
        "site": "clinic", "features": ["x0", "x1", "x2"], "target": "label",
        "classes": ["no", "yes"], "ranges": {f"x{i}": (0.0, 100.0) for i in range(3)},
    }  # fmt: skip
    return fb.environments.table(rows_of(), **(settings | changes))


def experiment(environment, *systems, rounds=40, replicates=3, **changes):
    given = systems or (fb.system("feducb-secure-hybrid"),)
    return Experiment(
        rounds=rounds, replicates=replicates, environment=environment, systems=given, **changes
    )


def hospitals(agents=5, **changes):
    return fb.environments.Classification(agents=agents, components=3, shards="shared", **changes)


class TestFit:
    def test_it_is_that_of_scikit_learn(self):
        from sklearn.linear_model import LogisticRegression

        draws = np.random.Generator(np.random.PCG64(1))
        rows = 3.0 * draws.normal(size=(6, 40, 4))
        rewards = (draws.random((6, 40)) < probability(rows[:, :, 0] + 1.0)).astype(np.float64)
        counts = np.array([40, 3, 17, 25, 40, 8])
        weights = (np.arange(40) < counts[:, None]).astype(np.float64)
        found = fit_logistic(rows, rewards, weights, draws.normal(size=(6, 4)))
        for model, count in enumerate(counts):
            own, paid = rows[model, :count], rewards[model, :count]
            if len(np.unique(paid)) < 2:
                continue
            oracle = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
            expected = oracle.fit(own, paid).coef_[0]
            np.testing.assert_allclose(found[model], expected, atol=1e-6)

    @pytest.mark.parametrize("far", [0.0, 30.0, -300.0])
    def test_it_does_not_depend_on_the_start(self, far):
        draws = np.random.Generator(np.random.PCG64(2))
        rows, rewards = draws.normal(size=(3, 20, 2)), np.ones((3, 20))
        rewards[1, :7] = 0.0
        weights = np.ones((3, 20))
        near = fit_logistic(rows, rewards, weights, np.zeros((3, 2)))
        found = fit_logistic(rows, rewards, weights, np.full((3, 2), far))
        np.testing.assert_allclose(found, near, atol=1e-6)

    def test_without_records_nothing_is_known(self):
        found = fit_logistic(np.ones((1, 3, 2)), np.ones((1, 3)), np.zeros((1, 3)), np.ones((1, 2)))
        np.testing.assert_allclose(found, 0.0, atol=1e-9)


def one_by_one(shown, pooled):
    """Both ways of learning, in plain loops over one record at a time; ties are not told apart."""
    rounds, parties, arms = shown.expected.shape
    lost, learners = np.zeros(parties), 1 if pooled else parties
    models = np.zeros((learners, arms, shown.contexts.shape[2]))
    records = [[[] for _ in range(arms)] for _ in range(learners)]
    fitted = np.zeros((learners, arms), int)
    for round_ in range(rounds):
        chosen = []
        for party in range(parties):
            x, learner = shown.contexts[round_, party].astype(float), 0 if pooled else party
            first = int(shown.draws[round_, party] * arms)
            scores = models[learner] @ x
            arm = max(range(arms), key=lambda a, s=scores, f=first: (s[a], -((a - f) % arms)))
            chosen.append((learner, arm, x, float(shown.expected[round_, party, arm])))
            lost[party] += shown.expected[round_, party].max() - chosen[-1][3]
        for learner, arm, x, reward in chosen:
            records[learner][arm].append((x, reward))
        if pooled:
            total = (round_ + 1) * parties
            due = [(0, arm) for arm in range(arms)] if total >= fitted[0, 0] * 1.25 else []
            fitted[0, 0] = total if due else fitted[0, 0]
        else:
            due = []
            for learner, arm, *_ in chosen:
                count = len(records[learner][arm])
                if count >= max(fitted[learner, arm] + 1, np.ceil(1.2 * fitted[learner, arm])):
                    fitted[learner, arm] = count
                    due.append((learner, arm))
        for learner, arm in due:
            own = records[learner][arm]
            if own:
                rows, paid = (np.array(column)[None] for column in zip(*own, strict=True))
                start = np.zeros((1, rows.shape[2]))
                models[learner, arm] = fit_logistic(rows, paid, np.ones(paid.shape), start)[0]
    return lost


class TestLogistic:
    @pytest.mark.parametrize("pooled", [False, True])
    def test_many_at_once_are_as_one_by_one(self, pooled):
        shown = shown_to(hospitals(), replicate_key(3, 0), 40, range(5))
        play = play_pooled if pooled else play_alone
        np.testing.assert_array_equal(play(shown), one_by_one(shown, pooled))

    def test_small_copies_change_nothing(self, monkeypatch):
        shown = shown_to(hospitals(), replicate_key(3, 0), 40, range(5))
        before = play_alone(shown)
        monkeypatch.setattr("fedbandits.experiments.opponents._MOST_AT_ONCE", 1)
        np.testing.assert_array_equal(play_alone(shown), before)

    def test_a_party_meets_what_systems_meet_whoever_else_is_played(self):
        world, key = hospitals(), replicate_key(7, 2)
        every, some = shown_to(world, key, 20, range(5)), shown_to(world, key, 20, [1, 4])
        for mine, theirs in zip(every, some, strict=True):
            np.testing.assert_array_equal(mine[:, [1, 4]], theirs)
        np.testing.assert_array_equal(play_alone(every)[[1, 4]], play_alone(some))
        opened = world.open(key)
        for round_ in range(20):
            best = opened.fill(4, round_ + 1)
            scaled = every.contexts[round_, 4] / np.sqrt(len(opened.features))
            np.testing.assert_allclose(opened.features[:, 0], scaled, rtol=1e-6)
            np.testing.assert_array_equal(opened.expected, every.expected[round_, 4])
            assert every.expected[round_, 4, best] == 1.0

    def test_it_learns_what_no_linear_model_tells_apart_from_chance(self):
        draws = np.random.Generator(np.random.PCG64(0))
        contexts = np.concatenate([draws.normal(size=(200, 20, 2)), np.ones((200, 20, 1))], axis=2)
        right = contexts[:, :, 0] + contexts[:, :, 1] > 0.0
        expected = np.stack([right, ~right], axis=2).astype(np.float32)
        shown = Shown(contexts.astype(np.float32), expected, draws.random((200, 20)))
        assert play_alone(shown).mean() < 15.0  # of 200, of which chance gets 100 wrong
        assert play_pooled(shown).mean() < 5.0

    def test_it_stays_cheap(self):
        for rounds, agents in ((100, 500), (20_000, 500), (50, 100_000), (1_000_000, 5)):
            one = experiment(hospitals(agents), rounds=rounds, replicates=20)
            alone, pooled = logistic_sizes(one, one.environment)
            assert alone.parties <= min(MOST_PARTIES, agents)
            assert pooled.parties in (0, agents)
            for size in (alone, pooled):
                assert size.parties * size.replicates * rounds <= 2_000_000


class TestPlayed:
    @pytest.mark.filterwarnings("ignore::fedbandits.errors.ConfigWarning")
    def test_a_table_of_ranges_meets_linucb_on_prepared_rows(self):
        one = experiment(table(), best_alone="")
        found = {(o.name, o.kind): o for o in opponents_of(one, PLAYING)}
        names = [(ON_PREPARED_ROWS, "alone"), (LOGISTIC, "alone"), (LOGISTIC, "pooled")]
        assert list(found) == names
        prepared = one.environment.prepared()
        assert prepared.ranges == {}
        assert prepared.prepared() is None
        own = fb.run(experiment(prepared, ALONE), jobs=1).regret.isel(system=0, round=-1)
        losses = found[ON_PREPARED_ROWS, "alone"].losses
        np.testing.assert_allclose(losses, own.mean("party").values)
        plain = fb.run(experiment(table(), ALONE), jobs=1).regret.isel(system=0, round=-1)
        assert np.mean(losses) < 0.8 * float(plain.mean())

    def test_the_rows_that_are_drawn_stay_the_same(self):
        given, key = table(), replicate_key(1, 0)
        one, other = given.open(key), given.prepared().open(key)
        for round_ in range(1, 20):
            assert one.fill(2, round_) == other.fill(2, round_)
            np.testing.assert_array_equal(one.expected, other.expected)
            assert np.linalg.norm(other.features[:3]) > 20.0 * np.linalg.norm(one.features[:3])

    def test_columns_that_are_stated_in_another_way_keep_it(self):
        given = table(
            ranges={"x0": (0.0, 100.0)}, centre={"x1": 50.0, "x2": 49.0},
            spread={"x1": 1.5, "x2": 2.0}, norm=3.0,
        ).prepared()  # fmt: skip
        assert given.centre == {"x0": given.centre["x0"], "x1": 50.0, "x2": 49.0}
        assert given.spread == {"x0": given.spread["x0"], "x1": 1.5, "x2": 2.0}
        assert given.norm is None

    def test_where_rows_are_prepared_a_run_that_has_it_meets_it_not_twice(self):
        one = experiment(hospitals(), fb.system("feducb"), ALONE)
        names = [o.name for o in opponents_of(one, PLAYING)]
        assert names == [LOGISTIC, LOGISTIC]
        names = [
            o.name for o in opponents_of(experiment(hospitals(), fb.system("feducb")), PLAYING)
        ]
        assert names == [PLAIN, LOGISTIC, LOGISTIC]

    def test_rewards_between_0_and_1_have_no_logistic_regression(self):
        world = fb.environments.Linear(agents=3, dim=2, arms=3)
        assert [o.name for o in opponents_of(experiment(world), PLAYING)] == [PLAIN]
        columns = rows_of() | {"a": np.full(120, 0.5), "b": np.zeros(120)}
        settings = {
            "site": "clinic", "features": ["x0"], "rewards": ["a", "b"], "reward_range": (0, 1),
            "scaling": "data",
        }  # fmt: skip
        assert not fb.environments.table(columns, **settings).right_or_wrong
        columns["a"] = (np.arange(120) % 2).astype(float)
        assert fb.environments.table(columns, **settings).right_or_wrong

    @pytest.mark.parametrize(
        "changes",
        [
            {"drift": {"kind": "change", "at": 20}},
            {"delay": {"kind": "fixed", "rounds": 3}},
            {"first_round": [1, 1, 1, 1, 9]},
        ],
    )
    def test_where_a_world_changes_or_comes_late_it_is_left_out(self, changes):
        settings = {"kind": "classification", "agents": 5, "components": 3, "shards": "shared"}
        one = Experiment.from_table(
            {
                "rounds": 40, "replicates": 1, "environment": settings | changes,
                "systems": [{"preset": "feducb"}],
            }
        )  # fmt: skip
        assert all(o.linear for o in opponents_of(one, PLAYING))

    def test_without_a_private_system_there_are_none(self):
        assert opponents_of(experiment(hospitals(), ALONE), PLAYING) == ()
        world = fb.environments.Bernoulli(means=(0.1, 0.9), arms=2)
        assert opponents_of(experiment(world, fb.system("samba-ucb")), PLAYING) == ()

    def test_a_switch_ends_it(self):
        stop = fb.Stop()
        stop.set()
        with pytest.raises(StoppedError):
            opponents_of(experiment(hospitals()), Playing(1, stop=stop))


class TestKept:
    def test_a_result_keeps_them(self):
        found = (
            Opponent(name="LinUCB", kind="alone", losses=(1.0, 2.5), sampled=(1.5, 2.0)),
            Opponent(name=LOGISTIC, kind="alone", losses=(0.5,), parties=(0, 3), linear=False),
        )
        assert opponents_in(noted(found)) == found
        assert opponents_in(noted(())) == ()
        assert opponents_in({}) is None

    def test_the_run_of_a_folder_is_not_played_again(self, tmp_path, monkeypatch):
        one = experiment(
            hospitals(), fb.system("feducb"), ALONE, rounds=10, best_alone="linucb-alone"
        )
        assert opponents.opponents_for(tmp_path, msgspec.structs.replace(one, best_alone="")) == ()
        found = opponents.opponents_for(tmp_path / "out", one, PLAYING)
        opponents.run_beside(one, found, out=tmp_path / "out", jobs=1)
        monkeypatch.setattr(opponents, "opponents_of", None)
        assert opponents.opponents_for(tmp_path / "out", one, PLAYING) == found
        other = msgspec.structs.replace(one, rounds=11)
        with pytest.raises(TypeError):
            opponents.opponents_for(tmp_path / "out", other, PLAYING)

    def test_in_python_they_are_asked_for(self):
        one = experiment(hospitals(), fb.system("feducb"), rounds=10)
        result = fb.run(one, jobs=1)
        assert opponents_in(result.attrs) is None
        assert opponents_in(fb.with_opponents(one, result, jobs=1).attrs) == opponents_of(
            one, PLAYING
        )
