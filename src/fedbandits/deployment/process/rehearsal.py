"""Parties without a store: their supplies, from a seed or made up, and a rehearsal that compiles.

All parties run a few rounds in memory, on made-up contexts, before anybody waits for them. What is
compiled is kept on disk, so it is done once for all processes of a machine.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedbandits._compile import compilations
from fedbandits.crypto import paillier
from fedbandits.deployment.hosting.seat import Supply
from fedbandits.deployment.process.examples import own_example
from fedbandits.deployment.process.folder import PartyFolder
from fedbandits.environments.open_world import Stage
from fedbandits.errors import FedbanditsError
from fedbandits.federation.roles import Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import Key
from fedbandits.settings.federation import Federation
from fedbandits.systems.application import Application, SharedSecret


def _from_seed(federation: Federation, costs: Mapping[int, Any], seed: int) -> Supplies:
    """Make simulated supplies. ``costs`` of buyers are by place, where the system has any.

    Settings and facts stand for what a simulated world knows of the parties.
    """
    world = SimpleNamespace()
    if costs:
        world.cost = {place: np.array(row, np.float64) for place, row in costs.items()}
    if hasattr(federation.facts, "capacities"):
        world.capacity = np.array(federation.facts.capacities, np.int64)
    return federation.system.simulated_supplies(federation.plan, world, seed, 0)


def simulated_supply(folder: PartyFolder) -> Supply | None:
    """Make a party's supply from the seed in its settings; None where noise is secure."""
    simulated, federation = folder.settings.simulated, folder.federation
    if simulated is None:
        return None
    role, place = federation.seat_of(folder.member)
    own = folder.settings.own
    supplies = _from_seed(
        federation, {place: own["costs"]} if "costs" in own else {}, simulated.seed
    )
    return lambda means: supplies(role.name, place)


class RehearsalSupplies:
    """Supplies with which nothing is charged and nothing kept. Release nothing of them.

    ``own`` is what members alone know, as far as it is known here; the rest is made up.
    """

    def __init__(self, federation: Federation, own: Mapping[str, Mapping[str, Any]]) -> None:
        self._federation, self._own = federation, own
        shared = federation.system.shared(federation.plan)
        self._shared = {secret.name: (secret, secrets.token_bytes(32)) for secret in shared}

    def __call__(self, role: str, place: int) -> Any:
        federation = self._federation
        own = [
            {**own_example(federation, member), **self._own.get(member, {})}
            for member in federation.members[role]
        ]
        if federation.noise == "simulated":
            costs = {i: each["costs"] for i, each in enumerate(own) if "costs" in each}
            return _from_seed(federation, costs, 0)(role, place)
        resources = _Unstored(own[place], self._shared, federation.roles.parties[role][place])
        return federation.system.supply(federation.plan, role, place, resources)


class _Unstored:
    """Resources of a party that is never asked for anything in earnest; see :class:`.Resources`.

    All have the same ``shared`` secrets, as after they were handed over.
    """

    def __init__(
        self, own: Mapping[str, Any], shared: Mapping[str, tuple[SharedSecret, bytes]], party: str
    ) -> None:
        self._own, self._shared, self._party = own, shared, party

    def noise(self, event: Any, stream: str = "releases") -> SecureNoise:
        del event, stream
        return SecureNoise()

    def secret(self, name: str, in_state: bool = False) -> bytes:
        del in_state
        return self._shared[name][1] if name in self._shared else secrets.token_bytes(32)

    def shared(self, name: str, in_state: bool = False) -> bytes:
        del in_state
        secret, made = self._shared[name]
        return secret.gift(made, self._party)

    def paillier(self, bits: int) -> paillier.PrivateKey:
        return paillier.generate(bits)

    def own(self, name: str) -> Any:
        return self._own.get(name)


_LOG = logging.getLogger("fedbandits.deployment")
#: Decisions of each party before something is released, and after.
_ROUNDS = 2


def warm(
    federation: Federation,
    own: Mapping[str, Mapping[str, Any]],
    on_first: Callable[[], None] = lambda: None,
) -> int:
    """Compile what this federation's parties need; return how many kernels that were.

    ``own`` is what members alone know, as far as it is known here. ``on_first`` is called before
    the first kernel is compiled, if any must be.
    """
    application = federation.system.application(federation.plan)
    if application is None or federation.roles.messages_set_pace:
        return 0  # nothing that takes long
    found: list[str] = []

    def note(kernel: str) -> None:
        if not found:
            on_first()
        found.append(kernel)

    with compilations(note):
        try:
            _rehearse(federation, application, own)
        except FedbanditsError as error:  # whatever it is, the party itself will say so
            _LOG.debug("not everything could be compiled ahead: %s", error)
    return len(found)


def _rehearse(
    federation: Federation, application: Application[Any], own: Mapping[str, Mapping[str, Any]]
) -> None:
    """Decide, learn, release, and learn from the others."""
    stage = _Rehearsal(federation, application)
    run = PartiesRun(
        federation.roles, RehearsalSupplies(federation, own), federation.terms, stage,
        federation.rounds, lenient=True,
    )  # fmt: skip
    stage.players = run.players
    run.advance(_ROUNDS)
    ends = [player.next_end for player in run.players if player.next_end is not None]
    if ends:
        run.end_round(min(ends))
    run.advance(run.done + _ROUNDS)


class _Rehearsal(Stage):
    """Made-up requests, within all bounds."""

    def __init__(self, federation: Federation, application: Application[Any]) -> None:
        super().__init__(None, Key(0, 0), 1)
        self._facts: Any = federation.facts
        self._application = application
        self.players: list[Any] = []

    @property
    def _numbers(self) -> int:
        """Count of numbers in a row as applications send it."""
        rows = getattr(self._facts, "rows", None)
        return int(self._facts.dimension if rows is None else rows.raw)

    def acting(self, round_: int) -> Iterable[int]:
        return range(len(self.players))

    def situation(self, round_: int, player: int) -> Any:
        kind = self._application.ASKED
        asked = {name: self._value(name, player) for name in kind.__struct_fields__}
        given = {name: value for name, value in asked.items() if value is not None}
        return self._application.situation(self.players[player], kind(**given))

    def outcome(self, round_: int, player: int, decision: Any) -> Any:
        party = self.players[player]
        told = self._application.stand_in(0.0)
        return self._application.observation(party, party.state.decisions, told)[1]

    def _value(self, name: str, player: int) -> Any:
        """Make up what a request holds under a name."""
        if name == "user":
            return self._facts.users_of(player)[0]
        if name == "context":
            return [0.1] + [0.0] * (self._numbers - 1)
        if name in ("actions", "items"):
            return np.eye(self._numbers)[:2].tolist()
        if name == "person" and self._application.plan.counts_persons:
            return "somebody"
        return None
