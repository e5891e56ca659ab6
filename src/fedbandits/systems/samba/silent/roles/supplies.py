"""What each party of a silent run brings, and which secrets it alone is given.

Every secret is named in :mod:`.silent.streams`. Two parties have each, but ``owners``, which all
data owners have.
"""

from __future__ import annotations

from typing import NamedTuple

from fedbandits.random import Key


class OwnerSupply(NamedTuple):
    """What a data owner brings.

    Parameters
    ----------
    pads, packets
        Its own secrets with Comp and with the Controller; no other owner has them.
    owners
        The secret of all data owners, which no server has.
    draws
        Key of the owner's own random draws; those of a run are made of it and of the run's name.
    """

    pads: bytes
    packets: bytes
    owners: bytes
    draws: Key


class ControllerSupply(NamedTuple):
    """What the Controller brings.

    Parameters
    ----------
    secret
        Its own: places of equal scores come of it.
    run
        The run's name; fresh random bytes for every run.
    packets
        Of it every owner has been given a secret of its own.
    link, first, bill
        Its secrets with Comp, with the dealer, and with the customer.
    """

    secret: bytes
    run: bytes
    packets: bytes
    link: bytes
    first: bytes
    bill: bytes


class CompSupply(NamedTuple):
    """What Comp brings.

    Parameters
    ----------
    pads
        Of it every owner has been given a secret of its own.
    link, second, receipt
        Its secrets with the Controller, with the dealer, and with the customer.
    """

    pads: bytes
    link: bytes
    second: bytes
    receipt: bytes


class DealerSupply(NamedTuple):
    """What the dealer brings.

    Parameters
    ----------
    first, second
        Its secrets with the Controller and with Comp.
    """

    first: bytes
    second: bytes


class CustomerSupply(NamedTuple):
    """What a customer brings who adds up two shares.

    Parameters
    ----------
    bill, receipt
        Its secrets with the Controller and with Comp.
    """

    bill: bytes
    receipt: bytes
