"""Frames sealed between two members: whoever carries them learns sizes and times, and no more.

A frame is opened by its receiver alone, and only if its sender sealed it, unaltered, under the same
terms. Both is by X25519, HKDF-SHA256 and AES-256-GCM, from the keys in the list of members.

Every :class:`Sealer` draws a salt, so each life of a member (from one start to the next) seals
under keys of its own, and counts its frames: no nonce is used twice under one key. There is no
forward secrecy: who gets hold of a member's private key opens all frames that it ever exchanged
under that key, if they were recorded.

What a sealed frame does not say is *when* it was sealed. A frame is refused if it was opened
before, while its sender's salt is one of the last four seen; but a frame of an earlier life that
was recorded, or kept back, opens. Whoever uses this tells such frames by what is inside: delivery
numbers its messages, and begins every connection by exchanging fresh random numbers.
"""

from __future__ import annotations

import itertools
import os
from collections import OrderedDict, defaultdict
from collections.abc import Iterator

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from fedbandits.errors import IdentityError, NotListedError, SealError
from fedbandits.federation.terms import cut

#: Version of the format of frames; another one is refused.
VERSION = 1
#: Bytes that sealing adds: version, salt, counter, and the authentication tag.
OVERHEAD = 1 + 16 + 8 + 16
#: Frames may overtake so many others of their sender.
WINDOW = 4096

_SALT, _COUNTER, _TAG = 16, 8, 16
_HEADER = 1 + _SALT + _COUNTER
#: So many lives of a peer are remembered.
_MOST_LIVES = 4
_LABEL = b"fedbandits sealed frame"


def sealing_context(federation: str, terms: str) -> bytes:
    """Join what every key is bound to: the federation's name and the digest of its terms."""
    return _joined(federation.encode(), terms.encode())


