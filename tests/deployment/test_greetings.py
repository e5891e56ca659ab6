"""Greetings between two hosts: they end, also where a host refuses the other's numbers."""

from __future__ import annotations

import asyncio

import pytest

from fedbandits.deployment.delivery import frames
from fedbandits.deployment.delivery.delivery import Delivery
from fedbandits.deployment.delivery.exchange import Standing
from fedbandits.deployment.delivery.transport import MemoryHub


class OpenSeals:
    """Seals that seal nothing."""

    def seal(self, receiver, plaintext):
        return plaintext

    def open(self, sender, frame):
        return frame


class Numbers:
    """A receiver that stands at given numbers with every peer."""

    witnesses = ()
    wants = ()

    def __init__(self, standing):
        self.standing = standing

    def counts(self, peer):
        return self.standing

    def sums(self, peer):
        return 0, None

    def stale(self, why, most, heard):
        pass

    def acknowledged(self, peer, number, mark):
        pass


def delivery(hub, member, peers, standing, terms):
    transport, seals = hub.transport(member), OpenSeals()
    return Delivery(member, peers, terms, transport, seals, seals, Numbers(standing))


def counting_hub(greetings):
    def route(sender, receiver, frame):
        if isinstance(frames.decode(frame), frames.Hello):
            greetings.append(frames.decode(frame))
        return [(0.0, frame)]

    return MemoryHub(route)


class SomeTerms:
    """Terms that all hosts here share."""

    digest, content = "digest", b"content"


@pytest.fixture
def terms():
    return SomeTerms()


def test_hosts_that_refuse_each_other_greet_no_more_than_the_pauses_allow(terms):
    """The hub was put back: two of its four peers have seen more, and the two others are down."""
    greetings = []

    async def play():
        hub = counting_hub(greetings)
        names = [f"peer-{place}" for place in range(4)]
        back = delivery(hub, "hub", names, Standing(), terms)
        more = Standing(3, 3, 3, b"mark")
        peers = [delivery(hub, name, ["hub"], more, terms) for name in names[:2]]
        for member in (back, *peers):
            await member.open([])
        for _ in range(400):
            await asyncio.sleep(0)
        await asyncio.sleep(0.2)
        for member in (back, *peers):
            await member.close()

    asyncio.run(play())
    assert 4 <= len(greetings) <= 40


def test_terms_that_agree_again_are_told_no_more(terms):
    greetings = []

    async def play():
        hub = counting_hub(greetings)
        one = delivery(hub, "one", ["other"], Standing(), terms)
        other = delivery(hub, "other", ["one"], Standing(), terms)
        exchange = one.exchanges["other"]
        exchange.has_other_terms = True
        await one.open([])
        await other.open([])
        while not (one.greeted and other.greeted):
            await asyncio.sleep(0)
        assert not exchange.has_other_terms
        exchange.has_other_terms = True
        one.begin_anew()
        assert not exchange.has_other_terms
        await one.close()
        await other.close()

    asyncio.run(play())


def test_a_closed_delivery_sends_nothing(terms):
    async def play():
        hub = MemoryHub()
        one = delivery(hub, "one", ["other"], Standing(), terms)
        await one.open([])
        sent = asyncio.Event()

        async def slow(receiver, frame):
            await asyncio.sleep(0.01)
            sent.set()

        one.transport.send = slow
        one._greet(one.exchanges["other"])
        closing = asyncio.create_task(one.close())
        await asyncio.sleep(0)
        before = set(one._sending)
        one._greet(one.exchanges["other"])
        assert before
        assert one._sending == before
        await closing
        assert sent.is_set()
        assert not one._sending

    asyncio.run(play())
