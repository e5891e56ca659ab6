"""Keys and streams of a silent run: who holds which secret, and what is made of it.

=============  ==============  ==========  ==================================================
secret         made by         held by     keys
=============  ==============  ==========  ==================================================
``pads``       Comp            owner i     pads of its words, of its answers, of its sum
``packets``    Controller      owner i     seals of its words and of its answers
``link``       Controller      Comp        seals of what the servers send each other
``first``      dealer          Controller  words dealt to it, seal of what corrects them
``second``     dealer          Comp        words dealt to it, seal of what corrects them
``bill``       Controller      customer    seal of the Controller's share of the total
``receipt``    Comp            customer    seal of Comp's share of the total
``owners``     owner 0         owners      exploration, see :class:`.samba.streams.OwnersKeys`
=============  ==============  ==========  ==================================================

Of ``pads`` and ``packets`` every owner has a secret of its own, see :func:`owners_secret`. Every
key serves one purpose of one run: its label and the agreement's context are part of it. Streams are
read by turn, so that a party can make the words of any turn again, alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.keystream import KeyStream, derive_key
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.streams import SimulatedSecrets, position

#: Names of the secrets, as parties make them and hand them over.
PADS, PACKETS, LINK, FIRST, SECOND = "pads", "packets", "link", "first", "second"
BILL, RECEIPT, OWNERS = "bill", "receipt", "owners"
#: Directions of packets, the first byte of a position: owners to the Controller and back, the
#: servers to one another, the dealer to a server. Each has a key of its own beside.
UP, DOWN, TO_SECOND, TO_FIRST, DEALT, TOTAL = 3, 4, 5, 6, 7, 8


def owners_secret(secret: bytes, name: str, owner: str) -> bytes:
    """What the maker of a secret hands the owner of that name, and no other.

    Parameters
    ----------
    secret
        The maker's.
    name
        ``PADS`` or ``PACKETS``.
    owner
        The party's name, as ``owner-0``.
    """
    return derive_key(secret, f"{name} {owner}")


def turn_number(agreed: Agreement, step: int, iteration: int) -> int:
    """How many turns there were before this one; selections are dealt in this order."""
    return position(step - agreed.arms - 1, iteration, agreed.iterations)


class PadKeys(NamedTuple):
    """What one owner and Comp make of the secret that they share."""

    words: bytes  # Comp's share of the owner's words
    answers: bytes  # what Comp adds to the owner's answers
    total: bytes  # Comp's share of the owner's sum

    @classmethod
    def derive(cls, secret: bytes, agreed: Agreement) -> Self:
        """The keys of one run."""
        return cls(*(_key(secret, f"pad {label}", agreed) for label in cls._fields))


class SealKeys(NamedTuple):
    """What one owner and the Controller make of the secret that they share."""

    up: bytes  # words and the share of the sum, to the Controller
    down: bytes  # answers

    @classmethod
    def derive(cls, secret: bytes, agreed: Agreement) -> Self:
        """The keys of one run."""
        return cls(*(_key(secret, f"seal {label}", agreed) for label in cls._fields))


class LinkKeys(NamedTuple):
    """What both servers make of the secret that they share."""

    to_second: bytes
    to_first: bytes

    @classmethod
    def derive(cls, secret: bytes, agreed: Agreement) -> Self:
        """The keys of one run."""
        return cls(*(_key(secret, f"link {label}", agreed) for label in cls._fields))


class DealtKeys(NamedTuple):
    """What a server and the dealer make of the secret that they share."""

    words: bytes  # what the server expands, and the dealer too
    sealed: bytes  # seals the corrections

    @classmethod
    def derive(cls, secret: bytes, agreed: Agreement) -> Self:
        """The keys of one run."""
        return cls(*(_key(secret, f"dealt {label}", agreed) for label in cls._fields))


class OwnerKeys(NamedTuple):
    """All keys of one owner; what owners share among themselves is not among them."""

    pads: PadKeys
    seals: SealKeys

    @classmethod
    def derive(cls, pads: bytes, packets: bytes, agreed: Agreement) -> Self:
        """From the owner's own two secrets."""
        return cls(PadKeys.derive(pads, agreed), SealKeys.derive(packets, agreed))


class FirstKeys(NamedTuple):
    """All keys of the first server, the Controller; its places come of its own secret."""

    owners: tuple[SealKeys, ...]
    link: LinkKeys
    dealt: DealtKeys

    @classmethod
    def derive(
        cls, packets: bytes, link: bytes, first: bytes, owners: Sequence[str], agreed: Agreement
    ) -> Self:
        """From the Controller's secrets, and the names of all owners in their order."""
        secrets = [owners_secret(packets, PACKETS, owner) for owner in owners]
        seals = tuple(SealKeys.derive(secret, agreed) for secret in secrets)
        return cls(seals, LinkKeys.derive(link, agreed), DealtKeys.derive(first, agreed))


