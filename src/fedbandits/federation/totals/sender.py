"""An agent's side of secure sums: what it has sent, what became of it, and whether it goes on.

An agent sends what has come since its newest release in a total, its *base*. It sends nothing new
before it knows what became of its last message: a running sum that is opened for two sets would
show one agent's release, which has only a share of the noise. Until then it sends the same message
again, bit for bit, if a round ends, in case one was lost. A clock ends no round meanwhile: there,
delivery repeats messages.

It sends nothing more at all, it *retires*, once a helper confirms something else than what the
agent itself knows, or confirms nothing. Then it was put back from an old store, or the controller
or a helper lies. It does not join anew, as members are fixed by the terms.
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
    """State of an agent with its messages; its arrays are never written to.

    Parameters
    ----------
    base, base_salt
        Its newest release that is in a total; 0 and 0 if there is none.
    base_values : (size,) int64
        What it released then, noise included, without masks.
    pending, pending_salt, pending_values
        The same of its message of which it does not know what became of it; 0 if there is none.
    masked, statements
        What goes with that message, as it is sent: its masks cannot be made again.
    heard, public
        The number of the last total when it was made, and its public key.
    newest
        The number of the last total that it has heard of.
    retired
        Whether it sends nothing more.
    pending_total
        The newest total that it had taken when it made its message under way, as stated with it.
    taken
        The newest totals that it has taken, at most :data:`.agreement.RECENT`, in order.
    misled
        The newest of its totals that others got otherwise, until they confirm that or a later one;
        0 if there is none. It acts on no total meanwhile.
    other_total
        The newest total, ever, that most others got otherwise; 0 if there is none.
    disputed_total
        The newest of its totals of which more agents had different ones than may lie, so that its
        own may be right; 0 if there is none.
    missed
        Sums with somebody in them of whose totals it was not told, as far as later totals show.
    keys
        Its keys.
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
        """The newest total that it has taken."""
        return self.taken[-1] if self.taken else Taken()


