"""What secure sums cost: processor time of every party, bytes of every message, many agents.

Whole parties exchange encoded messages in one process; nothing is stored, sealed or sent. A release
is 130 numbers (d = 10, two models of 65). Without helpers there are no masks and no tags. Between
machines a key is drawn for each message; in simulations none is.

    python benchmarks/secure_sums_cost.py [--agents 1000 10000] [--sums 3]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits.crypto import chains
from fedbandits.crypto.chains import Draw, draw_nothing
from fedbandits.crypto.keystream import derive_key
from fedbandits.federation.events import EndRound
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.federation.terms import Schedule, Terms
from fedbandits.federation.totals.controller import TotalsController
from fedbandits.federation.totals.helper import Helper
from fedbandits.federation.totals.messages import TABLE, Total
from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets, TotalsPlan
from fedbandits.federation.totals.sender import Sender, Sending, first_sending

SIZE, RELEASES = 130, 64
_ROOT = b"secrets of a benchmark, of nobody"


class _State(PartyState, frozen=True, kw_only=True):
    stage: str = "ready"
    sending: Sending


class Agent(Party[_State]):
    """Releases whole numbers that follow from its place, at the end of each round."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", EndRound): ("ready",), ("ready", Total): ("ready",),
    }  # fmt: skip

    def __init__(self, seat: Seat, plan: TotalsPlan, draw: Draw) -> None:
        pairs = tuple(secret(seat.place, helper) for helper in range(plan.helpers))
        secrets = AgentSecrets(pairs, secret(seat.place, -1), draw)
        self._sender = Sender(seat, plan, secrets)
        self._values = np.random.default_rng(seat.place).integers(-(2**40), 2**40, SIZE)
        super().__init__(seat, _State(sending=first_sending(seat, plan, secrets)))

    def _compute(self, event: Any) -> Step:
        sending = self._state.sending
        if isinstance(event, Total):
            return Step(self._after(sending=self._sender.settle(sending, event)))
        sending, out = self._sender.send(sending, event.round_, event.round_ * self._values)
        return Step(self._after(sending=sending), out)


def secret(agent: int, helper: int) -> bytes:
    """Make the secret of a pair."""
    return derive_key(_ROOT, f"{agent} {helper}")


class World:
    """All parties of one federation, and how long each role has taken.

    Parameters
    ----------
    agents, helpers
        How many there are.
    draw
        Draws keys of messages, or none.
    """

    def __init__(self, agents: int, helpers: int, draw: Draw = draw_nothing) -> None:
        plan = TotalsPlan(agents, helpers, SIZE, RELEASES, max(2, int(0.8 * agents)), agents // 10)
        names = [f"agent-{i}" for i in range(agents)]
        made: tuple[Role, ...] = (
            Role("agent", tuple(names), lambda seat, _: Agent(seat, plan, draw), True),
            Role("controller", ("controller",), lambda seat, _: TotalsController(seat, plan)),
            Role(
                "helper", tuple(f"helper-{c}" for c in range(helpers)),
                lambda seat, _: Helper(seat, plan, HelperSecrets(
                    tuple(secret(agent, seat.place) for agent in range(agents)), draw)),
            ),
        )  # fmt: skip
        self._roles = Roles(made, TABLE)
        terms = Terms(
            system="benchmark", settings={}, facts={}, schedule=Schedule(rounds=RELEASES),
            parties=self._roles.parties, noise="simulated",
        )  # fmt: skip
        self.parties = {
            name: self._roles.make(role, place, terms, None)
            for role in made for place, name in enumerate(role.parties)
        }  # fmt: skip
        self._agents = names
        self.seconds: dict[str, float] = {}
        self.bytes: dict[str, int] = {}

    def timed(self, role: str, work: Callable[[], Any]) -> Any:
        """Do some work of a role, and note how long it takes."""
        began = time.process_time()
        done = work()
        self.seconds[role] = self.seconds.get(role, 0.0) + time.process_time() - began
        return done

    def sent(self, messages: Iterable[Message]) -> list[tuple[Message, bytes]]:
        """Encode messages, and note how long they are."""
        encode = self._roles.codec.encode
        found = [(message, encode(message)) for message in messages]
        for message, data in found:
            self.bytes[type(message).__name__] = len(data)
        return found

    def sum_up(self, release: int) -> None:
        """Have all agents release, and deliver all messages that follow."""
        queue: list[tuple[Message, bytes]] = []
        for name in self._agents:
            agent = self.parties[name]
            queue += self.timed("agent's release", lambda a=agent: self.sent(a.end_round(release)))
        while queue:
            following: list[tuple[Message, bytes]] = []
            for message, data in queue:
                party, sender = self.parties[message.receiver], message.sender
                what = "agent's total" if party.role == "agent" else party.role
                following += self.timed(
                    what,
                    lambda p=party, d=data, s=sender: self.sent(p.receive_bytes(d, s).outgoing),
                )
            queue = following
        assert self.parties["controller"].state.newest == release


def play(agents: int, helpers: int, sums: int, draw: Draw) -> World:
    """Play some sums; the first one is not counted, as no keys have been drawn before it."""
    world = World(agents, helpers, draw)
    world.sum_up(1)
    world.seconds.clear()
    for release in range(2, sums + 2):
        world.sum_up(release)
    return world


def without_masks(sums: int) -> float:
    """Return the microseconds of a release that is numbered and encoded, and not masked."""
    world = World(1000, 0)
    for release in range(1, sums + 1):
        for name in world._agents:
            world.timed(
                "release", lambda n=name, k=release: world.sent(world.parties[n].end_round(k))
            )
            state = world.parties[name]._state
            again = msgspec.structs.replace(state.sending, pending=0)  # as if it were settled
            world.parties[name]._state = type(state)(sending=again)
    return 1e6 * world.seconds["release"] / (1000 * sums)


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--sums", type=int, default=3)
    given = parser.parse_args()
    print(f"an agent's release without masks: {without_masks(given.sums):.0f} µs")
    for agents in given.agents:
        for helpers, draw in ((2, draw_nothing), (1, chains.draw), (2, chains.draw)):
            world = play(agents, helpers, given.sums, draw)
            each = {k: 1e6 * s / (given.sums * agents) for k, s in world.seconds.items()}
            each["helper"] /= helpers
            shown = ", ".join(f"{name} {us:.0f} µs" for name, us in each.items())
            whole = sum(world.seconds.values()) / given.sums
            keys = "no keys drawn" if draw is draw_nothing else "a key a message"
            print(f"{agents:,} agents, {helpers} helpers, {keys}: {whole:.2f} s a sum")
            print(f"    an agent: {shown}")
        sizes = ", ".join(f"{name} {size:,}" for name, size in world.bytes.items())
        print(f"{agents:,} agents, bytes of a message: {sizes}", flush=True)


if __name__ == "__main__":
    main()
