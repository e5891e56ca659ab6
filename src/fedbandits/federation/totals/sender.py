"""An agent's side of secure sums: its messages, their fates, and its retirement.

An agent sends its change since its newest release in a total, its *base*. It sends nothing new
before the fate of its last message is known: a running sum that is opened for two sets would show
one agent's release, which has only a share of the noise. Until then it sends the same message
again, bit for bit, at the end of a round, in case a message was lost. A clock ends no round
meanwhile: there, delivery repeats messages.

An agent *retires*, and sends nothing more at all, once a helper's confirmation contradicts the
agent's own knowledge, or is missing. Then the agent was restored from an old store, or the
controller or a helper lies. It does not join anew, as members are fixed by the terms.
"""

from __future__ import annotations

import itertools

import msgspec
import numpy as np

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.chains import KEY_BYTES, NO_KEY
from fedbandits.crypto.masks import TAG_BYTES, salt_of, same, tag
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.messages import ImplausibleError, OutOfOrderError
from fedbandits.federation.seats import CONTROLLER, HELPER, Seat
from fedbandits.federation.totals import statements
from fedbandits.federation.totals.agreement import (
    RECENT,
    Taken,
    common_digest,
    compare,
    unpack_taken,
)
from fedbandits.federation.totals.keys import AgentKeys, keys_in
from fedbandits.federation.totals.messages import (
    Increment,
    Retired,
    Total,
    pack_words,
    require_bytes,
)
from fedbandits.federation.totals.plan import AgentSecrets, TotalsPlan


class Sending(msgspec.Struct, frozen=True):
    """State of an agent's messages; its arrays are never written to.

    Parameters
    ----------
    base, base_salt
        Number and salt of the agent's newest release in a total; 0 and 0 if there is none.
    base_values : (size,) int64
        The values of that release, noise included, without masks.
    pending, pending_salt, pending_values
        The same for the message whose fate is unknown; 0 if there is none.
    masked, statements
        The masked numbers and tags of that message, as it is sent: its masks cannot be made again.
    heard, public
        The number of the last total when that message was made, and its public key.
    newest
        The number of the last total that the agent has received.
    retired
        Whether the agent sends nothing more.
    pending_total
        The newest total that the message under way states.
    taken
        The newest totals that the agent has taken, at most :data:`.agreement.RECENT`, in order.
    misled
        The newest of the agent's totals of which others received another version, until they
        confirm
        that total or a later total; 0 if there is none. The agent acts on no total meanwhile.
    other_total
        The newest total, ever, of which most others received another version; 0 for none.
    disputed_total
        The newest of the agent's totals of which more than ``colluding`` agents had another
        version, so that the agent's own may be right; 0 for none.
    missed
        Number of sums with members whose totals did not arrive, as far as later totals show.
    keys
        The agent's keys.
    """

    base_values: Ints
    pending_values: Ints
    keys: AgentKeys
    base: int = 0
    base_salt: int = 0
    pending: int = 0
    pending_salt: int = 0
    masked: bytes = b""
    statements: bytes = b""
    heard: int = 0
    public: bytes = NO_KEY
    newest: int = 0
    retired: bool = False
    pending_total: Taken = Taken()
    taken: tuple[Taken, ...] = ()
    misled: int = 0
    other_total: int = 0
    disputed_total: int = 0
    missed: int = 0

    @property
    def total(self) -> Taken:
        """The newest total that the agent has taken."""
        return self.taken[-1] if self.taken else Taken()


def first_sending(seat: Seat, plan: TotalsPlan, secrets: AgentSecrets | None) -> Sending:
    """Return an agent's state before its first message; see :class:`Sender`.

    Raises
    ------
    LocalProtocolError
        If there are no secrets, or not one for every helper.
    """
    helpers, secrets = seat.names(HELPER), _required(seat, secrets)
    if len(secrets.pairs) != len(helpers):
        raise LocalProtocolError(
            f"{seat.name}: secrets for {len(secrets.pairs)} helpers, there are {len(helpers)}"
        )
    nothing = np.zeros(plan.size, np.int64)
    keys = AgentKeys.first(secrets, seat.terms.digest, seat.name, helpers)
    return Sending(nothing, nothing, keys)


def _required(seat: Seat, secrets: AgentSecrets | None) -> AgentSecrets:
    if secrets is None:
        raise LocalProtocolError(f"{seat.name}: secure sums need secrets to mask releases")
    return secrets