class SecondKeys(NamedTuple):
    """All keys of the second server, Comp."""

    owners: tuple[PadKeys, ...]
    link: LinkKeys
    dealt: DealtKeys

    @classmethod
    def derive(
        cls, pads: bytes, link: bytes, second: bytes, owners: Sequence[str], agreed: Agreement
    ) -> Self:
        """From Comp's secrets, and the names of all owners in their order."""
        secrets = [owners_secret(pads, PADS, owner) for owner in owners]
        keys = tuple(PadKeys.derive(secret, agreed) for secret in secrets)
        return cls(keys, LinkKeys.derive(link, agreed), DealtKeys.derive(second, agreed))


class DealerKeys(NamedTuple):
    """All keys of the dealer."""

    first: DealtKeys
    second: DealtKeys

    @classmethod
    def derive(cls, first: bytes, second: bytes, agreed: Agreement) -> Self:
        """From the secrets that it shares with either server."""
        return cls(DealtKeys.derive(first, agreed), DealtKeys.derive(second, agreed))


class SilentSecrets(NamedTuple):
    """The secrets of a simulation: they protect nobody."""

    pads: bytes
    packets: bytes
    link: bytes
    first: bytes
    second: bytes
    bill: bytes
    receipt: bytes

    @classmethod
    def simulated(cls, secrets: SimulatedSecrets) -> Self:
        """Made of what the published variant's parties have in a simulation."""
        own = (PACKETS, LINK, BILL)
        packets, link, bill = (derive_key(secrets.controller, name) for name in own)
        first, second = (derive_key(secrets.comp, f"dealer {name}") for name in (FIRST, SECOND))
        pads, receipt = (derive_key(secrets.comp, name) for name in (PADS, RECEIPT))
        return cls(pads, packets, link, first, second, bill, receipt)

    def owner(self, owner: str, agreed: Agreement) -> OwnerKeys:
        """The keys of the owner of that name."""
        pads = owners_secret(self.pads, PADS, owner)
        return OwnerKeys.derive(pads, owners_secret(self.packets, PACKETS, owner), agreed)

    def controller(self, owners: Sequence[str], agreed: Agreement) -> FirstKeys:
        """The keys of the first server."""
        return FirstKeys.derive(self.packets, self.link, self.first, owners, agreed)

    def comp(self, owners: Sequence[str], agreed: Agreement) -> SecondKeys:
        """The keys of the second server."""
        return SecondKeys.derive(self.pads, self.link, self.second, owners, agreed)

    def dealer(self, agreed: Agreement) -> DealerKeys:
        """The keys of the dealer."""
        return DealerKeys.derive(self.first, self.second, agreed)


class Pads:
    """A word a turn, of one owner and one purpose: its share at Comp, or its answer's pad.

    Parameters
    ----------
    key
        ``words`` or ``answers`` of :class:`PadKeys`.
    agreed
        What the run is about.
    """

    def __init__(self, key: bytes, agreed: Agreement) -> None:
        self._stream, self._agreed = KeyStream(key, 1), agreed

    def draw(self, step: int, iteration: int) -> np.uint64:
        """The word of one turn."""
        word: np.uint64 = self._stream.words(turn_number(self._agreed, step, iteration))[0]
        return word

    def block(self, first: int, turns: int) -> Words64:
        """The words of so many turns from turn number ``first`` on, (turns,)."""
        return self._stream.block(first, turns)[:, 0]


def total_key(secret: bytes, agreed: Agreement) -> bytes:
    """Seals a server's share of the total, from the secret that it shares with the customer."""
    return _key(secret, "total", agreed)


def total_pad(key: bytes) -> np.uint64:
    """Comp's share of one owner's sum, from ``total`` of :class:`PadKeys`."""
    word: np.uint64 = KeyStream(key, 1).words(0)[0]
    return word


class DealtWords:
    """The words that a server expands for its selections, and the dealer for both.

    Parameters
    ----------
    key
        ``words`` of :class:`DealtKeys`.
    width
        Words a selection, of :mod:`fedbandits.crypto.shares.dealing`.
    """

    def __init__(self, key: bytes, width: int) -> None:
        self._stream = KeyStream(key, width)

    def block(self, first: int, selections: int) -> Words64:
        """The words of so many selections from number ``first`` on, (selections, width)."""
        return self._stream.block(first, selections)


def _key(secret: bytes, label: str, agreed: Agreement) -> bytes:
    return derive_key(secret, f"silent {label} {agreed.context.hex()}")
