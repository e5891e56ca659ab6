"""What SAMBA's roles are called."""

from __future__ import annotations

OWNER = "owner"
#: Roles that one party has each, which is called the same; only a silent run has a dealer.
CUSTOMER, CONTROLLER, COMP, DEALER = "customer", "controller", "comp", "dealer"
