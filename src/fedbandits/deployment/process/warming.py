"""Compile what the parties of a federation need, before anybody waits for them.

All parties run a few rounds in memory, on made-up contexts. What is compiled is kept on
disk, so it is done once for all processes of a machine, and finds everything there the next time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from fedbandits._compile import compilations
from fedbandits.deployment.process.supplies import RehearsalSupplies
from fedbandits.environments.open_world import Stage
from fedbandits.errors import FedbanditsError
from fedbandits.federation.run import PartiesRun
from fedbandits.random import Key
from fedbandits.settings.federation import Federation
from fedbandits.systems.application import Application

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
