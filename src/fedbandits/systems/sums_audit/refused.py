"""Refusals of helpers and members: sums of too few, and totals without the tag of a helper.

Real helpers of the configured federation are asked by a controller that would open a sum of one
member. Members state the request, with true tags: nothing but the number of members
is against it.

Members must retire on a total without the tag of every helper. Else a controller could deny that it
has opened a message. The member would send its records again, and the difference of two totals
would be one release with one share of the noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits.crypto.masks import TAG_BYTES
from fedbandits.federation.events import EndRound
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.seats import CONTROLLER, HELPER, Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.federation.totals import statements
from fedbandits.federation.totals.controller import TotalsController
from fedbandits.federation.totals.messages import Opening, Total
from fedbandits.federation.totals.plan import AgentSecrets, TotalsPlan
from fedbandits.federation.totals.sender import Sender, first_sending
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.secure_sums import (
    simulated_agent_secrets,
    simulated_helper_secrets,
    totals_plan,
)
from fedbandits.systems.sums_audit.run import Drawn, Run, SumsAudited
from fedbandits.systems.terms import terms_of

#: Members up to which the federation is made as configured; beyond, as a few members play it.
_MOST_MEMBERS = 1000


class _Stating(Party[PartyState]):
    """A member that states a release of zeros, and does nothing else."""

    TRANSITIONS: ClassVar[Transitions] = {("ready", EndRound): ("ready",)}

    def __init__(self, seat: Seat, plan: TotalsPlan, secrets: AgentSecrets | None) -> None:
        super().__init__(seat, PartyState(stage="ready"))
        self._sender, self._first = Sender(seat, plan, secrets), first_sending(seat, plan, secrets)
        self._nothing = np.zeros(plan.size, np.int64)

    def _compute(self, event: Any) -> Step:
        return Step(self._state, self._sender.send(self._first, 1, self._nothing)[1])


class _Federation:
    """Parties of a plan in their first state, each made on demand."""

    def __init__(self, audited: SumsAudited, plan: Any) -> None:
        roles = audited.system.roles(plan)
        if roles is None:
            raise ValueError("secure sums need parties")
        self.totals, self._plan = totals_plan(plan, audited.role), plan
        liars = self.totals._replace(least_parties=1, colluding=0)
        self._roles = roles.replaced({
            audited.role: lambda seat, own: _Stating(seat, self.totals, own),
            CONTROLLER: lambda seat, _: TotalsController(seat, liars),
        })  # fmt: skip
        self._terms = terms_of(audited.system, plan, "simulated")
        self._role = audited.role

    def make(self, name: str, place: int) -> Party[Any]:
        role = next(each for each in self._roles.roles if each.name == name)
        supply: Any = None
        if name == self._role:
            supply = simulated_agent_secrets(self._plan, place, 0, 0)
        elif name == HELPER:
            supply = simulated_helper_secrets(self._plan, place, 0, 0)
        return self._roles.make(role, place, self._terms, supply)

    def opened(self, count: int) -> list[bool]:
        """Tell of each helper whether it opens a sum of the first ``count`` members."""
        return [helper.receive(request).outcome == "taken" for helper, request in self.asked(count)]

    def with_false_base(self, request: Opening, helper: int) -> Opening:
        """Return a request whose first member states, with a true tag, a base it never had."""
        member: Any = self.make(self._role, 0)
        member._first = msgspec.structs.replace(member._first, base=1)
        (sent,) = member.end_round(1)
        stated = statements.pack_member(
            0, sent.salt, sent.base, sent.base_salt, sent.total, sent.total_digest, sent.heard,
            sent.public,
        )  # fmt: skip
        own_tag = sent.statements[helper * TAG_BYTES : (helper + 1) * TAG_BYTES]
        return _with(
            request, members=stated + request.members[len(stated) :],
            statements=own_tag + request.statements[TAG_BYTES:],
        )  # fmt: skip

    def asked(self, count: int) -> list[tuple[Party[Any], Opening]]:
        """Return helpers, each with its request: a sum of the first ``count`` members."""
        controller = self.make(CONTROLLER, 0)
        helpers = [self.make(HELPER, place) for place in range(self.totals.helpers)]
        for place in range(count):
            (stated,) = self.make(self._role, place).end_round(1)
            asked = controller.receive(stated).outgoing
        if not asked:  # the helper waits for the others
            asked = controller.deadline(controller.awaited or 0)
        openings: list[Message] = []
        for helper, check in zip(helpers, asked, strict=True):
            openings += [
                opening for checked in helper.receive(check).outgoing
                for opening in controller.receive(checked).outgoing
            ]  # fmt: skip
        requests = [opening for opening in openings if isinstance(opening, Opening)]
        return list(zip(helpers, requests, strict=True))


def refused_check(audited: SumsAudited) -> ProtocolCheck:
    """Return a check that helpers open a sum once, of ``least_parties`` members, and no fewer."""
    looks_at = (
        "sums that helpers open: as many members as the settings have at least, and fewer, of "
        "members that have not stated it, of one twice, and for other members once more"
    )
    return ProtocolCheck(looks_at, lambda: _asked(audited))


def _asked(audited: SumsAudited) -> tuple[str, tuple[str, ...]]:
    many = audited.plan.facts.parties > _MOST_MEMBERS
    plan = audited.small.plan if many else audited.plan
    federation, least = _Federation(audited, plan), plan.secure.least_parties
    few = sorted({1, 2, least // 2, least - 1} & set(range(1, least)))
    wrong = [
        f"helper {helper} opens a sum of {count}, of {least} {audited.members} at least"
        for count in few
        for helper, opens in enumerate(federation.opened(count)) if opens
    ]  # fmt: skip
    wrong += [
        f"helper {helper} opens no sum of {least}"
        for helper, opens in enumerate(federation.opened(least)) if not opens
    ]  # fmt: skip
    wrong += _deceived(federation, least, plan.facts.parties)
    tried = ", ".join(map(str, few)) or "none"
    result = (
        f"each of {federation.totals.helpers} helpers refuses sums of {tried} of "
        f"{plan.facts.parties} {audited.members}, and opens one of {least}"
    )
    return result, tuple(wrong)


def _deceived(federation: _Federation, least: int, members: int) -> Iterator[str]:
    """Tell of helpers that break their rules, beside sums of too few."""
    for place, (helper, request) in enumerate(federation.asked(least)):
        if _opens(helper, _of(request, [*range(least - 1), least - 2])):
            yield f"helper {place} opens a sum with a member twice"
    for place, (helper, request) in enumerate(federation.asked(least)):
        if _opens(helper, _with(request, statements=bytes(len(request.statements)))):
            yield f"helper {place} opens a sum that its members have not stated"
    for place, (helper, request) in enumerate(federation.asked(least)):
        if _opens(helper, federation.with_false_base(request, place)):
            yield f"helper {place} opens a sum with a member that goes on from what was not opened"
    if members == least:
        return
    for place, (helper, request) in enumerate(federation.asked(least + 1)):
        first, other = _of(request, range(least)), _of(request, range(1, least + 1))
        other = _with(other, number=request.number + 1)
        if _opens(helper, first) and _opens(helper, other):
            yield f"helper {place} opens one sum for two sets of members"


def _opens(helper: Party[Any], request: Opening) -> bool:
    return helper.receive(request).outcome == "taken"


def _of(request: Opening, places: Sequence[int]) -> Opening:
    """Return the request for a sum of some of its members."""
    width = statements.MEMBER.itemsize
    members = [request.members[at * width : (at + 1) * width] for at in places]
    stated = [request.statements[at * TAG_BYTES : (at + 1) * TAG_BYTES] for at in places]
    return _with(request, members=b"".join(members), statements=b"".join(stated))


def _with(request: Opening, **changed: bytes | int) -> Opening:
    return msgspec.structs.replace(request, **changed)


# ---------------------------------------------------------------- totals without a tag


def believed_check(audited: SumsAudited) -> ProtocolCheck:
    """Return a check that members send nothing more once a helper's tag is false."""
    return ProtocolCheck(
        f"{audited.members} that get a total without a true tag of every helper: they retire",
        lambda: _with_false_tags(audited),
    )


