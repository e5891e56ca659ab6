"""Messages between agents of a learner in plain Python and their controller, and their limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.messages import ImplausibleError, Message
from fedbandits.federation.roles import MessageTable
from fedbandits.privacy.kernels import any_implausible
from fedbandits.systems.python_learners.plan import LearnerPlan


class _Numbers(Message, frozen=True, kw_only=True):
    """Packed numbers, and which release they belong to."""

    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class AgentRelease(_Numbers, frozen=True, kw_only=True, tag="learner.release"):
    """An agent's k-th release."""


class Total(_Numbers, frozen=True, kw_only=True, tag="learner.total"):
    """The k-th sum of every agent's newest release."""

    #: The number of every agent's release in it, 0 for none; empty where all are the k-th.
    newest: tuple[int, ...] = ()


#: Who sends what to whom.
TABLE: MessageTable = {AgentRelease: ("agent", "controller"), Total: ("controller", "agent")}


class Limits:
    """Limits of what agents release that keep to the terms; in clear they may tell anything."""

    def __init__(self, plan: LearnerPlan) -> None:
        self._plan = plan
        self._each, self._scales = np.full(plan.size, plan.record_bound), np.ones(plan.size)

    def check(self, name: str, values: Floats, releases: Sequence[int]) -> None:
        """Hold the sum of some agents' releases, given each one's number, to what it can be.

        One that is larger than records and noise allow is refused with :class:`.ImplausibleError`.
        """
        plan = self._plan
        if plan.release.mechanism == "none":
            return
        records, deviation = float(sum(map(plan.records_in, releases))), plan.deviation(releases)
        if any_implausible(values, self._each, records, self._scales, deviation):
            raise ImplausibleError(
                f"{name}: a number in release {max(releases)} is larger than the terms allow"
            )
