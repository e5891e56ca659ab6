"""Members must retire on a total without the tag of every helper.

Else a controller could deny that it has opened a message. The member would send its records again,
and the difference of two totals would be one release with one share of the noise.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fedbandits.crypto.masks import TAG_BYTES
from fedbandits.federation.messages import Message
from fedbandits.federation.totals.messages import Total
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.sums_audit.run import Drawn, Run, SumsAudited


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
