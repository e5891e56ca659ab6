"""What parties of silent SAMBA receive tells no world from another, nor from views made of nothing.

``test_silent_views.py`` holds the protocol's arithmetic to it, with many more runs. Here real roles
play. What reached a server is opened with that server's keys. So a leak is found that the deployed
code alone has.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from fedbandits.crypto.kernels.dealing import first_width, second_width
from fedbandits.crypto.keystream import KeyStream, derive_key
from fedbandits.crypto.shares import comparisons
from fedbandits.environments import Bernoulli
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.audit.views import first_views, second_views
from fedbandits.systems.samba.keys import ServerKeys, SimulatedSecrets
from fedbandits.systems.samba.messages import (
    DealtFirst,
    DealtSecond,
    Order,
    Start,
    SumShare,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.systems.samba.streams import Pads
from fedbandits.testing.replicates import federate, plan_of
from tests.systems.samba_worlds import silent
from tests.systems.silent_distinguisher import (
    compare,
    features,
    first_channels,
    second_channels,
)
from tests.systems.silent_simulator import simulate_first, simulate_second

RUNS, TURNS, ARMS, ARITY = 60, 8, 5, 8
SERVERS = {
    "first": (first_channels, simulate_first),
    "second": (second_channels, simulate_second),
}


def played(good, seed):
    """A run that parties have played."""
    means = (0.9 if good else 0.1, *(0.1 for _ in range(ARMS - 1)))
    config, world = silent("ucb", arity=ARITY, cipher="stream"), Bernoulli(arms=ARMS, means=means)
    budget = ARMS + TURNS
    supplies = SYSTEM.simulated_supplies(plan_of(config, world, budget), None, seed, 0)
    run = federate(config, world, budget, seed, 0, None, supplies)
    run.advance(budget)
    return run


def views(run, seed):
    """Both servers' views of all its turns."""
    secrets = SimulatedSecrets.derive(seed, 0)
    owners, agreed = [party.name for party in run.of("owner")], run.one("controller").agreement
    return (
        first_views(run, ServerKeys.make(secrets._asdict(), owners, agreed, True)),
        second_views(run, ServerKeys.make(secrets._asdict(), owners, agreed, False)),
    )


def side_by_side(turns):
    """Views of one turn of many runs as one view of many selections."""
    fields = zip(*turns, strict=True)
    return type(turns[0])(*(
        tuple(np.concatenate(each) for each in zip(*field, strict=True))
        if isinstance(field[0], tuple) else np.concatenate(field)
        for field in fields
    ))  # fmt: skip


@functools.cache
def seen(good, leak=""):
    """Features of both servers' views, from as many runs of parties."""
    seeds = [1000 * (1 + good) + number for number in range(RUNS)]
    runs = [views(played(good, seed), seed) for seed in seeds]
    return {
        who: features(channels([
            side_by_side([run[place][turn] for run in runs]) for turn in range(TURNS)
        ], ARITY))
        for place, (who, (channels, _)) in enumerate(SERVERS.items())
    }  # fmt: skip


@functools.cache
def made(who):
    channels, simulate = SERVERS[who]
    keys = [derive_key(bytes(range(32)), f"{who} {turn}") for turn in range(TURNS)]
    return features(channels([simulate(key, RUNS, ARMS, ARITY) for key in keys], ARITY))


def alike(one, other):
    assert one[0] == other[0]
    return compare(one[0], one[1], other[1])


@pytest.mark.parametrize("who", SERVERS)
def test_what_parties_receive_tells_nothing(who):
    """Neither of two worlds that differ in everything, nor of a world at all."""
    good = seen(True)[who]
    assert alike(good, seen(False)[who]).at_chance
    assert alike(good, made(who)).at_chance


def test_servers_receive_nothing_that_is_in_no_view():
    """But what is public, and shares of sums; views are opened to the last byte."""
    kinds = {"controller": set(), "comp": set()}
    for _, message in played(True, 0).network.transcript.deliveries:
        kinds.setdefault(message.receiver, set()).add(type(message))
    assert kinds["controller"] == {Order, Word, ToFirst, DealtFirst, SumShare}
    assert kinds["comp"] == {Start, ToSecond, DealtSecond}


# -- leaks of parties, planted


def orders_kept(patched):
    """Servers and dealer use the permutations of the first turn in all turns."""
    draw, compared = KeyStream.block, comparisons(ARMS, ARITY)
    orders = {
        first_width(ARMS, compared): np.s_[:, :ARMS],
        second_width(ARMS, compared): np.s_[:, 4 * ARMS : 5 * ARMS],
    }

    def block(dealt, first, selections):
        words = draw(dealt, first, selections).copy()
        order = orders.get(words.shape[1])  # None for streams that are not dealt
        if order is not None:
            words[order] = draw(dealt, 0, 1)[order]
        return words

    patched.setattr(KeyStream, "block", block)


def dealt_again(patched):
    """All turns have the words of the first one."""
    draw, compared = KeyStream.block, comparisons(ARMS, ARITY)
    widths = (first_width(ARMS, compared), second_width(ARMS, compared))

    def block(dealt, first, count):
        words = draw(dealt, first, count)
        return draw(dealt, 0, 1).repeat(count, axis=0) if words.shape[1] in widths else words

    patched.setattr(KeyStream, "block", block)


def pads_kept(patched):
    """Comp and owners use the pads of the first turn in all turns."""
    draw = Pads.draw
    patched.setattr(Pads, "draw", lambda pads, step, iteration: draw(pads, ARMS + 1, 1))


@pytest.mark.parametrize(
    ("leak", "who"),
    [(orders_kept, "first"), (orders_kept, "second"), (dealt_again, "first"), (pads_kept, "first")],
)
def test_a_leak_of_parties_is_found(leak, who):
    with pytest.MonkeyPatch.context() as patched:
        leak(patched)
        found = alike(seen(True, leak.__name__)[who], made(who))
    assert not found.at_chance
    assert found.p_value < 1e-4
