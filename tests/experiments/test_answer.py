"""Does it pay: numbers against scipy, signs, words, and runs of which little is known."""

from __future__ import annotations

import json
import math

import msgspec
import numpy as np
import pytest
from scipy import stats

import fedbandits as fb
from fedbandits.environments.base import Words
from fedbandits.errors import ConfigError, DataError
from fedbandits.experiments.answers.sentences import with_error
from fedbandits.experiments.intervals import Paired, estimated_difference, paired
from fedbandits.experiments.measure import with_article
from fedbandits.experiments.report.pages import section
from fedbandits.experiments.result import build_dataset
from fedbandits.experiments.trace import ReplicateTrace
from fedbandits.offline import ips

ROUNDS = 100


def hospitals(*systems, replicates=5, agents=4):
    return fb.Experiment(
        rounds=ROUNDS,
        replicates=replicates,
        environment=fb.environments.Classification(agents=agents, components=3, shards="shared"),
        systems=[fb.system(one) if isinstance(one, str) else one for one in systems],
    )


def played(experiment, losses, rewards=None):
    """A result in which each system has these final regrets, (replicates,) or (…, parties)."""
    rounds, traces = np.array([1, ROUNDS]), []
    parties = experiment.environment.parties
    for system, entry in enumerate(experiment.systems):
        for replicate, loss in enumerate(losses[entry.label]):
            if np.isnan(loss).all() and rewards is None:
                continue
            trace = ReplicateTrace.empty(system, replicate, rounds, parties)
            trace.regret[:, 1] = loss
            earned = ROUNDS - np.asarray(loss)
            trace.reward[:, 1] = earned if rewards is None else rewards[entry.label][replicate]
            trace.syncs[1] = entry.label.count("pooled")
            traces.append(trace)
    count = len(experiment.systems) * experiment.replicates
    return build_dataset(experiment, traces, len(traces) < count)


class TestPaired:
    def test_the_interval_is_that_of_a_paired_t_test(self):
        draws = np.random.Generator(np.random.PCG64(3))
        for count in (3, 5, 30):
            one, other = draws.normal(3.0, 2.0, count), draws.normal(2.0, 1.0, count)
            for level in (0.95, 0.975):
                found = paired(one - other, level)
                low, high = stats.ttest_rel(one, other).confidence_interval(level)
                assert found.mean - found.half_width == pytest.approx(low)
                assert found.mean + found.half_width == pytest.approx(high)

    def test_it_covers_as_often_as_it_says(self):
        draws = np.random.Generator(np.random.PCG64(0))
        found = [paired(draws.normal(1.0, 2.0, 4), 0.9) for _ in range(2000)]
        covered = np.mean([abs(one.mean - 1.0) <= one.half_width for one in found])
        assert covered == pytest.approx(0.9, abs=0.025)

    def test_with_few_replicates_there_is_none(self):
        assert paired(np.array([1.0, 2.0, np.nan])) == (2, 1.5, None)
        assert paired(np.full(3, np.nan))[0] == 0

    def test_a_few_equal_differences_are_no_interval_of_width_zero(self):
        """Of counts such as mistakes, three are often equal by chance."""
        assert paired(np.ones(5)) == (5, 1.0, None)
        assert paired(np.ones(6)) == (6, 1.0, 0.0)
        assert paired(np.ones(6), 0.975).half_width is None
        assert paired(np.zeros(3)).half_width == 0.0

    def test_that_of_two_estimates_holds_however_their_errors_go_together(self):
        """Who always chooses different actions on one log has errors in opposite directions."""
        draws, covered = np.random.Generator(np.random.PCG64(0)), []
        for _ in range(300):
            actions, paid = draws.integers(0, 2, 400), np.ones(400)
            one, other = (ips(actions, paid, 0.5, np.full(400, arm)) for arm in (0, 1))
            halves = np.array([[one.half_width], [other.half_width]])
            found = estimated_difference(Paired(1, one.value - other.value, None), halves)
            covered.append(abs(found.mean) <= found.half_width)
        assert np.mean(covered) >= 0.93

    def test_its_sign_is_known_if_it_leaves_out_zero(self):
        assert paired(np.array([2.0, 2.1, 2.2])).sign == 1
        assert paired(-np.array([2.0, 2.1, 2.2])).sign == -1
        assert paired(np.array([-2.0, 2.1, 0.2])).sign is None
        assert paired(np.zeros(3)).sign is None