def first_sending(seat: Seat, plan: TotalsPlan, secrets: AgentSecrets | None) -> Sending:
    """Return where an agent stands before its first message; see :class:`Sender`.

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
    """Makes an agent's messages, and judges what comes back. It has no state and no keys.

    Parameters
    ----------
    seat
        The agent's seat.
    plan
        What all parties go by.
    secrets
        What the agent brings; :func:`first_sending` has taken its keys. Without any
        LocalProtocolError is raised.
    """

    def __init__(self, seat: Seat, plan: TotalsPlan, secrets: AgentSecrets | None) -> None:
        self._name, self._place, self._plan = seat.name, seat.place, plan
        self.controller = seat.one(CONTROLLER)
        self._helpers = frozenset(seat.names(HELPER))
        self._secrets = _required(seat, secrets).without_keys()

    def send(self, state: Sending, release: int, values: Ints) -> tuple[Sending, list[Increment]]:
        """Make the message of a release, or the last one again.

        Parameters
        ----------
        release
            The number of the release, which is that of the sum it is for.
        values : (size,) int64
            The agent's running sum and its noise, whole numbers.

        Returns
        -------
        state
            Where it stands then; as before if nothing new is sent.
        messages
            One message, or none for a sum that is over, and once the agent is retired.
        """
        if values.shape != (self._plan.size,) or values.dtype != np.int64:
            raise LocalProtocolError(f"{self._name}: a release is {self._plan.size} whole numbers")
        if state.retired or release <= state.newest:
            return state, []
        if not state.pending:
            state = self._with_message(state, release, values)
        return state, [self._message(state)]

    def _with_message(self, state: Sending, release: int, values: Ints) -> Sending:
        """Make a message, and keep it as it is sent; the keys of its masks are gone then."""
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
        """Make the message by which the agent says, once, that it has retired."""
        if before.retired or not after.retired:
            return []
        return [Retired(sender=self._name, receiver=self.controller, release=after.newest)]

    def numbers_of(self, total: Total) -> tuple[int, ...]:
        """Return the number of every agent's release in a total that was settled.

        The agent's own is at its place. It is not known whose the others are: they are in rising
        order.
        """
        others = dict(zip(total.releases, total.counts, strict=True))
        others[total.own] -= 1
        found = [release for release, count in others.items() for _ in range(count)]
        return (*found[: self._place], total.own, *found[self._place :])

    def heard_of(self, state: Sending, party: str) -> int:
        """Return the newest sum that all helpers have confirmed, if the other party is one.

        What made the agent retire was not confirmed. Its newest release in a sum was.
        """
        known = state.base if state.retired else state.newest
        return known if party in self._helpers else 0

    def _check(self, state: Sending, total: Total) -> None:
        """Refuse what no controller sends that keeps to the terms."""
        plan, releases, counts = self._plan, total.releases, total.counts
        if not max(state.newest, 1) <= total.release <= plan.releases:
            raise OutOfOrderError(
                f"{self._name}: total {total.release} after {state.newest}, of {plan.releases}"
            )
        require_bytes(total.statistic, 8 * plan.size)
        require_bytes(total.digest, statements.DIGEST_BYTES)
        require_bytes(total.publics, KEY_BYTES * plan.helpers)
        require_bytes(total.confirmations, TAG_BYTES * plan.helpers)
        rising = all(one < other for one, other in itertools.pairwise(releases))
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
        """Find out what became of the agent's last message, or that it must retire.

        A total that has come before changes nothing: ``state`` itself is returned. One that makes
        the agent retire is no error: the agent goes on acting on it.

        Raises
        ------
        OutOfOrderError
            If it is older than the last one.
        WrongShapeError, ImplausibleError
            If no controller that keeps to the terms sends it, or it was another one before.
        """
        self._check(state, total)
        agreed = unpack_taken(total.agreed)
        own = total.own
        after = msgspec.structs.replace(state, newest=total.release)
        included = own == state.pending != 0
        salt = state.pending_salt if included else state.base_salt
        confirmed = same(total.confirmations, self._expected(state, total, salt))
        believed = confirmed and (included or own == state.base)
        found = Taken.of(total.statistic, total.releases, total.counts)
        if total.release == state.newest:
            if state.retired or (believed and not _contradicts(state, found)):
                return state
            raise ImplausibleError(f"{self._name}: total {total.release} was another one before")
        if confirmed:
            after = _compared(after, found, agreed, total.disputed)
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
        """Return the tags of all helpers that a total must have, if ``salt`` is that of our own."""
        said = total.release, total.digest
        common = common_digest(total.releases, total.counts, total.agreed)
        each = zip(state.keys.confirmations, total.disputed, keys_in(total.publics), strict=True)
        return b"".join(
            tag(key, statements.confirmation(*said, common, other, public, total.own, salt))
            for key, other, public in each
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
        """Make the salt of a message, of all that is in it."""
        text = statements.statement(release, self._stated(state, 0))
        return salt_of(key, text + pack_words(increment))

    def _stated(self, state: Sending, salt: int) -> bytes:
        """Pack what the agent states of the message under way, as a member of its sum."""
        return statements.pack_member(
            self._place, salt, state.base, state.base_salt, *state.pending_total, state.heard,
            state.public,
        )  # fmt: skip


def _contradicts(state: Sending, found: Taken) -> bool:
    """Tell whether the agent has taken another total of that number before."""
    return any(each.number == found.number and each != found for each in state.taken)


def _compared(
    state: Sending, found: Taken, agreed: tuple[Taken, ...], disputed: tuple[int, ...]
) -> Sending:
    """Note a total, ``found``, and whether the agent's totals are those of most others.

    Of two totals of one number the first is kept, and stated, unless most others have the second.
    """
    contradicts, taken = _contradicts(state, found), state.taken
    if contradicts and found in agreed:
        taken = tuple(found if each.number == found.number else each for each in taken)
    elif found.number and not contradicts:
        taken = (*taken, found)[-RECENT:] if found not in taken else taken
    others = compare(taken, agreed, disputed)
    changed: dict[str, int] = {}
    if others is not None and others.number >= state.misled:
        changed["misled"] = 0 if others in taken else others.number
        if not others.digest:
            changed["disputed_total"] = others.number
        elif others not in taken:
            changed["other_total"] = others.number
    if contradicts:
        changed["other_total"] = found.number
        if found not in agreed:
            changed["misled"] = found.number
    return msgspec.structs.replace(state, taken=taken, **changed)
