"""What a policy is worth, estimated from logs of a world where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

import fedbandits as fb
from fedbandits.errors import DataError
from fedbandits.offline import accepted, doubly_robust, ips, replay, snips
from fedbandits.offline.estimates import METHODS, estimates_of, intervals, sums_of
from fedbandits.offline.methods import blocks, ips_terms, logged, predictions, snips_terms
from tests.known_logs import fixed_policies, known_log

LOGS, EVENTS = 120, 400


def estimates(log, chosen, seed):
    """All four methods."""
    return {
        "replay": replay(*log.logged, chosen, seed=seed),
        "ips": ips(*log.logged, chosen),
        "snips": snips(*log.logged, chosen),
        "dr": doubly_robust(*log.logged, chosen, log.contexts),
    }


@pytest.fixture(scope="module")
def truths():
    real = known_log(300_000, seed=2**40)
    return {name: real.value_of(chosen) for name, chosen in fixed_policies(real).items()}


@pytest.mark.parametrize("uneven", [False, True], ids=["even", "uneven"])
def test_intervals_hold_the_truth(truths, uneven):
    """Of 120 intervals at 95% as many as chance allows, once in 10⁵; and no bias beyond chance."""
    held, errors = {}, {}
    for seed in range(LOGS):
        log = known_log(EVENTS, uneven, seed)
        for name, chosen in fixed_policies(log).items():
            for method, found in estimates(log, chosen, seed).items():
                held.setdefault((name, method), []).append(found.low <= truths[name] <= found.high)
                errors.setdefault((name, method), []).append(found.value - truths[name])
    least = stats.binom.ppf(1e-5, LOGS, 0.92)  # few events match: somewhat below 95% is normal
    for case, hits in held.items():
        assert sum(hits) >= least, (case, np.mean(hits))
    for case, off in errors.items():
        assert abs(np.mean(off)) < 4.5 * np.std(off) / np.sqrt(LOGS) + 0.002, case
    widths = {m: np.std([errors[n, m] for n in truths]) for m in METHODS}
    assert widths["dr"] < widths["ips"]
    assert widths["snips"] < widths["ips"]


def test_replay_without_acceptance_is_wrong(truths):
    """The classical failure: a policy that prefers good actions makes all others look better."""
    log = known_log(20_000, uneven=True)
    chosen = np.ones(20_000, np.int64)
    right = replay(*log.logged, chosen)
    wrong = replay(*log.logged, chosen, shown=np.ones(20_000, bool))
    assert right.low <= truths["always arm 1"] <= right.high
    assert wrong.low > truths["always arm 1"] + 0.05
    assert right.matched < wrong.matched


def test_a_policy_that_was_followed_earns_what_was_logged():
    log = known_log(500)
    certain = np.ones(500)
    for found in (
        replay(log.actions, log.rewards, certain, log.actions),
        ips(log.actions, log.rewards, certain, log.actions),
        snips(log.actions, log.rewards, 1.0, log.actions),
        doubly_robust(log.actions, log.rewards, certain, log.actions, log.contexts),
    ):
        expected = stats.t.interval(0.95, 499, log.rewards.mean(), stats.sem(log.rewards))
        assert found.value == pytest.approx(log.rewards.mean())
        assert (found.low, found.high) == pytest.approx(expected)
        assert (found.events, found.matched) == (500, 500)
        assert found.effective == pytest.approx(500)
        assert not found.few


def test_ips_is_a_mean_and_its_interval_that_of_a_mean():
    log = known_log(300, uneven=True)
    chosen = np.ones(300, np.int64)
    found, terms = ips(*log.logged, chosen), (log.actions == 1) * log.rewards / log.propensities
    assert found.value == pytest.approx(terms.mean())
    half = stats.t.ppf(0.975, found.matched - 1) * stats.sem(terms)
    assert found.half_width == pytest.approx(half)


events = st.integers(2, 40)


@given(st.data(), events)
def test_sums_of_sites_are_those_of_all(data, count):
    log = logged(
        data.draw(arrays.arrays(np.int64, count, elements=st.integers(0, 2))),
        data.draw(arrays.arrays(float, count, elements=st.floats(0, 1))),
        data.draw(arrays.arrays(float, count, elements=st.floats(0.1, 1))),
        data.draw(arrays.arrays(np.int64, count, elements=st.integers(0, 2))),
    )
    sites = data.draw(arrays.arrays(np.int64, count, elements=st.integers(0, 3)))
    for terms in (ips_terms(log), snips_terms(log)):
        whole = sums_of(*terms, np.zeros(count, np.int64), 1)[0]
        np.testing.assert_allclose(sums_of(*terms, sites, 4).sum(axis=0), whole, atol=1e-9)
        found = intervals(whole)
        if whole[1] < 2:
            assert np.isnan(found.low)
        elif not np.isnan(found.low):  # which it is if all are equal
            assert found.low <= found.value <= found.high
    effective = float(found.effective)
    assert effective <= log.matches.sum() + 1e-9


def test_snips_stays_within_the_rewards():
    log = known_log(60, uneven=True)
    for chosen in fixed_policies(log).values():
        found = snips(*log.logged, chosen)
        assert 0.0 <= found.value <= 1.0


@pytest.mark.parametrize("count", [1, 15, 16, 17, 500])
def test_blocks_cover_all_events_once(count):
    covered = [i for block in blocks(count) for i in range(count)[block]]
    assert covered == list(range(count))


def test_a_prediction_depends_on_earlier_events_alone():
    log = known_log(400)
    chosen = np.zeros(400, np.int64)
    before = predictions(log.contexts, log.actions, log.rewards, chosen, 4)
    changed = log.rewards.copy()
    changed[200:] = 1.0 - changed[200:]
    after = predictions(log.contexts, log.actions, changed, chosen, 4)
    for one, other in zip(before, after, strict=True):
        same = np.flatnonzero(one == other)
        assert set(range(200)) <= set(same)
        assert not set(range(320, 400)) <= set(same)


def test_a_good_model_makes_the_interval_narrow():
    log = known_log(2_000)
    rewards = log.expected[np.arange(2_000), log.actions]  # without any chance
    chosen = log.expected.argmax(axis=1)
    plain = ips(log.actions, rewards, log.propensities, chosen)
    robust = doubly_robust(log.actions, rewards, log.propensities, chosen, log.contexts)
    assert robust.half_width < plain.half_width / 3
    assert abs(robust.value - log.value_of(chosen)) < 0.02


def test_nothing_that_matches_tells_nothing():
    found = replay([0, 0], [1.0, 0.0], 0.5, [1, 1])
    assert np.isnan([found.value, found.low, found.high]).all()
    assert (found.matched, found.effective, found.few) == (0, 0.0, True)
    assert "not to be trusted" in str(found)
    assert all(np.isnan(each.low) for each in estimates_of(np.zeros((4, 9))))


def test_what_is_equally_likely_is_all_accepted():
    assert accepted(np.full(50, 0.3)).all()
    assert accepted(np.full(4_000, 0.5), smallest=0.1).mean() == pytest.approx(0.2, abs=0.03)


RIGHT = {"actions": [0, 1], "rewards": [0.0, 1.0], "propensities": [0.5, 0.5], "chosen": [0, 1]}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"propensities": [0.5, 0.0]}, "propensities: event 1 is not above 0"),
        ({"propensities": [1.5, 0.5]}, "propensities: event 0 is not above 0 and at most 1"),
        ({"propensities": [0.5, np.nan]}, "propensities: event 1"),
        ({"rewards": [np.nan, 1.0]}, "rewards: event 0 is not a finite number"),
        ({"actions": [0.0, 1.0]}, "actions: given numbers of type float64"),
        ({"chosen": [-1, 1]}, "chosen: event 0 is negative"),
        ({"chosen": [1]}, r"chosen: given an array of shape \(1,\)"),
    ],
)
def test_a_malformed_log_is_refused(changed, says):
    with pytest.raises(DataError, match=says):
        fb.offline.ips(**(RIGHT | changed))


def test_contexts_must_be_a_row_for_each_event():
    with pytest.raises(DataError, match="a row for each of the 2 events"):
        doubly_robust(**RIGHT, contexts=np.zeros(2))
    with pytest.raises(DataError, match="contexts: event 1 is not finite"):
        doubly_robust(**RIGHT, contexts=[[0.0], [np.inf]])
    with pytest.raises(DataError, match=r"event 0 is below 0\.7"):
        accepted([0.5, 0.9], smallest=0.7)


class TestArraysThatAreNone:
    actions, paid, chosen = np.array([0, 1, 1]), np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0])

    @pytest.mark.parametrize("shown", [[True], [2, 0, 1], [[True, True, True]]])
    def test_what_was_shown_is_a_truth_for_each_event(self, shown):
        with pytest.raises(DataError, match=r"^shown: given .* True or False for each of the 3"):
            replay(self.actions, self.paid, 0.5, self.chosen, shown=shown)

    @pytest.mark.parametrize("wrong", [-0.1, 0.0, np.nan, 5.0])
    def test_events_are_not_accepted_by_propensities_that_are_none(self, wrong):
        with pytest.raises(DataError, match="event 1 is not above 0 and at most 1"):
            accepted([0.5, wrong])

    def test_nor_by_a_smallest_one_that_is_none(self):
        with pytest.raises(DataError, match=r"^smallest: given 0, allowed"):
            accepted([0.5, 0.2], 0.0)

    @pytest.mark.parametrize("ridge", [0.0, -1.0, np.nan, np.inf])
    def test_a_ridge_is_above_0(self, ridge):
        with pytest.raises(DataError, match=r"^ridge: given"):
            doubly_robust(self.actions, self.paid, 0.5, self.chosen, np.ones((3, 1)), ridge=ridge)

    def test_actions_may_have_large_numbers(self):
        rows, large = np.ones((3, 2)), np.array([7, 10**12])
        one = doubly_robust(self.actions, self.paid, 0.5, self.chosen, rows)
        other = doubly_robust(large[self.actions], self.paid, 0.5, large[self.chosen], rows)
        assert str(one) == str(other)


@pytest.mark.parametrize("paid", [0.0, 0.3, 1.0])
def test_equal_rewards_do_not_make_an_interval_of_width_zero(paid):
    actions, rewards = np.zeros(100, np.int64), np.full(100, paid)
    for found in (
        ips(actions, rewards, 0.5, actions), snips(actions, rewards, 0.5, actions),
        replay(actions, rewards, 0.5, actions),
    ):  # fmt: skip
        assert np.isnan(found.low)
        assert np.isnan(found.high)


class TestPoliciesThatDraw:
    LOG = known_log(4_000, uneven=True)

    def shares(self, arm=1, share=1.0):
        found = np.full((4_000, self.LOG.actions.max() + 1), 0.0)
        found += (1.0 - share) / (found.shape[1] - 1)
        found[:, arm] = share
        return found

    def test_one_that_is_sure_is_as_its_choices(self):
        chosen, sure = np.ones(4_000, np.int64), self.shares()
        assert ips(*self.LOG.logged, sure) == ips(*self.LOG.logged, chosen)
        assert snips(*self.LOG.logged, sure) == snips(*self.LOG.logged, chosen)
        both = [doubly_robust(*self.LOG.logged, c, self.LOG.contexts) for c in (sure, chosen)]
        assert both[0] == pytest.approx(both[1])

    def test_its_value_is_a_mean_of_those_of_its_actions(self):
        """IPS is linear in the policy."""
        values = [ips(*self.LOG.logged, self.shares(arm)).value for arm in range(3)]
        arms = self.shares().shape[1]
        mixed = sum(self.shares(arm) for arm in range(arms)) / arms
        values += [ips(*self.LOG.logged, self.shares(arm)).value for arm in range(3, arms)]
        assert ips(*self.LOG.logged, mixed).value == pytest.approx(np.mean(values))

    def test_its_interval_holds_the_truth(self):
        shares = self.shares(1, 0.7)
        truth = (known_log(100_000, seed=2**40).expected @ shares[0]).mean()
        found = doubly_robust(*self.LOG.logged, shares, self.LOG.contexts)
        assert found.low <= truth <= found.high

    @pytest.mark.parametrize(
        ("chosen", "says"),
        [
            (np.full((4_000, 4), 0.3), "chosen: event 0 has no probabilities that add up to 1"),
            (np.tile([1.5, -0.5, 0.0, 0.0], (4_000, 1)), "chosen: event 0 has no probabilities"),
            (np.ones((4_000, 1)), "is not among the columns of chosen"),
            (np.full((5, 4), 0.25), "chosen: given an array of shape"),
            (np.full((4_000, 4), np.nan), "chosen: event 0 has no probabilities"),
        ],
    )
    def test_malformed_ones_are_refused(self, chosen, says):
        with pytest.raises(DataError, match=says):
            ips(*self.LOG.logged, chosen)

    def test_replay_needs_what_was_chosen(self):
        with pytest.raises(DataError, match="allowed for replay: the actions that were chosen"):
            replay(*self.LOG.logged, self.shares())


def test_wrong_propensities_show_in_the_mean_weight():
    log, chosen = known_log(4_000, uneven=True), np.ones(4_000, np.int64)
    assert not ips(*log.logged, chosen).doubtful
    assert abs(ips(*log.logged, chosen).weight - 1.0) < 0.1
    for wrong in (1.0, np.minimum(3.0 * log.propensities, 1.0)):
        for found in (
            ips(log.actions, log.rewards, wrong, chosen),
            snips(log.actions, log.rewards, wrong, chosen),
            doubly_robust(log.actions, log.rewards, wrong, chosen, log.contexts),
        ):
            assert found.doubtful
            assert "not to be trusted: the mean weight is 0." in str(found)
