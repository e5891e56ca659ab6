"""A day of a federation in a few minutes: what an operator fears, and what is left of it.

    python benchmarks/operate.py [--hour 6] [--preset feducb-secure]

A day has 24 rounds, which are hours; an hour takes a few seconds. Members are real processes with
secure noise, over a real broker with TLS. Applications ask for decisions all the time, and ask
again until they are answered. The day is played twice: undisturbed, and with

* a start in the wrong order: agents first, the controller half an hour later,
* kills (SIGKILL) of a member of every role, and of the broker,
* an outage of all members over four rounds,
* a disk that is full for an hour,
* the broker's certificate renewed while it runs, and the broker moved to another folder,
* a member revoked while another one is away.

Both days must spend the same ε, and lose no reward that was acknowledged. Every row of the ledgers
is verified. Clocks that jump are left to tests/deployment/test_clock.py: nobody can set the clock
of a process alone.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

from fedbandits.deployment.delivery.broker import Broker
from fedbandits.deployment.process.federation_folder import BROKER
from fedbandits.deployment.process.folder import load_party
from fedbandits.deployment.process.local_doors import LocalDoor
from fedbandits.privacy.ledger import Ledger
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import table_from

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.deployment.brokered import Brokered
from tests.deployment.killed import Killed, signal_process

HOURS = 24
#: Seconds from now until the day begins, for processes that start; and between two decisions.
_BEFORE, _PAUSE = 8.0, 0.1
#: Rounds in which all members are down.
_OUTAGE = 4


class Spent(NamedTuple):
    """What a member has spent, from its ledger."""

    releases: int
    epsilon: float
    planned: float


class Day(NamedTuple):
    """What a day has come to."""

    spent: dict[str, Spent]
    decisions: int
    rewards: int
    still_there: int
    unanswered: int
    longest: dict[str, float]


class Members(Killed):
    """Members whose applications decide at a pace."""

    async def _until(self, member: str, ask: Any) -> Any:
        await asyncio.sleep(_PAUSE)
        return await super()._until(member, ask)

    async def end(self, *members: str) -> None:
        """End some members in order."""
        for member in members:
            self._processes[member].terminate()
        for member in members:
            await asyncio.to_thread(self._processes[member].join, 60)

    async def all_greeted(self, *members: str) -> float:
        """Wait until some members have greeted all who run; return how many seconds that took."""
        began = time.monotonic()
        doors = [LocalDoor(load_party(self.here.folder / member)) for member in members]
        waiting = {door.folder.member for door in doors}
        while waiting:
            for door in doors:
                report = await asyncio.to_thread(door.report)
                peers = set(self.federation.peers_of(report.party)) & set(members)
                up = report.status.get("ready") and report.status.get("connected")
                if up and set(report.status.get("greeted", ())) >= peers:
                    waiting.discard(report.party)
            await asyncio.sleep(0.1)
        return time.monotonic() - began


class Troubles:
    """Everything that happens to a federation in a day, by the hour at which it begins."""

    def __init__(self, members: Members, hour: float) -> None:
        self._members, self._hour, self.longest = members, hour, dict[str, float]()
        self._here = members.here
        self.everybody = list(members.federation.everybody)
        self._others = [each for each in self.everybody if each not in members.players]

    @property
    def table(self) -> tuple[tuple[int, str, Callable[[], Awaitable[None]]], ...]:
        """The hour, the name and the work of each."""
        return (
            (3, "kills", self._kill), (6, "outage", self._outage), (12, "full disk", self._full),
            (15, "certificate", self._certificate), (17, "broker moved", self._move),
            (20, "revocation", self._revoke),
        )  # fmt: skip

    async def start_in_the_wrong_order(self) -> None:
        """Start agents first, and everybody else half an hour later."""
        self._members.start(*self._members.players)
        await asyncio.sleep(0.5 * self._hour)
        self._members.start(*self._others)
        self.longest["start"] = await self._members.all_greeted(*self.everybody)

    async def _kill(self) -> None:
        kinds = [members[0] for members in self._members.federation.members.values()]
        for victim in (*kinds, "broker"):
            await self._members.kill(victim, spares=False)
        self.longest["kills"] = await self._members.all_greeted(*self.everybody)

    async def _outage(self) -> None:
        await self._members.end(*self.everybody)
        await asyncio.sleep(_OUTAGE * self._hour)
        self._members.start()
        self.longest["outage"] = await self._members.all_greeted(*self.everybody)

    async def _full(self) -> None:
        pid = self._members.pid(self._members.players[0])
        limits = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        await asyncio.sleep(self._hour)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
        self.longest["full disk"] = await self._members.all_greeted(*self.everybody)

    async def _certificate(self) -> None:
        await self._command("broker-certificate", "--name", "broker.example.org")
        signal_process(self._here.broker.pid or 0, signal.SIGHUP)
        self.longest["certificate"] = await self._members.all_greeted(*self.everybody)

    async def _move(self) -> None:
        await asyncio.to_thread(self._here.broker.stop)
        moved = self._here.folder / "elsewhere"
        (self._here.folder / BROKER).rename(moved)
        (self._here.folder / BROKER).symlink_to(moved)  # where the commands look for it
        self._here.broker = Broker(moved)
        await asyncio.to_thread(self._here.broker.start)
        self.longest["broker moved"] = await self._members.all_greeted(*self.everybody)

    async def _revoke(self) -> None:
        """Revoke the last player while whoever adds up is away."""
        revoked = self._members.players[-1]
        await self._members.end(*self._others)
        await self._command("revoke", revoked)
        self._here.broker.reload()
        self._members.start(*self._others)
        left = [each for each in self.everybody if each != revoked]
        self.longest["revocation"] = await self._members.all_greeted(*left)

    async def _command(self, name: str, *arguments: str) -> None:
        """Give a command of the federation's authority."""
        command = ["federation", name, str(self._here.folder), *arguments]
        await asyncio.to_thread(
            subprocess.run, [sys.executable, "-m", "fedbandits", *command], check=True,
            capture_output=True,
        )  # fmt: skip


