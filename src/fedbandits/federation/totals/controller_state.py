"""State of a controller of secure sums: what it holds of agents, and what helpers have answered."""

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
        How often they were.
    releases
        How many totals it has told, those with nobody new in them included.
    digest
        Of all sums that were opened.
    held, salts, bases, base_salts, taken : (agents,) int64 or uint64
        What agents have stated of the message that is held of each; ``held`` is the number of the
        sum it is for, 0 if there is none. While a sum is opened, its members are those whose
        message is for it.
    taken_digests : (agents, 32) uint8
        The digests that they have stated with these.
    heard, publics : (agents,) int64, (agents, 32) uint8
        The last totals of which agents had heard then, and the public keys of their messages.
    values : (agents, size) uint64
        The masked numbers in these messages.
    statements : (agents, helpers, 16) uint8
        The tags in these messages.
    opened, opened_salts : (agents,) int64, (agents,) uint64
        Every agent's newest message in the total, 0 for none.
    retired : (agents,) bool
        Who has said that it sends nothing more.
    total : (size,) uint64
        The total.
    answered : (helpers,) bool
        Who has answered the last request.
    checked : (helpers, 32) uint8
        The digests of the checks that helpers have answered.
    unfit, differing : (helpers, agents) bool
        Whose messages each helper would not open, as it has answered then, and who of them has
        another total than most others.
    refused : (helpers,) bool
        Who would open nothing, as too many had other totals.
    checked_sum
        The sum that all of that is about; 0 while a later one is under way that is not checked yet.
    answers : (helpers, size) uint64
        What helpers have answered.
    confirmations : (helpers, agents, 16) uint8
        What they confirm to agents.
    disputed : (helpers,) int64
        The newest totals in dispute that they tell agents of.
    agreed
        Recent totals, as most members have stated them.
    helper_publics : (helpers, 32) uint8
        The public keys that they have drawn for that sum.
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
        """Return the places of the members of the sum under way, and what they stated, packed."""
        places = np.flatnonzero(self.held == self.opening)
        return places, statements.pack_members(
            places, self.salts[places], self.bases[places], self.base_salts[places],
            self.taken[places], self.taken_digests[places],
            self.heard[places], self.publics[places],
        )  # fmt: skip

    def next_sum(self, held: Ints, retired: Bools, plan: TotalsPlan) -> int:
        """Return the number of the sum that is to be opened next, 0 while none is.

        It is the first for which enough have come. If there is none, rounds are let go: as far as
        at least one agent that does not lie has come, and no further. Of two agents neither is
        taken for a liar, as nothing could be closed then.

        Parameters
        ----------
        held : (agents,) int64
            For which sum each agent has sent a message, 0 for none.
        retired : (agents,) bool
            Who sends nothing more.
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
        """Tell whether an agent sends once more what is held of it, or is in the total.

        ``values`` (size,) and ``tags`` (helpers, 16) are what is in the message.
        """
        release, salt = int(self.held[place]), int(self.salts[place])
        if not release:
            release, salt = int(self.opened[place]), int(self.opened_salts[place])
        said = message.base, message.base_salt, message.total, message.total_digest
        held = self.bases[place], self.base_salts[place], self.taken[place]
        return bool(
            (message.release, message.salt) == (release, salt)
            and said == (*map(int, held), self.taken_digests[place].tobytes())
            and message.heard == self.heard[place]
            and message.public == self.publics[place].tobytes()
            and (values == self.values[place]).all()
            and (tags == self.statements[place]).all()
        )

    def check(self, message: Increment, place: int, plan: TotalsPlan, name: str) -> None:
        """Refuse an increment that the agent must not send now, in the name of the controller.

        Raises
        ------
        OutOfOrderError
            If it is for a sum that is over, or another one of the agent's is held.
        ImplausibleError
            If it goes on from another release than the newest one in the total, has taken a total
            that was not told, or its salt is too long.
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
    """Return the state before the first sum, under terms of that digest."""
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