class TestVerdict:
    experiment = hospitals("feducb", "linucb-alone", "linucb-pooled")
    alone = np.array([15.0, 15.5, 15.2, 14.9, 15.4])
    noise = np.array([0.1, -0.1, 0.2, -0.2, 0.0])

    def answer(self, private, pooled=3.0):
        losses = {"feducb": private, "linucb-alone": self.alone}
        losses["linucb-pooled"] = pooled + self.noise * 0.5
        return fb.answer(self.experiment, played(self.experiment, losses))

    def test_it_pays(self):
        found = self.answer(self.alone - 6.0 + self.noise)
        assert found.pays is True
        assert found.headline == (
            "Learning together privately saves 6.0 ± 0.2 mistakes a hospital in 100 visits (39%): "
            "9.2 with feducb (ε = 1), 15.2 alone."
        )
        first = found.comparisons[0]
        assert (first.system, first.baseline, first.kind) == ("feducb", "linucb-alone", "alone")
        assert first.saves == pytest.approx(6.0)
        assert first.share == pytest.approx(6.0 / 15.2)
        assert first.replicates == 5

    def test_it_does_not_pay(self):
        found = self.answer(self.alone + 3.0 + self.noise)
        assert found.pays is False
        assert found.headline == (
            "It does not pay here: learning together privately (feducb, ε = 1) makes 3.0 ± 0.2 "
            "more mistakes a hospital in 100 visits than learning alone (20%)."
        )
        assert found.comparisons[0].saves == pytest.approx(-3.0)

    def test_nothing_is_claimed_where_the_interval_has_zero(self):
        found = self.answer(self.alone + 0.05 + 5.0 * self.noise)
        assert found.pays is None
        assert found.headline.startswith(
            "No difference was found: learning together privately (feducb, ε = 1) saves −0.1 ± 1.0 "
        )

    def test_what_privacy_costs_is_beside_everything_pooled(self):
        found = self.answer(self.alone - 6.0 + self.noise)
        line = "Privacy costs 6.2 ± 0.3 mistakes a hospital in 100 visits, compared with"
        assert found.lines[1].startswith(line)
        assert "exchanges less often" in found.lines[1]
        assert found.comparisons[1].saves == pytest.approx(-6.2)
        assert found.comparisons[1].pays is False

    def test_who_is_worse_off_is_said_where_many_are(self):
        alone = np.full((5, 4), 15.0)
        private = alone - 8.0 + self.noise[:, None]
        losses = {"feducb": private, "linucb-alone": alone, "linucb-pooled": alone}
        few = fb.answer(self.experiment, played(self.experiment, losses))
        assert not any("worse" in line or "than alone;" in line for line in few.lines)
        private[:, 0] = 15.5
        many = fb.answer(self.experiment, played(self.experiment, losses))
        said = "25% of the hospitals make more mistakes with feducb than alone; part of that is"
        assert any(line.startswith(said) for line in many.lines)

    def test_the_answer_is_the_same_from_the_result_alone_and_from_its_folder(self, tmp_path):
        experiment = hospitals("feducb", "linucb-alone", replicates=3, agents=2)
        result = fb.run(experiment, out=tmp_path / "r")
        found = fb.answer(experiment, result)
        assert fb.answer(result) == fb.answer(tmp_path / "r") == found
        stored = json.loads((tmp_path / "r" / "answer.json").read_text(encoding="utf-8"))
        assert stored == json.loads(json.dumps(found.to_table()))
        page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
        assert page.index("Does it pay?") < page.index("linucb-alone")

    def test_without_a_result_there_is_none(self):
        with pytest.raises(ConfigError, match=r"give its result too: fb.answer\(experiment"):
            fb.answer(self.experiment)

    def test_a_result_of_another_version_is_refused(self):
        result = played(self.experiment, dict.fromkeys(
            ("feducb", "linucb-alone", "linucb-pooled"), self.alone))  # fmt: skip
        with pytest.raises(DataError, match="format"):
            fb.answer(self.experiment, result.assign_attrs(format=1))


