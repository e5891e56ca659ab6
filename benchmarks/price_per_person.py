"""What a guarantee for persons costs: the quickstart with k records a person, and with single ones.

    python benchmarks/price_per_person.py [replicates]

The quickstart's hospitals serve one population, so a person comes to many of them, seldom twice to
the same one. The second table has the same visits where every person belongs to one hospital. Each
prints Markdown: noise (the deviation of an off-diagonal entry of the first release, in units of
L²), the round of the first sync, mistakes a hospital with the 95% interval over replicates, and the
paired difference from feducb for single records. What a record costs, and all records of the person
who costs most, at all hospitals together, stands beside it. Before the first table the visits of 20
drawn worlds are counted: what their dearest person really costs. Argument: replicates (16).
"""

from __future__ import annotations

import pathlib
import sys

import msgspec
import numpy as np
import xarray as xr

import fedbandits as fb
from fedbandits.environments import Classification
from fedbandits.experiments.intervals import interval, paired
from fedbandits.privacy import gaussian
from fedbandits.privacy.person import PersonCost, cost_at_parties
from fedbandits.reproduce.feducb import proved
from fedbandits.settings.experiment import Experiment, Variant, system
from fedbandits.systems import find_system
from fedbandits.testing.replicates import simulate

QUICKSTART = pathlib.Path(__file__).parents[1] / "examples" / "quickstart.toml"
#: Records of a person that count at a hospital. 88 is the mean over all hospitals together.
RECORDS = (1, 4, 16, 88)
#: Drawn worlds whose visits are counted.
WORLDS = 20
BUDGET = {"epsilon": 1.0, "delta": 1e-5}
ALONE, RECORD = "linucb-alone", "feducb"


def systems() -> tuple[Variant, ...]:
    """Learning alone, FedUCB for records, and FedUCB for persons."""
    persons = (
        proved(RECORD, label=f"k = {k}", unit="person", records_per_person=k, **BUDGET)
        for k in RECORDS
    )
    return proved(ALONE), proved(RECORD, **BUDGET), *persons


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    quickstart = fb.load(QUICKSTART)
    found = dearest(quickstart.environment, quickstart.rounds, quickstart.seed)
    print(f"the dearest person of {WORLDS} drawn worlds: μ = {found.mu:.4g}, {found}")
    for shards, who in (("shared", "one population"), ("disjoint", "every person at one hospital")):
        world = msgspec.structs.replace(quickstart.environment, shards=shards)
        experiment = msgspec.structs.replace(
            quickstart, environment=world, systems=systems(), replicates=replicates, checkpoints=2
        )
        print(f"\n{world.agents} hospitals, {experiment.rounds} visits each, {who}\n")
        print(
            "| | ε: a record | a person anywhere | noise | first sync | mistakes | minus feducb |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        )
        last = fb.run(experiment).isel(round=-1)
        for entry in experiment.systems:
            show(entry, world, experiment, last)


def dearest(world: Classification, rounds: int, seed: int) -> PersonCost:
    """Count every person's visits to every hospital in drawn worlds, and price the dearest."""
    counting = system(RECORD, unit="person", records_per_person=rounds, **BUDGET).config
    mu, found = gaussian.mu_of(BUDGET["epsilon"], BUDGET["delta"]), []
    for replicate in range(WORLDS):
        run = simulate(counting, world, rounds, seed, replicate)
        run.advance(rounds)
        visits = np.asarray(run.state.visits, dtype=np.int64)  # (hospitals, persons)
        most = int((visits**2).sum(axis=0).argmax())
        counts, delta = visits[:, most].tolist(), BUDGET["delta"]
        found.append(cost_at_parties(counts, mu, delta, one_noise=False))  # as RECORD is
    return max(found, key=lambda cost: cost.mu)


def show(entry: Variant, world: Classification, experiment: Experiment, last: xr.Dataset) -> None:
    """One row of a table."""
    mistakes = last.regret.sum("party") / world.agents
    own = np.asarray(mistakes.sel(system=entry.label))
    found = interval(own)
    cells = [*priced(entry, world, experiment.rounds), f"{found.mean:.2f} ± {found.half:.2f}"]
    if entry.label == RECORD:
        cells.append("")
    else:
        more = paired(own - np.asarray(mistakes.sel(system=RECORD)))
        cells.append(f"{more.mean:+.2f} ± {more.half_width or np.nan:.2f}")
    print(f"| {entry.label} | {' | '.join(cells)} |", flush=True)


def priced(entry: Variant, world: Classification, rounds: int) -> list[str]:
    """ε of a record, and of a person at all hospitals; the noise; the round of the first sync."""
    plan = entry.plan(world, rounds)
    claim = find_system(entry.system).claim(plan)
    if not plan.release.releases or not plan.config.is_private:
        return ["", "", "", "never"]
    one = gaussian.epsilon_of(claim.mu / plan.config.records_at_once, plan.config.delta)
    person = f"{claim.epsilon:.3g}" if claim.person is None else claim.person.shown
    noise, first = plan.release.largest_deviation(), plan.schedule.ends[0]
    return [f"{one:.3g}", person, f"{noise:,.3g}", str(first)]


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
