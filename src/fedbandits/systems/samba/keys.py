"""The secrets of SAMBA's parties: their makers, their takers, and the keys made of them.

The table below has all of them. Of ``pads`` and ``packets`` every owner has a secret of its own. No
server is given the owners' secret, and the Controller never has the channel's. Every key serves a
single purpose of a single run, whose names are part of the derivation. So another run under the
same secrets repeats nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar

from fedbandits.crypto.keystream import derive_key
from fedbandits.random import Key
from fedbandits.systems.application import SharedSecret
from fedbandits.systems.samba.plan import RUN_BYTES, Agreement, SambaPlan

OWNER = "owner"
#: Roles of a single party each, with the name of the role; only a silent run has a dealer.
CUSTOMER, CONTROLLER, COMP, DEALER = "customer", "controller", "comp", "dealer"


class ChannelKey(NamedTuple):
    """Key of ``channel``: Comp and the owners have it."""

    packets: bytes


class ControllerKeys(NamedTuple):
    """Keys of ``controller`` in a published run."""

    places: bytes  # its own
    masks: bytes  # for the owners, never for Comp
    exploration: bytes  # for the owners
    scores: bytes  # its own: of steps whose scores the Controller draws


class CompKeys(NamedTuple):
    """Keys of ``comp``, which no other party has."""

    waits: bytes  # for probability matching
    ties: bytes  # for choosing among equal scores


class SilentControllerKeys(NamedTuple):
    """Key of ``controller`` in a silent run.

    The order of owners travels in clear there. A published run hides the order from Comp.
    """

    ties: bytes  # the order of owners that breaks ties


class OwnersKeys(NamedTuple):
    """Key of ``owners``."""

    exploration: bytes  # decides on steps that explore


class PadKeys(NamedTuple):
    """Keys that an owner and Comp make of the owner's secret of ``pads``."""

    words: bytes  # Comp's share of the owner's words
    answers: bytes  # Comp's pads of the owner's answers
    total: bytes  # Comp's share of the owner's sum


class SealKeys(NamedTuple):
    """Keys that an owner and the Controller make of the owner's secret of ``packets``."""

    up: bytes  # words and the share of the sum, to the Controller
    down: bytes  # answers


class LinkKeys(NamedTuple):
    """Keys of ``link``."""

    to_second: bytes
    to_first: bytes


class DealtKeys(NamedTuple):
    """Keys of ``first`` or of ``second``."""

    words: bytes  # expanded by the server and by the dealer
    sealed: bytes  # seals the corrections


class TotalKey(NamedTuple):
    """Key of ``bill`` or of ``receipt``, which seals a server's share of the total."""

    total: bytes


class _Row(NamedTuple):
    """A line of the table: a secret with its maker and its takers, and the secret's keys."""

    secret: SharedSecret
    keys: type
    label: str  # of each key, by the key's name and the run's name, or by the whole agreement


_NOBODY = ""
_CONTROLLERS = SharedSecret("controller", CONTROLLER, _NOBODY)
_PADS = SharedSecret("pads", COMP, OWNER, each=True)
_PACKETS = SharedSecret("packets", CONTROLLER, OWNER, each=True)
#: Tables of a published and of a silent run. A secret without takers stays with its maker.
_PUBLISHED = (
    _Row(_CONTROLLERS, ControllerKeys, "{key} {run}"),
    _Row(SharedSecret("channel", COMP, OWNER), ChannelKey, "samba {context}"),
    _Row(SharedSecret("comp", COMP, _NOBODY), CompKeys, "{key} {run}"),
)
_SILENT = (
    _Row(_CONTROLLERS, SilentControllerKeys, "silent {key} {run}"),
    _Row(_PADS, PadKeys, "silent pad {key} {context}"),
    _Row(_PACKETS, SealKeys, "silent seal {key} {context}"),
    _Row(SharedSecret("owners", OWNER, OWNER), OwnersKeys, "silent {key} {run}"),
    _Row(SharedSecret("link", CONTROLLER, COMP), LinkKeys, "silent link {key} {context}"),
    _Row(SharedSecret("first", DEALER, CONTROLLER), DealtKeys, "silent dealt {key} {context}"),
    _Row(SharedSecret("second", DEALER, COMP), DealtKeys, "silent dealt {key} {context}"),
    _Row(SharedSecret("bill", CONTROLLER, CUSTOMER), TotalKey, "silent {key} {context}"),
    _Row(SharedSecret("receipt", COMP, CUSTOMER), TotalKey, "silent {key} {context}"),
)
_LABELS = {row.keys: row.label for row in (*_PUBLISHED, *_SILENT)}
AnyKeys = TypeVar("AnyKeys", bound=tuple[bytes, ...])


