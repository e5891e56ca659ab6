"""The times at which messages leave, and what a claim about them asks of parties."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from fedbandits.environments import Environment
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision
from fedbandits.federation.links import Receipt
from fedbandits.federation.messages import Message
from fedbandits.federation.roles import Supplies
from fedbandits.privacy.secure_noise import GRID_BITS, SecureNoise
from fedbandits.random import Purpose, normals, replicate_key
from fedbandits.systems import System
from fedbandits.systems.base import PartiesReplicate, Plan

_PACKAGE = str(pathlib.Path(__file__).parents[1])


class Watch:
    """Plays parties with noise drawn as in a deployment, and watches how their releases leave."""

    def __init__(self, system: System[Any], plan: Plan, world: Environment, replicate: int) -> None:
        #: For every release the functions that were called before it left.
        self.releases: list[tuple[str, ...]] = []
        #: Whether a party is being told that a round is over.
        self.ending = False
        self._key, self._samples = replicate_key(1, replicate), 0
        stage = world.stage(self._key)
        simulated = system.simulated_supplies(plan, stage.world, 1, replicate)
        self.run = PartiesReplicate(
            system, plan, world, 1, replicate, supplies=self._deployed(simulated)
        )
        self._folders = (_PACKAGE, _folder_of(system))
        for player in self.run.players:
            self._watch(player)

    def _deployed(self, simulated: Supplies) -> Supplies:
        def supply(role: str, place: int) -> Any:
            own = simulated(role, place)
            return own._replace(noise=SecureNoise(self._sample)) if hasattr(own, "noise") else own

        return supply

    def _sample(self, count: int) -> list[int]:
        assert not self.ending, "noise was drawn while a release was waited for"
        self._samples += 1  # of the whole federation: no two parties share noise
        drawn = normals(count, self._key, 0, self._samples, Purpose.PRIVACY_NOISE)
        return [int(z) for z in drawn * 2.0**GRID_BITS]

    def _watch(self, player: ActingParty[Any]) -> None:
        end_round = player.end_round

        def ended(round_: int) -> Any:
            calls: list[str] = []
            self.ending = True
            with calls_noted(calls, self._folders):
                messages = end_round(round_)
            self.ending = False
            if messages:
                self.releases.append(tuple(calls))
            return messages

        player.end_round = ended  # type: ignore[method-assign]
        observe, receive_bytes = player.observe, player.receive_bytes

        def observed(decision: Decision, outcome: Any) -> list[Message]:
            messages = observe(decision, outcome)
            assert not messages, f"{player.name} sends something when it learns of an outcome"
            return messages

        def received(data: bytes, link: str) -> Receipt:
            receipt = receive_bytes(data, link)
            assert not receipt.outgoing, f"{player.name} sends something when it is told something"
            return receipt

        player.observe, player.receive_bytes = observed, received  # type: ignore[method-assign]


def _folder_of(system: System[Any]) -> str:
    """Return where the code of a system lies, which may be outside this package."""
    file = getattr(sys.modules.get(type(system).__module__), "__file__", None) or _PACKAGE
    return str(pathlib.Path(file).parent)


@contextmanager
def calls_noted(calls: list[str], folders: tuple[str, ...] = (_PACKAGE,)) -> Iterator[None]:
    """Note every function that code in some folders calls, Python's and C's."""

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if not frame.f_code.co_filename.startswith(folders):
            return
        if event == "call":
            calls.append(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}")
        elif event == "c_call":
            calls.append(str(getattr(argument, "__qualname__", argument)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
