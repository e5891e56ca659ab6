"""The plain run that every silent one must equal, and how it is configured.

Statistical tests have fixed seeds. Each would reject what is right with probability 10⁻⁴, but where
another one is stated.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import fedbandits as fb
from fedbandits.crypto.kernels.dealing import permute
from fedbandits.environments import Bernoulli
from fedbandits.errors import FedbanditsError
from fedbandits.learners.kernels.largest_scores import first_memory, own_uniform
from fedbandits.learners.open_rules import OneArm
from fedbandits.random import Key
from fedbandits.systems.samba.config import PRESETS, Samba
from fedbandits.systems.samba.kernels import bits_for_ties, play_silent_steps, play_steps, to_word
from fedbandits.systems.samba.keys import (
    OwnersKeys,
    SilentControllerKeys,
    SimulatedSecrets,
    make_keys,
)
from fedbandits.systems.samba.streams import Exploration, Places, SilentStreams
from fedbandits.testing.replicates import plan_of, simulate
from tests.systems.samba_worlds import ALGORITHMS, variant

REJECTS = 1e-4
COMPARISONS = ("published", "silent")
#: One-step choices that are counted; the published ones take longer.
CHOICES = {"published": 6000, "silent": 20_000}


def plain(algorithm, comparison="silent", **parts):
    return variant(algorithm, "plain", comparison=comparison, **parts)


def chosen(config, pulls, rewards, weights, steps):
    """How often each arm is chosen in one step from these records, (arms,)."""
    run = simulate(config, Bernoulli(arms=len(pulls)), len(pulls) + steps, 5, 0)
    owners = run.state.owners
    memory = np.log(weights) if config.is_silent else np.array(weights)
    counts = np.zeros(len(pulls))
    for step in range(len(pulls) + 1, len(pulls) + 1 + steps):
        owners.pulls[:], owners.rewards[:], owners.memory[:, 0] = pulls, rewards, memory
        run._play(step, 1)
        counts += owners.pulls - pulls
    assert counts.sum() == steps
    return counts


def softmax_law(means):
    weights = np.exp(np.array(means) / 0.3)
    return weights / weights.sum()


WEIGHTS = [0.1, 0.2, 0.3, 0.4]
#: Records of four arms, and the probabilities with which one step chooses them.
LAWS = {
    "softmax(0.3)": ([10] * 4, [9, 7, 7, 2], softmax_law([0.9, 0.7, 0.7, 0.2])),
    # Two arms have the largest mean: each is pursued in half of the steps, at rate β = 0.1.
    "pursuit(0.1)": ([10] * 4, [6, 3, 6, 2], [0.14, 0.18, 0.32, 0.36]),
    # The first three are equal; any arm at all is drawn in 0.3 of the steps.
    "epsilon-greedy(0.3)": (
        [10, 5, 20, 10], [6, 3, 12, 2], [0.7 / 3 + 0.075] * 3 + [0.075],
    ),
    "ucb": ([10] * 4, [6, 6, 3, 6], [1 / 3, 1 / 3, 0.0, 1 / 3]),
}  # fmt: skip


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("algorithm", LAWS)
def test_a_step_chooses_with_the_exact_probabilities(algorithm, comparison):
    """The same ones in either comparison: by the largest score, by a race, and among equals."""
    pulls, rewards, law = LAWS[algorithm]
    config = Samba(algorithm=algorithm, execution="plain", comparison=comparison)
    counts = chosen(config, pulls, rewards, WEIGHTS, CHOICES[comparison])
    expected = CHOICES[comparison] * np.array(law)
    possible = expected > 0
    assert not counts[~possible].any()
    assert stats.chisquare(counts[possible], expected[possible]).pvalue > REJECTS


def test_the_law_is_told_from_a_wrong_one():
    """So many draws do find a temperature of 0.33 in place of 0.3."""
    pulls, rewards, law = LAWS["softmax(0.3)"]
    config = Samba(algorithm="softmax(0.33)", execution="plain", comparison="silent")
    counts = chosen(config, pulls, rewards, WEIGHTS, CHOICES["silent"])
    assert stats.chisquare(counts, CHOICES["silent"] * np.array(law)).pvalue < REJECTS


def test_posterior_draws_are_compared_as_they_are():
    """Thompson draws the same in either comparison, so the same arms are pulled."""
    runs = [simulate(plain("thompson", way), Bernoulli(arms=5), 400, 1, 0) for way in COMPARISONS]
    for run in runs:
        run.advance(400)
    np.testing.assert_array_equal(runs[0].state.owners.pulls, runs[1].state.owners.pulls)


@pytest.mark.parametrize("arms", [2, 5, 8])
def test_each_of_equal_owners_wins_equally_often(arms):
    agreed = plan_of(plain("ucb"), Bernoulli(arms=arms), 4000).agreement(bytes(16))
    places = Places(make_keys(SilentControllerKeys, bytes(32), agreed).ties, arms, 1)
    counts, bits = np.zeros(arms), bits_for_ties(arms)
    for step in range(4000):
        counts[np.argmax([to_word(0.25, int(p), bits) for p in places.draw(step, 1)])] += 1
    assert stats.chisquare(counts).pvalue > REJECTS


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_silent_runs_earn_what_published_ones_do(algorithm):
    """50 pairs with common rewards: the means differ by less than 4.5 standard errors.

    It would reject what is right with probability 7 · 10⁻⁶, and 4.5 errors are below 6% of the
    reward.
    """
    earned = []
    for way in COMPARISONS:
        runs = [simulate(plain(algorithm, way), Bernoulli(arms=5), 800, 2, r) for r in range(50)]
        for run in runs:
            run.advance(800)
        earned.append(np.array([run.cumulative_reward for run in runs]))
    differences = earned[1] - earned[0]
    tolerance = 4.5 * differences.std(ddof=1) / 50**0.5
    assert tolerance < 0.06 * earned[0].mean()
    assert abs(differences.mean()) <= tolerance


def require_same_alone(run, budget, seed):
    """Play step by step, and work out every choice from what each owner alone has."""
    secrets, agreed = SimulatedSecrets.derive(seed, 0), run.agreement
    ties = make_keys(SilentControllerKeys, secrets.controller, agreed).ties
    places = Places(ties, agreed.arms, agreed.iterations)
    exploration = Exploration(make_keys(OwnersKeys, secrets.owners, agreed).exploration, agreed)
    bits = bits_for_ties(agreed.arms)
    memories = [first_memory(agreed.rule, agreed.arms)] * agreed.arms
    keys = [Key(*key) for key in run.state.owners.keys]
    owners = [OneArm(agreed.rule, key) for key in keys]
    for step in range(1, budget + 1):
        before = run.state.owners.pulls.copy(), run.state.owners.rewards.copy()
        run.advance(step)
        arm = int(np.flatnonzero(run.state.owners.pulls - before[0])[0])
        if step <= agreed.arms:
            continue
        exploring = owners[0].explores(step, agreed.arms, exploration.draw(step))
        for iteration in range(1, agreed.iterations + 1):
            scores = [
                own_uniform(key, iteration, step)
                if exploring
                else owner.score(iteration, step, n, s, memory)
                for n, s, key, owner, memory in zip(*before, keys, owners, memories, strict=True)
            ]
            drawn = places.draw(step, iteration)
            words = [to_word(*one, bits) for one in zip(scores, drawn, strict=True)]
            winner = int(np.argmax(words))
            for i, owner in enumerate(owners):
                memories[i] = owner.remembered(iteration, i == winner, memories[i])
        assert winner == arm
        assert words == run._steps._scratch.words.tolist()
    np.testing.assert_array_equal(memories, run.state.owners.memory[:, 0])


@settings(max_examples=25)
@given(
    st.sampled_from(ALGORITHMS),
    st.sampled_from(["uniform", (0.5,) * 6, (1.0, 1.0, 0.0, 0.0, 0.5, 0.5), (0.0,) * 6]),
    st.integers(2, 6), st.integers(0, 40), st.integers(0, 2**63 - 1),
)  # fmt: skip
def test_owners_work_out_the_same_alone(algorithm, means, arms, more, seed):
    run = simulate(plain(algorithm), Bernoulli(means=means, arms=arms), arms + more, seed, 0)
    require_same_alone(run, arms + more, seed)


def test_loops_do_not_know_rules():
    """A second algorithm compiles its own score alone."""
    known = set()
    for algorithm in ALGORITHMS:
        for comparison in COMPARISONS:
            simulate(plain(algorithm, comparison), Bernoulli(arms=3), 9, 0, 0).advance(9)
        known.add((len(play_steps.signatures), len(play_silent_steps.signatures)))
    assert len(known) == 1


@pytest.mark.parametrize("stops", [(1, 9, 10, 60), (30, 31, 32, 60)])
def test_results_do_not_depend_on_how_far_one_plays_at_a_time(stops):
    run, whole = (simulate(plain("pursuit"), Bernoulli(arms=10), 60, 0, 0) for _ in range(2))
    for stop in stops:
        run.advance(stop)
    whole.advance(60)
    np.testing.assert_array_equal(run.reward, whole.reward)
    np.testing.assert_array_equal(run.state.owners.memory, whole.state.owners.memory)


class TestDraws:
    def batch(self, **other):
        run = simulate(plain("pursuit"), Bernoulli(arms=5), 60, 3, 0)
        secrets = SimulatedSecrets.derive(3, 0)._replace(**other)
        return SilentStreams(secrets, run.plan.agreement(secrets.run)).batch(7, 30)

    def test_no_server_can_tell_which_steps_explore(self):
        usual = self.batch().exploration
        for name in ("controller", "comp", "channel"):
            np.testing.assert_array_equal(usual, self.batch(**{name: bytes(32)}).exploration)
        assert not np.isin(usual, self.batch(owners=bytes(32)).exploration).any()

    def test_the_controller_alone_draws_places(self):
        usual = self.batch().places
        for name in ("owners", "comp", "channel"):
            np.testing.assert_array_equal(usual, self.batch(**{name: bytes(32)}).places)
        assert not np.isin(usual, self.batch(controller=bytes(32)).places).any()

    def test_each_iteration_has_places_of_its_own(self):
        words = self.batch().places
        assert words.shape == (30, 2, 5)
        found = np.empty((30, 2, 5), np.int64)
        for s, i in np.ndindex(30, 2):
            permute(words[s, i], found[s, i])
        assert (np.sort(found) == np.arange(5)).all()
        assert (found[:, 0] != found[:, 1]).any()

    def test_another_run_under_the_same_secrets_repeats_nothing(self):
        for first, second in zip(self.batch(), self.batch(run=bytes(16)), strict=True):
            assert not np.isin(first, second).any()

    def test_other_secrets_are_what_they_were(self):
        """One more secret changes no published run: these bytes are older than it."""
        known = ["78b89b53421f53cc", "a339e91838b4181f", "0486abf3babd1da3", "065c996f877e94d2"]
        assert [secret[:8].hex() for secret in SimulatedSecrets.derive(3, 1)[:4]] == known


def test_a_score_that_is_no_number_stops_the_run():
    run = simulate(plain("softmax"), Bernoulli(arms=3), 10, 0, 0)
    run.advance(5)
    run.state.owners.rewards[1] = np.nan
    with pytest.raises(FedbanditsError, match="step 6: a score is not a finite number"):
        run.advance(10)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"comparison": "silent", "exploration_shortcut": "none"},
         "Samba.exploration_shortcut: given 'none', .* 'empty'; all steps look the same"),
        ({"comparison": "silent", "tie_breaking": "first"},
         "Samba.tie_breaking: given 'first', .* 'random'; no two scores are equal"),
        ({"arity": 4}, "Samba.arity: given 4, .* 8; Comp compares all scores at once"),
        ({"total": "shares"}, "Samba.total: given 'shares', .* 'paillier'; only a silent run"),
        ({"comparison": "silent", "arity": 1}, "Samba.arity: given 1"),
        ({"comparison": "silent", "arity": 65}, "Samba.arity: given 65"),
        ({"comparison": "hushed"}, "Samba.comparison: given 'hushed'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(parts, message):
    with pytest.raises(fb.ConfigError, match=message):
        Samba(execution="plain", **parts)


@pytest.mark.parametrize("arity", [2, 64])
@pytest.mark.parametrize("total", ["paillier", "shares"])
def test_what_a_silent_run_may_set(arity, total):
    config = Samba(execution="plain", comparison="silent", arity=arity, total=total)
    assert config.is_silent
    assert not Samba().is_silent


def test_presets_of_silent_runs():
    silent = {name: preset for name, preset in PRESETS.items() if "silent" in name}
    assert set(silent) == {f"samba-silent-{name}" for name in ALGORITHMS}
    for name, preset in silent.items():
        config = Samba(**preset.settings)
        assert (config.is_silent, config.execution, config.total) == (True, "secure", "shares")
        usual = variant(name.removeprefix("samba-silent-"), "samba").algorithm
        assert config.algorithm == usual
