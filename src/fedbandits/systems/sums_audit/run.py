"""Members of secure sums as an audit plays them: their sources of noise, and their network.

A source is secure by its name, and draws by a seed that the audit knows. Messages of absent members
are lost. Messages, releases and masks of members are noted:
masks are copied as parties make them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.masks import Masks
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import CONTROLLER
from fedbandits.federation.totals.messages import Increment, unpack_words
from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import Purpose, normals
from fedbandits.systems.base import System
from fedbandits.systems.games import audit_key
from fedbandits.systems.party_games import SmallWorld

#: Members of secure sums that are played: of so many, one colludes and one may be absent.
MEMBERS = 5
#: Sums that they are asked for.
SUMS = 10
#: The run in the names of members' draws.
_RUN = 2**22
#: Rounding of noise that is worked out from draws, as a share of it; whole steps come to it.
_ROUNDING = 1e-6


class SumsAudited(NamedTuple):
    """A system whose members release to secure sums.

    Parameters
    ----------
    system, plan
        The system, and its plan as configured.
    small
        :data:`MEMBERS` members that release after every round, for :data:`SUMS` rounds.
    role
        The role of members.
    covariance : (n, n)
        Covariance, over the releases of the small world, of the noise that the price of one number
        is worked out from, in any unit.
    """

    system: System[Any]
    plan: Any
    small: SmallWorld
    role: str
    covariance: Floats

    @property
    def members(self) -> str:
        """The word for members, in the plural."""
        return f"{self.role}s"


class Drawn(SecureNoise):
    """Draws by a seed, and keeps the covered values of each release.

    Parameters
    ----------
    place
        The member's place, which names its draws.
    """

    __slots__ = ("covered", "draws", "place")

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place
        #: Values and their noise, by the number of the release.
        self.covered: dict[int, Floats] = {}
        #: The draws alone, in the same way.
        self.draws: dict[int, Floats] = {}

    def draw_ahead(self, count: int) -> None:
        """Draw nothing: noise follows from the seed."""

    def draw_whole_ahead(self, deviations: Floats) -> None:
        """Draw nothing: noise follows from the seed."""

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Add noise, rounded to whole numbers; ``step`` names its draw."""
        drawn = normals(values.size, audit_key(_RUN), self.place, step, Purpose.PRIVACY_NOISE)
        self.draws[step] = np.rint(drawn * deviations)
        covered: Floats = values + self.draws[step]
        self.covered[step] = covered
        return covered


class Moved(Drawn):
    """Repeats the covered values of a source in another run, each moved by whole numbers.

    Parameters
    ----------
    covered
        Values and their noise in that run, by the number of the release.
    moves
        Whole numbers by which each of them is moved.
    """

    __slots__ = ("_moves", "_was")

    def __init__(self, covered: Mapping[int, Floats], moves: Mapping[int, Floats]) -> None:
        super().__init__(0)
        self._was, self._moves = covered, moves

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Return the moved values of the other run; ``values`` do not matter."""
        del values, deviations
        moved: Floats = self._was[step] + self._moves[step]
        return moved

    def __reduce__(self) -> tuple[Any, ...]:
        return Moved, (self._was, self._moves)


class Kept:
    """Copies of all masks that the parties of a run make.

    Attributes
    ----------
    of_members
        Masks of each message, in the order of helpers, by the member's place, the number of the sum
        and the salt of the message.
    of_helpers
        Masks that helpers take off: the helper's place, number, salt and mask of each.
    """

    def __init__(self) -> None:
        self.of_members: defaultdict[tuple[int, int, int], list[Words64]] = defaultdict(list)
        self.of_helpers: list[tuple[int, int, int, Words64]] = []

    def brought(self, role: str, place: int, own: Any) -> Any:
        """Return a party's supplies, with secrets that copy each mask."""
        if isinstance(own, HelperSecrets):

            def keep_of_helper(number: int, salt: int, mask: Words64) -> None:
                self.of_helpers.append((place, number, salt, mask))

            return _keeping(own, keep_of_helper)
        if isinstance(getattr(own, "masks", None), AgentSecrets):

            def keep_of_member(number: int, salt: int, mask: Words64) -> None:
                self.of_members[place, number, salt].append(mask)

            return own._replace(masks=_keeping(own.masks, keep_of_member))
        return own

    def unknown(self) -> int:
        """Count masks that a helper took off and that no member has put on for that helper."""
        put_on = {
            (helper, number, salt, mask.tobytes())
            for (_, number, salt), masks in self.of_members.items()
            for helper, mask in enumerate(masks)
        }
        return sum((*named, mask.tobytes()) not in put_on for *named, mask in self.of_helpers)


def _keeping(given: Any, keep: Callable[[int, int, Words64], None]) -> Any:
    """Return a party's secrets; ``keep`` is called with a copy of each mask."""
    return given._replace(masks=lambda key: _KeptMasks(given.masks(key), keep))


