"""Buyers by secure sums: whatever is late or lost, and that own noise is in no decision."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Procurement
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.totals.messages import Total, pack_words
from fedbandits.settings.experiment import system
from fedbandits.systems.pfcb.roles import secure_buyer
from fedbandits.testing.replicates import federate, simulate
from tests.federation.receiving import next_number, taken
from tests.systems.summed import losing, noisy_supplies, play_with_losses, require_total

WORLD = Procurement(agents=5, producers=4, max_capacity=9, instance=3)
ROUNDS = 40
SUMS = {"kind": "secure-sum", "helpers": 2, "least_parties": 3, "colluding": 1}


def config_of(**parts):
    settings = {"schedule": "growing(1.3)", "window": (3, 38), "epsilon": 5.0, "zeta": 0.6}
    return system("pfcb-secure", **{**settings, "aggregation": SUMS, **parts}).config


@pytest.mark.parametrize("outcomes", ["immediate", "late"])
@pytest.mark.parametrize("lost", [0.15, 0.4])
def test_whatever_is_lost_the_total_is_that_of_the_newest_shares(outcomes, lost):
    config = config_of(outcomes=outcomes)
    run = federate(config, WORLD, ROUNDS, 3, 0, route=losing(2, lost), lenient=True)
    play_with_losses(run, ROUNDS)
    assert {buyer.state.releases for buyer in run.players} == {run.plan.constants.releases}


def test_who_was_away_comes_back_with_all_that_it_has():
    def route(message):
        away = message.sender == "buyer-0" and getattr(message, "release", 4) < 4
        return None if away else 0

    run = federate(config_of(), WORLD, ROUNDS, 3, 0, route=route)
    ends = [run.plan.exchange_round(k) for k in range(1, 5)]
    run.advance(ends[2] + 1)
    buyer, controller = run.of("buyer")[0], run.one("controller")
    assert controller.state.opened.tolist() == [0, 3, 3, 3, 3]
    assert (buyer.state.taken, buyer.state.included) == (3, 0)
    run.advance(ends[3] + 1)
    assert controller.state.opened.tolist() == [4] * 5
    assert buyer.state.included == 4
    require_total(run)
    loop = simulate(config_of(), WORLD, ROUNDS, 3, 0)
    loop.advance(ends[3] + 1)
    assert (loop.plan.constants.releases, loop.syncs) == (run.plan.constants.releases, 4)


def at_first_total(seed, **parts):
    """A buyer that is about to hear the first total, and that total."""
    config, told = config_of(**parts), []
    run = federate(
        config, WORLD, ROUNDS, 3, 0, supplies=noisy_supplies(config, WORLD, ROUNDS, "buyer", seed),
        route=lambda message: told.append(message) if isinstance(message, Total) else 0,
    )  # fmt: skip
    run.advance(run.plan.exchange_round(1) + 1)
    return run.of("buyer")[0], next(m for m in told if m.receiver == "buyer-0")


def acted_on(seed, statistic, **parts):
    """What a buyer acts on after a total of given numbers."""
    buyer, total = at_first_total(seed, **parts)
    total = msgspec.structs.replace(
        total, statistic=statistic, number=next_number(buyer, "controller")
    )
    taken(buyer, total)
    assert (buyer.state.taken, buyer.state.unused) == (1, 0)
    return [book.tobytes() for book in buyer.state.books]


def require_no_own_noise(**parts):
    first, total = at_first_total(1, **parts)
    second, other = at_first_total(2, **parts)
    assert total.statistic != other.statistic
    shares = [b.state.sending.pending_values for b in (first, second)]
    assert (shares[0] != shares[1]).any()
    assert acted_on(1, total.statistic, **parts) == acted_on(2, total.statistic, **parts)


@pytest.mark.parametrize("view", ["raw", "released"])
def test_nothing_that_a_buyer_acts_on_depends_on_its_own_noise(view):
    require_no_own_noise(local_view=view)


def test_a_buyer_that_takes_its_own_noise_out_is_found(monkeypatch):
    class Leaky(secure_buyer.SecureBuyer):
        def _go_on(self, summed):
            share = self._state.sending.pending_values
            own = self._plan.constants.step * share
            state = msgspec.structs.replace(self._state, under_way={summed.own: own})
            self._state, kept = state, self._state
            after = super()._go_on(summed)
            self._state = kept
            return after

    monkeypatch.setattr("fedbandits.systems.pfcb.roles.SecureBuyer", Leaky)
    with pytest.raises(AssertionError):
        require_no_own_noise()


def test_a_total_that_cannot_be_settles_messages_all_the_same():
    buyer, total = at_first_total(1)
    size = buyer.state.released.draws.shape[1]
    absurd = pack_words(np.full(size, 2**61, np.int64).view(np.uint64))
    before = [book.tobytes() for book in buyer.state.books]
    total = msgspec.structs.replace(
        total, statistic=absurd, number=next_number(buyer, "controller")
    )
    taken(buyer, total)
    assert (buyer.state.taken, buyer.state.unused) == (0, 1)
    assert (buyer.state.sending.base, buyer.state.sending.pending) == (1, 0)
    assert [book.tobytes() for book in buyer.state.books] == before


def test_nobody_is_made_without_secrets():
    config = config_of()
    supplies = noisy_supplies(config, WORLD, ROUNDS, "buyer", 1)

    def without(role, place):
        brought = supplies(role, place)
        return brought._replace(masks=None) if role == "buyer" else brought

    with pytest.raises(LocalProtocolError, match="secure sums need secrets"):
        federate(config, WORLD, ROUNDS, 3, 0, supplies=without)
