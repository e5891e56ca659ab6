"""Whoever shares one noise pays for all: sums over parties, persons, buyers and ledgers.

The exact μ is computed from the covariance of totals, of shares as the plan has them, and compared
with what is claimed and printed. All presets with secure sums are held to it, and pages.
"""

from __future__ import annotations

import functools
import itertools
import math
import pathlib
import re
from typing import NamedTuple

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.experiments.claims_page import reference_world
from fedbandits.experiments.report.officer import officer_cards
from fedbandits.experiments.report.pages import section
from fedbandits.privacy import gaussian
from fedbandits.privacy.likelihood import covariance_of
from fedbandits.privacy.person import cost_at_parties
from fedbandits.systems import find_preset, systems
from fedbandits.systems.aggregation import SecureSum
from fedbandits.systems.pfcb.kernels.sums import AXES
from fedbandits.systems.pfcb.plan import PFCBPlan

ROOT = pathlib.Path(__file__).parents[2]
ROUNDS = 2_000
SECURE = sorted(
    name
    for kind in systems()
    for name in kind.presets
    if isinstance(getattr(fb.system(name).config, "aggregation", None), SecureSum)
)
#: How calibrated noise, with its margin for rounding, may differ from what is claimed.
ROOM = 1e-4


class Played(NamedTuple):
    """A preset with secure sums: its plan, and its claim."""

    plan: object
    claim: object


@functools.cache
def made(name):
    kind = find_preset(name)
    plan = fb.system(name).plan(reference_world(kind), ROUNDS)
    return Played(plan, kind.claim(plan))


def of_totals(plan):
    """Covariance over time of a number of all totals, of h honest parties' shares, (n, n)."""
    share = plan.share if isinstance(plan, PFCBPlan) else plan.release
    one = share.scale**2 * covariance_of(share)
    return sum(one for _ in range(plan.secure.honest))


def exact(plan, records):
    """μ of what records at parties come to: those at one producer are a row of ``records``.

    All are there from the first total on, and as far as a record can be. That is worst of all.
    """
    noise = of_totals(plan)
    steps = np.tril(np.ones_like(noise))  # by the release from which on a record is in
    if isinstance(plan, PFCBPlan):  # (w, d) of a good unit, over the axes of the noise
        each = [math.hypot(1.0 / AXES[0], 1.0 / AXES[1]) * sum(row) for row in records]
    else:
        each = [plan.record_norm * sum(row) for row in records]
    worst = max(float(step @ np.linalg.solve(noise, step)) for step in steps.T)
    return math.sqrt(worst) * math.hypot(*each)


def test_there_are_such_presets():
    assert SECURE == ["feducb-secure", "feducb-secure-hybrid", "pfcb-secure"]


@pytest.mark.parametrize("name", SECURE)
class TestSecurePresets:
    @pytest.mark.parametrize("counts", [(1,), (1, 1), (1, 1, 1, 1), (3, 0, 2), (1,) * 10])
    def test_records_at_several_parties_cost_what_is_claimed(self, name, counts):
        plan, claim = made(name)
        assert claim.one_noise
        found = exact(plan, [counts])
        assert found == pytest.approx(claim.several(counts), rel=ROOM)
        assert found <= claim.several(counts) * (1 + 1e-9)
        person = cost_at_parties(counts, claim.mu, claim.delta, one_noise=claim.one_noise)
        assert person.mu == pytest.approx(claim.several(counts))

    def test_no_price_over_parties_is_a_root(self, name):
        """A root is said of producers alone: theirs are different numbers, of noise of their own.

        So each sentence with a root must not speak of whom one noise covers.
        """
        claim = made(name).claim
        texts = [line for _, lines in claim.rows() for line in lines]
        roots = [each for text in texts for each in re.split(r"(?<=[.:])\s", text) if "√" in each]
        assert not [each for each in roots if re.search(r"agent|buyer|part(y|ies)|member", each)]
        assert bool(roots) == name.startswith("pfcb")

    def test_an_officer_is_told_the_price(self, name):
        claim = made(name).claim
        card = section("officer", cards=officer_cards({name: claim}, None))
        ten = re.search(r"one at each of 10 parties ε = ([\d.]+)", card)
        price = gaussian.epsilon_of(exact(made(name).plan, [(1,) * 10]), claim.delta)
        assert float(ten[1]) == pytest.approx(price, rel=2e-3)
        assert "one noise covers all parties" in card

    def test_all_others_together_see_one_share(self, name):
        """Who knows all other noise is left with that of one share."""
        plan, claim = made(name)
        alone = exact(plan, [(1,)]) * math.sqrt(plan.secure.honest)
        hands, together = claim.views[1:3]
        assert together.who.startswith("all other")
        price = gaussian.epsilon_of(alone, claim.delta)
        assert together.epsilon == hands.epsilon == pytest.approx(price, rel=ROOM)
        assert "while at most" in claim.from_whom