class TestSeveral:
    experiment = hospitals(
        fb.system("feducb", label="weak", epsilon=0.1), "feducb", "feducb-published",
        "linucb-alone",
    )  # fmt: skip
    noise = np.array([0.1, -0.1, 0.2, -0.2, 0.0])

    def answer(self):
        losses = dict.fromkeys(("feducb-published", "linucb-alone"), 15.0 + self.noise)
        losses |= {"weak": 20.0 - self.noise, "feducb": 10.0 - self.noise}
        return fb.answer(self.experiment, played(self.experiment, losses))

    def test_the_best_comes_first_and_each_has_a_line(self):
        found = self.answer()
        assert found.pays is True
        assert [one.system for one in found.comparisons] == ["feducb", "weak"]
        assert "10.0 with feducb (ε = 1), 15.0 alone" in found.headline
        assert found.lines[1].startswith("feducb (ε = 1) pays: it saves 5.0 ± 0.5 ")
        assert found.lines[2].startswith("weak (ε = 0.1) does not pay: it makes 5.0 ± 0.5 more ")

    def test_a_small_sure_loss_is_named_before_a_large_doubtful_one(self):
        losses = dict.fromkeys(("feducb-published", "linucb-alone"), 15.0 + self.noise)
        losses |= {"weak": 20.0 + 60.0 * self.noise, "feducb": 15.5 + self.noise * 2.0}
        found = fb.answer(self.experiment, played(self.experiment, losses))
        assert [one.pays for one in found.comparisons] == [False, None]
        assert found.headline.startswith("It does not pay here: learning together privately (fed")

    def test_their_intervals_hold_together(self):
        found = self.answer()
        assert found.comparisons[0].level == 0.975
        half = stats.t.ppf(0.9875, 4) * np.std(2.0 * self.noise, ddof=1) / math.sqrt(5)
        assert found.comparisons[0].half_width == pytest.approx(half)
        said = "at 97.5%, so that those of all 2 private systems with learning alone hold together"
        assert said in found.how

    def test_what_has_no_finite_epsilon_gets_no_verdict(self):
        line = (
            "feducb-published claims no finite ε, so there is no verdict on private learning "
            "with it."
        )
        assert line in self.answer().lines


