"""Agents that join late: what they see is what they would have seen anyway, and nothing before."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Classification, Linear, PythonEnvironment, RatingData
from fedbandits.environments.base import Decisions, decisions_in
from fedbandits.environments.kernels.worlds import first_turn
from fedbandits.errors import ConfigError
from fedbandits.experiments.answers.answer import answer
from fedbandits.experiments.result import summarise
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import find_system, registry
from fedbandits.systems.simulated import bounds_in, plan_in
from fedbandits.testing import environments as suite
from fedbandits.testing.replicates import federate, plan_of, simulate

KEY = replicate_key(5, 1)
LINEAR = Linear(agents=3, dim=3, arms=4)
FIRST, ROUNDS = (1, 9, 30), 40
WINE = Classification(agents=3, dataset="wine", components=4)
TABLE = fb.environments.table(
    {"age": [float(i % 7) for i in range(30)], "ill": ["yes", "no", "never"] * 10},
    agents=3, features=["age"], ranges={"age": [0, 9]}, target="ill",
    classes=["yes", "no", "never"],
)  # fmt: skip
REWARDS = fb.environments.table(
    {"age": [float(i % 7) for i in range(30)], "a": [0.0, 1.0] * 15, "b": [0.5] * 30},
    agents=3, features=["age"], ranges={"age": [0, 9]}, rewards=["a", "b"], reward_range=(0, 1),
)  # fmt: skip


class Coins(PythonEnvironment, frozen=True, kw_only=True, tag="coins-for-joiners"):
    """Coins to toss; the context of an arm is its unit vector."""

    dimension, arm_count = 3, 3

    def decision_set(self, world, agent, round_, draws):
        late = isinstance(self.first_round, tuple)
        assert not late or round_ >= self.first_round[agent], "asked before its first round"
        return np.eye(3), draws.uniform(3)


class Witness(fb.Learner):
    """Plays any arm, and notes what it saw, drew and earned."""

    def begin(self):
        self.events = []

    def decide(self, contexts, draws):
        arm = draws.integer(len(contexts))
        self.events.append([contexts.tolist(), arm])
        return arm

    def observe(self, context, arm, reward):
        self.events[-1].append(reward)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(Witness)


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "\n".join(f"{u}\t{i}\t{(u * u + 3 * i) % 7}" for u in range(20) for i in range(15)),
        encoding="utf-8",
    )
    return RatingData(agents=3, path=str(path), dim=4, arms=5)


def joining(environment, first=FIRST):
    return msgspec.structs.replace(environment, first_round=first)


def witnessed(environment):
    run = federate(fb.system("witness").config, environment, ROUNDS, 4, 0)
    run.advance(ROUNDS)
    return [agent.learner.events for agent in run.run.of("agent")]


@pytest.mark.parametrize("name", ["linear", "wine", "table", "rewards", "ratings", "python"])
def test_a_joiner_sees_draws_and_earns_what_it_would_have_in_its_rounds(name, ratings):
    worlds = {
        "linear": LINEAR, "wine": WINE, "table": TABLE, "rewards": REWARDS, "ratings": ratings,
        "python": Coins(agents=3),
    }  # fmt: skip
    anyway, late = (witnessed(world) for world in (worlds[name], joining(worlds[name])))
    for first, all_of_them, own in zip(FIRST, anyway, late, strict=True):
        assert own == all_of_them[first - 1 :]


@pytest.mark.parametrize("environment", [WINE, Coins(agents=3)], ids=["wine", "python"])
def test_compiled_loops_and_parties_meet_the_same_world(environment):
    suite.is_played_alike_by_its_stage(joining(environment))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table", "rewards", "ratings"])
def test_so_they_do_in_own_data(name, ratings):
    worlds = {"table": TABLE, "rewards": REWARDS, "ratings": ratings}
    suite.is_played_alike_by_its_stage(joining(worlds[name]))


def test_who_learns_alone_does_not_notice_when_others_join():
    config = fb.system("linucb-alone").config
    anyway = simulate(config, LINEAR, ROUNDS, 1, 0)
    late = simulate(config, joining(LINEAR), ROUNDS, 1, 0)
    for stop in (8, 9, 29, 30, ROUNDS):
        anyway.advance(stop)
        late.advance(stop)
        assert late.regret[0] == anyway.regret[0]
        begun = np.array(FIRST) <= stop
        assert (late.reward[~begun] == 0.0).all()
        assert (late.regret[~begun] == 0.0).all()
    assert (late.regret > 0.0).all()


@pytest.mark.parametrize("first", [1, [1, 1, 1]])
def test_where_all_begin_in_the_first_round_the_world_is_what_it_was(first):
    environment = msgspec.structs.replace(LINEAR, first_round=first)
    assert environment.first_rounds == ()
    assert environment.open(KEY).handle.joins.tolist() == [1, 1, 1]


def test_rounds_that_are_dealt_in_turn_stay_with_whom_they_belong():
    from fedbandits._compile import compiled

    @compiled
    def began(joins, agent, round_, step):
        return first_turn(joins, agent, round_, step)

    joins = joining(LINEAR, (1, 9, 30)).open(KEY).handle.joins
    for agent, first in enumerate((1, 9, 30)):
        for round_ in (1, 2, 9, 10, 33):
            for step in (1, 2, 3):
                turns = range(round_, round_ + 99, step)
                assert began(joins, agent, round_, step) == next(t for t in turns if t >= first)


# ---------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("first", [0, -3, [1, 0, 2], 1.5, "soon", True])
def test_what_is_no_round_is_refused(first):
    with pytest.raises(ConfigError, match="first_round"):
        Linear(agents=3, first_round=first)


def experiment(environment, **others):
    settings = {"rounds": ROUNDS, "systems": (fb.system("feducb"), fb.system("linucb-alone"))}
    return Experiment(environment=environment, **(settings | others))


def test_a_list_of_another_length_is_refused_before_anything_runs():
    with pytest.raises(ConfigError, match=r"environment\.first_round: given a list of 2, allowed"):
        experiment(joining(LINEAR, (1, 5))).check()
    with pytest.raises(ConfigError, match="a list of 3, one first round for each agent"):
        simulate(fb.system("feducb").config, joining(LINEAR, (1, 5)), ROUNDS, 0, 0)


def test_who_would_begin_after_the_last_round_is_refused():
    with pytest.raises(ConfigError, match=r"environment\.first_round: agent 1 begins in round 41"):
        experiment(joining(LINEAR, (1, 41, 2))).check()
    with pytest.raises(ConfigError, match="the last round is 40; lower its first round"):
        experiment(joining(LINEAR, 41)).check()
    experiment(joining(LINEAR, 40)).check()


def test_a_log_says_itself_when_a_party_begins():
    with pytest.raises(ConfigError, match="first_round: a log is played back as it was written"):
        fb.environments.table(
            {"age": [1.0, 2.0], "arm": ["a", "b"], "paid": [0.0, 1.0]}, agents=1,
            features=["age"], ranges={"age": [0, 9]}, action="arm", reward="paid",
            propensity=0.5, visits="in order", first_round=2,
        )  # fmt: skip


@pytest.mark.parametrize("kind", [fb.environments.Bernoulli, fb.environments.Clustered])
def test_worlds_with_other_turns_do_not_have_it(kind):
    with pytest.raises((ConfigError, TypeError), match="first_round"):
        kind(first_round=3)


def test_a_system_that_does_not_know_of_it_refuses(monkeypatch):
    system = find_system("feducb")
    monkeypatch.setattr(type(system), "AGENTS_MAY_JOIN_LATE", False)
    config = fb.system("feducb").config
    with pytest.raises(ConfigError, match="preset: feducb cannot play where some agents join late"):
        plan_in(system, config, joining(LINEAR), ROUNDS)
    plan_in(system, config, LINEAR, ROUNDS)


# ------------------------------------------------------------------------- what is told of it


def test_nobody_is_told_of_it_in_advance():
    config = fb.system("feducb").config
    late, system = joining(LINEAR), find_system("feducb")
    assert late.facts == LINEAR.facts
    plans = [plan_of(config, world, ROUNDS) for world in (LINEAR, late)]
    assert system.claim(plans[0]) == system.claim(plans[1])
    for bound in bounds_in(system, plans[1], late):
        assert bound.departs[-1] == "Some agents join late here (environment.first_round)."


def test_decisions_are_counted_from_first_rounds_on():
    assert decisions_in(40, 3, ()) == Decisions(3, 120, False)
    assert decisions_in(40, 3, FIRST) == Decisions(3, 40 + 32 + 11, True)
    assert decisions_in(9, 3, FIRST) == Decisions(3, 9 + 1, True)
    assert decisions_in(40, 3, (5, 5, 5)) == Decisions(3, 108, False)
    assert decisions_in(40, 3, ()).each("visit") == "40 visits"
    assert decisions_in(40, 3, (5, 5, 5)).each("visit") == "36 visits"
    assert decisions_in(40, 3, FIRST).each("visit") == "27.7 visits on average"


def test_results_count_what_was_played():
    made = experiment(joining(WINE, (3, 9, 30)), replicates=2)
    result = fb.run(made)
    for row in summarise(made, result):
        steps = row["agent_steps_per_second"] * row["seconds"]
        assert steps == pytest.approx(2 * (38 + 32 + 11))
    assert "in 27 visits on average" in answer(made, result).unit
    drawn = fb.plot.reward(result).get_lines()[0].get_ydata()
    total = result.reward.isel(system=0).sum("party").mean("replicate")
    assert np.isnan(drawn[0])  # nobody has decided anything yet
    assert drawn[-1] == pytest.approx(float(total[-1]) / 81)