async def play(members: Members, hour: float, disturbed: bool) -> Day:
    """Play a day."""
    troubles = Troubles(members, hour)
    begins = members.federation.clock.start.timestamp()  # type: ignore[union-attr]
    applications = asyncio.create_task(members.run())
    if disturbed:
        await troubles.start_in_the_wrong_order()
        for at, name, happens in troubles.table:
            await asyncio.sleep(max(0.0, begins + at * hour - time.time()))
            print(f"  {at:2d} h: {name}", flush=True)
            await happens()
    else:
        members.start()
    await asyncio.sleep(max(0.0, begins + (HOURS + 0.5) * hour - time.time()))
    applications.cancel()
    with suppress(asyncio.CancelledError):
        await applications
    decisions = sum(
        LocalDoor(load_party(members.here.folder / each)).report().status.get("decisions", 0)
        for each in members.players
    )
    still_there = await members.told_again()
    await members.stop()
    spent = {each: account(members, each) for each in members.players}
    return Day(
        spent, decisions, len(members.rewarded), still_there, members.unanswered, troubles.longest
    )


def account(members: Members, member: str) -> Spent:
    """Verify every row of a member's ledger, and return what it has spent."""
    store = load_party(members.here.folder / member).store
    with Ledger.existing(store) as ledger, ledger.read() as connection:
        ledger.verify(connection)
        (party,) = ledger.parties(connection)
        found = ledger.statement(connection, party)
    return Spent(found.charges, found.spent_epsilon, found.epsilon)


def day(preset: str, hour: float, disturbed: bool) -> Day:
    """Make a federation, and play a day of it."""
    setting = Setting(preset)
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=_BEFORE)
    table = table_from(
        setting, rounds=HOURS, noise="secure", message_time=f"{hour / 4.0:g} s",
        clock={"kind": "live", "start": start, "every": f"{hour:g} s"},
    )  # fmt: skip
    with (
        tempfile.TemporaryDirectory() as folder,
        Brokered(table, pathlib.Path(folder)) as here,
        Members(here, setting.world, 10**6) as members,
    ):
        return asyncio.run(play(members, hour, disturbed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="feducb")
    parser.add_argument("--hour", type=float, default=6.0, help="seconds")
    given = parser.parse_args()
    days = {}
    for name, disturbed in (("undisturbed", False), ("disturbed", True)):
        print(f"{name}:", flush=True)
        days[name] = day(given.preset, given.hour, disturbed)
    print(f"\n{'':12} {'decisions':>9} {'rewards':>8} {'still there':>11} {'unanswered':>10}")
    for name, found in days.items():
        print(
            f"{name:12} {found.decisions:9,} {found.rewards:8,} {found.still_there:11,} "
            f"{found.unanswered:10,}"
        )
    print(f"\n{'member':12} {'':12} {'releases':>8} {'ε spent':>9} {'of':>6}")
    for name, found in days.items():
        for member, spent in found.spent.items():
            row = f"{member:12} {name:12} {spent.releases:8} {spent.epsilon:9.4f}"
            print(f"{row} {spent.planned:6.3g}")
            assert spent.epsilon <= spent.planned, "more was spent than was planned"
        assert found.still_there == found.rewards, "an acknowledged reward was lost"
    print("\nseconds until everybody was connected again")
    for name, seconds in days["disturbed"].longest.items():
        print(f"{name:14} {seconds:6.1f}")


if __name__ == "__main__":
    main()
