"""How large the sums of published FCLUB can be: what their receivers hold them to."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.messages import ImplausibleError
from fedbandits.privacy.kernels import any_implausible
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan


class Limit(NamedTuple):
    """What a row of p + 1 numbers cannot exceed.

    Parameters
    ----------
    most : (p + 1,) float64
        Records and shifts; the last number counts records.
    deviation
        Of the noise.
    scales : (p + 1,) float64
        Deviations of each number's noise, in ``deviation``.
    """

    most: Floats
    deviation: float
    scales: Floats

    def check(self, name: str, sender: str, rows: Floats) -> None:
        """Hold rows, (rows, p + 1), to what they can be.

        Raises
        ------
        ImplausibleError
            If one number is larger, or fewer records are counted than none.
        """
        count = len(rows)
        most, scales = self.most, self.scales
        if count > 1:
            most, scales = np.tile(most, count), np.tile(scales, count)
        too_large = any_implausible(rows.reshape(-1), most, 1.0, scales, self.deviation)
        if too_large or min(rows[:, -1].tolist(), default=0.0) < 0.0:
            raise ImplausibleError(f"{name}: {sender} sends sums that the terms do not allow")


class Limits(NamedTuple):
    """Limits of all that is sent."""

    report: Limit
    upload: Limit
    total: Limit  # of the reports of a group
    download: Limit  # of uploads of others

    @classmethod
    def of(cls, plan: PublishedFCLUBPlan) -> Limits:
        """A server has at most a record a round. A report is shifted by 2ρ, an upload by 3ρ."""
        constants, rounds = plan.constants, float(plan.rounds)
        slots = 0 if plan.tree is None else plan.tree.slots
        everybody = rounds * constants.servers
        twice = 2.0 if constants.own_merging else 1.0
        uploads = float(constants.users * constants.most_uploads)
        users = float(constants.users)
        return cls(
            _limit(plan, rounds, 2.0, slots),
            _limit(plan, rounds, 3.0, 2 * slots),
            _limit(plan, everybody, 2.0 * users, slots * users),
            _limit(plan, twice * everybody, 3.0 * uploads, 2 * slots * uploads),
        )


def _limit(plan: PublishedFCLUBPlan, records: float, shifts: float, nodes: float) -> Limit:
    constants, d = plan.constants, plan.constants.dimension
    p = len(constants.entry_scale)
    most = np.full(p + 1, records * constants.context_bound**2)
    most[np.cumsum([0, *range(d, 1, -1)])] += shifts * constants.shift
    scales = np.append(constants.entry_scale, 0.0)
    return Limit(most, constants.noise_scale * math.sqrt(nodes), scales)
