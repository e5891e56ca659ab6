"""A federation of secure sums without any system: agents release given numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fedbandits.crypto import chains
from fedbandits.crypto.keystream import derive_key
from fedbandits.crypto.masks import Masks, PairKeys
from fedbandits.federation.events import EndRound
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.state import PartyState, Step
from fedbandits.federation.terms import Schedule, Terms
from fedbandits.federation.totals.controller import TotalsController
from fedbandits.federation.totals.helper import Helper
from fedbandits.federation.totals.messages import TABLE, Check, Opening, Total
from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets, TotalsPlan
from fedbandits.federation.totals.sender import Sender, Sending, first_sending


class ToyState(PartyState, frozen=True, kw_only=True):
    stage: str = "ready"
    sending: Sending
    made: int = 0


class Toy(Party[ToyState]):
    """Releases ``values[k]`` at the end of round k; totals are judged, and forgotten."""

    TRANSITIONS: ClassVar = {("ready", EndRound): ("ready",), ("ready", Total): ("ready",)}

    def __init__(self, seat, plan, secrets, values):
        self.sender, self.values = Sender(seat, plan, secrets), values
        super().__init__(seat, ToyState(sending=first_sending(seat, plan, secrets)))

    @property
    def erased(self):
        return self._state.sending.keys.number

    def _compute(self, event: Any) -> Step:
        state = self._state
        if isinstance(event, Total):
            sending = self.sender.settle(state.sending, event)
            return Step(self._after(sending=sending), self.sender.farewell(state.sending, sending))
        sending, out = self.sender.send(state.sending, event.round_, self.values[event.round_])
        return Step(self._after(sending=sending, made=event.round_), out)


def pair_secret(agent: int, helper: int) -> bytes:
    return derive_key(b"secrets of a test, all of them", f"{agent} {helper}")


def agent_secrets(agent: int, helpers: int) -> AgentSecrets:
    own = derive_key(b"secrets of a test, all of them", f"own {agent}")
    return AgentSecrets(tuple(pair_secret(agent, c) for c in range(helpers)), own)


def helper_secrets(helper: int, agents: int) -> HelperSecrets:
    return HelperSecrets(tuple(pair_secret(i, helper) for i in range(agents)))


class World:
    """All parties, and what each agent releases: ``values[agent, k]``, (n,) int64, from k = 1."""

    def __init__(
        self, agents=4, helpers=2, size=3, releases=6, least=2, seed=0, colluding=1,
        draw=chains.draw_nothing,
    ):  # fmt: skip
        self.draw = draw
        self.plan = TotalsPlan(agents, helpers, size, releases, least, colluding)
        drawn = np.random.default_rng(seed).integers(
            -(2**63), 2**63 - 1, (agents, releases + 1, size), np.int64
        )
        drawn[:, 0] = 0
        self.values = drawn
        names = {role: tuple(f"{role}-{i}" for i in range(count)) for role, count in
                 (("agent", agents), ("helper", helpers))}  # fmt: skip
        self.roles = Roles(
            (
                Role("agent", names["agent"], self._agent, True),
                Role("controller", ("controller",), self._controller),
                Role("helper", names["helper"], self._helper),
            ),
            TABLE,
        )  # fmt: skip
        self.terms = Terms(
            system="toy", settings={}, facts={}, schedule=Schedule(rounds=releases),
            parties=self.roles.parties, noise="simulated",
        )  # fmt: skip
        self.parties = {name: self.make(name) for role in self.roles.roles for name in role.parties}

    def make(self, name):
        """A party in its initial state."""
        role = next(each for each in self.roles.roles if name in each.parties)
        return self.roles.make(role, role.parties.index(name), self.terms, None)

    def _agent(self, seat, _):
        secrets = agent_secrets(seat.place, self.plan.helpers)._replace(draw=self.draw)
        return Toy(seat, self.plan, secrets, self.values[seat.place])

    def _controller(self, seat, _):
        return TotalsController(seat, self.plan)

    def _helper(self, seat, _):
        secrets = helper_secrets(seat.place, self.plan.agents)._replace(draw=self.draw)
        return Helper(seat, self.plan, secrets)

    def mask(self, agent, helper, release, salt):
        """The mask of a message, (n,) uint64, where no keys are drawn: by the pair's first key."""
        names = f"agent-{agent}", f"helper-{helper}"
        first = PairKeys.derive(pair_secret(agent, helper), self.terms.digest, *names).chain
        made = np.empty(self.plan.size, np.uint64)
        key = chains.message_key(chains.forward(first, release - 1))
        Masks(key).fill(release, salt, made)
        return made

    @property
    def agents(self):
        return [self.parties[name] for name in self.roles.parties["agent"]]

    @property
    def helpers(self):
        return [self.parties[name] for name in self.roles.parties["helper"]]

    def restart(self, name):
        """Kill a party, and go on from what it had kept."""
        kept = self.parties[name].dump()
        self.parties[name] = self.make(name)
        self.parties[name].load(kept)
        assert self.parties[name].dump() == kept

    def expected(self, opened):
        """The total, (n,) uint64, by the number of every agent's newest release that was opened."""
        chosen = [self.values[i, k] for i, k in enumerate(opened)]
        return np.array(chosen).view(np.uint64).sum(axis=0, dtype=np.uint64)

    def total(self):
        state = self.parties["controller"].state
        np.testing.assert_array_equal(state.total, self.expected(state.opened))
        return state.total

    def deliver(self, message):
        """A message reaches its receiver, as bytes; returns what it sends."""
        data = self.roles.codec.encode(message)
        receipt = self.parties[message.receiver].receive_bytes(data, message.sender)
        assert receipt.outcome != "refused", receipt.why
        return list(receipt.outgoing)

    def to_openings(self, checks):
        """Have helpers check a sum, at the deadline if nobody asked; returns what they get then."""
        controller = self.parties["controller"]
        checks = checks or controller.deadline(controller.awaited)
        answers = [out for message in checks for out in self.deliver(message)]
        asked = [out for message in answers for out in self.deliver(message)]
        assert all(isinstance(each, Check) for each in checks)
        assert all(isinstance(each, Opening) for each in asked)
        return asked

    def settle(self, messages, seen=None):
        """Deliver messages, and all that follow, in order."""
        queue = list(messages)
        while queue:
            message = queue.pop(0)
            if seen is not None:
                seen.append(message)
            queue += self.deliver(message)

    def play(self, release, present, seen=None):
        """A round in which only some release; then all waiting ends."""
        sent = [out for i in present for out in self.agents[i].end_round(release)]
        self.settle(sent, seen)
        while (awaited := self.parties["controller"].awaited) is not None:
            out = self.parties["controller"].deadline(awaited)
            if not out:
                break
            self.settle(out, seen)