def _with_false_tags(audited: SumsAudited) -> tuple[str, tuple[str, ...]]:
    helpers = audited.small.plan.secure.helpers
    wrong = [
        f"a member goes on from a total with a false tag of helper {helper}"
        for helper in range(helpers) if not _retires(audited, helper)
    ]  # fmt: skip
    if _retires(audited, None) is not False:
        wrong.append("a member does not go on from a total with the tags of all helpers")
    return f"a member retires if the tag of one of {helpers} helpers is false", tuple(wrong)


class _Held(Run):
    """A run in which totals for the first member can be held back."""

    held: Total | None = None
    holds = False

    def _route(self, message: Message) -> int | None:
        if self.holds and isinstance(message, Total) and self.members[message.receiver] == 0:
            self.held = message
            return None
        return super()._route(message)


def _retires(audited: SumsAudited, helper: int | None) -> bool | None:
    """Tell whether a member retires whose second total has a false tag of a helper, or none.

    It is None if there is no second total for it.
    """
    run = _Held(audited.small, [Drawn(i) for i in range(len(audited.small.plan.agent_names))])
    run.play(1, len(run.members))
    run.holds = True
    run.play(2, len(run.members))
    member: Any = run.run.players[0]
    if run.held is None:
        return None
    tags = bytearray(run.held.confirmations)
    if helper is not None:
        tags[helper * TAG_BYTES] ^= 1
    member.receive(msgspec.structs.replace(run.held, confirmations=bytes(tags)))
    return bool(member.state.sending.retired)
