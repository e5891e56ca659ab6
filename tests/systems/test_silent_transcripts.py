"""What servers have of a run that parties play: the protocol's arithmetic, and nothing to see."""

from __future__ import annotations

import functools
from collections import defaultdict

import numpy as np
import pytest

from fedbandits.environments import Bernoulli
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.audit.attack import Observation, recover_statistics
from fedbandits.systems.samba.audit.views import first_views, open_first, open_second, second_views
from fedbandits.systems.samba.keys import ServerKeys, SimulatedSecrets
from fedbandits.systems.samba.messages import Answer, ToFirst, ToSecond, Word
from fedbandits.testing.replicates import federate, plan_of
from tests.systems.samba_worlds import ALGORITHMS, silent
from tests.systems.silent_distinguisher import features, first_channels, second_channels


@functools.cache
def played(algorithm, arms, arity, budget, good=True, cipher="aes-gcm"):
    """A run that parties have played, and both servers' views of it."""
    means = (0.9 if good else 0.1, *(0.1 for _ in range(arms - 1)))
    config, world = silent(algorithm, arity=arity, cipher=cipher), Bernoulli(arms=arms, means=means)
    supplies = SYSTEM.simulated_supplies(plan_of(config, world, budget), None, 0, 0)
    run = federate(config, world, budget, 0, 0, None, supplies)
    run.advance(budget)
    secrets = SimulatedSecrets.derive(0, 0)
    owners, agreed = [p.name for p in run.of("owner")], run.one("controller").agreement
    return (
        run,
        first_views(run, ServerKeys.make(secrets._asdict(), owners, agreed, True)),
        second_views(run, ServerKeys.make(secrets._asdict(), owners, agreed, False)),
    )


CASES = [("ucb", 2, 2), ("egreedy", 5, 2), ("pursuit", 5, 4), ("softmax", 3, 3)]


@pytest.mark.parametrize(("algorithm", "arms", "arity"), CASES)
def test_views_hold_all_that_servers_need_to_find_the_arm_that_was_pulled(algorithm, arms, arity):
    run, firsts, seconds = played(algorithm, arms, arity, 30)
    pulled = {step: arm for step, arm, _ in run.stage.pulled}
    iterations = run.plan.iterations
    for turn, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        by_first, by_second = open_first(first, arity), open_second(second, arity)
        one, two = by_first.had, by_second.had
        for mine, theirs in zip(by_first.values, by_second.values, strict=True):
            np.testing.assert_array_equal(mine, theirs)  # both open the same
        answers = (by_first.told - second.answer_pads)[0]
        assert sorted(answers) == [0] * (arms - 1) + [1]
        # Together they know who won; apart neither has the other's permutation.
        winner = int(np.flatnonzero(two.places[0][one.places[0]] == by_first.won[0])[0])
        assert answers[winner] == 1
        words = (first.scores + second.pads).view(np.int64)[0]
        assert words.argmax() == winner
        if (turn + 1) % iterations == 0:
            assert pulled[arms + 1 + turn // iterations] == winner


def test_words_of_a_run_are_used_once():
    """No two words of all turns of both servers' views are the same."""
    _, firsts, seconds = played("ucb", 5, 2, 30)
    words = [view.words for view in (*firsts, *seconds)]
    words += [each for v in firsts for each in (v.scores, v.ahead, v.unit, v.answers)]
    words += [each for v in seconds for each in (v.pads, v.answer_pads, v.moved, v.joined)]
    every = np.concatenate([each.ravel() for each in words])
    assert len(np.unique(every)) == every.size


@pytest.mark.parametrize("who", ["first", "second"])
def test_features_are_made_of_transcripts_too(who):
    _, firsts, seconds = played("egreedy", 5, 2, 30)
    seen = first_channels(firsts, 2) if who == "first" else second_channels(seconds, 2)
    names, values = features(seen)
    assert values.shape == (1, 500)
    assert np.isfinite(values).all()
    assert len(set(names)) == 500


@pytest.mark.parametrize("words", ["moved", "opened", "share"])
def test_the_attack_on_comp_explains_nothing(words):
    """It rebuilds all (s, n) of the published variant; here no history fits what Comp sees."""
    run, _, seconds = played("ucb", 5, 8, 30)
    observations = []
    for turn, view in enumerate(seconds):
        opened = open_second(view, 8)
        seen = {"moved": view.moved, "opened": opened.values[0][:, :5], "share": opened.share}
        values = seen[words][0].astype(np.float64) / 2.0**64
        observations.append(Observation(6 + turn, values, int(opened.won[0])))
    rule = run.one("controller").agreement.rule
    found = list(recover_statistics(observations, 5, rule))
    assert len(found) == len(observations)
    assert not any(recovery.candidates for recovery in found)


# -- numbers and lengths of messages


def shape(run) -> dict:
    """What messages of each turn look like to whoever cannot open them, in order."""
    turns = defaultdict(list)
    for _, message in run.network.transcript.deliveries:
        if isinstance(message, Word | Answer | ToFirst | ToSecond):
            text = f"{type(message).__name__} {message.sender} {message.receiver}"
            turns[message.step, message.iteration].append((text, message.payload_size))
    return {turn: sorted(found) for turn, found in turns.items()}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_turns_look_the_same_in_numbers_and_lengths(algorithm):
    """Also those that explore, and whatever the rewards are. The first has a message ahead."""
    one, other = (shape(played(algorithm, 5, 2, 30, good)[0]) for good in (True, False))
    assert one == other
    first, *others = sorted(one)
    last = others.pop()
    assert len({tuple(one[turn]) for turn in others}) == 1
    assert {len(packets) for turn, packets in one.items() if turn != first} == {len(one[last])}


def test_the_order_of_messages_between_servers_is_that_of_every_turn():
    run, _, _ = played("egreedy", 5, 2, 30)
    turns = defaultdict(list)
    for _, message in run.network.transcript.deliveries:
        if isinstance(message, ToFirst | ToSecond):
            turns[message.step, message.iteration].append((type(message).__name__, message.part))
    orders = {tuple(each) for turn, each in turns.items() if turn != min(turns)}
    assert len(orders) == 1
