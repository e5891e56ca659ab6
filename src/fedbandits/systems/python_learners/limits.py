"""How large the numbers of a private release can be: what its receiver holds it to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.messages import ImplausibleError
from fedbandits.privacy.kernels import any_implausible
from fedbandits.systems.python_learners.plan import LearnerPlan


class Limits:
    """What releases of agents that keep to the terms cannot exceed.

    Parameters
    ----------
    plan
        What all parties go by. Learners that share in clear may tell anything.
    """

    def __init__(self, plan: LearnerPlan) -> None:
        self._plan = plan
        self._each, self._scales = np.full(plan.size, plan.record_bound), np.ones(plan.size)

    def check(self, name: str, values: Floats, releases: Sequence[int]) -> None:
        """Hold the sum of some agents' releases, given each one's number, to what it can be.

        Raises
        ------
        ImplausibleError
            If a number is larger than records and noise allow; begins with ``name``.
        """
        plan = self._plan
        if plan.release.mechanism == "none":
            return
        records, deviation = float(sum(map(plan.records_in, releases))), plan.deviation(releases)
        if any_implausible(values, self._each, records, self._scales, deviation):
            raise ImplausibleError(
                f"{name}: a number in release {max(releases)} is larger than the terms allow"
            )
