"""How far one record moves releases, with the same noise in both worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedbandits.environments import Classification
from fedbandits.experiments.audits.verdict import judge
from fedbandits.experiments.claims_page import reference_world
from fedbandits.privacy import gaussian
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.continual import calibrated
from fedbandits.privacy.likelihood import covariance_of
from fedbandits.privacy.sensitivity_check import (
    PairedRuns,
    PlayedRelease,
    check_sensitivity,
    distance,
)
from fedbandits.settings.experiment import system
from fedbandits.systems import find_preset
from fedbandits.systems.agents import linear_agent
from fedbandits.systems.agents.kernels.views import take_up
from fedbandits.systems.party_games import paired_games
from fedbandits.systems.pfcb.kernels import note_purchase
from fedbandits.systems.pfcb.roles import buying as pfcb_buying
from tests.sized import sized

DELTA = 1e-5


def claim_of(epsilon=1.0, holds_for="interactive", delta=DELTA):
    return PrivacyClaim(
        unit="a record", from_whom="everybody", relation="replace-one", holds_for=holds_for,
        epsilon=epsilon, epsilon_contents=epsilon, delta=delta, mu=1.0,
    )  # fmt: skip


def paired(moved, covariance, neighbours="fixed log", claim=None):
    """Runs whose noise is of the run alone, and in whose world 1 releases are moved."""

    def play(world, run):
        rng = np.random.default_rng(run)
        drawn = [rng.normal(size=len(np.atleast_1d(row))) for row in moved]
        for k, row in enumerate(moved):
            yield PlayedRelease("party", k + 1, drawn[k] + world * np.atleast_1d(row))

    return PairedRuns(neighbours, "releases", np.asarray(covariance), claim or claim_of(), play)


class TestDistance:
    def test_independent_releases_add_up_as_squares(self):
        moved = np.array([[3.0, 0.0], [0.0, 4.0]])
        assert distance(paired(moved, np.eye(2)), 0) == pytest.approx(5.0)

    @pytest.mark.parametrize("mechanism", ["tree", "toeplitz", "optimal"])
    @pytest.mark.parametrize("releases", [1, 2, 3, 7, 12])
    def test_of_a_record_in_all_running_sums_it_is_the_mechanism_s_price(self, mechanism, releases):
        """A second derivation of μ: the accountant's is by columns, this one by covariance."""
        plan = calibrated(mechanism, releases, 0.5, 2.0)
        record = np.array([1.2, -1.6]) / plan.scale
        moved = np.tile(record, (releases, 1))
        covariance = covariance_of(plan)
        assert distance(paired(moved, covariance), 0) == pytest.approx(plan.mu(2.0, releases))

    def test_a_record_of_a_later_batch_costs_no_more(self):
        plan = calibrated("toeplitz", 6, 0.5, 1.0)
        covariance = covariance_of(plan)
        prices = []
        for batch in range(6):
            moved = np.zeros((6, 1))
            moved[batch:] = 1.0 / plan.scale
            prices.append(distance(paired(moved, covariance), 0))
        assert prices == sorted(prices, reverse=True)
        assert prices[0] == pytest.approx(plan.mu(1.0, 6))

    def test_where_others_react_only_the_first_release_that_moved_counts(self):
        moved = np.array([0.0, 0.3, 99.0])
        assert distance(paired(moved, np.eye(3), "interactive"), 0) == pytest.approx(0.3)
        assert distance(paired(np.zeros(3), np.eye(3), "interactive"), 0) == 0.0

    @pytest.mark.parametrize("missing", [(), (1,), (2, 3)])
    def test_what_comes_after_it_is_not_played(self, missing):
        left = [[], []]

        def play(world, run):
            for number in range(1, 9):
                if world or number not in missing:
                    left[world].append(number)
                    yield PlayedRelease("party", number, np.array([0.5 * world * (number >= 4)]))

        runs = paired(np.zeros(8), np.eye(8), "interactive")._replace(play=play)
        assert distance(runs, 0) == 0.5
        assert max(left[0] + left[1]) == 4 + len(missing)
        assert distance(runs._replace(neighbours="fixed log"), 0) == 0.5 * math.sqrt(5)

    def test_releases_before_it_help_to_tell_its_noise(self):
        """Of two releases with nearly the same noise, one that moved alone shows the difference."""
        covariance = [[1.0, 0.99], [0.99, 1.0]]
        apart = distance(paired(np.array([0.0, 0.3]), covariance, "interactive"), 0)
        assert apart == pytest.approx(0.3 / math.sqrt(1.0 - 0.99**2))

    def test_what_leaves_in_one_world_alone_is_for_attackers(self):
        """Only releases of both worlds can be compared; that one is missing, attacks see."""
        both = paired(np.array([0.3, 0.4]), np.eye(2))
        some = both._replace(
            play=lambda world, run: (
                release for release in both.play(world, run) if release.number == 1 or world
            )
        )
        assert distance(some, 0) == pytest.approx(0.3)
        assert distance(some._replace(play=lambda world, run: ()), 0) == 0.0

    def test_each_party_is_looked_at_by_itself(self):
        """Two parties that move by 3 and 4 do not add up to 5, also not if one moves alone."""

        def play(world, run):
            for number in (1, 2):
                yield PlayedRelease("one", number, np.array([3.0 * world * (number == 1)]))
                yield PlayedRelease("other", number, np.array([4.0 * world * (number == 2)]))

        runs = paired(np.zeros(2), np.eye(2))._replace(play=play, records=2)
        assert distance(runs, 0) == 4.0


