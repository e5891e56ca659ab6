"""No share of secure sums waits for its noise: not even those of sums that were missed."""

from __future__ import annotations

import pytest

import fedbandits as fb
from fedbandits.environments import Linear, Procurement
from fedbandits.federation.totals.messages import Increment, Total
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import replicate_key
from fedbandits.systems import registry
from fedbandits.testing.replicates import federate, plan_of, system_of
from tests.federation.receiving import taken
from tests.systems.private_learners import PrivateLinUCB

SUMS = {"kind": "secure-sum", "helpers": 1, "least_parties": 3, "colluding": 1}
ROUNDS, SEED, MISSED = 30, 3, 3


class Watched(SecureNoise):
    """A source that notes which numbers it draws only when they are asked for."""

    __slots__ = ("late", "on_time")

    def __init__(self):
        super().__init__()
        self.late = self.on_time = 0

    def _taken_whole(self, deviation):
        is_there = bool(self._whole[deviation])
        self.late += not is_there
        self.on_time += is_there
        return super()._taken_whole(deviation)


@pytest.fixture(params=["feducb-secure-hybrid", "pfcb-secure", "learner"])
def make(request, monkeypatch):
    """A way to make a federation by a route of messages, and its first member."""
    world, settings, role, name = Linear(agents=5, dim=2, arms=3), {}, "agent", request.param
    settings["schedule"] = "every(3)"
    if name == "pfcb-secure":
        world, role = Procurement(agents=5, producers=2, max_capacity=4, instance=3), "buyer"
        settings = {"schedule": "growing(1.3)", "window": (3, 28)}
    if name == "learner":
        monkeypatch.setattr(registry, "_registered", {})
        fb.register(PrivateLinUCB)
        name = "private-lin-ucb"
    config = fb.system(name, aggregation=SUMS, **settings).config
    plan, played = plan_of(config, world, ROUNDS), world.stage(replicate_key(SEED, 0)).world
    simulated = system_of(config).simulated_supplies(plan, played, SEED, 0)

    def supplies(party, place):
        brought = simulated(party, place)
        return brought._replace(noise=Watched()) if party == role else brought

    def federation(route=None):
        run = federate(config, world, ROUNDS, SEED, 0, route=route, supplies=supplies)
        return run, run.of(role)[0]

    return federation


def total_after_missed(make):
    """The total that the first member is told after sums that it has missed."""
    told = []

    def route(message):
        mine = {message.sender, message.receiver} & {"agent-0", "buyer-0"}
        if mine and isinstance(message, Total):
            told.append(message)
        return None if mine else 0

    run, _ = make(route)
    run.advance(ROUNDS - 5)
    return next(each for each in told if each.release == MISSED)


def source(member):
    return member._noise


def test_shares_for_missed_sums_are_drawn_before_any_of_them_is_made(make):
    total = total_after_missed(make)
    _, member = make()
    taken(member, total)
    assert member.made_and_missed == (0, MISSED)
    before = source(member).on_time
    sent = [out for _ in range(MISSED + 1) for out in member.end_round(member.next_end)]
    assert [(type(each), each.release) for each in sent] == [(Increment, MISSED + 1)]
    assert source(member).late == 0
    assert source(member).on_time == before + (MISSED + 1) * member._outlet.mechanism.pattern.size


def test_a_member_of_a_saved_state_draws_before_its_round_ends(make):
    run, member = make()
    run.advance(8)
    kept = member.dump()
    _, again = make()
    again.load(kept)
    again.end_round(again.next_end)
    assert source(again).late == 0
    assert source(again).on_time == again._outlet.mechanism.pattern.size


def test_it_draws_once_for_each_share(make):
    run, member = make()
    run.advance(ROUNDS - 5)
    assert source(member).late == 0
    made, missed = member.made_and_missed
    assert made > MISSED
    assert missed == 0
    left = sum(map(len, source(member)._whole.values()))
    assert left == member._outlet.mechanism.pattern.size