class TestLittleIsKnown:
    @pytest.mark.parametrize("count", [1, 2])
    def test_few_replicates_give_no_interval_and_it_says_what_to_do(self, count):
        experiment = hospitals("feducb", "linucb-alone", replicates=count)
        losses = {"feducb": np.full(count, 5.0), "linucb-alone": np.full(count, 9.0)}
        found = fb.answer(experiment, played(experiment, losses))
        assert found.pays is None
        assert found.comparisons[0].half_width is None
        assert found.headline.startswith(f"Whether it pays is not known yet: {count} replicate")
        assert "saves 4.0 mistakes a hospital" in found.headline
        assert "--replicates 8" in found.headline

    def test_three_equal_differences_are_no_verdict(self):
        experiment = hospitals("feducb", "linucb-alone", replicates=3)
        losses = {"feducb": np.arange(3.0), "linucb-alone": np.arange(3.0) + 1.0}
        found = fb.answer(experiment, played(experiment, losses))
        assert found.pays is None
        said = "All of them differ by the same amount. Run it with --replicates 8."
        assert said in found.headline

    def test_only_replicates_that_both_have_finished_are_paired(self):
        experiment = hospitals("feducb", "linucb-alone")
        losses = {
            "feducb": np.array([5.0, 6.0, 7.0, 1000.0, np.nan]),
            "linucb-alone": np.array([9.0, 10.5, 10.6, np.nan, 0.0]),
        }
        result = played(experiment, losses)
        assert result.attrs["interrupted"]
        found = fb.answer(experiment, result).comparisons[0]
        assert found.replicates == 3
        assert found.saves == pytest.approx(np.mean([4.0, 4.5, 3.6]))
        assert found.system_mean == pytest.approx(6.0)

    def test_nothing_that_both_have_finished(self):
        experiment = hospitals("feducb", "linucb-alone", replicates=2)
        losses = {"feducb": np.array([5.0, np.nan]), "linucb-alone": np.array([np.nan, 0.0])}
        found = fb.answer(experiment, played(experiment, losses))
        assert found.headline.startswith("Whether it pays is not known: no replicate")
        json.dumps(found.to_table(), allow_nan=False)
        assert "not known" in section("answer", answer=found)

    def test_no_system_learns_alone(self):
        experiment = hospitals("feducb", "linucb-pooled", replicates=6)
        losses = {"feducb": np.arange(6.0) + 9.0, "linucb-pooled": np.arange(6.0)}
        found = fb.answer(experiment, played(experiment, losses))
        assert found.pays is None
        assert found.headline.startswith("Whether it pays is not known: no system of this run")
        assert found.lines[1].startswith("Privacy costs 9 ± 0 mistakes a hospital")

    def test_no_regret_of_learning_alone(self):
        experiment = hospitals("feducb", "linucb-alone")
        losses = {"feducb": np.arange(5.0) + 1.0, "linucb-alone": np.zeros(5)}
        found = fb.answer(experiment, played(experiment, losses))
        assert found.pays is False
        assert found.comparisons[0].share is None
        assert found.headline.endswith("than learning alone.")

    def test_no_system_is_private(self):
        experiment = hospitals("linucb-pooled", "linucb-alone")
        losses = {"linucb-pooled": np.zeros(5), "linucb-alone": np.ones(5)}
        found = fb.answer(experiment, played(experiment, losses))
        assert found.comparisons == ()
        assert found.lines == (
            "No system of this run claims a finite ε: no verdict on private learning.",
        )
        assert "No system" in section("answer", answer=found)

    def test_where_regret_is_unknown_reward_is_compared_and_more_is_better(self):
        experiment = hospitals("feducb", "linucb-alone", replicates=6)
        unknown = dict.fromkeys(("feducb", "linucb-alone"), np.full(6, np.nan))
        spread = np.arange(6.0)
        rewards = {"feducb": 80.0 + spread, "linucb-alone": 70.0 + spread}
        found = fb.answer(experiment, played(experiment, unknown, rewards))
        assert found.pays is True
        assert found.comparisons[0].saves == pytest.approx(0.1)
        assert found.headline == (
            "Learning together privately earns 0.100 ± 0 more reward a visit (14%): "
            "0.83 with feducb (ε = 1), 0.72 alone."
        )
        swapped = {"feducb": rewards["linucb-alone"], "linucb-alone": rewards["feducb"]}
        worse = fb.answer(experiment, played(experiment, unknown, swapped))
        assert worse.pays is False
        assert "earns 0.100 ± 0 less reward a visit than learning alone (12%)" in worse.headline

    def test_a_comparison_with_other_settings_says_so(self):
        experiment = hospitals(
            fb.system("feducb", exploration_scale=0.1), "linucb-alone",
        )  # fmt: skip
        losses = {"feducb": np.arange(5.0), "linucb-alone": np.arange(5.0) + 1.0}
        found = fb.answer(experiment, played(experiment, losses))
        assert found.comparisons[0].differs_in == ("exploration_scale",)
        said = "feducb and linucb-alone also differ in exploration_scale: part of the difference"
        assert any(line.startswith(said) for line in found.lines)

    @pytest.mark.parametrize("better", [True, False])
    def test_a_private_system_that_does_not_pay_was_not_tuned(self, better):
        """Its opponent was; where it pays all the same, nothing has to be said."""
        experiment = msgspec.structs.replace(
            hospitals("feducb", fb.system("linucb-alone", exploration_scale=2.0)),
            best_alone="linucb-alone",
        )
        alone = np.arange(5.0) + 9.0
        noise = np.array([0.2, -0.2, 0.1, -0.1, 0.01])
        private = alone - 2.0 + noise if better else alone + noise
        losses = {"feducb": private, "linucb-alone": alone}
        found = fb.answer(experiment, played(experiment, losses))
        said = "feducb itself was not tuned here: its exploration_scale is 1."
        assert (said in found.lines) != better

    def test_of_two_that_learn_alone_the_one_with_the_same_settings_is_taken(self):
        experiment = hospitals(
            fb.system("feducb", exploration_scale=0.1),
            "linucb-alone",
            fb.system("linucb-alone", label="like it", exploration_scale=0.1, epsilon=3.0),
        )
        losses = {entry.label: np.arange(5.0) for entry in experiment.systems}
        found = fb.answer(experiment, played(experiment, losses))
        assert found.comparisons[0].baseline == "like it"
        assert found.comparisons[0].differs_in == ()

    def test_a_preset_that_was_told_to_share_stands_for_nothing(self):
        sharing = fb.system("linucb-alone", schedule="every(5)", local_view="released")
        experiment = hospitals("feducb", sharing)
        losses = {entry.label: np.arange(5.0) for entry in experiment.systems}
        assert fb.answer(experiment, played(experiment, losses)).comparisons == ()


