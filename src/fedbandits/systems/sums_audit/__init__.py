"""Secure sums in an audit: the conditions of a claim about sums, beside the noise.

* :mod:`~.stated`: helpers, members and secrets, as the terms and the claim have them;
* :mod:`~.refused`: sums of too few members, of none, or for two sets, which no helper may open;
  and totals without the tag of every helper, from which no member may go on;
* :mod:`~.played`: a few members, some absent: increments behind their masks, totals, the price of
  totals beside members that tell their noise; and decisions, which may not depend on a member's own
  noise.
"""

from __future__ import annotations

from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.sums_audit.played import own_noise_check, played_checks
from fedbandits.systems.sums_audit.refused import believed_check, refused_check
from fedbandits.systems.sums_audit.run import SumsAudited
from fedbandits.systems.sums_audit.stated import stated_check


def sums_checks(audited: SumsAudited) -> list[ProtocolCheck]:
    """Return all checks of secure sums; none where releases are seen."""
    if audited.plan.secure is None:
        return []
    return [
        stated_check(audited),
        refused_check(audited),
        *played_checks(audited),
        own_noise_check(audited),
        believed_check(audited),
    ]
