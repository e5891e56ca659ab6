"""From where on it pays: what is tried, what is concluded from it, and how it is said."""

from __future__ import annotations

import json

import msgspec
import pytest

import fedbandits as fb
from fedbandits.environments.base import Words
from fedbandits.errors import ConfigError, OutputExistsError, StoppedError
from fedbandits.experiments.answers.advice import Curve, Tried, advice_lines
from fedbandits.experiments.answers.advise import pair_of, trial_work, trials, work
from fedbandits.experiments.events import PointFinished
from fedbandits.experiments.intervals import paired
from fedbandits.experiments.output import read_advice, write_advice
from fedbandits.experiments.report.pages import section

HOSPITALS = Words("hospital", "hospitals", "mistakes", "visit")


def experiment(*systems, agents=8, **changes):
    settings = {
        "rounds": 30,
        "replicates": 4,
        "environment": fb.environments.Classification(agents=agents, components=3, shards="shared"),
        "systems": [fb.system(one) if isinstance(one, str) else one for one in systems],
    }
    return fb.Experiment(**settings | changes)


def curve(axis, *states):
    """A curve of these states: of ``+`` pays, ``-`` does not, ``?`` is not known."""
    values = [0.1, 0.3, 1.0, 3.0, 10.0] if axis == "epsilon" else [10, 20, 40, 80, 160]
    tried = [
        Tried(
            value=value, epsilon=value if axis == "epsilon" else 1.0,
            parties=10 if axis == "epsilon" else value, replicates=5, unit="mistakes",
            saves={"+": 2.0, "-": -2.0, "?": 0.1}[state], half_width=1.0, share=None,
            pays={"+": True, "-": False, "?": None}[state],
        )
        for value, state in zip(values, *states, strict=False)
    ]  # fmt: skip
    return Curve(axis, "key", tuple(tried))


@pytest.fixture(scope="module")
def given():
    return experiment("feducb", agents=4)


@pytest.fixture(scope="module")
def advice(given):
    return fb.advise(given, jobs=1)


class TestWords:
    @pytest.mark.parametrize(
        ("states", "said"),
        [
            ("--+++", "It pays from 40 hospitals on at ε = 1, as far as was tried (160); with 20 "
             "hospitals it does not."),
            ("-?+++", "It pays from 40 hospitals on at ε = 1, as far as was tried (160); with 20 "
             "hospitals no difference was found."),
            ("+++++", "It pays with every number of hospitals that was tried, from 10 to 160 at "
             "ε = 1."),
            ("-----", "It pays with no number of hospitals that was tried, from 10 to 160 at "
             "ε = 1."),
            ("--??-", "It was not found to pay with any number of hospitals that was tried, from "
             "10 to 160 at ε = 1: with 10, 20 and 160 hospitals it does not; with 40 and 80 "
             "hospitals no difference was found."),
            ("++?--", "It pays up to 20 hospitals at ε = 1; with 40 hospitals no difference was "
             "found."),
            ("-+-++", "There is no single threshold at ε = 1: with 20, 80 and 160 hospitals it "
             "pays; with 10 and 40 hospitals it does not."),
            ("-++?-", "There is no single threshold at ε = 1: with 20 and 40 hospitals it pays; "
             "with 10 and 160 hospitals it does not; with 80 hospitals no difference was found."),
        ],
    )  # fmt: skip
    def test_of_parties(self, states, said):
        assert advice_lines([curve("parties", states)], HOSPITALS) == (said,)

    @pytest.mark.parametrize(
        ("states", "said"),
        [
            ("---++", "With 10 hospitals it pays from ε = 3 on, as far as was tried (10); with "
             "ε = 1 it does not."),
            ("-----", "With 10 hospitals it pays with no ε that was tried, from 0.1 to 10."),
            ("+-+--", "With 10 hospitals there is no single threshold: with ε = 0.1 and 1 it pays; "
             "with ε = 0.3, 3 and 10 it does not."),
        ],
    )  # fmt: skip
    def test_of_epsilon(self, states, said):
        assert advice_lines([curve("epsilon", states)], HOSPITALS) == (said,)

    def test_of_nothing(self):
        assert advice_lines([], HOSPITALS)[0].startswith("Nothing could be tried")


