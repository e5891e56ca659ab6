"""Messages of secure sums: increments, checks, openings, answers, totals."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Words64
from fedbandits.federation.messages import Message, WrongShapeError
from fedbandits.federation.roles import MessageTable

_WORDS = np.dtype("<u8")


class Increment(Message, frozen=True, kw_only=True, tag="totals.increment"):
    """An agent's k-th release, less its newest release in a total, behind masks.

    Parameters
    ----------
    release, salt
        The number k of the message's sum, and the salt of its masks.
    base, base_salt
        Number and salt of the subtracted release; 0 and 0 if no release of the agent is in a
        total.
    total, total_digest
        Number and digest of the newest total that the agent has taken; see
        :class:`.agreement.Taken`.
    heard
        The number of the last total that the agent has received: masks are made for the public
        keys that came with it.
    public
        The public key that was drawn for the message, 32 bytes; zeros for none.
    statistic
        Whole numbers modulo 2⁶⁴, packed. Without all helpers' masks they reveal nothing.
    statements
        A tag for every helper, in order: the agent's statement of all fields above except
        the statistic.
    """

    release: int
    salt: int
    base: int
    base_salt: int
    total: int
    total_digest: bytes
    heard: int
    public: bytes
    statistic: bytes
    statements: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class Retired(Message, frozen=True, kw_only=True, tag="totals.retired"):
    """Notice that an agent sends nothing more, so nobody waits for it.

    Parameters
    ----------
    release
        The number of the total after which the agent retired.
    """

    release: int


class MembersRequest(Message, frozen=True, kw_only=True):
    """A question of the controller to a helper about some members of a sum.

    Parameters
    ----------
    release
        The number k of the sum.
    members
        The members' statements, packed; see :mod:`.statements`. Empty if the k-th sum is closed
        without members.
    statements
        The members' tags for this helper.
    """

    release: int
    members: bytes
    statements: bytes


class Check(MembersRequest, frozen=True, kw_only=True, tag="totals.check"):
    """A question to a helper which messages it would open. The helper opens nothing."""


class Checked(Message, frozen=True, kw_only=True, tag="totals.checked"):
    """A helper's answer to a check.

    Parameters
    ----------
    release
        The number k of the sum.
    request
        Digest of the check.
    unfit
        Agents whose messages the helper would not open, packed: places among agents in rising
        order.
    differing
        The agents among these whose total differs from that of most others.
    refused
        Whether the helper would open nothing: more than ``colluding`` members have other totals.
    """

    release: int
    request: bytes
    unfit: bytes
    differing: bytes
    refused: bool


class Opening(MembersRequest, frozen=True, kw_only=True, tag="totals.opening"):
    """A request to a helper for the sum of the masks of some members' messages."""


class Opened(Message, frozen=True, kw_only=True, tag="totals.opened"):
    """A helper's answer to an opening.

    Parameters
    ----------
    release
        The number k of the sum.
    masks
        The sum of the members' masks modulo 2⁶⁴, packed.
    digest
        Digest of all sums that this helper has opened, up to the k-th.
    disputed
        The number of the newest total of which more than ``colluding`` agents had another version,
        in the checks of this helper; 0 for none.
    public
        The public key that the helper has drawn for this sum, 32 bytes; zeros for none.
    confirmations
        A tag for every agent, member or not: of the agent's newest message in totals,
        and of the common report to all agents.
    """

    release: int
    masks: bytes
    digest: bytes
    disputed: int
    public: bytes
    confirmations: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.masks)


class Total(Message, frozen=True, kw_only=True, tag="totals.total"):
    """The sum of every agent's newest opened release.

    Parameters
    ----------
    release
        The number k of the sum.
    statistic
        The total, packed whole numbers with a sign.
    own
        The number of the receiver's release in the total, 0 if there is none.
    releases, counts
        The numbers of the releases in the total, in rising order, and the number of agents for
        each;
        the count for 0 is of agents without a release. Agents are not named, as their noise is
        alike.
    digest
        The helpers' digest of all openings.
    agreed
        Digests of recent totals, as most agents have stated them, packed; see
        :func:`.agreement.pack_taken`.
    disputed
        For every helper, in order, the number of the newest disputed total, as in
        :class:`Opened`.
    publics
        The public keys that helpers have drawn for this sum, in order.
    confirmations
        A tag of every helper, in order, for the receiver of this message. It confirms
        all fields above except the statistic, which no helper sees.
    """

    release: int
    statistic: bytes
    own: int
    releases: tuple[int, ...]
    counts: tuple[int, ...]
    digest: bytes
    agreed: bytes
    disputed: tuple[int, ...]
    publics: bytes
    confirmations: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


def table_of(agents: str) -> MessageTable:
    """Return the sender's and the receiver's role of each message; ``agents`` names a role."""
    return {
        Increment: (agents, "controller"),
        Retired: (agents, "controller"),
        Check: ("controller", "helper"),
        Checked: ("helper", "controller"),
        Opening: ("controller", "helper"),
        Opened: ("helper", "controller"),
        Total: ("controller", agents),
    }


#: The sender's and the receiver's role of each message.
TABLE: MessageTable = table_of("agent")


def pack_words(values: Words64) -> bytes:
    """Pack whole numbers modulo 2⁶⁴ as little-endian bytes."""
    return np.ascontiguousarray(values, _WORDS).tobytes()


def unpack_words(data: bytes, size: int) -> Words64:
    """Unpack ``size`` numbers from :func:`pack_words`.

    Raises
    ------
    WrongShapeError
        If there are not ``size`` numbers.
    """
    require_bytes(data, 8 * size)
    return np.frombuffer(data, _WORDS).astype(np.uint64)


def require_bytes(data: bytes, count: int) -> None:
    """Refuse a field that does not have ``count`` bytes.

    Raises
    ------
    WrongShapeError
        If the field is longer or shorter.
    """
    if len(data) != count:
        raise WrongShapeError(f"expected {count} bytes, got {len(data)}")
