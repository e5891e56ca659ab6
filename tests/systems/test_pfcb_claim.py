"""What a P-FCB variant claims, and that its buyers act on no more than the claim allows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedbandits.environments import Procurement
from fedbandits.privacy import accounting, gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.settings.experiment import system
from fedbandits.systems.pfcb.claim import claim
from fedbandits.testing.replicates import plan_of, simulate

WORLD = Procurement(agents=2, producers=3)


def test_a_released_view_does_not_react_to_what_units_turn_out_to_be():
    """Between two reports everything a buyer does follows from reports."""
    config = system("pfcb-interactive", window=(20, 200), zeta=1.0, schedule="powers").config
    one, other = (simulate(config, WORLD, 400, 0, 0) for _ in range(2))
    one.advance(64)
    other.advance(64)
    for run in (one, other):
        assert run.syncs == 2
    other.world.quality[:] = 1.0 - other.world.quality  # from here on all units are different
    one.advance(127)
    other.advance(127)
    np.testing.assert_array_equal(one.state.books.own[:, 0], other.state.books.own[:, 0])
    assert not np.array_equal(one.state.books.own[:, 1], other.state.books.own[:, 1])
    np.testing.assert_array_equal(one.state.books.combined, other.state.books.combined)


def test_a_raw_view_does():
    config = system("pfcb", window=(20, 200), zeta=1.0, schedule="powers").config
    one, other = (simulate(config, WORLD, 400, 0, 0) for _ in range(2))
    one.advance(64)
    other.advance(64)
    other.world.quality[:] = 1.0 - other.world.quality
    one.advance(127)
    other.advance(127)
    assert not np.array_equal(one.state.books.own[:, 0], other.state.books.own[:, 0])


def moved(run, other):
    """How far the first buyer's next report moves, in what is charged for."""
    inverse = np.linalg.inv(run.plan.constants.covariance)
    books = [r.state.books.fresh[0] / run.world.capacity[0] for r in (run, other)]
    difference = books[0] - books[1]
    return math.sqrt(np.einsum("ai,ab,bi->", difference, inverse, difference))


def test_a_released_view_covers_outcomes_not_amounts():
    """Replace one purchase just after an exchange, and play on until the next one."""
    own = {"window": (200, 1200), "schedule": "growing(1.5)", "exploration_units": "one"}
    config = system("pfcb-interactive", **own).config
    world, farthest = Procurement(agents=2, instance=0), {}

    def played(change=None):
        run = simulate(config, world, 3000, 0, 0)
        first, second = (int(t) for t in run.plan.constants.exchange_times[[0, 1]])
        run.advance(first + 1)
        if change:
            change(run)
        run.advance(second - 1)
        assert run.syncs == 1
        return run

    base = played()
    for producer in (2, 3, 26, 29):

        def outcome(run, i=producer):
            bought, good = run.state.books.fresh[0, :, i]
            other = 0.0 if 2 * good > bought else bought
            for book in (run.state.books.fresh, run.state.books.own):
                book[0, 1, i] += other - good

        def amount(run, i=producer):
            fresh, own = run.state.books.fresh, run.state.books.own
            more = run.world.capacity[0, i] - fresh[0, :, i]
            fresh[0, :, i] += more
            own[0, :, i] += more

        for name, change in (("outcome", outcome), ("amount", amount)):
            far = moved(base, played(change))
            farthest[name] = max(farthest.get(name, 0.0), far)
    assert farthest["outcome"] <= 1.0 + 1e-9
    assert farthest["amount"] > 1.5


class TestClaims:
    def of(self, name, rounds=100_000, **parts):
        return claim(plan_of(system(name, **parts).config, Procurement(), rounds))

    def test_the_sound_variant_keeps_its_budget_for_a_fixed_log(self):
        stated = self.of("pfcb", epsilon=1.0, delta=0.01)
        assert stated.epsilon == pytest.approx(1.0, rel=5e-5)
        assert stated.holds_for == "fixed log"
        assert stated.paper_claims is None
        assert gaussian.epsilon_of(total_mu(stated.events), 0.01) == stated.epsilon

    def test_acting_on_reports_alone_makes_it_interactive(self):
        for privatizer in ("correlated", "continual"):
            stated = self.of("pfcb-interactive", privatizer=privatizer)
            assert stated.holds_for == "interactive"
            assert stated.epsilon == pytest.approx(1.0, rel=5e-5)
            assert stated.unit.startswith("how many units turned out good, in one purchase")
            limits = " ".join(map(str, stated.not_protected))
            for text in (stated.unit, limits):
                assert "from reports and the buyer's own costs" in text
            assert "fixed log only" in stated.unit
            assert "stay as they are" in limits
            assert "raw records" not in limits

    def test_the_published_variant_is_charged_for_what_it_really_costs(self):
        stated = self.of("pfcb-published")
        assert stated.paper_claims == (1.0, 0.01)
        assert stated.holds_for == "fixed log"
        assert 0.13 < stated.epsilon < 0.14  # much more noise than needed
        (event,) = stated.events
        assert len(event.parts) == 16  # one report with each budget; the first is the costliest
        assert stated.mu == max(accounting.mu(part) for part in event.parts)
        assert stated.mu == accounting.mu(event.parts[0])
        assert any("ε = 1.96 at δ = 0.32" in line for line in stated.conditional_on)

    def test_batches_that_are_alike_are_charged_as_one(self):
        stated = self.of("pfcb", rounds=1_000_000, schedule="every")
        (event,) = stated.events
        assert len(event.parts) == 1
        published = self.of("pfcb-published", rounds=1_000_000, schedule="every").events[0]
        assert 40 < len(published.parts) <= 64

    def test_a_raw_view_covers_whole_purchases_of_a_fixed_log(self):
        stated = self.of("pfcb")
        assert stated.unit.startswith("one purchase (units bought, units found good)")
        limits = " ".join(map(str, stated.not_protected))
        assert limits.count("acts on its own raw records") == 1

    def test_conditions_name_what_the_numbers_rest_on(self):
        for name, said in (
            ("pfcb", (True, True, True)),
            ("pfcb-published", (True, True, True)),
            ("fcb", (False, False, False)),
        ):
            lines = " | ".join(self.of(name).conditional_on)
            found = tuple(
                text in lines
                for text in ("0 ≤ good units ≤ units ≤ kᵢⱼ", "The noise is unpredictable",
                             "counted in one batch alone")
            )  # fmt: skip
            assert found == said
        running = " | ".join(self.of("pfcb", privatizer="continual").conditional_on)
        assert "The noise is unpredictable" in running
        assert "counted in one batch alone" not in running

    def test_variants_in_clear_claim_nothing(self):
        assert self.of("fcb").holds_for == "nothing"
        assert self.of("cucb-alone").epsilon == 0.0

    def test_a_whole_order_costs_more_and_that_is_said(self):
        stated = self.of("pfcb")
        mu = math.sqrt(30) * stated.mu
        said = next(limit for limit in stated.not_protected if "whole round's order" in limit.what)
        assert f"ε = {gaussian.epsilon_of(mu, 0.01):.4g}" in said.why
