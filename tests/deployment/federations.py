"""Small federations for tests."""

from __future__ import annotations

from fedbandits.federation import snapshots
from fedbandits.federation.run import PartiesRun
from fedbandits.random import replicate_key
from fedbandits.settings.federation import read_federation
from fedbandits.testing.deployed import simulated

CLINICS = """
name = "clinics"
rounds = {rounds}
noise = "{noise}"
message_time = "{message_time}"
[system]
preset = "{preset}"
{settings}
[facts]
parties = {agents}
dimension = 4
arms = 5
[clock]
{clock}
[members]
agent = {names}
{others}
{rewards}
"""


def clinics(
    preset="feducb",
    settings='schedule = "every(10)"\nepsilon = 1.0\ndelta = 1e-5',
    agents=3,
    rounds=40,
    noise="simulated",
    message_time="30 s",
    others='controller = ["hub"]',
    every="1 h",
    start="2999-01-01T00:00:00Z",
    kind="live",
    rewards="",
):
    names = [f"clinic-{i}" for i in range(agents)]
    clock = (
        f'kind = "live"\nstart = {start}\nevery = "{every}"'
        if kind == "live"
        else f'kind = "{kind}"'
    )
    table = {
        "clock": clock, "rewards": rewards,
        "preset": preset, "settings": settings, "agents": agents, "rounds": rounds,
        "noise": noise, "message_time": message_time, "others": others, "names": names,
    }  # fmt: skip
    return read_federation(CLINICS.format(**table))


def with_helpers(
    preset="feducb-secure",
    settings="""schedule = "every(10)"
epsilon = 1.0
delta = 1e-5
[system.aggregation]
kind = "secure-sum"
least_parties = 2""",
    others="""controller = ["hub"]
helper = ["lab", "office"]""",
    **table,
):
    """Make a federation whose agents release to secure sums, with two helpers."""
    return clinics(preset, settings, others=others, **table)


def undisturbed(federation, environment, seed, rounds):
    """Run a federation's parties in one process, under its terms; their states, by member."""
    stage = environment.stage(replicate_key(seed, 0))
    run = PartiesRun(
        federation.roles, simulated(federation, environment, seed), federation.terms, stage, rounds
    )
    run.advance(rounds)
    return {federation.member_of[party.name]: snapshots.plain(party.state) for party in run.parties}
