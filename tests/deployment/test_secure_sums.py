"""Members of secure sums that are away or cut off: all else goes on, and sums come again."""

from __future__ import annotations

import asyncio
import logging
import time

import numpy as np

from fedbandits.deployment.door.metrics import Metrics
from fedbandits.deployment.hosting.clock import Clock
from fedbandits.federation.totals import sender
from fedbandits.testing.deployed import DeployedFederation, until
from tests.deployment.federations import with_helpers
from tests.deployment.secure import (
    AGENTS,
    HELPERS,
    SETTINGS,
    hurry,
    is_sum,
    learn,
    no_longer_waited_for,
    played,
    release,
    report,
    summed,
)


def page(node):
    return Metrics(node).page(node.status(), {}).decode()


def test_a_helper_is_away_for_a_while(tmp_path, caplog):

    async def work(deployed):
        await learn(deployed)
        await release(deployed)
        await summed(deployed, 1)
        is_sum(deployed)
        await deployed.stop("lab")
        await learn(deployed)
        await release(deployed)
        hub = deployed.nodes["hub"]
        await until(lambda: report(deployed, "hub")["helpers_awaited"] == ["lab"])
        assert 'fedbandits_helpers_awaited{helper="lab"} 1.0' in page(hub)
        await no_longer_waited_for(deployed)
        await until(lambda: "hub: sum 2 waits for lab; all else goes on" in caplog.text)
        for _ in range(2):
            await learn(deployed)
            await release(deployed)
        assert [report(deployed, agent)["sums"] for agent in AGENTS] == [1, 1, 1]
        for agent in AGENTS:  # a share is charged for when it is drawn, sent or not
            assert (await deployed.nodes[agent].privacy())["releases"] == 4
        await deployed.start("lab")
        hurry(deployed)
        await summed(deployed, 2)
        await until(lambda: "hub: all helpers have answered" in caplog.text)
        await release(deployed)
        await summed(deployed, 5)
        is_sum(deployed)
        assert report(deployed, "hub") == {
            "sums": 5, "members_of_last_sum": 3, "left_out": [], "retired_agents": [],
            "unbelieved": {}, "differing": {}, "refused_by": [], "helpers_awaited": [],
            "helpers_asked": 0,
        }  # fmt: skip

    caplog.set_level(logging.INFO, "fedbandits")
    played(tmp_path, work)


def test_a_member_is_cut_off_and_comes_back(tmp_path, caplog):
    async def work(deployed):
        await learn(deployed)
        await release(deployed)
        await summed(deployed, 1)
        deployed.hub.route = lambda sender, receiver, frame: (
            [] if "clinic-2" in (sender, receiver) else [(0.0, frame)]
        )
        for number in (2, 3):
            await learn(deployed)
            await release(deployed)
            await no_longer_waited_for(deployed)
            await summed(deployed, number, *AGENTS[:2])
            is_sum(deployed)
        assert report(deployed, "hub")["left_out"] == ["clinic-2"]
        assert "hub: sum 2 has 2 members; not in it: clinic-2" in caplog.text
        assert "fedbandits_members_of_last_sum 2.0" in page(deployed.nodes["lab"])
        deployed.hub.route = lambda sender, receiver, frame: [(0.0, frame)]
        hurry(deployed)
        await summed(deployed, 3)
        await release(deployed)
        await summed(deployed, 4)
        is_sum(deployed)
        assert deployed.state("hub").opened.tolist() == [4, 4, 4]
        assert not any(report(deployed, agent)["retired"] for agent in AGENTS)
        assert not any(report(deployed, agent)["missed_sums"] for agent in AGENTS)  # all came late

    caplog.set_level(logging.WARNING, "fedbandits")
    played(tmp_path, work)


def test_a_sum_of_too_few_is_opened_for_nobody(tmp_path):
    all_three = SETTINGS.replace("least_parties = 2", "least_parties = 3")

    async def work(deployed):
        await learn(deployed)
        await release(deployed, "clinic-0", "clinic-1")
        await no_longer_waited_for(deployed)
        await summed(deployed, 1)
        assert not deployed.state("hub").total.any()
        assert report(deployed, "hub")["members_of_last_sum"] == 0
        await release(deployed)
        await release(deployed, "clinic-2")
        await summed(deployed, 2)
        is_sum(deployed)

    played(tmp_path, work, with_helpers(settings=all_three, rounds=8, noise="secure"))


