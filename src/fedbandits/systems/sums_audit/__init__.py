"""Secure sums in an audit: what a claim about sums rests on, beside the noise itself.

* :mod:`~.stated`: helpers, members and secrets, as the terms and the claim have them;
* :mod:`~.refused`: sums of too few, of nobody's, or for two sets, which no helper may open;
* :mod:`~.played`, :mod:`~.masks`: a few members of whom some are absent: increments behind their
  masks, totals, and what they cost beside members that tell their noise;
* :mod:`~.believed`: members go on from what all helpers confirm, and from nothing else;
* :mod:`~.own_noise`: no decision may depend on a member's own noise.
"""

from __future__ import annotations

from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.sums_audit.believed import believed_check
from fedbandits.systems.sums_audit.own_noise import own_noise_check
from fedbandits.systems.sums_audit.played import played_checks
from fedbandits.systems.sums_audit.refused import refused_check
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