class TestEncryption:
    def experiment(self, *presets):
        return fb.Experiment(
            rounds=60,
            replicates=3,
            environment=fb.environments.Bernoulli(arms=3, means=(0.2, 0.5, 0.8)),
            systems=[fb.system(name) for name in presets],
        )

    def test_it_costs_no_reward(self):
        experiment = self.experiment("distributed-ucb", "plain-ucb", "plain-thompson")
        found = fb.answer(fb.run(experiment))
        assert found.comparisons == ()  # in clear there is no encryption to judge
        experiment = self.experiment("samba-ucb", "plain-thompson", "plain-ucb")
        found = fb.answer(fb.run(experiment))
        assert found.headline == (
            "Encryption costs no reward: samba-ucb earns what plain-ucb earns (difference 0 ± 0, "
            "3 replicates)."
        )
        assert found.pays is None
        assert found.comparisons[0].epsilon is None

    def test_without_the_same_algorithm_in_clear_nothing_is_said(self):
        assert fb.answer(fb.run(self.experiment("samba-ucb", "plain-thompson"))).comparisons == ()


class TestWords:
    @pytest.mark.parametrize(
        ("noun", "said"),
        [
            ("hospital", "a hospital"),
            ("agent", "an agent"),
            ("user", "a user"),
            ("university", "a university"),
            ("island", "an island"),
            ("Klinik", "a Klinik"),
        ],
    )
    def test_articles(self, noun, said):
        assert with_article(noun) == said

    @pytest.mark.parametrize(
        ("value", "half", "shown"),
        [
            (6.1737, 0.41, "6.2 ± 0.4"),
            (-0.21, 0.93, "−0.2 ± 0.9"),
            (12345.6, 561.0, "12,300 ± 600"),
            (0.44, 0.43, "0.44 ± 0.43"),  # an interval without 0 is seen to be one
            (0.43, 0.44, "0.4 ± 0.4"),
            (6.2, 0.139, "6.20 ± 0.14"),
            (0.0, 0.0, "0 ± 0"),
            (-0.001, 0.5, "0.0 ± 0.5"),
            (0.000312, 0.00004, "0.00031 ± 0.00004"),
            (2.1, 2.8, "2.1 ± 2.8"),
            (14.2, 2.8, "14 ± 3"),
            (4.0, None, "4.0"),
        ],
    )
    def test_numbers_have_the_digits_that_their_interval_allows(self, value, half, shown):
        assert with_error(value, half) == shown

    @pytest.mark.parametrize(
        ("environment", "unit"),
        [
            (fb.environments.Linear(agents=2), "regret an agent in 10 rounds"),
            (fb.environments.Classification(agents=2), "mistakes a hospital in 10 visits"),
            (fb.environments.Classification(dataset="wine"), "mistakes an agent in 10 visits"),
            (fb.environments.Bernoulli(means=(0.1, 0.9), arms=2), "regret in 10 rounds"),
        ],
    )
    def test_units_are_in_the_words_of_the_environment(self, environment, unit):
        preset = "plain-ucb" if unit.startswith("regret in") else "linucb-alone"
        experiment = fb.Experiment(rounds=10, environment=environment, systems=[fb.system(preset)])
        assert fb.answer(fb.run(experiment)).unit == unit

    def test_the_page_shows_labels_as_text(self):
        bad = fb.system("feducb", label="<b>bold & co")
        experiment = hospitals(bad, "linucb-alone")
        losses = {entry.label: np.arange(5.0) for entry in experiment.systems}
        page = section("answer", answer=fb.answer(experiment, played(experiment, losses)))
        assert "<b>bold" not in page
        assert "&lt;b&gt;bold &amp; co" in page

    def test_words_are_those_of_the_result(self):
        experiment = hospitals("feducb", "linucb-alone")
        losses = {entry.label: np.arange(5.0) for entry in experiment.systems}
        result = played(experiment, losses)
        result.attrs["words"] = json.dumps(Words("ward", "wards", "errors", "stay")._asdict())
        assert fb.answer(experiment, result).unit == "errors a ward in 100 stays"
