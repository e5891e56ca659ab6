"""Keys of secure sums, as parties keep them: in their states, and no longer than they must.

An agent and a helper step a *chain* of keys to the number of each message, and erase earlier keys.
An agent does so once it has made a message: it keeps the message, and sends these bytes again. A
helper does so, for all agents, once it has opened a sum: it keeps its answer.

With each answer a helper sends a public key, drawn for that sum. An agent draws a key for a
message, agrees on a secret with the newest key of every helper, makes the masks by chain and
secret, and erases its private key at once. The message carries the agent's public key. If the
message is opened, both sides' chains also continue from that secret. If not, the helper has never
seen it, and both continue from the unchanged chain. Confirmations tell the agent which case holds,
and the agent keeps both chains until then. So lost, late and repeated messages never separate the
two sides.

So an old copy of an agent opens no later message of the agent. An old copy of a helper opens
messages to the public keys whose private keys it has, and no later messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Bools
from fedbandits.crypto.chains import (
    KEY_BYTES,
    NO_KEY,
    Draw,
    Drawn,
    agreed,
    forward,
    message_key,
    next_key,
)
from fedbandits.crypto.keystream import derive_key
from fedbandits.crypto.masks import PROTOCOL, PairKeys
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets

#: Number of the newest private keys that a helper keeps. An agent that has missed more totals in a
#: row is left out of a sum once, and receives a new key with that sum.
KEPT_PRIVATE = 8
#: Keys of all agents or helpers, (n, 32).
Rows = NDArray[np.uint8]


class MessageKeys(NamedTuple):
    """Keys of one message, which are never kept.

    Parameters
    ----------
    masks
        For every helper, in order, the key of the mask.
    salt
        The key of the salt.
    public
        The public key that goes with the message; :data:`.chains.NO_KEY` for none.
    """

    masks: tuple[bytes, ...]
    salt: bytes
    public: bytes

    def __repr__(self) -> str:
        return f"MessageKeys({len(self.masks)} masks)"


class AgentKeys(msgspec.Struct, frozen=True):
    """Keys of an agent; each tuple has one for every helper, in order.

    Parameters
    ----------
    chains
        Present keys of the chains; empty if the secrets were erased before, and no state was read.
    statements, confirmations
        Keys of tags, see :class:`.masks.PairKeys`.
    own
        Present key of the chain of salts.
    public
        The newest public keys of helpers that the agent has received.
    ahead
        Keys of the chains if the message under way is opened; empty without a message under way.
    number
        The number of the message that the chains have reached.
    """

    chains: tuple[bytes, ...]
    statements: tuple[bytes, ...]
    confirmations: tuple[bytes, ...]
    own: bytes
    public: tuple[bytes, ...]
    ahead: tuple[bytes, ...] = ()
    number: int = 1

    def __repr__(self) -> str:
        return f"AgentKeys(number={self.number})"

    @classmethod
    def first(
        cls, secrets: AgentSecrets, terms: str, agent: str, helpers: Sequence[str]
    ) -> Self:  # fmt: skip
        """Return the keys before the first message; ``terms`` is the digest of the terms."""
        public = (NO_KEY,) * len(helpers)
        if not secrets.own:
            return cls((), (), (), b"", public)
        pairs = [
            PairKeys.derive(secret, terms, agent, helper)
            for secret, helper in zip(secrets.pairs, helpers, strict=True)
        ]
        own = derive_key(secrets.own, f"{PROTOCOL} {terms} {agent} salts")
        chains, statements, confirmations = zip(*pairs, strict=True) if pairs else ((), (), ())
        return cls(chains, statements, confirmations, own, public)

    def step(self, release: int, draw: Draw) -> tuple[Self, MessageKeys]:
        """Move on to a message: return the keys after the message, and the message's own keys.

        Raises
        ------
        LocalProtocolError
            If the message's keys were erased: its number was passed, or no state was read.
        """
        steps = release - self.number
        if steps < 0 or not self.own:
            raise LocalProtocolError(
                f"the keys of message {release} were erased: only the newest store has keys, from "
                f"number {self.number} on"
            )
        now = [forward(key, steps) for key in self.chains]
        drawn = draw() if any(public != NO_KEY for public in self.public) else None
        own = forward(self.own, steps)
        if drawn is not None:  # a salt reveals the numbers of its message, too
            own = agreed(own, drawn.private)
        roots = [_root(key, drawn, public) for key, public in zip(now, self.public, strict=True)]
        after = msgspec.structs.replace(
            self, chains=tuple(map(next_key, now)), ahead=tuple(map(next_key, roots)),
            own=next_key(own), number=release + 1,
        )  # fmt: skip
        public = NO_KEY if drawn is None else drawn.public
        return after, MessageKeys(tuple(map(message_key, roots)), message_key(own), public)

    def over(self, is_opened: bool) -> Self:
        """Return the keys once it is known whether the message under way was opened."""
        chains = self.ahead if is_opened else self.chains
        return msgspec.structs.replace(self, chains=chains, ahead=())


class HelperKeys(msgspec.Struct, frozen=True):
    """Keys of a helper; all arrays are (agents, 32) uint8, and never written to.

    Parameters
    ----------
    first
        Keys to hand over to agents; zeros once erased: an agent in a sum has its key.
    chains
        Present keys of the chains.
    statements, confirmations
        Keys of tags, see :class:`.masks.PairKeys`.
    drawn
        The private keys of the newest sums, with their numbers, in order.
    number
        The number of the sum that the chains have reached.
    """

    first: Rows
    chains: Rows
    statements: Rows
    confirmations: Rows
    drawn: tuple[tuple[int, bytes], ...] = ()
    number: int = 1

    def __repr__(self) -> str:
        return f"HelperKeys(number={self.number})"

    @classmethod
    def begin(cls, secrets: HelperSecrets, terms: str, agents: Sequence[str], helper: str) -> Self:
        """Return the keys before the first sum; ``terms`` is the digest of the terms."""
        pairs = [
            PairKeys.derive(secret, terms, agent, helper) if secret else PairKeys(*(NO_KEY,) * 3)
            for secret, agent in zip(secrets.pairs, agents, strict=True)
        ]
        first = packed(secret or NO_KEY for secret in secrets.pairs)
        chains, statements, confirmations = map(packed, zip(*pairs, strict=True))
        return cls(first, chains, statements, confirmations)

    def has(self, members: NDArray[np.void]) -> Bools:
        """Return whether messages, (members,), are for a kept public key, or for none."""
        kept = dict(self.drawn)
        pairs = zip(members["heard"].tolist(), unpacked(members["public"]), strict=True)
        has_key = (public == NO_KEY or heard in kept for heard, public in pairs)
        return np.fromiter(has_key, np.bool_, len(members))

    def open(
        self, release: int, members: NDArray[np.void], draw: Draw
    ) -> tuple[Self, list[bytes], bytes]:
        """Move the chains of all agents on over an opened sum.

        Parameters
        ----------
        members : (members,)
            The members of the sum, see :data:`.statements.MEMBER`; :meth:`has` holds for all.
        draw
            Draws the key of the sum.

        Returns
        -------
        after
            The keys after the sum.
        masks
            For every member the key of its mask.
        public
            The public key of the sum.
        """
        chains = [forward(key, release - self.number) for key in unpacked(self.chains)]
        places, heards = members["place"].tolist(), members["heard"].tolist()
        privates = {number: Drawn(key) for number, key in self.drawn if number in heards}
        for place, heard, public in zip(places, heards, unpacked(members["public"]), strict=True):
            chains[place] = _root(chains[place], privates.get(heard), public)
        new, first = draw(), self.first.copy()
        first[places] = 0
        after = msgspec.structs.replace(
            self, first=first, chains=packed(map(next_key, chains)), number=release + 1,
            drawn=() if new is None else (*self.drawn, (release, new.private))[-KEPT_PRIVATE:],
        )  # fmt: skip
        masks = [message_key(chains[place]) for place in places]
        return after, masks, NO_KEY if new is None else new.public


def _root(chain: bytes, drawn: Drawn | None, public: bytes) -> bytes:
    """Return the root of a message's keys: the chain, mixed with an agreed secret if any."""
    if drawn is None or public == NO_KEY:
        return chain
    return agreed(chain, drawn.agree(public))


def packed(keys: Iterable[bytes]) -> Rows:
    """Return keys of 32 bytes as rows, (n, 32)."""
    return np.frombuffer(b"".join(keys), np.uint8).reshape(-1, KEY_BYTES)


def unpacked(rows: NDArray[Any]) -> tuple[bytes, ...]:
    """Return keys, (n, 32) uint8 or (n,) of 32 bytes each, as bytes."""
    return keys_in(rows.tobytes())


def keys_in(raw: bytes) -> tuple[bytes, ...]:
    """Split concatenated keys of 32 bytes."""
    return tuple(raw[at : at + KEY_BYTES] for at in range(0, len(raw), KEY_BYTES))
