"""What each SAMBA party brings, and which keys it alone is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedbandits.crypto.paillier import PrivateKey
from fedbandits.random import Key

if TYPE_CHECKING:
    from fedbandits.systems.application import Resources


def own_draws(resources: Resources) -> Key:
    """Key of an owner's own random draws, of a secret of its own."""
    draws = resources.secret("draws")
    return Key(int.from_bytes(draws[:4], "big"), int.from_bytes(draws[4:8], "big"))


class CustomerSupply(NamedTuple):
    """What the customer brings.

    Parameters
    ----------
    private_key
        Its own Paillier key; None for sums in clear.
    """

    private_key: PrivateKey | None


class OwnerSupply(NamedTuple):
    """What a data owner brings.

    Parameters
    ----------
    key
        Secret from which the key of scores and bits is made; Comp and the other owners share it,
        the Controller never has it.
    draws
        Key of the owner's own random draws, for rules that need some; those of a run are made of
        it and of the run's name.
    """

    key: bytes
    draws: Key


class CompSupply(NamedTuple):
    """What Comp brings.

    Parameters
    ----------
    key
        Secret from which the key of scores and bits is made; all data owners share it.
    secret
        Comp's own secret, for probability matching and for choosing among equal scores.
    """

    key: bytes
    secret: bytes


class ControllerSupply(NamedTuple):
    """What the Controller brings.

    Parameters
    ----------
    secret
        Its own: places, masks and exploration come of it. It has no key of scores or bits.
    run
        The run's name; fresh random bytes for every run.
    """

    secret: bytes
    run: bytes