class TestFinding:
    def test_it_compares_with_what_is_charged(self):
        mu = gaussian.mu_of(1.0, DELTA)
        for moved, right in ((mu, True), (1.01 * mu, False), (0.0, True)):
            found = check_sensitivity(paired(np.array([moved]), np.eye(1)))
            assert found.right == right
            assert found.mu == pytest.approx(moved)
            assert found.charged == 1.0
        assert found.epsilon == 0.0

    def test_the_worst_run_counts_and_more_are_played_in_a_larger_audit(self):
        played = set()

        def play(world, run):
            played.add(run)
            yield PlayedRelease("party", 1, np.array([world * (5.0 if run == 7 else 0.1)]))

        runs = paired(np.zeros(1), np.eye(1))._replace(play=play)
        assert check_sensitivity(runs, 1e-9).mu == pytest.approx(5.0)
        few = len(played)
        assert check_sensitivity(runs, 2.0).runs > few == 24

    @pytest.mark.parametrize(("records", "pairs"), [(4, 6), (5, 5), (16, 2), (100, 2)])
    def test_records_of_several_parties_take_fewer_pairs(self, records, pairs):
        runs = paired(np.zeros(1), np.eye(1))._replace(records=records)
        assert check_sensitivity(runs).runs == pairs

    def test_without_a_delta_any_move_is_too_far(self):
        pure = claim_of(delta=0.0)
        assert not check_sensitivity(paired(np.array([0.1]), np.eye(1), claim=pure)).right
        assert check_sensitivity(paired(np.array([0.0]), np.eye(1), claim=pure)).right

    def test_a_verdict_goes_by_it_where_it_bears_on_the_claim(self):
        too_far = paired(np.array([1.0]), np.eye(1), "interactive")
        found = check_sensitivity(too_far)
        broken = judge("label", claim_of(), (), 0.99, (), (found,))
        assert broken.outcome == "broken"
        assert "one record moves releases so far that it costs ε = 4.38, so not" in broken.line
        assert "a record moves its releases further than is charged" in broken.sensitivity_line
        fixed = judge("label", claim_of(holds_for="fixed log"), (), 0.99, (), (found,))
        assert (fixed.outcome, fixed.sensitivity_line) == ("not attacked", "")


