"""Outlets: ways of an agent's sums to the other agents, and of the total back.

In clear the controller sees each release. In secure sums nobody sees more than sums: each agent
adds a share of the noise to its release, and masks hide every single release.

An outlet itself never changes. All that changes, the keys of masks included, is in a few fields of
the agent's own state, :class:`.shell.SummedState` in most systems: ``released``, ``sending``,
``taken``, ``included``, ``unused`` and ``under_way``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import ImplausibleError, Message, OutOfOrderError, pack, unpack
from fedbandits.federation.seats import AGENT, CONTROLLER, Seat
from fedbandits.federation.state import Step
from fedbandits.federation.totals import reports
from fedbandits.federation.totals.messages import Total, unpack_words
from fedbandits.federation.totals.plan import AgentSecrets, TotalsPlan
from fedbandits.federation.totals.sender import Sender
from fedbandits.privacy import running_sum
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.shares import deviations_of, release_share


class Mechanism(NamedTuple):
    """The mechanism of an agent's releases.

    Parameters
    ----------
    plan
        The mechanism of one release, or of one share of a secure sum.
    pattern : (size,) float64
        Deviations of the noise in each entry, relative to that of the mechanism.
    step
        q, the step of the grid of a secure sum's whole numbers; 0 in clear.
    """

    plan: ContinualPlan
    pattern: Floats
    step: float = 0.0


class SumOfAll(NamedTuple):
    """A sum of every agent's newest release, as an outlet has read it.

    Parameters
    ----------
    number
        The number of the sum.
    newest
        The number of every agent's release in the sum, 0 for an agent without a release.
    own
        The number of the reading agent's own release in the sum.
    values : (size,) float64
        The sum, in the units of records.
    message
        The message that brought the sum.
    """

    number: int
    newest: Sequence[int]
    own: int
    values: Floats
    message: Any


#: A function from the numbers (size,) that have left an agent to the agent's memory of the release.
Keep = Callable[[Floats], Any]
#: A function that continues from a sum: it returns the step, or None if the sum gives no estimate.
GoOn = Callable[[SumOfAll], Step | None]


class Outlet:
    """Base class of outlets, and the outlet of a party that releases nothing."""

    def send(
        self, state: Any, exact: Floats, keep: Keep | None, noise: Any
    ) -> tuple[Any, Sequence[Message]]:
        """Make the next release.

        Parameters
        ----------
        state
            The agent's state, which is not changed.
        exact : (size,) float64
            The exact sums.
        keep
            A function from the numbers that leave, none in a secure sum, to a memory of this
            release. The memory lasts until a later release is in a sum. None if the agent needs no
            memory.
        noise
            The agent's source of noise.

        Returns
        -------
        state
            The state after the release.
        messages
            The messages of the release.
        """
        raise NotImplementedError

    def take(self, state: Any, message: Any, noise: Any, go_on: GoOn) -> Step:
        """Read a sum of all, and continue from the sum; ``state`` is not changed."""
        raise NotImplementedError

    def draw_ahead(self, state: Any, noise: Any) -> None:
        """Draw the noise of the next release ahead, before any party waits for the release."""

    def resumed(self, state: Any, noise: Any) -> None:
        """Draw the noise that a saved state lacks."""

    def has_ended(self, state: Any) -> bool:
        """Tell whether the party sends nothing more, for the rest of the run."""
        del state
        return False

    def waits(self, state: Any) -> bool:
        """Tell whether the party does not know yet what became of its last message."""
        del state
        return False

    def made_and_missed(self, state: Any) -> tuple[int, int]:
        """Return the count of releases, and of further sums that are over; see :class:`.Party`."""
        del state
        return 0, 0

    def erased(self, state: Any) -> int:
        """Return a number that rises whenever keys are erased; see :class:`.Party`."""
        del state
        return 0

    def heard_of(self, state: Any, party: str) -> int:
        """Return the newest sum that a party has confirmed; see :class:`.Party`."""
        del state, party
        return 0

    def report(self, state: Any) -> Mapping[str, Any]:
        """Return plain values for the party's own operator."""
        del state
        return {}


