"""What the time of a message could tell: of raw data that were computed with, of noise just drawn.

``fedbandits.testing`` holds every private preset to it; here are the parts that presets leave out.
"""

from __future__ import annotations

import pytest

from fedbandits.environments import Clustered, Linear, Procurement
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.settings.experiment import system
from fedbandits.systems.registry import find_preset
from fedbandits.testing.systems import Watch
from tests.kernel_calls import noting_kernels

LINEAR = Linear(agents=3, dim=2, arms=4)
CLUSTERED = Clustered(users=7, clusters=2, servers=3, dim=3, items=4)
BUYERS = Procurement(agents=3, producers=4, max_capacity=6)
PLAYED = {
    "agents": ("feducb", {}, LINEAR),
    "agents, raw": ("feducb", {"local_view": "raw"}, LINEAR),
    "agents, summed": ("feducb-secure", {}, LINEAR),
    "agents, own records beside sums": ("feducb-secure-hybrid", {}, LINEAR),
    "agents, trees": ("ldp-silo", {}, LINEAR),
    "peers": ("feducb-p2p", {"graph": "line"}, LINEAR),
    "peers, raw": ("feducb-p2p", {"graph": "line", "local_view": "raw"}, LINEAR),
    "buyers, an exact oracle": ("pfcb", {"oracle": "exact"}, BUYERS),
    "buyers, running sums": ("pfcb", {"oracle": "exact", "privatizer": "continual"}, BUYERS),
    "buyers, as published": ("pfcb-published", {"oracle": "exact"}, BUYERS),
    "servers": ("fclub", {}, CLUSTERED),
    "servers, on releases": ("fclub-released", {}, CLUSTERED),
    "servers, by cluster": ("fclub-clusters", {}, CLUSTERED),
}
#: What turns sums and noise into a release.
RELEASING = {
    "fedbandits.privacy.kernels.accurate_sum",
    "fedbandits.privacy.kernels.add_release_noise",
    "fedbandits.privacy.kernels.draw_slot",
    "fedbandits.privacy.kernels.mixed_draws",
    "fedbandits.privacy.kernels.release_deviation",
    "fedbandits.privacy.kernels.share_deviation",
    "fedbandits.systems.pfcb.kernels.reports.write_report",
}


def watched(name, replicate=0):
    preset, parts, world = PLAYED[name]
    plan = system(preset, **parts).plan(world, 80)
    return Watch(find_preset(preset), plan, world, replicate)


def _name(kernel):
    return f"{kernel.__module__}.{kernel.__qualname__}"


@pytest.mark.parametrize("name", PLAYED)
def test_nothing_is_learned_or_drawn_before_a_release_leaves(name):
    """The deadline's own computing is that which makes a release, whatever comes of it later."""
    watch, called = watched(name), set()
    for player in watch.run.players:

        def ended(round_, end_round=player.end_round):
            with noting_kernels(lambda kernel: called.add(_name(kernel))):
                return end_round(round_)

        player.end_round = ended
    watch.run.advance(80)
    assert len(watch.releases) >= 2
    assert called <= RELEASING
    assert not any(".learners." in call for calls in watch.releases for call in calls)


@pytest.mark.parametrize("name", sorted(set(PLAYED) - {"servers, by cluster"}))
def test_the_same_is_computed_whatever_the_data(name):
    seen = []
    for replicate in (0, 1, 2):
        watch = watched(name, replicate)
        watch.run.advance(80)
        seen.append(watch.releases)
    assert seen[1] == seen[2]


@pytest.mark.parametrize("name", PLAYED)
def test_who_is_made_anew_has_noise_before_the_first_deadline(name):
    """As after a restart: what was drawn ahead before is lost."""
    watch = watched(name)
    for player in watch.run.players:
        source = player._noise
        assert isinstance(source, SecureNoise)
        assert source._ahead or any(source._whole.values())
    one, other = watch.run.players[:2]
    assert not set(one._noise._ahead) & set(other._noise._ahead)


def test_reports_that_came_first_are_judged_after_the_own_one_has_left():
    """They are judged by raw books."""
    watch = watched("buyers, an exact oracle")
    buyers = watch.run.players
    for round_ in range(1, buyers[0].next_end + 1):
        for place, buyer in enumerate(buyers):
            decided = buyer.decide(watch.run.stage.situation(round_, place))
            buyer.observe(decided, decided.action // 2)
    last = buyers[0]
    for buyer in buyers[1:]:
        for message in buyer.end_round(buyer.next_end):
            if message.receiver == last.name:
                last.receive(message)
    known, judged = last.state.books.combined.copy(), last.state.judged.copy()
    assert len(last.end_round(last.next_end)) == 2
    assert (last.state.books.combined == known).all()
    assert (last.state.judged == judged).all()
    last.decide(None)
    assert last.stage == "ready"
    assert last.state.judged.sum() == judged.sum() + 2 * len(known[0])