@pytest.mark.parametrize(
    ("helpers", "together"),
    [
        (1, "outsiders, and either the controller or the helper, also together"),
        (2, "outsiders, the controller and any one helper, also together"),
        (3, "outsiders, the controller and any two helpers, also together"),
    ],
)
def test_nobody_of_the_headline_sees_single_releases(helpers, together):
    """The controller and all helpers do: they are not among those to whom a sum's ε is stated."""
    kind = find_preset("feducb-secure")
    entry = fb.system("feducb-secure", aggregation=f"secure-sum({helpers})")
    claim = kind.claim(entry.plan(reference_world(kind), ROUNDS))
    assert together in claim.from_whom
    assert claim.views[0].who == claim.from_whom
    assert claim.views[1].epsilon > claim.epsilon


def test_purchases_of_several_buyers_share_a_noise_and_producers_do_not():
    """One purchase at each of two or four buyers: 2 and 4 times μ, and √m for m producers."""
    plan, claim = made("pfcb-secure")
    for producers, buyers in itertools.product((1, 2, 30), (1, 2, 4)):
        found = exact(plan, [(1,) * buyers] * producers)
        assert found == pytest.approx(math.sqrt(producers) * buyers * claim.mu, rel=ROOM)
    (order,) = (limit.why for limit in claim.not_protected if "whole round" in limit.what)
    assert "k purchases from one producer, by whichever buyers, cost k times μ" in order
    assert "Other producers have noise of their own" in order
    assert f"costs μ = {exact(plan, [(1,)] * plan.facts.producers):.3g}" in order
    (clear,) = (
        limit.why for limit in made("pfcb").claim.not_protected if "whole round" in limit.what
    )
    assert "Other batches, producers and buyers have noise of their own" in clear


@pytest.mark.parametrize("unit", ["record", "person"])
@pytest.mark.parametrize("name", ["feducb", "feducb-secure", "feducb-secure-hybrid"])
def test_a_person_s_price_goes_by_the_field(name, unit):
    """Ann has three records at one site and one at another: √10 times μ, or 4 times."""
    columns = {
        "site": [*"aaaabbbbccccdddd"], "who": [*"nnnozpqrnstuvwxy"],
        "x": [i / 16 for i in range(16)], "y": ["0", "1"] * 8,
    }  # fmt: skip
    world = fb.environments.table(
        columns, person="who", site="site", features=["x"], ranges={"x": (0.0, 1.0)}, target="y",
        visits="once", classes=("0", "1"),
    )  # fmt: skip
    kind, parts = find_preset(name), {"schedule": "every(2)", "unit": unit}
    plan = fb.system(name, **parts).plan(world, 4)
    claim = kind.claim(plan)
    assert claim.one_noise == ("secure" in name)
    visits, person = claim.person.visits, claim.person
    if claim.one_noise:
        assert person.mu == pytest.approx(exact(plan, [(visits,)]), rel=ROOM)
        assert "√" not in " ".join(map(str, claim.not_protected))
    else:
        assert claim.several([1] * visits) <= person.mu * (1 + 1e-12) < 0.9 * visits * claim.mu
        assert "√" in " ".join(map(str, claim.not_protected))


def pages():
    yield ROOT / "README.md"
    yield from (page for page in (ROOT / "docs").glob("*.md") if page.name != "claims.md")


def test_pages_say_of_a_root_over_parties_whose_noise_is_meant():
    """A page that prices records at several parties by a root says that each has its own noise."""
    several = re.compile(r"(agent|part(y|ies)|hospital|buyer|server|member|everybody|meets all)")
    root = re.compile(r"√(\(Σ n²\)|j|M) times (the )?μ")
    found = 0
    for page in pages():
        for line in page.read_text(encoding="utf-8").splitlines():
            if root.search(line) and several.search(line):
                found += 1
                assert re.search(r"(noise of (its|their) own|one noise)", line), (page, line)
    assert found >= 5


def test_the_page_of_theory_has_the_price_of_a_record_at_every_agent():
    """Beside the footnote, with and without one noise; and those of two members' ledgers."""
    page = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (\d+) \| ([\d.,]+) \| ([\d.,]+) \| ([\d.,]+) \|$", page, re.MULTILINE)
    assert [int(row[0]) for row in told] == [2, 10, 500]
    one = gaussian.mu_of(1.0, 1e-5)

    def prices(agents):
        footnote = math.sqrt(2 * agents * math.log(1e5)) + agents * (math.e - 1)
        own, shared = (
            gaussian.epsilon_of(gaussian.several([one] * agents, one_noise=each), 1e-5)
            for each in (False, True)
        )
        return footnote, own, shared

    for agents, *stated in told:
        for text, price in zip(stated, prices(int(agents)), strict=True):
            assert float(text.replace(",", "")) == pytest.approx(price, rel=0.02, abs=0.06)
    (first,) = map(int, re.findall(r"From M = (\d+) on", page))
    assert [prices(m)[2] > prices(m)[0] for m in (first - 1, first, 500)] == [False, True, True]
    ledger = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    assert "ε = {2:.4g}, and {1:.4g} without".format(*prices(2)) in ledger