def _joined(*parts: bytes) -> bytes:
    """Join parts, each after its length: no two lists of parts give the same bytes."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


class _Life:
    """One life of a peer: the key that it seals with, and which of its frames were opened."""

    def __init__(self, cipher: AESGCM) -> None:
        self.cipher = cipher
        self._newest, self._seen = -1, 0  # bit i: whether frame newest - i was opened

    def note(self, counter: int) -> bool:
        """Note a frame; return false if it was noted before, or is too old to tell."""
        ahead = counter - self._newest
        if ahead > 0:
            kept = self._seen << ahead if ahead < WINDOW else 0
            self._seen = (kept | 1) & ((1 << WINDOW) - 1)
            self._newest = counter
            return True
        bit = 1 << -ahead
        if -ahead >= WINDOW or self._seen & bit:
            return False
        self._seen |= bit
        return True


class _Peer:
    """One peer under its present key."""

    def __init__(
        self, public: bytes, secret: bytes, sealing: AESGCM, there: bytes, here: bytes
    ) -> None:
        self.public, self.secret, self.sealing = public, secret, sealing
        #: What frames to it, and frames of it, belong to.
        self.there, self.here = there, here
        self.lives: OrderedDict[bytes, _Life] = OrderedDict()

    def remember(self, salt: bytes, life: _Life) -> None:
        """Keep a life from which a frame was opened, the newest last."""
        self.lives[salt] = life
        self.lives.move_to_end(salt)
        while len(self.lives) > _MOST_LIVES:
            self.lives.popitem(last=False)


class Sealer:
    """Seals frames for the peers of the member ``name``, and opens theirs.

    ``private`` is its sealing key. All keys are bound to ``context``; see :func:`sealing_context`.
    """

    def __init__(self, name: str, private: X25519PrivateKey, context: bytes) -> None:
        self._name, self._private, self._context = name, private, context
        self._public = private.public_key().public_bytes_raw()
        self._salt = os.urandom(_SALT)
        #: Frames sealed for each receiver. It outlives the receiver's key: no nonce comes again.
        self._counters: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
        self._peers: dict[str, _Peer] = {}
        #: Peers that have not been in a list of members yet.
        self._awaited: set[str] = set()

    @property
    def peers(self) -> tuple[str, ...]:
        """Peers with whom frames can be exchanged."""
        return tuple(self._peers)

    def set_peer(self, peer: str, public: bytes) -> None:
        """Exchange frames with a peer under this key from now on, and no longer under another.

        Frames that were sealed under its earlier key no longer open, not even those on their way:
        it may have been replaced because somebody else has it. Nothing changes for the same key.

        The ``public`` X25519 key has 32 bytes and is from the newest list of members. Raises
        IdentityError if it is not usable; then the earlier one stays.
        """
        known = self._peers.get(peer)
        if known is not None and known.public == public:
            return
        try:
            secret = self._private.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise IdentityError(
                f"the sealing key of {cut(repr(peer))} is not a public X25519 key; the authority "
                "must admit that member again"
            ) from None
        binding = self._binding(self._name, peer, self._public, public)
        sealing = _cipher(secret, self._salt, binding)
        here = self._binding(peer, self._name, public, self._public)
        self._peers[peer] = _Peer(public, secret, sealing, binding, here)

    def remove_peer(self, peer: str, awaited: bool = False) -> None:
        """Exchange no more frames with a peer: it was revoked, or is ``awaited`` in a list."""
        self._peers.pop(peer, None)
        (self._awaited.add if awaited else self._awaited.discard)(peer)

    def seal(self, receiver: str, plaintext: bytes) -> bytes:
        """Seal a frame for a peer; it is :data:`OVERHEAD` bytes longer than what is in it.

        Raises SealError if no key of that peer is known.
        """
        peer = self._peer(receiver)
        count = next(self._counters[receiver]).to_bytes(_COUNTER, "big")
        header = bytes([VERSION]) + self._salt + count
        return header + peer.sealing.encrypt(_nonce(count), plaintext, header + peer.there)

    def open(self, sender: str, frame: bytes) -> bytes:
        """Open a frame of a peer.

        Raises SealError if that peer has not sealed it for this member, under the same terms, with
        its present key; if one bit was altered; or if it was opened before. Nothing has changed
        then.
        """
        peer = self._peer(sender)
        if len(frame) < _HEADER + _TAG:
            raise SealError(f"a frame of {sender} is cut off: it has {len(frame)} bytes")
        if frame[0] != VERSION:
            raise SealError(f"a frame of {sender} is of version {frame[0]}, expected {VERSION}")
        header, salt, count = frame[:_HEADER], frame[1 : 1 + _SALT], frame[1 + _SALT : _HEADER]
        life = peer.lives.get(salt) or _Life(_cipher(peer.secret, salt, peer.here))
        try:
            plaintext = life.cipher.decrypt(_nonce(count), frame[_HEADER:], header + peer.here)
        except InvalidTag:
            raise SealError(
                f"a frame of {sender} does not open: it was altered, or sealed by or for somebody "
                "else, under other terms, or with another key than in the list of members"
            ) from None
        if not life.note(int.from_bytes(count, "big")):
            raise SealError(f"a frame of {sender} came again, or long after newer ones")
        peer.remember(salt, life)
        return plaintext

    def _peer(self, name: str) -> _Peer:
        try:
            return self._peers[name]
        except KeyError:
            if name in self._awaited:
                raise NotListedError(
                    f"no key of {cut(repr(name))} is known yet: a newer list of members has it"
                ) from None
            raise SealError(
                f"no key of {cut(repr(name))} is known: it is not a peer, or it was revoked"
            ) from None

    def _binding(self, sender: str, receiver: str, public: bytes, receivers: bytes) -> bytes:
        """Join what a frame belongs to: it opens nowhere else."""
        names = sender.encode(), receiver.encode()
        return _joined(_LABEL, bytes([VERSION]), self._context, *names, public, receivers)


def _cipher(secret: bytes, salt: bytes, binding: bytes) -> AESGCM:
    """Derive the cipher of one direction, for one life of its sender."""
    return AESGCM(HKDF(SHA256(), length=32, salt=salt, info=binding).derive(secret))


def _nonce(count: bytes) -> bytes:
    return bytes(12 - _COUNTER) + count
