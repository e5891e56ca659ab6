from __future__ import annotations

import json
import math
import re

import msgspec
import pytest

from fedbandits.errors import ClaimError, FedbanditsError
from fedbandits.privacy.accounting import (
    Clear,
    ContinualSum,
    Encrypted,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
    basic_epsilon,
    epsilon,
    total_mu,
)
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.gaussian import epsilon_of


def claim(**changes):
    fields = {
        "unit": "one record",
        "from_whom": "everybody",
        "relation": "replace-one",
        "holds_for": "interactive",
        "epsilon": 1.0,
        "epsilon_contents": 1.0,
        "delta": 1e-5,
        "mu": 0.268,
    }
    return PrivacyClaim(**fields | changes)


def test_a_claim_must_name_its_unit():
    with pytest.raises(ClaimError, match="unit"):
        claim(unit="  ")
    assert issubclass(ClaimError, FedbanditsError)
    assert issubclass(ClaimError, ValueError)


def test_headlines_say_what_holds():
    assert "ε = 1 at δ = 1e-05" in claim().headline
    timing = claim(epsilon=math.inf, holds_for="nothing")
    assert "no finite ε: which messages there are depends on raw data" in timing.headline
    assert not timing.is_private
    assert "in clear" in claim(epsilon=math.inf, epsilon_contents=math.inf).headline


def charged(*events, **changes):
    mu = total_mu(events)
    cost = epsilon_of(mu, 1e-5)
    return claim(events=events, mu=mu, epsilon=cost, epsilon_contents=cost, **changes)


def test_basic_composition_is_shown_where_it_differs():
    tree = ContinualSum(ContinualPlan("tree", 1000, 100.0), 2.0)
    exact, basic = dict(charged(tree).rows())["in total"]
    assert exact.startswith("μ = 0.06325, ε = ")
    assert f"by basic composition, as papers add up: ε = {basic_epsilon([tree], 1e-5):.4g}" in basic
    for events in ((GaussianRelease(1.0, 4.0),), (Clear(),), ()):
        assert len(dict(charged(*events).rows())["in total"]) == 1
    no_delta = claim(events=(tree,), delta=0.0, epsilon=math.inf, epsilon_contents=math.inf)
    assert len(dict(no_delta.rows())["in total"]) == 1


def test_events_that_are_alike_are_listed_once():
    one, other = GaussianRelease(1.0, 4.0), GaussianRelease(1.0, 8.0)
    lines = dict(charged(one, other, one).rows())["charged"]
    assert lines == [
        "2 times, each Gaussian, sensitivity 1, deviation 4: μ = 0.25",
        "Gaussian, sensitivity 1, deviation 8: μ = 0.125",
    ]


def test_encryption_is_charged_nothing_and_promises_no_epsilon():
    stated = claim(
        encrypted="encrypted, no ε: sums Paillier",
        events=(Encrypted("sums Paillier"),),
        mu=math.inf,
        epsilon=math.inf,
        epsilon_contents=math.inf,
        holds_for="nothing",
    )
    rows = dict(stated.rows())
    assert rows["charged"] == ["encrypted, nothing charged: sums Paillier"]
    assert "in total" not in rows


def test_limits_are_named_in_short_and_explained_at_length():
    habit, self_ = Limit("a habit, or two", "They repeat. So they cost more."), Limit("self")
    stated = claim(not_protected=(habit, self_))
    assert stated.limits == ("a habit, or two", "self")
    said = ["A habit, or two: They repeat. So they cost more.", "Self."]
    assert dict(stated.rows())["not protected"] == said


def test_limits_travel_with_results():
    stated = claim(not_protected=(Limit("times", "The trigger."), Limit("self")))
    plain = msgspec.to_builtins(stated)
    assert plain["not_protected"][0] == {"what": "times", "why": "The trigger."}
    assert msgspec.convert(json.loads(json.dumps(plain)), PrivacyClaim) == stated


@pytest.mark.parametrize("what", ["", "  ", "x" * 91])
def test_a_limit_names_something_in_short(what):
    with pytest.raises(ClaimError, match=r"Limit\.what: given .* allowed: 1 to 90 characters"):
        Limit(what)
    assert Limit("x" * 90).what


def test_prose_is_no_limit():
    with pytest.raises(ClaimError, match=r"not_protected\[1\]: given 'when.*Limit\(what, why\)"):
        claim(not_protected=(Limit("self"), "when messages are sent: a trigger"))


def test_a_claim_shows_itself_in_one_line_and_as_a_table():
    stated = claim(unit="one <visit> & its reward", not_protected=(Limit("self", "It sees."),))
    assert repr(stated) == f"<PrivacyClaim: {stated.headline}>"
    shown = stated._repr_html_()
    assert shown.startswith(
        "<p><b>ε = 1 at δ = 1e-05, interactive, replace-one</b></p><table><tbody>"
    )
    assert '<th scope="row">privacy unit</th><td>one &lt;visit&gt; &amp; its reward</td>' in shown
    assert '<th scope="row">not protected</th><td>Self: It sees.</td>' in shown
    assert len(re.findall("<tr>", shown)) == len(stated.rows())


@pytest.mark.parametrize(
    ("events", "noise"),
    [
        ((), 0.0),
        ((Clear(),), 0.0),
        ((Encrypted("AES"),), 0.0),
        ((GaussianRelease(2.0, 6.0),), 3.0),
        ((GaussianRelease(0.0, 6.0),), 0.0),
        ((LaplaceRelease(2.0, 6.0),), 3.0 * math.sqrt(2.0)),
        ((Parallel((GaussianRelease(1.0, 2.0), GaussianRelease(1.0, 5.0))),), 5.0),
        # Seven of eight releases' blocks at most: the seventh adds three.
        ((ContinualSum(ContinualPlan("tree", 8, 4.0), 2.0),), 2.0 * math.sqrt(3.0)),
    ],
)
def test_noise_is_measured_in_records(events, noise):
    assert charged(*events).noise == pytest.approx(noise)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"epsilon_contents": 0.5, "epsilon": 0.5},
            "epsilon_contents: given 0.5, .* at least 0.98",
        ),
        ({"epsilon": 0.5}, "epsilon: given 0.5, allowed: at least 1"),
        ({"events": (Clear(),)}, "at least ∞"),
        ({"events": (GaussianRelease(1.0, 2.0),), "delta": 0.0}, "at least ∞"),
        ({"delta": 1.0}, "delta: given 1.0"),
    ],
)
def test_no_claim_promises_less_than_its_events_cost(changes, why):
    fields = {"events": (GaussianRelease(1.0, 3.78),)} | changes
    with pytest.raises(ClaimError, match=why):
        claim(**fields)


def test_claims_of_what_events_cost_are_taken():
    """By the accountant's own numbers, of either kind of noise; or no ε at all."""
    for event, delta in ((GaussianRelease(1.0, 4.0), 1e-6), (LaplaceRelease(1.0, 2.0), 0.0)):
        cost = epsilon([event], delta)
        taken = claim(events=(event,), delta=delta, epsilon=cost, epsilon_contents=cost)
        assert taken.epsilon == cost > 0.0
    assert epsilon([LaplaceRelease(1.0, 2.0)], 0.0) == pytest.approx(0.5)
    unbounded = claim(events=(Clear(),), delta=0.0, epsilon=math.inf, epsilon_contents=math.inf)
    assert not unbounded.is_private
