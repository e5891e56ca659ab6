"""Digests of totals: agents state them, and helpers find out whether all got the same totals.

The numbers of a total come from the controller alone, and no helper sees them. So every agent
states, with its next message, the *digest* of the newest total that it has taken. Helpers leave out
whoever has another one than most others, and tell all agents which digests most had. An agent that
has another one then knows that the controller gave it another total than most others got.

*Honest runs lose nothing by that*: where all agents got the same totals, no digest differs.

*Few liars stop nothing*: a helper refuses a sum only where more than ``colluding`` members must
lie, or have other totals than they should. They are counted as few as they can be: of each number,
all but the largest group. A digest is agreed on once more than ``colluding`` members have stated
it, so a few cannot make the others differ from it.

*Where two groups are equally large*, and nothing is agreed on, nobody can tell which of them has
the total of the others. Both are left out of this sum. So no two members of a sum differ, whomever
else another helper has left out.
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

#: Digests of so many of the newest totals are kept, and told: an agent that has missed newer ones
#: is compared, too.
RECENT = 4
_TAKEN = struct.Struct(f"<I{DIGEST_BYTES}s")
_NOTHING = bytes(DIGEST_BYTES)


class Taken(NamedTuple):
    """A total, as an agent has taken it.

    Parameters
    ----------
    number
        The newest release that is in it. A sum with nobody in it leaves the total as it was, under
        the same number. 0 before the first.
    digest
        Of all of it that agents act on; zeros before the first.
    """

    number: int = 0
    digest: bytes = _NOTHING

    @classmethod
    def of(cls, statistic: bytes, releases: Sequence[int], counts: Sequence[int]) -> Taken:
        """Return what is stated of a total; see :class:`.messages.Total` for its parts."""
        if not releases[-1]:  # nobody is in it, so there is nothing to act on
            return cls()
        text = b"total" + _packed(releases) + _packed(counts) + statistic
        return cls(releases[-1], hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest())


class Judged(NamedTuple):
    """The outcome of a comparison of members' totals.

    Parameters
    ----------
    differing : (members,) bool
        Whose total differs from that of most others with the same number, as far as there is one
        that most have.
    at_fault
        The least number of members that lie, or have a false total.
    newest
        The newest number of a total that there is, of which that is so; 0 if there is none.
    """

    differing: Bools
    at_fault: int
    newest: int


def judge(stated: Sequence[Taken], agreed: Sequence[Taken], last: int) -> Judged:
    """Compare the totals that members have stated.

    Parameters
    ----------
    stated : (members,)
        The newest total that each has taken.
    agreed
        Totals that were agreed on before.
    last
        The number of the last total that there is.
    """
    known, groups = dict(agreed), Counter(stated)
    sizes: defaultdict[int, list[int]] = defaultdict(lambda: [0])
    for each, size in groups.items():
        if _may_be(each, known, last):
            sizes[each.number].append(size)
    largest = {each.number: max(sizes[each.number]) for each in groups}
    wrong = {
        each
        for each, size in groups.items()
        if not _may_be(each, known, last)
        or size < largest[each.number]
        or sizes[each.number].count(size) > 1
    }
    of_number = Counter(each.number for each in stated)
    beyond = {number: count - largest[number] for number, count in of_number.items()}
    return Judged(
        np.fromiter((each in wrong for each in stated), np.bool_, len(stated)),
        sum(beyond.values()),
        max((number for number, count in beyond.items() if count and number <= last), default=0),
    )


def _may_be(each: Taken, known: Mapping[int, bytes], last: int) -> bool:
    """Tell whether a total may be the one that was told, as far as that is known."""
    if each.number > last:
        return False
    expected = _NOTHING if not each.number else known.get(each.number)
    return expected is None or each.digest == expected


def agree(agreed: tuple[Taken, ...], stated: Sequence[Taken], colluding: int) -> tuple[Taken, ...]:
    """Return the agreed totals after a sum whose members do not differ.

    More than ``colluding`` have stated it, so not all of them lie.
    """
    found = [each for each, size in Counter(stated).items() if each.number and size > colluding]
    return tuple(sorted({*agreed, *found}))[-RECENT:]


def compare(own: Sequence[Taken], agreed: Sequence[Taken], disputed: Sequence[int]) -> Taken | None:
    """Return the newest of an agent's own totals that others tell something of; None if none is.

    It is returned as others have it: with an empty digest if more of them have others than may lie.
    """
    told = {number: b"" for number in disputed if number}
    told.update(agreed)
    for each in reversed(own):
        if each.number in told:
            return Taken(each.number, told[each.number])
    return None


def common_digest(releases: Sequence[int], counts: Sequence[int], agreed: bytes) -> bytes:
    """Return the digest of what all helpers tell all agents; see :class:`.messages.Total`."""
    text = _packed(releases) + _packed(counts) + agreed
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()


def newest_of(newest: NDArray[np.int64]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return which releases are in a total, rising, and of how many agents each.

    ``newest`` (agents,) are every agent's; 0 is for those of whom there is none.
    """
    releases, counts = np.unique(newest, return_counts=True)
    return tuple(releases.tolist()), tuple(counts.tolist())


def stated_by(members: NDArray[np.void]) -> list[Taken]:
    """Return what members, (members,) of :data:`.statements.MEMBER`, have stated of totals."""
    each = zip(members["total"].tolist(), members["total_digest"].tolist(), strict=True)
    return [Taken(number, digest) for number, digest in each]


def pack_taken(totals: Sequence[Taken]) -> bytes:
    """Pack totals that were taken."""
    return b"".join(_TAKEN.pack(*each) for each in totals)


def unpack_taken(data: bytes) -> tuple[Taken, ...]:
    """Unpack what :func:`pack_taken` has packed.

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
    return tuple(Taken(*each) for each in _TAKEN.iter_unpack(data))


def _packed(numbers: Sequence[int]) -> bytes:
    """Pack numbers, their count first."""
    return struct.pack(f"<{len(numbers) + 1}Q", len(numbers), *numbers)
