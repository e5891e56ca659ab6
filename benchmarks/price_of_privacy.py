"""Noise and regret as published, sound and non-private, over all systems at ε = 1, δ = 1e-5.

In the worlds of docs/claims.md, at the exploration that the theory asks for. Prints Markdown.
Noise is the deviation of a number in the largest release of a party, in the units of that number:
an off-diagonal entry of Σ x xᵀ with ‖x‖ ≤ 1, or units bought, in capacities. Regret is an agent's,
a buyer's, or that of all users. Argument: replicates (16).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

import fedbandits as fb
from fedbandits.environments.base import Environment
from fedbandits.experiments.claims_page import (
    REFERENCE_BUDGET,
    REFERENCE_ROUNDS,
    reference_world,
)
from fedbandits.privacy.accounting import ContinualSum
from fedbandits.reproduce.feducb import proved
from fedbandits.settings.experiment import Variant
from fedbandits.systems import find_system
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.agents.noise import gram_noise

#: SAMBA decrypts and encrypts in every round.
SAMBA_ROUNDS = 2_000
ROLES = ("published", "sound", "non-private", "no releases")


def noise_of_sums(entry: Variant, world: Environment) -> float:
    """Deviation of an off-diagonal entry in the noisiest running sum."""
    claim = find_system(entry.system).claim(entry.plan(world, REFERENCE_ROUNDS))
    sums = [event for event in claim.events if isinstance(event, ContinualSum)]
    assert len(sums) == len(claim.events)
    return max(event.plan.largest_deviation() for event in sums) * share_of_gram(entry)


def share_of_gram(entry: Variant) -> float:
    """Noise of Σ x xᵀ in units of that of Σ x y, which a plan states."""
    return gram_noise(entry.config) if isinstance(entry.config, AgentsConfig) else 1.0


def noise_of_reports(entry: Variant, world: Environment) -> float:
    """Deviation of units bought or found good in the noisiest report, in capacities."""
    plan = entry.plan(world, REFERENCE_ROUNDS)
    constants = plan.constants
    scale = max(plan.deviation(z) for z in range(1, constants.releases + 1))
    return scale * float(np.sqrt(constants.covariance.diagonal().max()))


class Comparison(NamedTuple):
    """A row of the table: what plays each role, and how its noise is measured."""

    title: str
    system: str
    systems: tuple[Variant, ...]
    noise: Callable[[Variant, Environment], float]


RING = {"graph": "ring", "gamma": 5}
COMPARISONS = (
    Comparison(
        "FedUCB, an agent",
        "feducb",
        (
            proved("feducb-published", **REFERENCE_BUDGET),
            proved("feducb", **REFERENCE_BUDGET),
            proved("feducb-nonprivate"),
            proved("linucb-alone"),
        ),
        noise_of_sums,
    ),
    Comparison(
        "FedUCB on a ring, an agent",
        "feducb_p2p",
        (
            proved("feducb-p2p-published", **RING, **REFERENCE_BUDGET),
            proved("feducb-p2p", **RING, **REFERENCE_BUDGET),
            proved("feducb-p2p", label="in clear", **RING, privatizer="none"),
            proved("linucb-alone"),
        ),
        noise_of_sums,
    ),
    Comparison(
        "P-FCB, a buyer",
        "pfcb",
        (
            proved("pfcb-published", **REFERENCE_BUDGET),
            proved("pfcb", **REFERENCE_BUDGET),
            # True values, all taken as they are: Procedure 1 would refuse most of them.
            proved("fcb", acceptance="always", weighting="constant(1)"),
            proved("cucb-alone"),
        ),
        noise_of_reports,
    ),
    Comparison(
        "FCLUB, all users",
        "fclub",
        (
            proved("fclub-published", **REFERENCE_BUDGET),
            proved("fclub", **REFERENCE_BUDGET),
            proved("fclub-clear"),
            proved("fclub-local"),
        ),
        noise_of_sums,
    ),
)


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    print(
        "| | noise: published | sound | ratio | regret: "
        + " | ".join(ROLES)
        + " |\n| --- | ---: | ---: | ---: "
        + "| ---: " * len(ROLES)
        + "|"
    )
    for comparison in COMPARISONS:
        show(comparison, replicates)
    show_samba(replicates)


def show(comparison: Comparison, replicates: int) -> None:
    world = reference_world(find_system(comparison.system))
    published, sound = (comparison.noise(entry, world) for entry in comparison.systems[:2])
    last = play(world, REFERENCE_ROUNDS, replicates, comparison.systems)
    share = world.acting
    cells = [
        f"{published:,.4g}",
        f"{sound:.3g}",
        f"{published / sound:.0f}",
        *(regret(last, entry.label, share) for entry in comparison.systems),
    ]
    print(f"| {comparison.title} | {' | '.join(cells)} |", flush=True)


def show_samba(replicates: int) -> None:
    """No ε: encryption costs time, and must cost no reward."""
    systems = tuple(proved(f"{execution}-ucb") for execution in ("samba", "plain"))
    world = reference_world(find_system("samba"))
    last = play(world, SAMBA_ROUNDS, replicates, systems)
    secure, plain = (regret(last, entry.label, 1) for entry in systems)
    same = bool((last.regret.isel(system=0) == last.regret.isel(system=1)).all())
    assert same, "encryption changed what is chosen"
    print(f"| SAMBA, all, encrypted | no ε | – | – | {secure} | – | {plain} | – |")


def play(
    world: Environment, rounds: int, replicates: int, systems: tuple[Variant, ...]
) -> xr.Dataset:
    """All systems' standing at the end."""
    experiment = fb.Experiment(
        rounds=rounds, replicates=replicates, environment=world, systems=systems, checkpoints=2
    )
    return fb.run(experiment, jobs=1).isel(round=-1)


def regret(last: Mapping[str, xr.DataArray] | xr.Dataset, label: str, share: int) -> str:
    """Mean and standard error over replicates of the group's regret, over ``share``."""
    group = last.regret.sel(system=label).sum("party") / share
    error = float(group.std("replicate", ddof=1)) / group.sizes["replicate"] ** 0.5
    return f"{float(group.mean()):,.0f} ± {error:,.0f}"


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