FIXED, REACTS = NEIGHBOURS = ("fixed log", "interactive")
#: Of the usual number of pairs: as few as an audit plays at all.
SMALLEST = 0.0


def measured(preset, world=None, pairs=SMALLEST, among=NEIGHBOURS, **settings):
    """By neighbours, what whole parties of a preset show.

    Of worlds on a fixed log, which are played to their end, ``pairs`` of the usual number are.
    """
    kind = find_preset(preset)
    world = world or reference_world(kind)
    plan = system(preset, **settings).plan(world, 2000)
    games = [game for game in paired_games(kind.games(plan, world)) if game.neighbours in among]
    found = [check_sensitivity(g, pairs if g.neighbours == FIXED else 1.0) for g in games]
    return {
        neighbours: max(f.epsilon / f.charged for f in found if f.neighbours == neighbours)
        for neighbours in among
    }


SOUND = ["feducb", "feducb-p2p", "ldp-silo", "fclub", "fclub-released", "pfcb", "pfcb-interactive"]
#: Their claims are for a fixed log alone: reactions to a record may show more of it.
REACTING = {"fclub", "pfcb", "ldp-silo"}


@pytest.mark.usefixtures("few_pairs")
@sized("pairs", SMALLEST, 1.0)
@pytest.mark.parametrize("preset", SOUND)
def test_whole_parties_move_what_is_charged_and_no_more(preset, pairs):
    """The farthest record moves releases exactly as far as the accountant says."""
    found = measured(preset, pairs=pairs, epsilon=1.0)
    assert found[FIXED] == pytest.approx(1.0, abs=1e-3)
    assert (found[REACTS] > 1.001) == (preset in REACTING)


@sized("pairs", 1.5, 2.7)
@pytest.mark.parametrize(
    ("preset", "world", "most"),
    [("feducb", Classification(agents=3, dataset="wine", components=2), 3), ("fclub", None, 2)],
)
def test_so_do_all_records_of_a_person(preset, world, most, pairs):
    person = {"unit": "person", "records_per_person": most}
    found = measured(preset, world, pairs, among=(FIXED,), epsilon=1.0, **person)
    # Where they fall into several batches they move less than all in the first, which is charged.
    assert 0.8 < found[FIXED] <= 1.0001


@pytest.mark.usefixtures("few_pairs")
class TestMistakes:
    """One record counts for more than is planned; attacks on a thousand runs may not show it."""

    def test_an_agent_that_counts_a_record_twice(self, monkeypatch):
        def twice(*arguments):
            take_up(*arguments)
            take_up(*arguments)

        monkeypatch.setattr(linear_agent, "take_up", twice)
        assert measured("feducb", among=(FIXED,))[FIXED] > 1.9

    def test_a_purchase_of_which_more_is_booked(self, monkeypatch):
        def more(raw_view, units, good, books):
            note_purchase(raw_view, units, good + (good > 0), books)

        monkeypatch.setattr(pfcb_buying, "note_purchase", more)
        assert measured("pfcb", among=(FIXED,))[FIXED] > 1.01


def test_what_outlives_a_run_shows_when_a_world_is_played_again():
    """Nothing moves further than is charged, but the first world is another one afterwards."""
    seen = [0.0]

    def play(world, run):
        seen[0] = max(seen[0], 0.01 * world)
        yield PlayedRelease("party", 1, np.array([seen[0]]))

    claim = PrivacyClaim(
        unit="one record", from_whom="everybody", relation="replace-one", holds_for="fixed log",
        epsilon=1.0, epsilon_contents=1.0, delta=1e-5, mu=0.27, conditional_on=(),
        not_protected=(), events=(),
    )  # fmt: skip
    found = check_sensitivity(PairedRuns("fixed log", "one number", np.eye(1), claim, play))
    assert not found.too_far
    assert found.remembers
    assert not found.right
    assert judge("x", claim, (), 0.99, (), (found,)).outcome == "broken"
