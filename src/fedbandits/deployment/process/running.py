"""One running party: from its folder to a node, a door, and a connection to the others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pathlib
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from fedbandits.deployment.delivery.broker import ends_soon
from fedbandits.deployment.delivery.nats_transport import NatsTransport
from fedbandits.deployment.delivery.transport import Transport
from fedbandits.deployment.door import Door, make_token, read_tokens, revoke_token
from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.hosting.cautions import over_since
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.hosting.seat import HostedSeat, spent_before
from fedbandits.deployment.identity.identity import Identity, load_identity
from fedbandits.deployment.identity.members import spoken_fingerprint, with_new_keys
from fedbandits.deployment.identity.private_files import write_private
from fedbandits.deployment.process.folder import PartyFolder
from fedbandits.deployment.process.looking import Running
from fedbandits.deployment.process.own_settings import RUNNING
from fedbandits.deployment.process.rehearsal import simulated_supply
from fedbandits.deployment.storage.rows import Sent
from fedbandits.errors import FedbanditsError, IdentityError

_LOG = logging.getLogger("fedbandits.deployment")
#: Stands for all messages to a peer, while it is revoked.
_ALL = 1 << 62
#: The role that orders runs.
CUSTOMER = "customer"
#: The token of whoever can read the folder; a new one each time the party starts.
_OPERATOR = "(operator of the running party)"


class PartyNode(Node):
    """A node that says, besides, what its folder knows of it."""

    #: Who it is.
    identity: Identity

    async def start(self) -> None:
        """Go on from the store; see :meth:`.node.Node.start`."""
        await super().start()
        self.drop_revoked()

    async def _begin(self) -> list[Sent]:
        outbox = await super()._begin()
        self._note_dropped(await self.host.call(self._dropped))
        return outbox

    def _dropped(self, batch: Batch) -> dict[str, int]:
        """Find below which number nothing is kept for each peer, and note who is revoked."""
        found, revoked = dict[str, int](), self._revoked
        for peer in self.delivery.exchanges:
            name = f"dropped {peer}"
            kept = number = batch.store.number(batch.connection, name)
            if peer in revoked:
                number = _ALL
            elif kept == _ALL and batch.hosted is not None:  # it is admitted anew
                number, _ = batch.hosted.marks.get(peer, (0, b""))
            if number != kept:
                batch.store.set_number(batch.connection, name, number)
            found[peer] = number
        return found

    def _note_dropped(self, dropped: Mapping[str, int]) -> None:
        for peer, number in dropped.items():
            self.delivery.exchanges[peer].dropped = number

    @property
    def _revoked(self) -> set[str]:
        members = self.identity.members.current.members
        return {name for name, member in members.items() if member.revoked}

    def drop_revoked(self) -> None:
        """Keep no messages for those who are revoked; what waits for them leaves the outbox.

        Who comes back with new keys has missed them, and gets what is sent from then on.
        """
        self.delivery.revoke(self._revoked)
        for peer, exchange in self.delivery.exchanges.items():
            if exchange.revoked:
                self._note_dropped({peer: _ALL})

        def note(done: asyncio.Future[dict[str, int]]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._note_dropped(done.result())
            else:  # at the next start, or with the next list
                _LOG.warning("%s: who is revoked could not be noted", self.member)

        self.host.call(self._dropped).add_done_callback(note)

    def status(self) -> dict[str, Any]:
        """Report where it stands; see :meth:`.node.Node.status`."""
        told = super().status()
        told["protects"] = self.federation.noise == "secure"
        told["members_version"] = self.identity.members.current.version
        offsets = self.delivery.offsets().values()
        told["peers"], told["clock_offset"] = (
            len(self.delivery.exchanges),
            max(offsets, key=abs, default=0.0),
        )
        told["certificate_days"] = self.identity.days_left()
        days: int | None = getattr(self.delivery.transport, "broker_days", None)
        if days is not None:
            told["broker_certificate_days"] = days
            told["problems"] |= {"broker": caution} if (caution := ends_soon(days)) else {}
        try:
            self.identity.check()
        except IdentityError as refused:  # nobody exchanges anything with it any more
            told["problems"]["identity"] = str(refused)
        return told


class CustomerNode(PartyNode):
    """A customer's: it begins when it is told to order, or has done so before."""

    #: What it has earned, once that was read.
    total: int | None = None
    _ordered = False

    async def _begin(self) -> list[Sent]:
        """Begin, which is to order a run, once that was asked for."""
        if not self._ordered:
            saved = await self.host.call(lambda batch: batch.store.saved(batch.connection))
            if saved.body is None and not saved.journal:
                return []
        return await super()._begin()

    async def order(self) -> None:
        """Order a run, if that was not done yet, and read how it has ended, once it has.

        While secrets of others are missing nothing is ordered yet: it is done when they come.
        """
        if not self._begun.is_set():
            self._ordered = True
            if self.wants:
                return
            self._sent(await self._begin())
            self.delivery.begin_anew()
            self._wake()
        self.total = await self.host.call(_total)

    @property
    def ready(self) -> bool:
        """True if the customer can order, and its store works."""
        if self._begun.is_set():
            return super().ready
        return not (self.failed is not None or self.host.problem or self.wants)

    def status(self) -> dict[str, Any]:
        """Report where it stands, and the total."""
        return super().status() | {"total": self.total}


