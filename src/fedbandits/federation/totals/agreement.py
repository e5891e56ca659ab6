"""Digests of totals: agents state them, and helpers check that all agents got the same totals.

The numbers of a total come from the controller alone, and no helper sees them. So every agent
states, with its next message, the *digest* of the newest total that it has taken. Helpers leave out
agents whose digest differs from most others', and tell all agents the digests of most agents. An
agent with another digest then knows that the controller gave it another total than most agents.

*Honest runs lose nothing*: where all agents got the same totals, no digest differs.

*Few liars stop nothing*: a helper refuses a sum only where more than ``colluding`` members must
lie, or have false totals. Their least possible number is counted: of each number of a total, all
members but the largest group. A digest is agreed on once more than ``colluding`` members have
stated it, so a few members cannot make the others differ from it.

*Two groups of equal size* without an agreed digest: no helper can tell which group has the right
total. Both are left out of this sum. So no two members of a sum differ, whichever members other
helpers have left out.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Bools
from fedbandits.federation.messages import WrongShapeError
from fedbandits.federation.totals.statements import DIGEST_BYTES

#: Number of the newest totals whose digests are kept and told, so that agents that have missed
#: newer totals are compared, too.
RECENT = 4
_TAKEN = struct.Struct(f"<I{DIGEST_BYTES}s")
_NOTHING = bytes(DIGEST_BYTES)


class Taken(NamedTuple):
    """A total, as an agent has taken it.

    Parameters
    ----------
    number
        The newest release in the total. An empty sum leaves the total unchanged, with
        the same number. 0 before the first total.
    digest
        Digest of all parts of the total that agents act on; zeros before the first total.
    """

    number: int = 0
    digest: bytes = _NOTHING

    @classmethod
    def of(cls, statistic: bytes, releases: Sequence[int], counts: Sequence[int]) -> Taken:
        """Return an agent's statement of a total, from fields of :class:`.messages.Total`."""
        if not releases[-1]:  # an empty total, so there is nothing to act on
            return cls()
        text = b"total" + _packed(releases) + _packed(counts) + statistic
        return cls(releases[-1], hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest())


class Judged(NamedTuple):
    """The outcome of a comparison of members' totals.

    Parameters
    ----------
    differing : (members,) bool
        Whether a member's total differs from the total of most others with the same number, if
        most others agree.
    at_fault
        The least number of members that lie, or have a false total.
    newest
        The newest existing number of a disputed total; 0 if there is none.
    """

    differing: Bools
    at_fault: int
    newest: int


def judge(stated: Sequence[Taken], agreed: Sequence[Taken], last: int) -> Judged:
    """Compare the totals that members have stated.

    Parameters
    ----------
    stated : (members,)
        The newest total of each member.
    agreed
        Totals that were agreed on before.
    last
        The number of the last total.
    """
    known, groups = dict(agreed), Counter(stated)
    sizes: defaultdict[int, list[int]] = defaultdict(lambda: [0])
    for taken, size in groups.items():
        if _may_be(taken, known, last):
            sizes[taken.number].append(size)
    largest = {taken.number: max(sizes[taken.number]) for taken in groups}
    wrong = {
        taken
        for taken, size in groups.items()
        if not _may_be(taken, known, last)
        or size < largest[taken.number]
        or sizes[taken.number].count(size) > 1
    }
    of_number = Counter(taken.number for taken in stated)
    beyond = {number: count - largest[number] for number, count in of_number.items()}
    return Judged(
        np.fromiter((taken in wrong for taken in stated), np.bool_, len(stated)),
        sum(beyond.values()),
        max((number for number, count in beyond.items() if count and number <= last), default=0),
    )


def _may_be(taken: Taken, known: Mapping[int, bytes], last: int) -> bool:
    """Tell whether a statement may be of the true total, as far as that is known."""
    if taken.number > last:
        return False
    expected = _NOTHING if not taken.number else known.get(taken.number)
    return expected is None or taken.digest == expected


def agree(agreed: tuple[Taken, ...], stated: Sequence[Taken], colluding: int) -> tuple[Taken, ...]:
    """Return the agreed totals after a sum whose members do not differ.

    More than ``colluding`` members have stated an agreed total, so not all of them lie.
    """
    newly_agreed = [
        taken for taken, size in Counter(stated).items() if taken.number and size > colluding
    ]
    return tuple(sorted({*agreed, *newly_agreed}))[-RECENT:]


def compare(own: Sequence[Taken], agreed: Sequence[Taken], disputed: Sequence[int]) -> Taken | None:
    """Return the newest of an agent's totals about which helpers report; None if there is none.

    The result has the digest of most members; an empty digest if more than ``colluding`` members
    have another version of the total.
    """
    reported = {number: b"" for number in disputed if number}
    reported.update(agreed)
    for taken in reversed(own):
        if taken.number in reported:
            return Taken(taken.number, reported[taken.number])
    return None


def common_digest(releases: Sequence[int], counts: Sequence[int], agreed: bytes) -> bytes:
    """Return the digest of the helpers' common report, from :class:`.messages.Total`."""
    text = _packed(releases) + _packed(counts) + agreed
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()


def newest_of(newest: NDArray[np.int64]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of the releases in a total, rising, and the number of agents for each.

    ``newest`` (agents,) are the numbers of every agent's release; 0 for an agent without one.
    """
    releases, counts = np.unique(newest, return_counts=True)
    return tuple(releases.tolist()), tuple(counts.tolist())


def stated_by(members: NDArray[np.void]) -> list[Taken]:
    """Return the totals that members, (members,) of :data:`.statements.MEMBER`, have stated."""
    pairs = zip(members["total"].tolist(), members["total_digest"].tolist(), strict=True)
    return [Taken(number, digest) for number, digest in pairs]


def pack_taken(totals: Sequence[Taken]) -> bytes:
    """Pack statements of totals."""
    return b"".join(_TAKEN.pack(*total) for total in totals)


def unpack_taken(data: bytes) -> tuple[Taken, ...]:
    """Unpack bytes of :func:`pack_taken`.

    Raises
    ------
    WrongShapeError
        If the bytes are not whole entries, or more than :data:`RECENT`.
    """
    if len(data) % _TAKEN.size or len(data) > RECENT * _TAKEN.size:
        raise WrongShapeError(
            f"at most {RECENT} digests of totals have {_TAKEN.size} bytes each, got "
            f"{len(data)} bytes"
        )
    return tuple(Taken(*entry) for entry in _TAKEN.iter_unpack(data))


def _packed(numbers: Sequence[int]) -> bytes:
    """Pack numbers, their count first."""
    return struct.pack(f"<{len(numbers) + 1}Q", len(numbers), *numbers)