class TestTrials:
    def test_of_a_private_system_and_its_alone(self):
        given = experiment("linucb-pooled", fb.system("feducb", epsilon=2.0, exploration_scale=0.5))
        base = pair_of(given)
        assert [entry.label for entry in base.systems] == ["feducb", "alone"]
        assert base.systems[1].label == base.best_alone
        assert base.replicates == 4
        parties, epsilon = trials(base)
        assert parties.values == (2, 4, 8, 16, 32)
        assert epsilon.values == (0.1, 0.3, 1.0, 2.0, 3.0, 10.0)

    def test_few_replicates_are_enough_for_an_interval_and_many_are_not_wasted(self):
        assert pair_of(experiment("feducb", replicates=1)).replicates == 3
        assert pair_of(experiment("feducb", replicates=50)).replicates == 5

    def test_what_the_data_cannot_give_is_left_out_with_the_reason(self):
        world = fb.environments.Classification(agents=200, dataset="wine", components=3)
        given = experiment("feducb", environment=msgspec.structs.replace(world, agents=100))
        parties, _ = trials(pair_of(given))
        assert parties.values == (25, 50, 100)
        assert len(parties.left_out) == 2
        assert "cannot share the 178 rows" in parties.left_out[0]

    def test_a_budget_of_each_agent_is_not_varied(self):
        given = experiment(fb.system("feducb", epsilon=[1.0] * 8))
        assert trials(pair_of(given)) == []
        assert "Nothing could be tried" in str(fb.advise(given))

    def test_where_one_party_acts_its_number_is_not_varied(self):
        world = fb.environments.Clustered(users=6, servers=2, clusters=2, dim=2)
        (epsilon,) = trials(pair_of(experiment("fclub", environment=world, rounds=300)))
        assert epsilon.axis == "epsilon"

    @pytest.mark.parametrize(
        ("systems", "label", "words"),
        [
            (("feducb-published",), None, "no system claims a finite ε; allowed: none here"),
            (("feducb",), "b", "'b' claims a finite ε; allowed: feducb"),
        ],
    )
    def test_it_is_refused_where_there_is_nothing_to_try(self, systems, label, words):
        with pytest.raises(ConfigError, match=words):
            fb.advise(experiment(*systems), label)

    def test_where_regret_is_not_known_nothing_is_tried(self, monkeypatch):
        known = property(lambda _: False)
        monkeypatch.setattr(fb.environments.Classification, "regret_is_known", known)
        with pytest.raises(ConfigError, match="regret is not known here"):
            pair_of(experiment("feducb"))

    def test_the_work_of_what_points_share_counts_once(self):
        base = pair_of(experiment("feducb"))
        _, epsilon = trials(base)
        points = len(epsilon.values)
        assert trial_work(epsilon) < work(base) * points
        assert trial_work(epsilon) > 0.0


class TestAdvice:
    def test_each_value_is_what_a_run_of_it_alone_would_find(self, given, advice):
        (at_eight,) = [one for one in advice.curves[0].tried if one.parties == 8]
        world = msgspec.structs.replace(given.environment, agents=8)
        both = fb.with_alone(given, jobs=1)  # the best at the base is kept
        alone = fb.run(msgspec.structs.replace(both, environment=world), jobs=1)
        last = alone.regret.isel(round=-1).mean("party").values
        found = paired(last[1] - last[0])
        assert at_eight.saves == pytest.approx(found.mean)
        assert at_eight.half_width == pytest.approx(found.half_width)
        assert at_eight.share == pytest.approx(found.mean / last[1].mean())
        expected = None if abs(found.mean) <= found.half_width else found.mean > 0.0
        assert at_eight.pays is expected

    def test_epsilon_is_what_is_accounted(self, advice):
        tried = advice.curves[1].tried
        assert [one.epsilon for one in tried] == pytest.approx([0.1, 0.3, 1.0, 3.0, 10.0], rel=1e-4)
        assert {one.parties for one in tried} == {4}

    def test_it_says_how(self, advice):
        assert advice.how.startswith("9 values were tried, with 4 replicates each, and feducb was")
        assert advice.unit == "mistakes a hospital in 30 visits"

    def test_it_lies_in_the_folder_and_in_the_report(self, given, advice, tmp_path):
        both = fb.with_alone(given)
        fb.run(both, out=tmp_path / "r", jobs=1)
        write_advice(tmp_path / "r", both, advice)
        assert read_advice(tmp_path / "r") == advice
        stored = json.loads((tmp_path / "r" / "answer.json").read_text(encoding="utf-8"))
        assert stored["advice"]["lines"] == list(advice.lines)
        report = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
        assert "From where on does it pay?" in report
        (tmp_path / "r" / "advice.json").write_text("{")
        with pytest.raises(OutputExistsError, match="run it again with --advise"):
            read_advice(tmp_path / "r")

    def test_the_page_shows_every_value(self, advice):
        page = section("advice", advice=advice)
        assert page.count("<tr>") == 1 + sum(len(one.tried) for one in advice.curves)
        assert "data:image/svg+xml" in page

    def test_stopped_early_it_speaks_of_what_is_finished(self, given):
        stop, seen = fb.Stop(), []

        def listen(event):
            seen.append(event)
            if isinstance(event, PointFinished) and event.finished == 2:
                stop.set()

        found = fb.advise(given, jobs=1, on_event=listen, stop=stop)
        assert len(found.curves) == 1
        assert 2 <= len(found.curves[0].tried) < 4
        with pytest.raises(StoppedError):
            fb.advise(given, jobs=1, stop=stop)
