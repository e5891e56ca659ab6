"""The parties of published FCLUB: local servers and a global one."""

from __future__ import annotations

from fedbandits.federation.roles import Roles
from fedbandits.systems.fclub_published.messages import TABLE
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.roles.global_server import GlobalServer
from fedbandits.systems.fclub_published.roles.local_server import LocalServer
from fedbandits.systems.servers.roles import server_roles


def roles(plan: PublishedFCLUBPlan) -> Roles:
    """Return local servers, and a global one that merges clusters and passes on uploads."""
    return server_roles(plan, TABLE, LocalServer, GlobalServer)
