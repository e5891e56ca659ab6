"""A system from outside this package: one class, parties only, and everything else works."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

import fedbandits as fb
import fedbandits.errors
from fedbandits._typing import Floats
from fedbandits.facts import ContextualFacts
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, Observe
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.state import PartyState, Step
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.systems import Plan, Preset, System, registry
from fedbandits.testing.systems import CHECKS

PRESET = "follow-the-crowd"


class Vote(Message, frozen=True, kw_only=True, tag="crowd.vote"):
    """What earned something."""

    arm: int


class Crowd(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everybody plays what has earned most; a clerk counts."""

    first: int = 0


class VoterState(PartyState, frozen=True, kw_only=True):
    stage: str = "ready"
    decided: int = 0
    rewards: Floats


class Voter(ActingParty[VoterState]):
    TRANSITIONS: ClassVar = {
        ("ready", Decide): ("acting",),
        ("acting", Observe): ("ready",),
    }

    def __init__(self, seat, plan):
        rewards = np.zeros(plan.facts.arms)
        rewards[plan.config.first] = 0.5
        super().__init__(seat, VoterState(rewards=rewards))

    def _compute(self, event):
        rewards = self.state.rewards
        if isinstance(event, Decide):
            number = self.state.decided + 1
            after = self._after(stage="acting", decided=number)
            return Step(after, answer=Decision(number, int(rewards.argmax())))
        arm = event.decision.action
        rewards = rewards.copy()
        rewards[arm] += event.outcome
        vote = Vote(sender=self.name, receiver="clerk", arm=arm)
        return Step(self._after(stage="ready", rewards=rewards), [vote] if event.outcome else [])


class ClerkState(PartyState, frozen=True, kw_only=True):
    stage: str = "counting"
    votes: int = 0


class Clerk(Party[ClerkState]):
    TRANSITIONS: ClassVar = {("counting", Vote): ("counting",)}

    def __init__(self, seat):
        super().__init__(seat, ClerkState())

    def _compute(self, event):
        if event.arm < 0:
            raise OutOfOrderError("clerk: no such arm")
        return Step(self._after(votes=self.state.votes + 1))


class CrowdSystem(System[Plan]):
    name = "crowd"
    paper = "nobody's"
    config_type = Crowd
    presets: ClassVar = {PRESET: Preset("everybody plays what has earned most so far", {})}
    facts_type = ContextualFacts

    def plan(self, config: Any, facts: Any, rounds: int) -> Plan:
        return Plan(config=config, facts=facts, rounds=rounds)

    def claim(self, plan: Plan) -> PrivacyClaim:
        return PrivacyClaim(
            unit="a visit", from_whom="the clerk", relation="replace-one", holds_for="nothing",
            epsilon=math.inf, epsilon_contents=math.inf, delta=0.0, mu=math.inf,
            conditional_on=(), not_protected=(Limit("all of it", "Votes leave in clear."),),
        )  # fmt: skip

    def roles(self, plan: Plan) -> Roles:
        voters = tuple(f"voter-{i}" for i in range(plan.facts.parties))
        return Roles(
            (
                Role("voter", voters, lambda seat, _: Voter(seat, plan), acts=True),
                Role("clerk", ("clerk",), lambda seat, _: Clerk(seat)),
            ),
            {Vote: ("voter", "clerk")},
        )

    def simulated_supplies(self, plan: Plan, world: Any, seed: int, replicate: int) -> Any:
        return lambda role, place: None

    def syncs(self, run: Any) -> int:
        return int(run.one("clerk").state.votes)

    def epsilon_spent(self, plan: Plan, run: Any) -> float:
        return math.inf


@pytest.fixture(autouse=True)
def crowd(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(CrowdSystem())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_is_held_to_what_all_are(check):
    check(PRESET)


def test_it_runs_reports_and_resumes_like_any_other(tmp_path):
    experiment = fb.Experiment(
        rounds=50, replicates=2, environment=fb.environments.Linear(agents=2, dim=2, arms=3),
        systems=(fb.system(PRESET, first=1), fb.system("linucb-alone")),
    )  # fmt: skip
    result = fb.run(experiment, out=tmp_path / "out")
    assert (result.regret.sel(system=PRESET).isel(round=-1) > 0).all()
    assert (tmp_path / "out" / "report.html").exists()
    again = fb.run(tmp_path / "out" / "config.toml")
    assert result.regret.equals(again.regret)


def test_names_that_are_taken_are_refused():
    class Other(CrowdSystem):
        name = "another crowd"

    with pytest.raises(fb.ConfigError, match="'follow-the-crowd' belongs to system 'crowd'"):
        fb.register(Other())

    class Namesake(CrowdSystem):
        name = "feducb"
        presets: ClassVar = {}

    with pytest.raises(fb.ConfigError, match="'feducb' is registered already"):
        fb.register(Namesake())
    fb.register(CrowdSystem())  # defined anew, as in a notebook
    fb.register(registry.find_system("feducb"))
    assert len({system.name for system in registry.systems()}) == len(registry.systems())


class Point:
    """An entry point of another package."""

    value = "elsewhere:SYSTEM"

    def __init__(self, found):
        self._found = found

    def load(self):
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


class Thief(CrowdSystem):
    name = "thief"
    presets: ClassVar = {"feducb": Preset("a name that is taken", {})}


@pytest.mark.parametrize(
    ("found", "why"),
    [(ImportError("no such module"), "no such module"), (42, "is not a fedbandits"),
     (Thief(), "'feducb' belongs to system 'feducb' already")],
)  # fmt: skip
def test_a_package_that_offers_nonsense_is_left_out(monkeypatch, found, why):
    monkeypatch.setattr(registry, "entry_points", lambda group: [Point(found)])
    registry._offered.cache_clear()
    try:
        with pytest.warns(fb.errors.ConfigWarning, match=why):
            names = [system.name for system in registry.systems()]
        assert names == [*registry.BUILT_IN, "crowd"]
    finally:
        registry._offered.cache_clear()


def test_parties_that_wait_for_one_another_end_the_run():
    class Stalled(CrowdSystem):
        name = "stalled"
        presets: ClassVar = {"stalled": Preset("nobody is ever told to act", {})}

        def roles(self, plan):
            crowd = super().roles(plan)
            return Roles(crowd.roles, crowd.table, messages_set_pace=True, rounds_done=lambda _: 0)

    fb.register(Stalled())
    experiment = fb.Experiment(
        rounds=5, environment=fb.environments.Linear(agents=2, dim=2, arms=3),
        systems=(fb.system("stalled"),),
    )  # fmt: skip
    with pytest.raises(fb.FedbanditsError, match="stalled: nothing happens after"):
        fb.run(experiment)


def test_other_machines_do_not_see_what_is_registered_here():
    experiment = fb.Experiment(
        rounds=5, environment=fb.environments.Linear(agents=2), systems=(fb.system(PRESET),)
    )
    with pytest.raises(fb.ConfigError, match="entry point"):
        fb.run(experiment, backend="dask", scheduler="tcp://127.0.0.1:1")


def test_an_unknown_setting_is_named():
    with pytest.raises(fb.ConfigError, match="unknown key; known keys: first"):
        fb.system(PRESET, second=1)
