"""The exchange with one peer: when what was not answered is said again."""

from __future__ import annotations

import pytest

from fedbandits.deployment.delivery.exchange import FIRST_PAUSE, LONGEST_PAUSE, Exchange


def sent(exchange, number, now):
    """Send a message; returns when it would be said again."""
    exchange.add(number, b"body")
    exchange.begin_waiting(now)
    return exchange.next_try - now


def test_who_was_slow_is_given_longer_the_next_time():
    """Else a controller that has a thousand peers to answer is told everything several times."""
    exchange = Exchange("peer")
    assert sent(exchange, 0, 0.0) == FIRST_PAUSE
    pauses = []
    for _ in range(4):
        now = exchange.next_try
        exchange.grow(now)
        pauses.append(exchange.next_try - now)
    assert pauses == [FIRST_PAUSE * 2**k for k in range(4)]
    exchange.took(1)
    assert sent(exchange, 1, 100.0) == 8 * FIRST_PAUSE
    for number in range(2, 6):  # it answers in time, message after message
        exchange.took(number)
        pause = sent(exchange, number, 100.0)
    assert pause == FIRST_PAUSE


@pytest.mark.parametrize("again", [Exchange.hurry, Exchange.ask])
def test_whoever_is_back_is_told_at_once(again):
    exchange = Exchange("peer")
    sent(exchange, 0, 0.0)
    for _ in range(20):
        exchange.grow(0.0)
    assert exchange.next_try == LONGEST_PAUSE
    again(exchange)
    assert exchange.next_try == 0.0
    exchange.took(1)
    assert sent(exchange, 1, 5.0) == FIRST_PAUSE