def _total(batch: Any) -> int | None:
    found: int | None = batch.hosted.party.state.cumulative_reward
    return found


class RunningParty:
    """A party that runs. Made, then :meth:`start`, then :meth:`stop`.

    The ``transport`` carries frames to others; by default it is NATS, as the federation's file
    says. A store that was ``moved`` may be a copy of which the original will never be used again.
    One that ``restores`` may be older than what has left: that is charged once more.
    See :class:`.clock.Clock` for ``catches_up``.

    Raises IdentityError if the party was not admitted, its certificate has expired, or it was
    revoked.
    """

    def __init__(
        self,
        folder: PartyFolder,
        transport: Transport | None = None,
        moved: bool = False,
        restores: bool = False,
        catches_up: bool = False,
    ) -> None:
        self.folder, self._moved, self._restores = folder, moved, restores
        self._catches_up = catches_up
        self.identity = load_identity(folder.path)
        self.identity.check()
        self._peers = folder.federation.peers_of(folder.member)
        self._sealers = self.identity.sealers(self._peers)
        self._transport = transport or NatsTransport(
            self.identity, folder.federation.transport.servers, self.take_members
        )
        self._closing = contextlib.AsyncExitStack()
        #: Set when it cannot go on, for :attr:`failure`.
        self.ended = asyncio.Event()
        self.failure: FedbanditsError | None = None
        self.node: PartyNode
        self.door: Door

    async def start(self) -> None:
        """Go on from the store, reach for the others, open the door.

        It does not wait for the broker. Raises FedbanditsError if it cannot; nothing is left open
        then.
        """
        async with contextlib.AsyncExitStack() as closing:
            self.node = node = self._make()
            closing.push_async_callback(node.stop)
            await node.start()
            _forget_token(self.folder.path)  # a new one each time
            token = make_token(self.folder.path, _OPERATOR, member=self.folder.member)
            closing.callback(_forget_token, self.folder.path)
            self.door = Door(node, self.folder.path, self.folder.settings.door)
            closing.push_async_callback(self.door.stop)
            await self.door.start()
            closing.callback((self.folder.path / RUNNING).unlink, missing_ok=True)
            self._announce(token)
            self._closing = closing.pop_all()
        if not self.folder.protects:
            _LOG.warning(
                "%s: NOTHING IS PROTECTED: by the terms noise is simulated, from a seed",
                self.folder.member,
            )
        if over := over_since(self.folder.federation, time.time()):
            _LOG.warning("%s: %s; nothing more is released", self.folder.member, over)
        _LOG.info("%s: its door is open at %s", self.folder.member, self.door.url)

    async def stop(self) -> None:
        """Take no more requests, finish what waits, save the state, close everything."""
        await self._closing.aclose()

    def take_members(self, data: bytes) -> None:
        """Take a list of members that was published, if it is newer and the authority's.

        Who is revoked in it is not exchanged frames with from then on. New keys of a peer are
        logged: secrets are sealed under them. Raises IdentityError if the list is damaged, older,
        or not the authority's.
        """
        members, earlier = self.identity.members, self.identity.members.current
        before = set(earlier.present)
        if not members.offer(data):
            return
        for sealer in self._sealers:
            members.set_peers(sealer, self._peers)
        gone = [name for name, member in members.current.members.items() if member.revoked]
        _LOG.log(
            logging.WARNING if before.intersection(gone) else logging.INFO,
            "%s: version %d of the members; revoked: %s",
            self.folder.member,
            members.current.version,
            ", ".join(gone) or "nobody",
        )
        for name in with_new_keys(earlier, members.current, self._peers):
            _LOG.warning(
                "%s: version %d of the members has new keys of %s, with the fingerprint %s: ask it "
                "in a call whether they are its own",
                self.folder.member,
                members.current.version,
                name,
                spoken_fingerprint(members.current.members[name].sealing),
            )
        self.node.drop_revoked()
        self.node.delivery.resend_all()

    def _make(self) -> PartyNode:
        seat = seat_in(self.folder)
        where = self.folder.store
        store = seat.open_store(where, self._moved, self.folder.path / "store", self._restores)
        kind = CustomerNode if seat.role.name == CUSTOMER else PartyNode
        node = kind(seat, store, self._transport, *self._sealers, self._fail, self._catches_up)
        node.identity = self.identity
        return node

    def _fail(self, why: FedbanditsError) -> None:
        self.failure = why
        self.ended.set()

    def _announce(self, token: str) -> None:
        """Write down where the door is, and what opens it."""
        running = Running(
            pid=os.getpid(), url=_from_here(self.door.url), token=token, started=time.time()
        )
        write_private(self.folder.path / RUNNING, msgspec.json.encode(running), replace=True)


def seat_in(folder: PartyFolder) -> HostedSeat:
    """Make the seat of a folder's party, with what earlier federations have spent."""
    settings, supply = folder.settings, simulated_supply(folder)
    seat = HostedSeat.of(
        folder.federation, folder.member, settings.own, supply, settings.keep_records
    )
    return seat._replace(earlier=spent_before(folder.path / store for store in settings.earlier))


def _forget_token(path: pathlib.Path) -> None:
    if any(token.name == _OPERATOR for token in read_tokens(path)):
        revoke_token(path, _OPERATOR)


def _from_here(url: str) -> str:
    """Return a door's address as this machine reaches it."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