class ClearOutlet(Outlet):
    """An outlet whose releases the controller sees.

    Parameters
    ----------
    seat
        The agent's seat.
    mechanism
        The mechanism of the agent's releases.
    upload
        The type of the message with a release.
    most_sums
        Largest number of sums in a run.
    """

    def __init__(self, seat: Seat, mechanism: Mechanism, upload: type[Any], most_sums: int) -> None:
        self._name, self._place, self._agents = seat.name, seat.place, len(seat.names(AGENT))
        self._controller, self.mechanism = seat.one(CONTROLLER), mechanism
        self._upload, self._most_sums = upload, most_sums

    def send(
        self, state: Any, exact: Floats, keep: Keep | None, noise: Any
    ) -> tuple[Any, Sequence[Message]]:
        plan, pattern, _ = self.mechanism
        released, noisy = running_sum.release(plan, state.released, exact, pattern, noise)
        under_way = state.under_way
        if keep is not None:
            under_way = {**under_way, released.made: keep(noisy)}
        upload = self._upload(
            sender=self._name, receiver=self._controller, release=released.made,
            statistic=pack(noisy),
        )  # fmt: skip
        after = msgspec.structs.replace(state, released=released, under_way=under_way)
        return after, [upload]

    def take(self, state: Any, message: Any, noise: Any, go_on: GoOn) -> Step:
        del noise
        newest = self._checked_numbers(state, message)
        own, values = newest[self._place], unpack(message.statistic, self.mechanism.pattern.size)
        step = go_on(SumOfAll(message.release, newest, own, values, message))
        if step is None:
            raise RemoteProtocolError(f"{self._name}: sum {message.release} makes no estimate")
        after = msgspec.structs.replace(
            step.state, taken=message.release, included=own,
            under_way={k: kept for k, kept in state.under_way.items() if k >= own},
        )  # fmt: skip
        return msgspec.structs.replace(step, state=after)

    def _checked_numbers(self, state: Any, message: Any) -> Sequence[int]:
        """Return the number of every agent's release in a sum."""
        if not state.taken < message.release <= self._most_sums:
            raise OutOfOrderError(
                f"{self._name}: sum {message.release} after sum {state.taken}, of {self._most_sums}"
            )
        newest: Sequence[int] = message.newest or (message.release,) * self._agents
        if (
            len(newest) != self._agents
            or not 0 <= min(newest) <= max(newest) <= self.mechanism.plan.releases
            or max(newest) == 0
            or not state.included <= newest[self._place] <= state.released.made
        ):
            raise ImplausibleError(f"{self._name}: the sum names releases that were never made")
        return newest

    def draw_ahead(self, state: Any, noise: Any) -> None:
        del state
        if self.mechanism.plan.slots:
            running_sum.draw_ahead(noise, self.mechanism.pattern.size)


