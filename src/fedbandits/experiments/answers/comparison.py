"""One comparison of an answer, as numbers."""

from __future__ import annotations

from typing import Literal

import msgspec


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A private system beside parties alone, or beside everything pooled in clear.

    Parameters
    ----------
    system
        Label of the system that is judged.
    kind
        What it is compared with: ``alone`` or ``pooled``.
    baseline
        Label of the system that stands for that.
    epsilon
        The ε that accounting supports for the judged system. None if encryption protects.
    replicates
        Number of replicates that both have finished.
    system_mean, baseline_mean
        Means of both over these replicates, in the answer's unit.
    saves
        Mean of what the judged system saves. It is positive if the system is better.
    half_width
        Half the width of the interval around ``saves``. None if too little is known for one.
    level
        Probability with which the interval covers the true mean.
    share
        ``saves`` as a share of ``baseline_mean``. None if that is 0.
    pays
        Whether the system is better. None if the interval contains 0, or if there is none.
    worse_off
        Share of parties, over replicates, that do worse with the judged system. This includes
        chance. None if there is one party.
    syncs_less
        Whether the judged system syncs less often than the baseline.
    differs_in
        Settings that are not about sharing, and differ between the two.
    """

    system: str
    kind: Literal["alone", "pooled"]
    baseline: str
    epsilon: float | None
    replicates: int
    system_mean: float | None
    baseline_mean: float | None
    saves: float | None
    half_width: float | None
    level: float
    share: float | None
    pays: bool | None
    worse_off: float | None
    syncs_less: bool
    differs_in: tuple[str, ...] = ()
