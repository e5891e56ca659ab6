"""The configuration of a FedUCB variant with a controller."""

from __future__ import annotations

import msgspec

from fedbandits.systems.agents.config import AgentsConfig, Determinant, Never
from fedbandits.systems.aggregation import Aggregation, Clear


class FedUCB(AgentsConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of FedUCB with a controller (Dubey & Pentland 2020, Algorithm 1).

    Parameters
    ----------
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``, ``determinant(D)``,
        ``never``.
    aggregation
        Who adds up releases. ``clear``: the controller sees each release. ``secure-sum``: nobody
        sees more than sums, so their noise is needed once (docs/secure-sums.md). It needs a
        schedule that is fixed in advance, calibrated noise, and one ε for all agents.

    Notes
    -----
    The other settings are as for :class:`~fedbandits.systems.agents.config.AgentsConfig`.
    """

    aggregation: Aggregation = msgspec.field(default_factory=Clear)

    def validate(self) -> None:
        super().validate()
        reason = "" if isinstance(self.aggregation, Clear) else self._not_summed()
        if reason:
            raise ValueError(f"aggregation: secure sums cannot be had here: {reason}")

    def _not_summed(self) -> str:
        """Say why releases cannot be added up secretly; empty if they can."""
        if not self.is_private:
            return "there is no noise to share; leave out aggregation, or set a privatizer"
        if self.uses_published_noise:
            return 'the noise of the paper is not calibrated; set privatizer = "tree"'
        if isinstance(self.schedule, Determinant | Never):
            return "all agents must release after the same rounds; use growing, every or evenly"
        if isinstance(self.epsilon, tuple):
            return "all agents share one noise; give one epsilon"
        if self.confidence == "published":
            return 'published bounds are for the noise of one agent; set confidence = "adaptive"'
        return ""