class SecureOutlet(Outlet):
    """An outlet whose releases nobody sees: only sums of some agents' releases are opened.

    A share is made for every release of the schedule, as the noise of shares is correlated. A share
    is sent if the fate of the agent's last message is known; otherwise that message is sent again.
    Existence and time of messages follow from the schedule and from totals alone.

    Agents act on totals and on their own records. They subtract their records from a total, where
    the records would count twice, but never their own noise: decisions that depend on own noise
    could remove the noise.

    Parameters
    ----------
    seat
        The agent's seat.
    mechanism
        The mechanism of one share.
    totals
        The plan of secure sums.
    secrets
        The agent's secrets; see :class:`.sender.Sender`.
    takes_out
        Whether the agent subtracts its own records from totals. If so, the agent cannot use a total
        with an own release of which it has no memory.
    """

    def __init__(
        self, seat: Seat, mechanism: Mechanism, totals: TotalsPlan, secrets: AgentSecrets | None,
        takes_out: bool = True,
    ) -> None:  # fmt: skip
        self.mechanism, self._takes_out = mechanism, takes_out
        self._sender = Sender(seat, totals, secrets)

    def send(
        self, state: Any, exact: Floats, keep: Keep | None, noise: Any
    ) -> tuple[Any, Sequence[Message]]:
        plan, pattern, step = self.mechanism
        released, share = release_share(plan, step, state.released, exact, pattern, noise)
        words = share.astype(np.int64)
        sending, messages = self._sender.send(state.sending, released.made, words)
        under_way = state.under_way
        if (
            keep is not None and sending is not state.sending
        ):  # otherwise the last message is sent again
            under_way = {**under_way, released.made: keep(np.zeros(0))}
        after = msgspec.structs.replace(
            state, released=released, sending=sending, under_way=under_way
        )
        return after, messages

    def take(self, state: Any, message: Total, noise: Any, go_on: GoOn) -> Step:
        """Settle the fate of the last message, and continue from the total.

        A total without an estimate is counted, and is no reason to stop: noise can prevent an
        estimate, and after a refusal of its message the agent would wait for ever. The same holds
        for a total after a false total: the agent acts on no total until most others have confirmed
        a later total.
        """
        sending = self._sender.settle(state.sending, message)
        if sending is state.sending:  # a repeated message
            return Step(state)
        if not sending.retired:
            self._draw_shares_ahead(state, sending.newest, noise)  # only ahead: may fail
        step: Step | None = None
        # Otherwise the total is empty, or may be false.
        if message.releases[-1] and not sending.misled and self._remembers(state, message.own):
            words = unpack_words(message.statistic, self.mechanism.pattern.size).view(np.int64)
            values: Floats = self.mechanism.step * words.astype(np.float64)
            newest = self._sender.numbers_of(message)
            try:
                step = go_on(SumOfAll(message.release, newest, message.own, values, message))
            except RemoteProtocolError:
                step = None
        if step is None:
            step = Step(msgspec.structs.replace(state, unused=state.unused + 1))
        else:
            taken: Any = step.state
            after = msgspec.structs.replace(taken, taken=message.release, included=message.own)
            step = msgspec.structs.replace(step, state=after)
        settled: Any = step.state
        needed = settled.included, sending.base, sending.pending
        after = msgspec.structs.replace(
            settled, sending=sending,
            under_way={k: kept for k, kept in state.under_way.items() if k in needed},
        )  # fmt: skip
        outgoing = [*step.outgoing, *self._sender.farewell(state.sending, sending)]
        return msgspec.structs.replace(step, state=after, outgoing=outgoing)

    def _remembers(self, state: Any, own: int) -> bool:
        """Tell whether the agent can subtract its release of the number ``own`` from a total."""
        if not self._takes_out:
            return True
        return own in state.under_way if own else state.included == 0

    def draw_ahead(self, state: Any, noise: Any) -> None:
        self._draw_shares_ahead(state, state.sending.newest, noise)

    def _draw_shares_ahead(self, state: Any, newest: int, noise: Any) -> None:
        """Draw the whole noise of the next share ahead, and of shares for missed sums.

        Shares up to the share of the sum ``newest`` are made at once. Drawing their noise only then
        would take a time that depends on the noise.
        """
        if not hasattr(noise, "draw_whole_ahead"):
            return
        plan, pattern, step = self.mechanism
        first = state.released.made + 1
        last = min(max(first, newest + 1), plan.releases)
        deviations = [deviations_of(plan, step, pattern, k) for k in range(first, last + 1)]
        if deviations:
            noise.draw_whole_ahead(np.concatenate(deviations))

    def resumed(self, state: Any, noise: Any) -> None:
        self.draw_ahead(state, noise)

    def has_ended(self, state: Any) -> bool:
        retired: bool = state.sending.retired
        return retired

    def waits(self, state: Any) -> bool:
        return bool(state.sending.pending) and not state.sending.retired

    def made_and_missed(self, state: Any) -> tuple[int, int]:
        releases: int = state.released.made
        return releases, max(0, state.sending.newest - releases)

    def erased(self, state: Any) -> int:
        number: int = state.sending.keys.number
        return number

    def heard_of(self, state: Any, party: str) -> int:
        return self._sender.heard_of(state.sending, party)

    def report(self, state: Any) -> Mapping[str, Any]:
        return reports.of_agent(state.sending, state.unused, self._sender.controller)
