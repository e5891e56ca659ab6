"""State of a controller of secure sums: held messages of agents, and answers of helpers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Bools, Ints, Words64
from fedbandits.crypto.chains import KEY_BYTES
from fedbandits.crypto.masks import TAG_BYTES
from fedbandits.federation.messages import ImplausibleError, OutOfOrderError
from fedbandits.federation.state import PartyState
from fedbandits.federation.totals import statements
from fedbandits.federation.totals.agreement import Taken
from fedbandits.federation.totals.messages import Increment, require_bytes
from fedbandits.federation.totals.plan import TotalsPlan

_LARGEST_SALT = (1 << 64) - 1


class ControllerState(PartyState, frozen=True, kw_only=True):
    """All that changes in a controller of secure sums.

    Parameters
    ----------
    newest
        The number of the last total.
    opening
        The sum that helpers were asked about; 0 while increments are collected.
    asked
        Number of requests for that sum.
    releases
        Number of totals so far, including totals of empty sums.
    digest
        Digest of all opened sums.
    held, salts, bases, base_salts, taken : (agents,) int64 or uint64
        Statements in the held message of each agent; ``held`` is the number of the
        message's sum, 0 without a message. While a sum is opened, its members are the agents whose
        message is for this sum.
    taken_digests : (agents, 32) uint8
        The digests of totals in these messages.
    heard, publics : (agents,) int64, (agents, 32) uint8
        The last totals that agents had received then, and the public keys of their messages.
    values : (agents, size) uint64
        The masked numbers in these messages.
    statements : (agents, helpers, 16) uint8
        The tags in these messages.
    opened, opened_salts : (agents,) int64, (agents,) uint64
        Every agent's newest message in the total, 0 for none.
    retired : (agents,) bool
        Whether an agent sends nothing more.
    total : (size,) uint64
        The total.
    answered : (helpers,) bool
        Whether a helper has answered the last request.
    checked : (helpers, 32) uint8
        The digests of the checks that helpers have answered.
    unfit, differing : (helpers, agents) bool
        Whether each helper would not open an agent's message, and whether the reason is a total
        that
        differs from most others'.
    refused : (helpers,) bool
        Whether a helper would open nothing, because too many members had other totals.
    checked_sum
        The sum of these checks; 0 while a later sum is under way that is not checked yet.
    answers : (helpers, size) uint64
        The helpers' sums of masks.
    confirmations : (helpers, agents, 16) uint8
        The helpers' confirmations to agents.
    disputed : (helpers,) int64
        The newest disputed totals that helpers report to agents.
    agreed
        Recent totals, as most members have stated them.
    helper_publics : (helpers, 32) uint8
        The helpers' public keys for that sum.
    """

    stage: str = "collecting"
    newest: int = 0
    opening: int = 0
    asked: int = 0
    checked_sum: int = 0
    releases: int = 0
    digest: bytes
    held: Ints
    salts: Words64
    bases: Ints
    base_salts: Words64
    taken: Ints
    taken_digests: NDArray[np.uint8]
    heard: Ints
    publics: NDArray[np.uint8]
    values: Words64
    statements: NDArray[np.uint8]
    opened: Ints
    opened_salts: Words64
    retired: Bools
    total: Words64
    answered: Bools
    checked: NDArray[np.uint8]
    unfit: Bools
    differing: Bools
    refused: Bools
    answers: Words64
    confirmations: NDArray[np.uint8]
    helper_publics: NDArray[np.uint8]
    disputed: Ints
    agreed: tuple[Taken, ...] = ()

    def members(self) -> tuple[Ints, bytes]:
        """Return the places of the members of the sum under way, and their packed statements."""
        places = np.flatnonzero(self.held == self.opening)
        return places, statements.pack_members(
            places, self.salts[places], self.bases[places], self.base_salts[places],
            self.taken[places], self.taken_digests[places],
            self.heard[places], self.publics[places],
        )  # fmt: skip

    def next_sum(self, held: Ints, retired: Bools, plan: TotalsPlan) -> int:
        """Return the number of the sum to open next, 0 for none.

        It is the first sum with enough messages. Without such a sum, sums are skipped: up to the
        newest sum of at least one honest agent, and no further. Of two agents neither is counted as
        a liar, as no sum could be closed then.

        Parameters
        ----------
        held : (agents,) int64
            The number of the sum of each agent's message, 0 without a message.
        retired : (agents,) bool
            Whether an agent sends nothing more.
        """
        come = np.sort(held[held > 0])
        active = int(np.count_nonzero(~retired))
        liars = max(0, min(plan.colluding, (active - 1) // 2))
        if come.size <= liars:
            return 0
        numbers, counts = np.unique(come, return_counts=True)
        enough = numbers[counts >= plan.least_parties]
        return int(enough[0]) if enough.size else int(come[-1 - liars])

    def has(self, message: Increment, place: int, values: Words64, tags: NDArray[np.uint8]) -> bool:
        """Tell whether an agent repeats a held message, or a message in the total.

        ``values`` (size,) and ``tags`` (helpers, 16) are parts of the message.
        """
        release, salt = int(self.held[place]), int(self.salts[place])
        if not release:
            release, salt = int(self.opened[place]), int(self.opened_salts[place])
        stated = message.base, message.base_salt, message.total, message.total_digest
        known = self.bases[place], self.base_salts[place], self.taken[place]
        return bool(
            (message.release, message.salt) == (release, salt)
            and stated == (*map(int, known), self.taken_digests[place].tobytes())
            and message.heard == self.heard[place]
            and message.public == self.publics[place].tobytes()
            and (values == self.values[place]).all()
            and (tags == self.statements[place]).all()
        )

    def check(self, message: Increment, place: int, plan: TotalsPlan, name: str) -> None:
        """Refuse an increment that the agent must not send now; ``name`` is the controller's.

        Raises
        ------
        OutOfOrderError
            If the increment is for a past sum, or another message of the agent is held.
        ImplausibleError
            If its base is not the newest release in the total, if its total was never sent, or
            if its salt is too long.
        """
        if not self.opened[place] < message.release <= plan.releases or self.held[place]:
            raise OutOfOrderError(
                f"{name}: increment {message.release} from {message.sender} after "
                f"{self.opened[place]}, of {plan.releases}; {self.held[place]} is held"
            )
        base = int(self.opened[place]), int(self.opened_salts[place])
        if (message.base, message.base_salt) != base:
            raise ImplausibleError(
                f"{name}: {message.sender} goes on from its release {message.base}, or another one "
                f"of that number; {base[0]} is in the total"
            )
        if not 0 <= message.total <= self.newest:
            raise ImplausibleError(
                f"{name}: {message.sender} has taken total {message.total}; {self.newest} is the "
                "last one"
            )
        require_bytes(message.total_digest, statements.DIGEST_BYTES)
        if not 0 <= message.salt <= _LARGEST_SALT:
            raise ImplausibleError(f"{name}: the salt of {message.sender} is too long")
        if not 0 <= message.heard < message.release:
            raise ImplausibleError(
                f"{name}: {message.sender} has heard of total {message.heard} before its message "
                f"for sum {message.release}"
            )


def first_state(plan: TotalsPlan, terms: str) -> ControllerState:
    """Return the state before the first sum; ``terms`` is the digest of the terms."""
    agents, helpers, size = plan.agents, plan.helpers, plan.size
    return ControllerState(
        digest=statements.first_digest(terms),
        held=np.zeros(agents, np.int64),
        salts=np.zeros(agents, np.uint64),
        bases=np.zeros(agents, np.int64),
        base_salts=np.zeros(agents, np.uint64),
        taken=np.zeros(agents, np.int64),
        taken_digests=np.zeros((agents, statements.DIGEST_BYTES), np.uint8),
        heard=np.zeros(agents, np.int64),
        publics=np.zeros((agents, KEY_BYTES), np.uint8),
        values=np.zeros((agents, size), np.uint64),
        statements=np.zeros((agents, helpers, TAG_BYTES), np.uint8),
        opened=np.zeros(agents, np.int64),
        opened_salts=np.zeros(agents, np.uint64),
        retired=np.zeros(agents, np.bool_),
        total=np.zeros(size, np.uint64),
        answered=np.zeros(helpers, np.bool_),
        checked=np.zeros((helpers, statements.DIGEST_BYTES), np.uint8),
        unfit=np.zeros((helpers, agents), np.bool_),
        differing=np.zeros((helpers, agents), np.bool_),
        refused=np.zeros(helpers, np.bool_),
        answers=np.zeros((helpers, size), np.uint64),
        confirmations=np.zeros((helpers, agents, TAG_BYTES), np.uint8),
        disputed=np.zeros(helpers, np.int64),
        helper_publics=np.zeros((helpers, KEY_BYTES), np.uint8),
    )