def make_keys(kind: type[AnyKeys], secret: bytes, agreed: Agreement) -> AnyKeys:
    """Make the keys of a run from a secret; ``kind`` is a type of keys from above.

    Where every owner has a secret of its own, ``secret`` is the owner's.
    """
    make: Any = kind
    names = {"run": agreed.run.hex(), "context": agreed.context.hex()}
    labels = [_LABELS[kind].format(key=name, **names) for name in make._fields]
    keys: AnyKeys = make(*(derive_key(secret, label) for label in labels))
    return keys


def secrets_of(plan: SambaPlan) -> tuple[SharedSecret, ...]:
    """List the secrets of a run of this plan."""
    return tuple(row.secret for row in (_SILENT if plan.config.is_silent else _PUBLISHED))


def shared(plan: SambaPlan) -> tuple[SharedSecret, ...]:
    """List the secrets that parties hand one another; the customer's where the total is shared."""
    billed = plan.config.total == "shares"
    return tuple(
        secret for secret in secrets_of(plan)
        if secret.takers != _NOBODY and (billed or secret.takers != CUSTOMER)
    )  # fmt: skip


def owners_secret(secret: bytes, name: str, owner: str) -> bytes:
    """Return an owner's share of ``pads`` or ``packets``, for this owner alone."""
    return {"pads": _PADS, "packets": _PACKETS}[name].gift(secret, owner)


class ServerKeys(NamedTuple):
    """Keys of a server of a silent run, without the keys of its own secret and of the total.

    The first server, the Controller, has the owners' seals; the second, Comp, has their pads.
    """

    owners: tuple[Any, ...]  # SealKeys, or PadKeys
    link: LinkKeys
    dealt: DealtKeys

    @classmethod
    def make(
        cls, secrets: Mapping[str, bytes], owners: Sequence[str], agreed: Agreement, first: bool
    ) -> Self:
        """Make the keys of the server's secrets, and the names of all owners in their order."""
        kind, each, dealt = (SealKeys, _PACKETS, "first") if first else (PadKeys, _PADS, "second")
        given = (each.gift(secrets[each.name], owner) for owner in owners)
        return cls(
            tuple(make_keys(kind, secret, agreed) for secret in given),
            make_keys(LinkKeys, secrets["link"], agreed),
            make_keys(DealtKeys, secrets[dealt], agreed),
        )


class SimulatedSecrets(NamedTuple):
    """All secrets of a simulation. They come from its seed, and protect nobody."""

    channel: bytes
    controller: bytes
    comp: bytes
    run: bytes  # the run's name, RUN_BYTES long
    owners: bytes
    pads: bytes
    packets: bytes
    link: bytes
    first: bytes
    second: bytes
    bill: bytes
    receipt: bytes

    @classmethod
    def derive(cls, seed: int, replicate: int) -> Self:
        """Make the secrets that follow from seed and replicate."""
        name = b"fedbandits simulated secrets" + seed.to_bytes(8, "big")
        root = name + replicate.to_bytes(4, "big")
        secrets = {
            label: derive_key(root, label)
            for label in ("channel", "controller", "comp", "run", "owners")
        }
        secrets["run"] = secrets["run"][:RUN_BYTES]
        for label in ("packets", "link", "bill"):
            secrets[label] = derive_key(secrets["controller"], label)
        for label in ("pads", "receipt"):
            secrets[label] = derive_key(secrets["comp"], label)
        for label in ("first", "second"):
            secrets[label] = derive_key(secrets["comp"], f"dealer {label}")
        return cls(**secrets)


def owner_key(draws: Key, run: bytes) -> Key:
    """Make the key of an owner's draws in a run, from the owner's key ``draws``."""
    name = b"".join(int(word).to_bytes(8, "big") for word in draws)
    digest = hashlib.sha256(b"samba owner's draws" + name + run).digest()
    return Key(int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:8], "big"))