class _KeptMasks(Masks):
    """Masks under one key; each is copied when it is made."""

    def __init__(self, masks: Masks, keep: Callable[[int, int, Words64], None]) -> None:
        self._masks, self._keep = masks, keep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._masks, name)

    def fill(self, number: int, salt: int, out: Words64) -> None:
        self._masks.fill(number, salt, out)
        self._keep(number, salt, out.copy())


class Masked(NamedTuple):
    """An increment as it was sent.

    Parameters
    ----------
    sent, bare : (size,) uint64
        The increment as sent, and the numbers behind its masks.
    masks : (helpers, size) uint64
        Its masks.
    """

    sent: Words64
    bare: Words64
    masks: Words64


class Run:
    """Members and their network, which loses the messages of some members.

    ``sources`` are the members' sources of noise.
    """

    def __init__(self, small: SmallWorld, sources: Sequence[Drawn]) -> None:
        self.kept, self._absent = Kept(), frozenset[str]()
        self._size: int = small.plan.constants.release_size
        #: Messages and releases of each member, by its place and their numbers.
        self.sent: dict[tuple[int, int, int], tuple[Words64, Words64]] = {}
        self._released: dict[tuple[int, int], Words64] = {}
        #: The exact sum of each member's releases, by its place and their numbers.
        self.exact: dict[tuple[int, int], Floats] = {}

        def bring(role: str, place: int, own: Any) -> Any:
            brought = self.kept.brought(role, place, own)
            return brought._replace(noise=sources[place]) if hasattr(own, "noise") else brought

        self.run = small.begin(0, True, bring, self._route)
        self.members: dict[str, int] = {each.name: i for i, each in enumerate(self.run.players)}
        for place, member in enumerate(self.run.players):
            self._watch(place, member)

    def _route(self, message: Message) -> int | None:
        """Note an increment when the increment is sent, and lose messages of absent members."""
        if isinstance(message, Increment):
            place = self.members[message.sender]
            sending: Any = self.run.players[place].state.sending
            released = sending.pending_values.view(np.uint64).copy()
            bare = released - sending.base_values.view(np.uint64)
            words = unpack_words(message.statistic, self._size)
            self.sent[place, message.release, message.salt] = words, bare
            self._released[place, message.release] = released
        return None if message.sender in self._absent else 0

    def _watch(self, place: int, member: Any) -> None:
        """Note the exact sums of a member's shares."""
        outlet: Any = member._outlet
        send = outlet.send

        def noted(state: Any, exact: Floats, *given: Any) -> Any:
            after, messages = send(state, exact, *given)
            self.exact[place, after.released.made] = exact / outlet.mechanism.step
            return after, messages

        outlet.send = noted

    @property
    def opened(self) -> Ints:
        """The number of every member's newest release that is in a total; 0 for none."""
        controller: Any = self.run.one(CONTROLLER)
        opened: Ints = controller.state.opened.copy()
        return opened

    def off(self, sources: Sequence[Drawn], central: Floats) -> list[tuple[int, int]]:
        """Return by place and number which releases have other noise than planned.

        Noise of release k is Σ (B_kj / B_jj) w_j, of all draws w up to k, rounded: whether or not
        the member was in the sums before. B is the root of the covariance, ``central``.
        """
        root = np.linalg.cholesky(central)
        weights = root / np.diag(root)
        others = []
        for (place, release), words in self._released.items():
            drawn = [sources[place].draws.get(k) for k in range(1, release + 1)]
            exact = self.exact.get((place, release))
            if exact is None or any(each is None for each in drawn):
                others.append((place, release))
                continue
            planned = weights[release - 1, :release] @ np.array(drawn)
            noise = words.view(np.int64) - exact
            if (np.abs(noise - planned) > 2.0 + _ROUNDING * np.abs(planned)).any():
                others.append((place, release))
        return others

    def play(self, round_: int, present: int) -> None:
        """Play a round in which so many members are present: others in each round."""
        names = list(self.members)
        turned = [names[(round_ + i) % len(names)] for i in range(len(names))]
        self._absent = frozenset(turned[present:])
        self.run.advance(round_)

    def expected(self, opened: Ints) -> Words64:
        """Return the sum of the releases of these numbers, one a member, (size,)."""
        nothing = np.zeros(self._size, np.uint64)
        shares = [
            self._released[place, int(number)] if number else nothing
            for place, number in enumerate(opened)
        ]
        summed: Words64 = np.array(shares).sum(0, dtype=np.uint64)
        return summed

    def masked(self, helpers: int) -> list[Masked]:
        """Return all increments that have a mask of each helper, with these."""
        masked = []
        for message, (words, bare) in sorted(self.sent.items(), key=lambda item: item[0]):
            masks = self.kept.of_members.get(message, [])
            if len(masks) == helpers:
                masked.append(Masked(words, bare, np.array(masks)))
        return masked
