"""Messages of secure sums: increments, checks, openings, answers, totals."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Words64
from fedbandits.federation.messages import Message, WrongShapeError
from fedbandits.federation.roles import MessageTable

_WORDS = np.dtype("<u8")


class Increment(Message, frozen=True, kw_only=True, tag="totals.increment"):
    """An agent's k-th release, less its newest one that is in a total, behind masks.

    Parameters
    ----------
    release, salt
        The number k of the sum that it is for, and the salt of its masks.
    base, base_salt
        Number and salt of the release that is taken off; 0 and 0 if none of the agent's is in a
        total.
    total, total_digest
        Number and digest of the newest total that the agent has taken; see
        :class:`.agreement.Taken`.
    heard
        The number of the last total that the agent has heard of: masks are made for the public
        keys that came with it.
    public
        The public key that was drawn for the message, 32 bytes; zeros for none.
    statistic
        Whole numbers modulo 2⁶⁴, packed. Without all helpers' masks they tell nothing.
    statements
        A tag for every helper, in order: that the agent has said all of the above, but for the
        statistic.
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
    """An agent says that it sends nothing more, so nobody waits for it.

    Parameters
    ----------
    release
        The number of the total that made it retire.
    """

    release: int


class MembersRequest(Message, frozen=True, kw_only=True):
    """The controller asks a helper about some members of a sum.

    Parameters
    ----------
    release
        The number k of the sum.
    members
        What members have stated, packed; see :mod:`.statements`. Nothing if the k-th sum is closed
        with nobody in it.
    statements
        The members' tags for this helper.
    """

    release: int
    members: bytes
    statements: bytes


class Check(MembersRequest, frozen=True, kw_only=True, tag="totals.check"):
    """The controller asks a helper whose messages it would open. The helper opens nothing."""


class Checked(Message, frozen=True, kw_only=True, tag="totals.checked"):
    """A helper's answer to a check.

    Parameters
    ----------
    release
        The number k of the sum.
    request
        Digest of the check that it answers.
    unfit
        Whose messages it would not open, packed: places among agents in rising order.
    differing
        Those of them whose total differs from that of most others.
    refused
        Whether it would open nothing: more have other totals than may lie.
    """

    release: int
    request: bytes
    unfit: bytes
    differing: bytes
    refused: bool


class Opening(MembersRequest, frozen=True, kw_only=True, tag="totals.opening"):
    """The controller asks a helper for the sum of the masks of some members' messages."""


class Opened(Message, frozen=True, kw_only=True, tag="totals.opened"):
    """A helper's answer to an opening.

    Parameters
    ----------
    release
        The number k of the sum.
    masks
        The sum of the members' masks modulo 2⁶⁴, packed.
    digest
        Of all that this helper has opened up to the k-th sum.
    disputed
        The number of the newest total of which more agents had different ones than may lie, as far
        as this helper was asked; 0 if there is none.
    public
        The public key that the helper has drawn for this sum, 32 bytes; zeros for none.
    confirmations
        For every agent, member or not, a tag: with which of its messages it is in totals by now,
        and what all agents are told alike.
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
    """The sum of every agent's newest release that was opened.

    Parameters
    ----------
    release
        The number k of the sum.
    statistic
        The total, packed whole numbers with a sign.
    own
        The number of the receiver's release in it, 0 if there is none.
    releases, counts
        Which releases are in it, by their numbers in rising order, and of how many agents each;
        with 0, of how many there is none. Whose they are nobody needs to know, as all agents'
        noise is alike.
    digest
        Of all openings, as helpers have it.
    agreed
        Digests of recent totals, as most agents have stated them, packed; see
        :func:`.agreement.pack_taken`.
    disputed
        For every helper, in order, the number of the newest total that was in dispute, as in
        :class:`Opened`.
    publics
        The public keys that helpers have drawn for this sum, in order.
    confirmations
        A tag of every helper, in order, for the agent that this message is sent to. It holds for
        all of the above but for the statistic, which no helper sees.
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
    """Return who sends what to whom, where ``agents`` is the role of agents."""
    return {
        Increment: (agents, "controller"),
        Retired: (agents, "controller"),
        Check: ("controller", "helper"),
        Checked: ("helper", "controller"),
        Opening: ("controller", "helper"),
        Opened: ("helper", "controller"),
        Total: ("controller", agents),
    }


#: Who sends what to whom.
TABLE: MessageTable = table_of("agent")


def pack_words(values: Words64) -> bytes:
    """Pack whole numbers modulo 2⁶⁴ as little-endian bytes."""
    return np.ascontiguousarray(values, _WORDS).tobytes()


def unpack_words(data: bytes, size: int) -> Words64:
    """Unpack ``size`` numbers that :func:`pack_words` has packed.

    Raises
    ------
    WrongShapeError
        If there are not ``size`` numbers.
    """
    require_bytes(data, 8 * size)
    return np.frombuffer(data, _WORDS).astype(np.uint64)


def require_bytes(data: bytes, count: int) -> None:
    """Refuse a field that does not have so many bytes.

    Raises
    ------
    WrongShapeError
        If it is longer or shorter.
    """
    if len(data) != count:
        raise WrongShapeError(f"expected {count} bytes, got {len(data)}")
