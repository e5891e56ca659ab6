"""Parties on this machine: the state of each party, and the command that mends a problem."""

from __future__ import annotations

import pathlib
import shlex
from datetime import UTC, datetime
from typing import Any

from fedbandits.deployment.hosting.known import Beside, with_left
from fedbandits.deployment.process.federation_folder import load_parties
from fedbandits.deployment.process.folder import PartyFolder
from fedbandits.deployment.process.local_doors import LocalDoor, PartyReport
from fedbandits.deployment.process.looking import is_party, read_running
from fedbandits.errors import LedgerError
from fedbandits.privacy.ledger import Ledger


def holds_parties(folder: pathlib.Path) -> bool:
    """Tell whether a folder belongs to a party, or contains folders of parties."""
    return is_party(folder) or any(map(is_party, folder.iterdir()))


def live(folder: str) -> dict[str, Any]:
    """Ask all parties in a folder for their state, and change nothing.

    Returns
    -------
    dict
        ``parties``, in the order of the federation's file, and ``worst``: the most urgent problem,
        or None without a problem. Rewards are left out: the door reports none on purpose.
    """
    place = pathlib.Path(folder)
    if not holds_parties(place):
        return {"federation": None, "parties": [], "worst": None}
    folders = load_parties(place)
    parties = [_party(LocalDoor(party)) for party in folders]
    worst = max((p for p in parties if p["problem"]), key=lambda p: p["weight"], default=None)
    return {
        "federation": folders[0].federation.name,
        "parties": parties,
        "worst": worst and {
            "party": worst["name"], "problem": worst["problem"], "remedy": worst["remedy"]
        },
    }  # fmt: skip


def _party(door: LocalDoor[PartyFolder]) -> dict[str, Any]:
    report, running = door.report(), read_running(door.folder.path)
    status, privacy = report.status, report.privacy or _account(door)
    weight, problem, remedy = _trouble(door, report)
    if "unreadable" in privacy:
        problem = f"{problem}; {privacy['unreadable']}"
    schedule = door.folder.federation.plan.schedule
    planned, released = privacy.get("releases_planned"), privacy.get("releases")
    return {
        "name": report.party,
        "role": report.role,
        "running": report.running,
        "ready": bool(status.get("ready")),
        "problem": problem,
        "remedy": remedy,
        "weight": weight,
        "since": _last_written(door) if running is None else _time(running.started),
        "stage": status.get("stage", ""),
        "round": status.get("ticks"),
        "rounds": getattr(schedule, "rounds", None),
        "clock": status.get("next_tick") or "",
        "epsilon": privacy.get("epsilon"),
        "epsilon_left": privacy.get("epsilon_left"),
        "epsilon_spent": privacy.get("epsilon_spent"),
        "rounds_left": (
            None if planned is None or released is None else max(0, planned - released)
        ),
        "releases": released,
        "last_release": None if not privacy.get("last_release") else _time(privacy["last_release"]),
        "decisions": status.get("decisions"),
        "waiting": status.get("records_waiting", 0),
        "never": status.get("records_never", 0),
        "refusals": sum(status.get("refusals", {}).values()),
        "peers": [
            {"name": peer, "greeted": peer in status.get("greeted", ())}
            for peer in door.folder.federation.peers_of(report.party)
        ],
    }


def _account(door: LocalDoor[PartyFolder]) -> dict[str, Any]:
    """Read the spent budget of a stopped party; nothing if its store is on another machine."""
    store = pathlib.Path(door.folder.store)
    schedule = door.folder.federation.plan.schedule
    if "://" in door.folder.store or not store.is_file():
        return {}
    try:
        beside = Beside.of(store)
        with Ledger.existing(store) as ledger, ledger.read() as connection:
            parties = ledger.parties(connection)
            if not parties:
                return {}
            spent = with_left(ledger.statement(connection, parties[0]), beside.left)
    except LedgerError as error:
        return {"unreadable": f"its account cannot be read: {error}"}
    return {
        "releases": spent.charges, "releases_planned": schedule.releases,
        "last_release": spent.last, "epsilon": spent.epsilon,
        "epsilon_spent": spent.spent_epsilon, "epsilon_left": spent.left_epsilon,
    }  # fmt: skip


def _last_written(door: LocalDoor[PartyFolder]) -> str | None:
    """Return the time of the last write of a stopped party."""
    store = pathlib.Path(door.folder.store)
    return _time(store.stat().st_mtime) if store.is_file() else None


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _trouble(
    door: LocalDoor[PartyFolder], report: PartyReport
) -> tuple[int, str | None, str | None]:
    """Return the weight of a party's problem, the problem in a line, and the command that helps."""
    path = shlex.quote(str(door.folder.path))
    if not report.running:
        return 9, "does not run", f"fedbandits party run {path}"
    if report.problem:
        return 8, report.problem, f"fedbandits party status {path}"
    problems: dict[str, str] = report.status.get("problems", {})
    if inner := problems.get("self") or problems.get("store"):
        return 7, inner, f"fedbandits party inspect {path}"
    if not report.status.get("connected"):
        return 6, "is not connected to the broker", f"fedbandits party status {path}"
    if report.status.get("exhausted"):
        return 5, "has spent its budget: it decides, and releases nothing", None
    if problems:
        source, problem = next(iter(problems.items()))
        return 4, f"{source}: {problem}", f"fedbandits party status {path}"
    if waits := report.status.get("waits_for"):
        return 3, f"waits for {', '.join(waits)}", None
    return 0, None, None
