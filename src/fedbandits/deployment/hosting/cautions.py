"""Cautions that follow from the terms: rounds that are over or too short, decisions beyond all."""

from __future__ import annotations

import datetime

from fedbandits.federation.seats import HELPER
from fedbandits.settings.federation import Federation
from fedbandits.settings.federation_file import Live

#: Seconds of a leap year.
_YEAR = 366.0 * 86_400.0


def over_since(federation: Federation, now: float) -> str:
    """Tell when the last round has ended, if it has by ``now``, in seconds since 1970.

    Empty while rounds are left, and where no clock ends them. Where messages set the pace, beats go
    on as long as they are needed.
    """
    if not isinstance(federation.clock, Live) or federation.roles.messages_set_pace:
        return ""
    end = federation.clock.start.timestamp() + federation.rounds * federation.every
    if now < end:
        return ""
    last = datetime.datetime.fromtimestamp(end, datetime.UTC)
    return (
        f"clock.start: all {federation.rounds:,} rounds were over on {last:%Y-%m-%d %H:%M} UTC; "
        "agree on a later start, or on more rounds"
    )


def far_off(federation: Federation, now: float) -> str:
    """Tell that the first round begins in more than a year, if it does; empty if it does not."""
    clock = federation.clock
    if not isinstance(clock, Live) or clock.start.timestamp() - now <= _YEAR:
        return ""
    first = clock.start.astimezone(datetime.UTC)
    return (
        f"clock.start: the first round begins on {first:%Y-%m-%d %H:%M} UTC, in more than a year; "
        "agree on an earlier start if that is a slip"
    )


def too_short(federation: Federation) -> str:
    """Tell that rounds are too short for secure sums, if they are; empty where they are not.

    A sum without a late agent is opened when a message cannot come any more. Until then the others
    send nothing else, and would miss the next sum.
    """
    late = 2.0 * federation.message_time
    if HELPER not in federation.members or not 0.0 < federation.every <= late:
        return ""
    return (
        f"clock.every: {federation.every:g} s is no longer than twice message_time: while an agent "
        "is away, others would miss every second sum. Choose a longer one, or a shorter "
        "message_time"
    )


def counted_in_words(federation: Federation) -> str:
    """Say how many decisions of a member its releases are about; empty where no clock ends them."""
    schedule, clock = federation.plan.schedule, federation.clock
    last, each = schedule.last_counted, schedule.most_records
    if last is None or not isinstance(clock, Live) or federation.roles.messages_set_pace:
        return ""
    return (
        f"Each release adds up to {each:,} decision{'s' * (each != 1)} of a member, until {last:,} "
        f"{'is' if last == 1 else 'are'} counted. Later ones never count: if you expect more, "
        "choose a larger schedule, or more rounds"
    )


def too_slow(federation: Federation) -> str:
    """Tell that messages may take longer than a round, if they may; empty where they may not.

    Where messages set the pace, a round is a beat, and much shorter.
    """
    clock, longest = federation.clock, federation.message_time
    if not isinstance(clock, Live) or federation.roles.messages_set_pace:
        return ""
    if federation.every >= longest:
        return ""
    return (
        f"message_time: given {longest:g} s, allowed: at most clock.every, {federation.every:g} s; "
        "else a message may come when the round after it is over. Choose a shorter one, or longer "
        "rounds"
    )