def test_nothing_is_closed_on_the_word_of_one(tmp_path):
    """One may lie, as the terms say: it is waited for others, and then all are in."""

    async def work(deployed):
        await learn(deployed)
        await release(deployed, "clinic-0")
        await until(lambda: deployed.state("hub").held[0] == 1)
        assert deployed.nodes["hub"].host.view.awaited is None
        await release(deployed, "clinic-1", "clinic-2")
        await summed(deployed, 1)
        assert report(deployed, "hub")["members_of_last_sum"] == 3
        is_sum(deployed)

    played(tmp_path, work)


def test_an_agent_that_retires_says_so_and_goes_on_deciding(tmp_path, caplog, monkeypatch):
    async def work(deployed):
        await learn(deployed)
        await release(deployed)
        await summed(deployed, 1)
        with monkeypatch.context() as lying:  # as if helpers had confirmed something else
            lying.setattr(sender, "same", lambda *_: False)
            await release(deployed)
            await summed(deployed, 2)
        for agent in AGENTS:
            node = deployed.nodes[agent]
            assert report(deployed, agent)["retired"]
            assert f"{agent}: has retired" in caplog.text
            assert "fedbandits_retired 1.0" in page(node)
            sent = node.status()["messages"]["sent"]
            await learn(deployed, agent)
            await release(deployed, agent)
            assert node.status()["messages"]["sent"] == sent
        assert caplog.text.count("has retired") == len(AGENTS)

    caplog.set_level(logging.WARNING, "fedbandits")
    played(tmp_path, work)


def test_who_waits_for_secrets_owes_no_round_and_is_in_the_first_sum(tmp_path, monkeypatch):
    monkeypatch.setattr(Clock, "_patience", 2.0)  # a slow machine ends no sum without its members
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    settings = 'schedule = "evenly(100)"\nepsilon = 1.0\ndelta = 1e-5'
    federation = with_helpers(
        settings=settings, rounds=1000, noise="secure", start=start, every="250 ms",
        message_time="50 ms",
    )  # fmt: skip
    deployed = DeployedFederation(federation, tmp_path)

    async def play():
        await deployed.start("hub", "lab", "clinic-0")
        await until(lambda: deployed.nodes["clinic-0"].clock.done >= 2)
        assert "masks-1" in deployed.nodes["clinic-0"].wants
        await deployed.start("office", "clinic-1", "clinic-2")
        await until(lambda: report(deployed, "hub").get("members_of_last_sum") == 3)
        # Nobody has made more than there are sums, but for one that is on its way.
        newest = report(deployed, "hub")["sums"]
        made = [deployed.state(agent).released.made for agent in AGENTS]
        ended = deployed.nodes["clinic-0"].clock.done
        await deployed.stop()
        return newest, made, ended

    newest, made, ended = asyncio.run(play())
    assert set(made) <= {newest, newest + 1}
    assert newest + 2 <= ended


def noted(monkeypatch):
    """Note all that agents release, and their increments, as they are before they are masked."""
    found = []
    made = sender.Sender.send

    def send(self, state, release, values):
        found.append(values.astype("<i8"))
        found.append((values - state.base_values).astype("<i8"))
        return made(self, state, release, values)

    monkeypatch.setattr(sender.Sender, "send", send)
    return found


def needles(values):
    """A release in all ways in which it could be written: any two numbers of it, side by side."""
    yield values.tobytes()
    yield values.astype(">i8").tobytes()
    for two in range(len(values) - 1):
        yield values[two : two + 2].tobytes()
        yield values[two : two + 2].astype(">i8").tobytes()
    yield from (str(number).encode() for number in values if abs(number) > 10**9)


def test_no_release_is_in_a_message_a_store_of_another_or_a_log(tmp_path, monkeypatch, caplog):
    """Nothing is sealed here: masks alone hide a release, from helpers and controller alone."""
    released, frames = noted(monkeypatch), []

    async def work(deployed):
        route = deployed.hub.route
        deployed.hub.route = lambda *frame: (frames.append(frame[2]), route(*frame))[1]
        for number in range(1, 5):
            await learn(deployed)
            await release(deployed)
            await summed(deployed, number)

    caplog.set_level(logging.DEBUG)
    played(tmp_path, work)
    assert len(released) == 2 * 4 * len(AGENTS)
    searched = {needle for values in released for needle in needles(values)}
    searched = {needle for needle in searched if len(set(needle)) > 4}
    assert len(searched) > 500
    others = [path.read_bytes() for m in ("hub", *HELPERS) for path in tmp_path.glob(f"{m}.*")]
    seen = b"\0".join([*frames, *others, caplog.text.encode()])
    assert len(frames) > 4 * 10
    assert not [needle for needle in searched if needle in seen]
    own = b"\0".join(path.read_bytes() for path in tmp_path.glob("clinic-*.db*"))
    assert any(np.asarray(values).tobytes() in own for values in released), "the search can find"
