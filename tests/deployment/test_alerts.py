"""The example's alerts, evaluated over metrics that a federation has told: each fires, and clears.

A drill records what real parties say before, while and after a helper is away. Other faults are
played on a healthy party's numbers, over hours that nobody has to wait for.
"""

from __future__ import annotations

import asyncio
import pathlib
import re
import time

import pytest

from fedbandits.deployment.delivery.transport import MemoryHub
from fedbandits.deployment.door.metrics import Metrics
from fedbandits.deployment.process.examples import example
from fedbandits.deployment.process.federation_folder import init_federation
from fedbandits.deployment.process.folder import load_party
from fedbandits.deployment.process.running import RunningParty
from fedbandits.testing.deployed import until
from tests.deployment.rules import STEP, Recorded, evaluate, fired, rules

promql = pytest.importorskip("promql_parser")
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "federation-operate.md"
AGENTS = ("north", "south", "east")
ACTIONS = [[0.1, 0.2, 0.3, 0.4]] * 5
#: Seconds of a drill before a fault, while it lasts, and after it.
BEFORE, FAULT, AFTER = 600.0, 1800.0, 900.0
HOUR, DAY = 3600.0, 86_400.0


async def page(party):
    """What a party says at its door."""
    node = party.node
    return Metrics(node).page(node.status(), await node.privacy()).decode()


