"""Small federations for tests."""

from __future__ import annotations

from fedbandits.settings.federation import read_federation

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
