"""Every kind of party and the broker killed at random instants: what is lost or repeated.

    python benchmarks/faults.py [--kills 50] [--only feducb …] [--rounds 120]

Each system runs as real processes over NATS with TLS, with doors that applications ask until they
are answered. Every kind of party and the broker are killed with SIGKILL in turns; one party stands
still for a while, as if cut off; and once nothing can be written to its store.

* *Equal*: simulated noise, compared with the same run undisturbed: all states, bit for bit (of
  SAMBA, whose encryption of sums is never the same twice: who pulled when, and what it gave). A
  party is not killed while it decides: an orphan of a decision would change what is compared.
* *Secure*: noise of a deployment, and kills at any time. Every reward that was acknowledged is
  there (told again it is refused), and every row of the ledgers is as it was written: no step of
  noise is drawn or charged twice. SAMBA's customer has the sum of all pulls, each made once.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import resource
import sys
import tempfile
import time
from typing import Any, NamedTuple

from fedbandits.environments.base import Environment
from fedbandits.federation import snapshots
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import table_from

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.deployment.brokered import Brokered
from tests.deployment.killed import Killed, killing, settled, states

SYSTEMS = (
    "feducb",
    "feducb-secure",
    "fclub",
    "pfcb",
    "pfcb-secure",
    "samba-ucb",
    "samba-silent-ucb",
)
#: Seconds that a party stands still, and that its disk is full.
_AWAY, _FULL = 3.0, 1.0


class Result(NamedTuple):
    """What a run has come to."""

    kills: int
    unanswered: int
    rewards: int
    again: int
    states: dict[str, bytes]
    events: int
    seconds: float


def table(preset: str, rounds: int, noise: str) -> tuple[dict[str, Any], Environment]:
    """The federation's file, and its world."""
    setting = Setting(preset)
    return (
        table_from(setting, rounds=rounds, noise=noise, clock={"kind": "rounds"}),
        setting.world,
    )


async def run(here: Brokered, world: Environment, rounds: int, kills: int, spares: bool) -> Result:
    """Play once."""
    with Killed(here, world, rounds) as killed:
        return await _run(killed, rounds, kills, spares)


async def _run(killed: Killed, rounds: int, kills: int, spares: bool) -> Result:
    began, here = time.monotonic(), killed.here
    killed.start()
    kinds = [members[0] for members in here.federation.members.values()]
    if spares and "customer" in kinds:  # in a simulation its key is made anew with its process
        kinds.remove("customer")
    trouble = asyncio.create_task(_trouble(killed, rounds)) if kills else None
    made = await killing(killed, [*kinds, "broker"], kills, spares, 1, _rewards(here, rounds))
    if trouble is not None:
        await trouble
    events = await settled(killed)
    again = await killed.told_again() if not here.federation.roles.messages_set_pace else 0
    await killed.stop()
    states_of = await states(killed)
    if killed.told:  # SAMBA: every pull once, and the customer has their sum
        assert len(killed.told) == rounds, "there are other pulls than were ordered"
        total = states_of["customer"].cumulative_reward
        assert total == sum(killed.told.values()), "the total is not the sum of all pulls"
        # Paillier's key is another one in each run, and with it what parties hold of sums.
        found = {member: repr(sorted(killed.told.items())).encode() for member in states_of}
    else:
        found = {member: snapshots.plain(state) for member, state in states_of.items()}
    seconds = time.monotonic() - began
    return Result(made, killed.unanswered, len(killed.rewarded), again, found, events, seconds)


def _rewards(here: Brokered, rounds: int) -> int:
    """How many rewards there will be."""
    system, players = here.federation.system.name, len(here.federation.roles.acting.parties)
    return rounds * players if system in ("feducb", "pfcb") else rounds


async def _trouble(killed: Killed, rounds: int) -> None:
    """One party is cut off for a while, and its disk is full for another."""
    member = killed.players[-1]
    while len(killed.rewarded) < rounds // 3:
        await asyncio.sleep(0.01)
    killed.pause(member, True)
    await asyncio.sleep(_AWAY)
    killed.pause(member, False)
    while len(killed.rewarded) < rounds // 2:
        await asyncio.sleep(0.01)
    pid = killed.pid(member)
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    await asyncio.sleep(_FULL)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--only", nargs="*", default=SYSTEMS)
    given = parser.parse_args()
    print(
        f"{'system':10s} {'noise':9s} {'killed':>6s} {'unanswered':>10s} {'rewards':>8s} "
        f"{'still there':>11s} {'events':>7s} {'seconds':>8s}  states, ledgers"
    )
    for preset in given.only:
        quiet: Result | None = None
        for noise, kills in (("simulated", 0), ("simulated", given.kills), ("secure", given.kills)):
            what, world = table(preset, given.rounds, noise)
            with tempfile.TemporaryDirectory() as folder, Brokered(what, pathlib.Path(folder)) as b:
                found = asyncio.run(run(b, world, given.rounds, kills, noise == "simulated"))
            verdict = "as written"
            if noise == "simulated" and quiet is None:
                quiet, verdict = found, "what the next is compared with"
            elif noise == "simulated" and quiet is not None:
                other = [m for m, state in found.states.items() if state != quiet.states[m]]
                assert not other, f"{preset}: {', '.join(other)} differ from an undisturbed run"
                verdict = "equal, bit for bit"
            print(
                f"{preset:10s} {noise:9s} {found.kills:6d} {found.unanswered:10d} "
                f"{found.rewards:8d} {found.again:11d} {found.events:7d} {found.seconds:8.1f}  "
                f"{verdict}",
                flush=True,
            )


if __name__ == "__main__":
    main()