class Drill:
    """A federation with secure sums in this process, from folders as the command makes them."""

    def __init__(self, folder):
        text = example("feducb-secure", "1 h").replace("rounds = 1000", "rounds = 40")
        begins = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() + 600.0))
        (folder / "clinics.toml").write_text(re.sub(r"(?m)^start = .*", f"start = {begins}", text))
        self.folder, self.hub = folder / "clinics", MemoryHub()
        init_federation(folder / "clinics.toml", self.folder, local=True, first_port=0)
        self.parties = {}

    async def start(self, *members):
        for member in members:
            folder = load_party(self.folder / member)
            party = RunningParty(folder, self.hub.transport(member))
            await party.start()
            self.parties[member] = party

    async def stop(self, *members):
        for member in members or tuple(self.parties):
            await self.parties.pop(member).stop()

    def sums(self, member):
        return self.parties[member].node.status()["sums"]

    async def end_rounds(self):
        """Decide, learn, and end a round, each agent for itself."""
        for agent in AGENTS:
            node = self.parties[agent].node
            decided = await node.decide(node.application.ASKED(actions=ACTIONS))
            await node.reward(decided.number, node.application.TOLD(reward=0.5))
            await until(lambda node=node: not node.delivery.awaited)  # since its keys came
            await node.end_round(node.host.view.next_end)

    async def pages(self):
        return {name: await page(party) for name, party in self.parties.items()}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Pages of all parties before, while and after a helper is away."""
    drill, found = Drill(tmp_path_factory.mktemp("drill")), []

    async def play():
        everybody = load_party(drill.folder / "north").federation.everybody
        await drill.start(*everybody)
        try:
            nodes = [party.node for party in drill.parties.values()]
            await until(lambda: all(node.ready for node in nodes))  # keys have been handed over
            await until(lambda: not any(node.delivery.awaited for node in nodes))
            exchanges = [each for node in nodes for each in node.delivery.exchanges.values()]
            await until(lambda: all(each.greeted for each in exchanges))
            await drill.end_rounds()
            await until(lambda: all(drill.sums(agent)["sums"] == 1 for agent in AGENTS))
            found.append(await drill.pages())
            await drill.stop("helper-1")
            await drill.end_rounds()
            await until(lambda: drill.sums("controller")["helpers_awaited"] == ["helper-1"])
            found.append(await drill.pages() | {"helper-1": None})
            await drill.start("helper-1")
            for party in drill.parties.values():
                party.node.delivery.resend_all()
            await until(lambda: all(drill.sums(agent)["sums"] == 2 for agent in AGENTS))
            found.append(await drill.pages())
        finally:
            await drill.stop()

    asyncio.run(play())
    return found


def recorded(phases, changes=lambda name, at: {}):
    """Lay pages of all parties out over time: each phase has pages, and how long it takes."""
    found, began = Recorded(), time.time()
    at = began
    for pages, lasts in phases:
        end = at + lasts
        while at < end:
            for name, text in pages.items():
                usual = usually(at, began)
                changed = text if text is None else with_numbers(text, usual | changes(name, at))
                found.scrape(at, name, changed)
            at += STEP
    return found, began, at - STEP


def usually(at, began):
    """Numbers of a healthy party that follow the time."""
    return {
        "fedbandits_next_round_timestamp_seconds": at + 600.0,
        "fedbandits_last_release_timestamp_seconds": at - 600.0,
        "fedbandits_last_sum_age_seconds": 600.0,
        "fedbandits_decisions_total": at - began,
        "fedbandits_rewards_total": at - began,
    }


def with_numbers(text, changes):
    """Change numbers in a page; one with labels that is not there is added."""
    for name, value in changes.items():
        text, count = re.subn(rf"(?m)^{re.escape(name)} .*$", f"{name} {value}", text)
        if not count and "{" in name:
            text += f"{name} {value}\n"
    return text


def test_a_helper_that_stops_is_told_of_within_minutes_and_when_it_is_back(told):
    before, without, after = told
    phases = [(before, BEFORE), (without, FAULT), (after, AFTER)]
    history, began, ended = recorded(phases)
    found = fired(history, began, ended)
    assert set(found) == {"PartyDown", "HelperIsAwaited"}
    for alert, instance, minutes in (
        ("PartyDown", "helper-1", 6), ("HelperIsAwaited", "controller", 11),
    ):  # fmt: skip
        assert {name for name, _ in found[alert]} == {instance}
        times = [at - began for _, at in found[alert]]
        assert BEFORE < min(times) <= BEFORE + 60.0 * minutes
        assert max(times) <= BEFORE + FAULT + STEP


#: By alert: the party, what its numbers are meanwhile, how long that lasts, whether it clears at
#: once, and what fires besides.
FAULTS = {
    "PartyNotReady": ("north", {"fedbandits_ready": 0}),
    "PartyNotConnected": ("north", {"fedbandits_connected": 0}),
    "PartyHasAProblem": ("north", {'fedbandits_problems{about="clock"}': 1}),
    "CertificateEnds": ("lab", {"fedbandits_certificate_left_seconds": 59 * DAY}),
    "CertificateEndsNow": ("lab", {"fedbandits_certificate_left_seconds": 3 * DAY}),
    "PeersAreSilent": ("north", {"fedbandits_silent_peers": 2}),
    "ReleasesWaitForAPeer": ("north", {'fedbandits_waits_for{peer="lab"}': 1}),
    "MessagesStay": ("north", {"fedbandits_outbox_stuck_seconds": 5 * HOUR}),
    "MessagesAreRefused": ("north", {'fedbandits_messages_total{outcome="refused"}': 1}),
    "MessagesAreGivenUp": ("north", {'fedbandits_messages_total{outcome="given_up"}': 1}),
    "ClockIsOff": ("north", {"fedbandits_clock_offset_seconds": -600.0}),
    "SumsStandStill": ("north", {"fedbandits_last_sum_age_seconds": 5 * HOUR}),
    "SumsAreEmpty": ("lab", {"fedbandits_members_of_last_sum": 0}),
    "SumsAreUnused": ("north", {"fedbandits_unused_sums": 3}),
    "SumsAreMissed": ("north", {"fedbandits_missed_sums": 3}),
    "TotalsDiffer": ("north", {"fedbandits_other_total": 4}),
    "AgentHasRetired": ("north", {"fedbandits_retired": 1}),
    "RoundsStandStill": ("north", {"fedbandits_next_round_timestamp_seconds": "-3 h"}),
    "NothingIsReleased": ("north", {"fedbandits_last_release_timestamp_seconds": "-5 h"}),
    "LedgerRefuses": ("north", {"fedbandits_exhausted": 1}),
    "PlanEnds": ("north", {"fedbandits_epsilon_left": 0.01}),
    "DecisionsNeverCount": ("north", {"fedbandits_records_never": 9}),
    "RewardsDoNotCome": (
        "north", {"fedbandits_rewards_total": 7, "fedbandits_open_decisions": 9},
    ),
    "DoorFails": ("north", {'fedbandits_requests_refused_total{reason="unavailable"}': 1}),
    "DoorIsSlow": ("north", {}),
}  # fmt: skip
#: What fires with it.
BESIDE = {"CertificateEndsNow": {"CertificateEnds"}}
#: How long a fault lasts that is not told of within half an hour.
LASTS = {"RewardsDoNotCome": 8 * HOUR}
#: What is told of for as long as it was lately so.
LATELY = {
    "MessagesAreRefused", "MessagesAreGivenUp", "SumsAreUnused", "SumsAreMissed", "DoorFails",
}  # fmt: skip


@pytest.mark.parametrize("alert", FAULTS)
def test_each_fault_is_told_of_by_its_alert_and_no_other(alert, told):
    party, numbers = FAULTS[alert]
    party = {"lab": "helper-0"}.get(party, party)
    lasts = LASTS.get(alert, FAULT)
    began = time.time()
    faulty = (began + BEFORE, began + BEFORE + lasts)

    def changes(name, at):
        if name != party or not faulty[0] <= at < faulty[1]:
            return {}
        if alert == "DoorIsSlow":
            return slow(at - faulty[0])
        hours = {"-3 h": at - 3 * HOUR, "-5 h": at - 5 * HOUR}
        return {key: hours.get(value, value) for key, value in numbers.items()}

    history, start, end = recorded([(told[0], BEFORE + lasts + AFTER)], changes)
    found = fired(history, start, end)
    assert set(found) == {alert} | BESIDE.get(alert, set())
    times = [at for instance, at in found[alert] if instance == party]
    assert len(times) == len(found[alert])
    assert min(times) >= faulty[0]
    if alert not in LATELY:
        assert max(times) <= faulty[1] + STEP + (600.0 if alert == "DoorIsSlow" else 0.0)


def slow(after):
    """Ten answers a second, each of which takes half a second."""
    count = 10.0 * after
    bounds = {"0.25": 0.0, "1.0": count, "+Inf": count}
    name = "fedbandits_request_seconds_bucket"
    return {f'{name}{{le="{le}",route="/v1/decisions"}}': value for le, value in bounds.items()}


def test_all_is_quiet_while_all_is_well(told):
    history, began, ended = recorded([(told[0], 7 * HOUR)])
    assert fired(history, began, ended) == {}


def test_rules_are_complete_and_each_is_tried():
    found = rules()
    assert {rule.severity for rule in found} == {"critical", "warning", "info"}
    tried = {*FAULTS, "PartyDown", "HelperIsAwaited"}
    assert {rule.name for rule in found} == tried
    text = PAGE.read_text(encoding="utf-8")
    for rule in found:
        promql.parse(rule.expr)
        assert f"`{rule.name}`" in text, "the page names every alert"


def test_every_row_of_the_page_s_table_has_an_alert(told):
    """And every number in the table and in a rule is one that parties tell."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| metric | means | alert |") :].split("\n\n")[0]
    rows = [line.split("|")[1:4] for line in table.splitlines()[2:]]
    named = {rule.name for rule in rules()}
    for metrics, _, alerts in rows:
        alert = re.findall(r"`([A-Z]\w+)`", alerts)
        assert alert, metrics
        assert set(alert) <= named
    shown = {"up"}
    for metrics, *_ in rows:
        names = [name for name in re.findall(r"`(\w+)", metrics) if name != "up"]
        shown |= {name if name.startswith("fedbandits_") else f"fedbandits{name}" for name in names}
    asked = {name for rule in rules() for name in re.findall(r"fedbandits_\w+", rule.expr)}
    assert {name.removesuffix("_bucket") for name in asked} <= shown
    pages = "\n".join(page for phase in told for page in phase.values() if page)
    there = {name for name in shown if f"# HELP {name} " in pages}
    assert shown - there == {"up", "fedbandits_broker_certificate_left_seconds"}


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("a > 1", {"x": 2.0, "y": 3.0}),
        ("a > b", {"y": 3.0}),
        ("a and b", {"y": 3.0}),
        ("a unless b", {"x": 2.0}),
        ("b or a", {"x": 2.0, "y": 2.0}),
        ("2 * a - 1", {"x": 3.0, "y": 5.0}),
        ("a / b == 1.5", {"y": 1.5}),
        ("increase(c[5m])", {"y": 7.0}),
        ("abs(a - 4)", {"x": 2.0, "y": 1.0}),
        ('a{instance=~"x|z"}', {"x": 2.0}),
        ('a{instance!="x"}', {"y": 3.0}),
        ("time() - a", {"x": 998.0, "y": 997.0}),
        ("a unless on (instance) d > 0", {"x": 2.0}),
    ],
)
def test_expressions_are_evaluated_as_prometheus_does(expr, expected):
    history = Recorded()
    for at, count in ((760.0, 5.0), (820.0, 9.0), (880.0, 1.0), (940.0, 2.0), (1000.0, 3.0)):
        history.scrape(at, "x", "a 2\n")
        history.scrape(at, "y", f'a 3\nb 2\nc {count}\nd{{about="r"}} 1\n')
    found = evaluate(promql.parse(expr), history, 1000.0)
    assert {dict(labels)["instance"]: value for labels, value in found.items()} == expected
