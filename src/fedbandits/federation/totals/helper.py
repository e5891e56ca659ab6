"""A helper: it can make every mask that agents add for it, and sees no masked number.

It answers once for every sum: with the sum of the masks of the members that the controller names,
each of whom has stated its message to the helper. It never answers for another set, nor for a sum
before its last sum. So the controller can open one total a sum, with any requests. The helper keeps
its answer, and erases all keys behind the answer: see :mod:`.keys`.

Before that the controller may ask which messages the helper would open, without a limit. So a
member with a false tag is left out, and stops nobody. The answer reveals nothing of any mask. In
the same way the helper leaves out members with another total than most others; see
:mod:`.agreement`.

A helper must not continue from an old store: it would open a sum for a second set of members. So
nobody may restore a helper.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Bools, Ints, Words64
from fedbandits.crypto.chains import NO_KEY
from fedbandits.crypto.masks import TAG_BYTES, same, sum_of_masks, tag
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.messages import ImplausibleError, OutOfOrderError
from fedbandits.federation.party import Party
from fedbandits.federation.seats import CONTROLLER, Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.federation.totals import statements
from fedbandits.federation.totals.agreement import (
    Judged,
    Taken,
    agree,
    common_digest,
    judge,
    newest_of,
    pack_taken,
    stated_by,
)
from fedbandits.federation.totals.keys import HelperKeys, unpacked
from fedbandits.federation.totals.messages import (
    Check,
    Checked,
    MembersRequest,
    Opened,
    Opening,
    pack_words,
    require_bytes,
)
from fedbandits.federation.totals.plan import HelperSecrets, TotalsPlan


class HelperState(PartyState, frozen=True, kw_only=True):
    """All that changes in a helper.

    Parameters
    ----------
    answered
        The number of the last answered sum; 0 before the first.
    request
        Digest of the request for that sum; empty before the first.
    digest
        Digest of all opened sums.
    newest, salts : (agents,) int64, (agents,) uint64
        Every agent's newest opened message, and that message's salt; 0 for none.
    agreed
        Recent totals, as most members have stated them.
    disputed
        The newest total of which more than ``colluding`` members had another version; 0 for none.
    told
        The disputed total of the last answer.
    keys
        The helper's keys.
    masks, public, confirmations
        The last answer, see :class:`~.messages.Opened`.
    """

    stage: str = "serving"
    answered: int = 0
    request: bytes = b""
    digest: bytes
    newest: Ints
    salts: Words64
    keys: HelperKeys
    masks: bytes = b""
    public: bytes = NO_KEY
    confirmations: bytes = b""
    agreed: tuple[Taken, ...] = ()
    disputed: int = 0
    told: int = 0


class Helper(Party[HelperState]):
    """Makes sums of masks, each for one set of members.

    Parameters
    ----------
    seat
        The public facts of the helper.
    plan
        The public plan of all parties.
    secrets
        The secrets shared with each agent.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("serving", Check): ("serving",),
        ("serving", Opening): ("serving",),
    }

    def __init__(self, seat: Seat, plan: TotalsPlan, secrets: HelperSecrets) -> None:
        self._agents, terms = seat.names(plan.role), seat.terms.digest
        if len(secrets.pairs) != len(self._agents):
            raise LocalProtocolError(
                f"{seat.name}: secrets with {len(secrets.pairs)} agents, there are "
                f"{len(self._agents)}"
            )
        state = HelperState(
            digest=statements.first_digest(terms),
            newest=np.zeros(plan.agents, np.int64),
            salts=np.zeros(plan.agents, np.uint64),
            keys=HelperKeys.begin(secrets, terms, self._agents, seat.name),
        )
        super().__init__(seat, state)
        self._plan, self._controller = plan, seat.one(CONTROLLER)
        self._secrets = secrets.without_keys()

    @property
    def report(self) -> dict[str, Any]:
        """Report the answered sums, and the number of agents in the last sum.

        ``disputed_total`` is the newest total of which more than ``colluding`` agents had another
        version.
        """
        state = self._state
        members = np.count_nonzero(state.newest == state.answered) if state.answered else 0
        return {
            "sums": state.answered,
            "members_of_last_sum": int(members),
            "disputed_total": state.disputed,
        }

    @property
    def opened(self) -> int:
        """The newest sum that the helper has opened; 0 before the first."""
        return self._state.answered

    def hands_over_to(self, party: str) -> bool:
        """Tell whether an agent may receive its secret: not once the agent was in a sum.

        Such an agent has kept its secret. A party admitted in its place later must not get the
        secret.
        """
        return party not in self._agents or not self._state.newest[self._agents.index(party)]

    def gift(self, party: str) -> bytes | None:
        """Return the first key of a pair; None once it was erased, when the agent was in a sum."""
        if party not in self._agents:
            return None
        first = self._state.keys.first[self._agents.index(party)]
        return first.tobytes() if first.any() else None

    @property
    def erased(self) -> int:
        return self._state.answered

    def _compute(self, event: Any) -> Step:
        """Answer a check, or a request: the first request for a sum, or the same request again."""
        state, release = self._state, event.release
        if not max(state.answered, 1) <= release <= self._plan.releases:
            raise OutOfOrderError(
                f"{self.name}: asked for sum {release} after {state.answered}, of "
                f"{self._plan.releases}"
            )
        request = statements.request_digest(release, event.members, event.statements)
        if isinstance(event, Check):
            return self._check(event, request)
        if release == state.answered:
            if request != state.request:
                raise OutOfOrderError(
                    f"{self.name}: sum {release} was opened, and is not opened otherwise"
                )
            return Step(state, [self._answer(state)])
        after = self._opened(event, self._fit(event), request)
        return Step(after, [self._answer(after)])

    def _opened(self, event: Opening, members: NDArray[np.void], request: bytes) -> HelperState:
        """Return the state after a sum is opened: with the answer, and without its keys."""
        state, release = self._state, event.release
        keys, masks, public = state.keys.open(release, members, self._secrets.draw)
        digest = statements.next_digest(state.digest, release, event.members)
        newest, salts = state.newest.copy(), state.salts.copy()
        newest[members["place"]] = release
        salts[members["place"]] = members["salt"]
        agreed = agree(state.agreed, stated_by(members), self._plan.colluding)
        common = common_digest(*newest_of(newest), pack_taken(agreed))
        total = sum_of_masks(
            map(self._secrets.masks, masks), release, members["salt"].tolist(), self._plan.size
        )
        confirmation_of = partial(
            statements.confirmation, release, digest, common, state.disputed, public
        )
        confirmations = b"".join(
            tag(key, confirmation_of(number, salt))
            for key, number, salt in zip(
                unpacked(keys.confirmations), newest.tolist(), salts.tolist(), strict=True
            )
        )
        return self._after(
            answered=release, request=request, digest=digest, newest=newest, salts=salts,
            agreed=agreed, told=state.disputed, keys=keys, masks=pack_words(total), public=public,
            confirmations=confirmations,
        )  # fmt: skip

    def _check(self, check: Check, request: bytes) -> Step:
        """Return the agents with unfit messages in an answer, and note a disputed total, if any."""
        members = self._named(check)
        known = self._are_known(check, members)
        judged = self._judged(members[known])
        refused = judged.at_fault > self._plan.colluding
        differing = members["place"][known][judged.differing]
        unfit = np.sort(np.concatenate((members["place"][~known], differing)))
        after = self._state
        if refused and judged.newest > after.disputed:
            after = self._after(disputed=judged.newest)
        answer = Checked(
            sender=self.name, receiver=self._controller, release=check.release, request=request,
            unfit=statements.pack_places(unfit), differing=statements.pack_places(differing),
            refused=refused,
        )  # fmt: skip
        return Step(after, [answer])

    def _fit(self, opening: Opening) -> NDArray[np.void]:
        """Return the members of a sum, (members,), if it may be opened for them."""
        members, least = self._named(opening), self._plan.least_parties
        if 0 < len(members) < least:
            raise ImplausibleError(
                f"{self.name}: a sum of {len(members)}, none below {least} is opened"
            )
        known = self._are_known(opening, members)
        if not known.all():
            raise ImplausibleError(
                f"{self.name}: {self._agents[members['place'][~known][0]]} has not stated its "
                "message, or its base is not its newest opened message"
            )
        judged = self._judged(members)
        if judged.differing.any():
            raise ImplausibleError(
                f"{self.name}: {self._agents[members['place'][judged.differing][0]]} has taken "
                f"another total {judged.newest} than other members of sum {opening.release}"
            )
        return members

    def _judged(self, members: NDArray[np.void]) -> Judged:
        """Compare the members' statements of totals."""
        state = self._state
        return judge(stated_by(members), state.agreed, int(state.newest.max()))

    def _named(self, request: MembersRequest) -> NDArray[np.void]:
        """Return the members that a request names, (members,), each once and in order."""
        if len(request.members) % statements.MEMBER.itemsize:
            raise ImplausibleError(f"{self.name}: the members of a sum are cut off")
        members, agents = statements.unpack_members(request.members), self._plan.agents
        places = members["place"].astype(np.int64)
        if len(places) and (places[-1] >= agents or (np.diff(places) <= 0).any()):
            raise ImplausibleError(
                f"{self.name}: the members of a sum are {agents} agents at most, each once, in "
                "order"
            )
        require_bytes(request.statements, TAG_BYTES * len(members))
        return members

    def _are_known(self, request: MembersRequest, members: NDArray[np.void]) -> Bools:
        """Tell which members have stated the message in the request, on the base that was opened.

        For a sum that was opened already, the statements alone decide: its base has changed since.
        """
        state, width, places = self._state, statements.MEMBER.itemsize, members["place"]
        known: Bools = (members["base"] == state.newest[places]) & (
            members["base_salt"] == state.salts[places]
        )
        known &= state.keys.has(members)
        known |= request.release == state.answered
        keys = unpacked(state.keys.statements)
        for index, place in enumerate(places.tolist()):
            member = request.members[index * width : (index + 1) * width]
            text = statements.statement(request.release, member)
            given = request.statements[index * TAG_BYTES : (index + 1) * TAG_BYTES]
            known[index] &= same(given, tag(keys[place], text))
        return known

    def _answer(self, state: HelperState) -> Opened:
        """Return the answer for the last sum: always the same bytes."""
        return Opened(
            sender=self.name, receiver=self._controller, release=state.answered,
            masks=state.masks, digest=state.digest, disputed=state.told, public=state.public,
            confirmations=state.confirmations,
        )  # fmt: skip
