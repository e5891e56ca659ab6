"""FCLUB's local servers and the global one as parties: releases go up, others' releases come down.

A local server holds its users' records and draws its own noise. The global server only hands on
what it is told; it needs to know nothing about users, and never sees noise or raw sums.

Nobody waits for anybody. A server recommends by what it knows while releases are exchanged. At a
deadline the global server hands out the newest that each server has released, and says which.
"""

from __future__ import annotations

from fedbandits.federation.roles import Roles
from fedbandits.systems.fclub.messages import TABLE
from fedbandits.systems.fclub.plan import FCLUBPlan
from fedbandits.systems.fclub.roles.global_server import GlobalServer
from fedbandits.systems.fclub.roles.local_server import LocalServer
from fedbandits.systems.servers.roles import server_roles


def roles(plan: FCLUBPlan) -> Roles:
    """Local servers, and a global one that hands on what they release."""
    return server_roles(plan, TABLE, LocalServer, GlobalServer)
