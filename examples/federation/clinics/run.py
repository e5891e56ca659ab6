"""Three clinics learn together on this machine; one of them is killed on the way.

``make federation`` runs this. It takes about a minute. See docs/federation-tutorial.md.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from load import Clinic, Visit, play_all  # noqa: E402
from machine import Machine, stop_at_sigterm  # noqa: E402

CLINICS = "north", "south", "east"
KILLED = "south"


def main() -> None:
    """Play, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/clinics"))
    parser.add_argument("--seconds", type=float, default=44.0, help="how long patients come")
    parser.add_argument("--every", help="another length of a round")
    parser.add_argument("--begins", type=float, help="seconds until the clock begins")
    given = parser.parse_args()
    stop_at_sigterm()
    machine = Machine(HERE / "federation.toml", given.out, begins=given.begins, every=given.every)
    tokens = {name: machine.token(name, "waiting-room") for name in CLINICS}
    with machine.up():
        clients = {name: machine.client(name, tokens[name]) for name in CLINICS}
        machine.wait_for_start()
        begun = time.time()
        end = begun + given.seconds
        clinics = {name: Clinic(clients[name], i, end) for i, name in enumerate(CLINICS)}
        threads = play_all(list(clinics.values()))
        time.sleep(0.4 * given.seconds)
        killed = time.time()
        machine.kill(KILLED)
        for thread in threads:
            thread.join()
        machine.command("federation", "status", given.out)
        for client in clients.values():
            client.close()
    for name in CLINICS:
        machine.command("privacy", "--ledger", given.out / name / "store.db")
    for name, clinic in clinics.items():
        print(
            f"{name}: {len(clinic.visits):,} visits, {clinic.told:,} rewards, {clinic.lost} "
            f"patients never came back, {clinic.late} rewards came too late, "
            f"{clinic.unanswered} requests had no answer"
        )
    print_gain({name: clinic.visits for name, clinic in clinics.items()})
    picture = given.out.with_suffix(".png")
    plot(picture, {name: c.visits for name, c in clinics.items()}, begun, killed)
    print(f"{picture}: reward over time")


def print_gain(visits: Mapping[str, Sequence[Visit]]) -> None:
    """How much better the last visits were than the first, all clinics together."""
    ordered = sorted(visit for of_one in visits.values() for visit in of_one)
    part = max(1, len(ordered) // 10)
    for name, some in (("first", ordered[:part]), ("last", ordered[-part:])):
        mean, best = (np.mean([getattr(v, what) for v in some]) for what in ("mean", "best"))
        print(
            f"{name} tenth of the visits: expected reward {mean:.2f}; the best would be {best:.2f}"
        )


def plot(
    path: pathlib.Path, visits: Mapping[str, Sequence[Visit]], begun: float, killed: float
) -> None:
    """Draw the reward that was to be expected over time, and when a clinic was killed."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
    for name, of_one in visits.items():
        at = np.array([visit.at for visit in of_one]) - begun
        mean = np.array([visit.mean for visit in of_one])
        centres = np.arange(0.0, at.max() + 1.0, 0.5)
        near = np.abs(at[None, :] - centres[:, None]) < 1.5
        count = near.sum(axis=1)
        shown = np.where(count >= 10, near @ mean / np.maximum(count, 1), np.nan)
        axes.plot(centres, shown, label=name)
    best = float(np.mean([visit.best for of_one in visits.values() for visit in of_one]))
    axes.axhline(best, color="0.6", linestyle="--", linewidth=1.0, label="best treatments")
    axes.axhline(0.0, color="0.6", linestyle=":", linewidth=1.0, label="any treatment")
    axes.axvline(killed - begun, color="0.3", linewidth=1.0)
    axes.text(killed - begun, 0.02, f" {KILLED} is killed", fontsize=9, color="0.3")
    axes.set(xlabel="seconds", ylabel="expected reward of a visit")
    axes.legend(loc="lower right", fontsize=9)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; everything that was started has ended")
