"""The configuration of a FedUCB variant with a controller."""

from __future__ import annotations

from fedbandits.systems.agents.config import AgentsConfig


class FedUCB(AgentsConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of FedUCB with a controller (Dubey & Pentland 2020, Algorithm 1).

    Parameters
    ----------
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``, ``determinant(D)``,
        ``never``.

    Notes
    -----
    The other settings are as for :class:`~fedbandits.systems.agents.config.AgentsConfig`.
    """