class Sender:
    """Makes an agent's messages, and judges totals. It has no state and no keys.

    Parameters
    ----------
    seat
        The agent's seat.
    plan
        The public plan of all parties.
    secrets
        The agent's secrets; :func:`first_sending` has taken their keys. LocalProtocolError is
        raised
        without secrets.
    """

    def __init__(self, seat: Seat, plan: TotalsPlan, secrets: AgentSecrets | None) -> None:
        self._name, self._place, self._plan = seat.name, seat.place, plan
        self.controller = seat.one(CONTROLLER)
        self._helpers = frozenset(seat.names(HELPER))
        self._secrets = _required(seat, secrets).without_keys()

    def send(self, state: Sending, release: int, values: Ints) -> tuple[Sending, list[Increment]]:
        """Make the message of a release, or repeat the last message.

        Parameters
        ----------
        release
            The number of the release, and of its sum.
        values : (size,) int64
            The agent's running sum and its noise, whole numbers.

        Returns
        -------
        state
            The state after the message; unchanged if nothing new is sent.
        messages
            One message, or none for a past sum, and once the agent is retired.
        """
        if values.shape != (self._plan.size,) or values.dtype != np.int64:
            raise LocalProtocolError(f"{self._name}: a release is {self._plan.size} whole numbers")
        if state.retired or release <= state.newest:
            return state, []
        if not state.pending:
            state = self._with_message(state, release, values)
        return state, [self._message(state)]

    def _with_message(self, state: Sending, release: int, values: Ints) -> Sending:
        """Make a message, and keep the sent bytes; the keys of its masks are erased."""
        keys, used = state.keys.step(release, self._secrets.draw)
        state = msgspec.structs.replace(
            state, pending_total=state.total, heard=state.newest, public=used.public
        )
        masked = values.view(np.uint64) - state.base_values.view(np.uint64)
        salt = self._salt(used.salt, state, release, masked)
        mask: Words64 = np.empty_like(masked)
        for key in used.masks:
            self._secrets.masks(key).fill(release, salt, mask)
            masked += mask
        text = statements.statement(release, self._stated(state, salt))
        return msgspec.structs.replace(
            state, keys=keys, pending=release, pending_salt=salt, pending_values=values.copy(),
            masked=pack_words(masked),
            statements=b"".join(tag(key, text) for key in keys.statements),
        )  # fmt: skip

    def _message(self, state: Sending) -> Increment:
        """Return the message that is under way: always the same bytes."""
        number, digest = state.pending_total
        return Increment(
            sender=self._name, receiver=self.controller, release=state.pending,
            salt=state.pending_salt, base=state.base, base_salt=state.base_salt,
            total=number, total_digest=digest, heard=state.heard, public=state.public,
            statistic=state.masked, statements=state.statements,
        )  # fmt: skip

    def farewell(self, before: Sending, after: Sending) -> list[Retired]:
        """Make the agent's only notice of its retirement."""
        if before.retired or not after.retired:
            return []
        return [Retired(sender=self._name, receiver=self.controller, release=after.newest)]

    def numbers_of(self, total: Total) -> tuple[int, ...]:
        """Return the number of every agent's release in a settled total.

        The agent's own number is at its place. The owners of the other numbers are not known: they
        are in rising order.
        """
        others = dict(zip(total.releases, total.counts, strict=True))
        others[total.own] -= 1
        of_others = [release for release, count in others.items() for _ in range(count)]
        return (*of_others[: self._place], total.own, *of_others[self._place :])

    def heard_of(self, state: Sending, party: str) -> int:
        """Return the newest sum that all helpers have confirmed, if ``party`` is a helper.

        The total after which the agent retired was not confirmed. The agent's newest release in a
        sum was.
        """
        known = state.base if state.retired else state.newest
        return known if party in self._helpers else 0

    def _check(self, state: Sending, total: Total) -> None:
        """Refuse a total that no honest controller sends."""
        plan, releases, counts = self._plan, total.releases, total.counts
        if not max(state.newest, 1) <= total.release <= plan.releases:
            raise OutOfOrderError(
                f"{self._name}: total {total.release} after {state.newest}, of {plan.releases}"
            )
        require_bytes(total.statistic, 8 * plan.size)
        require_bytes(total.digest, statements.DIGEST_BYTES)
        require_bytes(total.publics, KEY_BYTES * plan.helpers)
        require_bytes(total.confirmations, TAG_BYTES * plan.helpers)
        rising = all(lower < higher for lower, higher in itertools.pairwise(releases))
        if len(total.disputed) != plan.helpers or not all(
            0 <= number <= total.release for number in total.disputed
        ):
            raise ImplausibleError(f"{self._name}: the total has disputes that cannot be")
        if (
            len(releases) != len(counts)
            or total.own not in releases
            or not (rising and releases[0] >= 0 and releases[-1] <= total.release)
            or min(counts) < 1
            or sum(counts) != plan.agents
        ):
            raise ImplausibleError(f"{self._name}: the total names releases that cannot be in it")

    def settle(self, state: Sending, total: Total) -> Sending:
        """Settle the fate of the agent's last message, or let the agent retire.

        A repeated total changes nothing: ``state`` itself is returned. A total after which the
        agent retires is no error: the agent continues to act on it.

        Raises
        ------
        OutOfOrderError
            If the total is older than the last total.
        WrongShapeError, ImplausibleError
            If no honest controller sends the total, or it differs from an earlier version.
        """
        self._check(state, total)
        agreed = unpack_taken(total.agreed)
        own = total.own
        after = msgspec.structs.replace(state, newest=total.release)
        included = own == state.pending != 0
        salt = state.pending_salt if included else state.base_salt
        confirmed = same(total.confirmations, self._expected(state, total, salt))
        believed = confirmed and (included or own == state.base)
        stated = Taken.of(total.statistic, total.releases, total.counts)
        if total.release == state.newest:
            if state.retired or (believed and not _contradicts(state, stated)):
                return state
            raise ImplausibleError(f"{self._name}: total {total.release} was another one before")
        if confirmed:
            after = _compared(after, stated, agreed, total.disputed)
            between = sum(state.newest < release < total.release for release in total.releases)
            after = msgspec.structs.replace(after, missed=state.missed + between)
        if not believed or state.retired:
            return msgspec.structs.replace(after, retired=True)
        keys = msgspec.structs.replace(state.keys, public=keys_in(total.publics))
        after = msgspec.structs.replace(after, keys=keys)
        if included:
            return self._over(
                after, True, base=own, base_salt=salt, base_values=state.pending_values
            )  # fmt: skip
        is_over = 0 < state.pending <= total.release
        return self._over(after, False) if is_over else after

    def _expected(self, state: Sending, total: Total, salt: int) -> bytes:
        """Return all helpers' tags for a total with the agent's newest message of this ``salt``."""
        opened = total.release, total.digest
        common = common_digest(total.releases, total.counts, total.agreed)
        of_helpers = zip(
            state.keys.confirmations, total.disputed, keys_in(total.publics), strict=True
        )
        return b"".join(
            tag(key, statements.confirmation(*opened, common, disputed, public, total.own, salt))
            for key, disputed, public in of_helpers
        )

    def _over(self, state: Sending, is_opened: bool, **changed: object) -> Sending:
        """Return the state with no message under way."""
        nothing = np.zeros(self._plan.size, np.int64)
        return msgspec.structs.replace(
            state, keys=state.keys.over(is_opened), pending=0, pending_salt=0,
            pending_values=nothing, pending_total=Taken(), masked=b"", statements=b"", heard=0,
            public=NO_KEY, **changed,
        )  # fmt: skip

    def _salt(self, key: bytes, state: Sending, release: int, increment: Words64) -> int:
        """Make the salt of a message, from all its contents."""
        text = statements.statement(release, self._stated(state, 0))
        return salt_of(key, text + pack_words(increment))

    def _stated(self, state: Sending, salt: int) -> bytes:
        """Pack the agent's statement of the message under way, as a member of its sum."""
        return statements.pack_member(
            self._place, salt, state.base, state.base_salt, *state.pending_total, state.heard,
            state.public,
        )  # fmt: skip


def _contradicts(state: Sending, received: Taken) -> bool:
    """Tell whether the agent has taken another total of that number before."""
    return any(taken.number == received.number and taken != received for taken in state.taken)


def _compared(
    state: Sending, received: Taken, agreed: tuple[Taken, ...], disputed: tuple[int, ...]
) -> Sending:
    """Note a ``received`` total, and compare the agent's totals with those of most others.

    Of two totals of one number the first is kept and stated, unless most others have the second.
    """
    contradicts, taken = _contradicts(state, received), state.taken
    if contradicts and received in agreed:
        taken = tuple(
            received if earlier.number == received.number else earlier for earlier in taken
        )
    elif received.number and not contradicts:
        taken = (*taken, received)[-RECENT:] if received not in taken else taken
    others = compare(taken, agreed, disputed)
    changed: dict[str, int] = {}
    if others is not None and others.number >= state.misled:
        changed["misled"] = 0 if others in taken else others.number
        if not others.digest:
            changed["disputed_total"] = others.number
        elif others not in taken:
            changed["other_total"] = others.number
    if contradicts:
        changed["other_total"] = received.number
        if received not in agreed:
            changed["misled"] = received.number
    return msgspec.structs.replace(state, taken=taken, **changed)
