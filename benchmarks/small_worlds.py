"""A small experiment for every kind of world, in which all presets of its kind play.

``same_results.py`` compares two versions of this project on them, so they name nothing but what a
TOML file may hold. Beside every preset stand variants: parts that no preset has. Regret tells only
what was chosen, so a change of the last bits shows where there are many close choices: rounds are
not expensive, compilation is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

System = dict[str, Any]
BUDGET = {"epsilon": 4.0, "delta": 0.1}
RING = {"graph": "ring", "gamma": 2}
#: A label may be as long.
LONGEST = 60
#: The smallest key that is allowed.
SAMBA = {"paillier_bits": 2048}
ALGORITHMS = (
    "ucb", "ucb-tuned", "kl-ucb", "thompson", "egreedy", "egreedy-decreasing", "softmax", "pursuit",
)  # fmt: skip


class Small(NamedTuple):
    """A world, its rounds, and the systems that play there."""

    rounds: int
    environment: dict[str, Any]
    systems: tuple[System, ...]

    def table(self, name: str) -> dict[str, Any]:
        """The experiment, as a TOML file holds it."""
        return {
            "name": name,
            "rounds": self.rounds,
            "replicates": 2,
            "seed": 7,
            "checkpoints": 60,
            "environment": self.environment,
            "systems": list(self.systems),
        }


def preset(name: str, **settings: Any) -> System:
    return {"preset": name} | settings


def variant(name: str, **settings: Any) -> System:
    """A preset with other parts, labelled with them."""
    changed = ", ".join(f"{key}={value}" for key, value in settings.items())
    return {"preset": name, "label": f"{name}: {changed}"[:LONGEST]} | settings


LINEAR = (
    preset("feducb", **BUDGET),
    preset("feducb-published", **BUDGET),
    preset("feducb-nonprivate"),
    preset("linucb-alone"),
    preset("linucb-pooled"),
    preset("linucb-pooled-hybrid"),
    preset("lints-alone"),
    preset("lints-pooled"),
    preset("lints-hybrid", **BUDGET),
    preset("feducb-secure", **BUDGET),
    preset("feducb-secure-hybrid", **BUDGET),
    preset("dislinucb"),
    preset("ldp-silo", **BUDGET),
    preset("fedlinucb-async"),
    preset("feducb-p2p", **RING, **BUDGET),
    preset("feducb-p2p-published", **RING, **BUDGET),
    preset("feducb-hybrid", **BUDGET),
    preset("feducb-p2p-hybrid", **RING, **BUDGET),
    variant("feducb", privatizer="tree", epsilon=4.0),
    variant("feducb", local_view="raw", epsilon=4.0),
    variant("feducb", schedule="every(50)", epsilon=[1.0, 2.0, 4.0, 8.0]),
    variant("feducb", confidence="published", exploration_scale=0.1),
    variant("feducb-published", privatizer="tree", confidence="adaptive"),
    variant("dislinucb", confidence="published", exploration_scale=0.1),
    variant("fedlinucb-async", growth=0.5, confidence="adaptive"),
    variant("feducb-p2p", privatizer="none", **RING),
    variant("feducb-p2p", privatizer="tree", graph="star", gamma=2),
    variant("feducb-p2p", graph="complete", schedule="every(50)"),
    variant("feducb-p2p-published", privatizer="none", graph="line", gamma=3),
)
#: Of persons who come again and again: the first records of each count for releases.
PERSONS = (
    variant("feducb", unit="person", records_per_person=3, **BUDGET),
    variant("feducb", unit="person", local_view="raw", schedule="every(50)", **BUDGET),
    variant("feducb-hybrid", unit="person", records_per_person=2, **BUDGET),
    variant("feducb-p2p", unit="person", local_view="raw", **RING, **BUDGET),
    variant("feducb-p2p-hybrid", unit="person", records_per_person=2, **RING, **BUDGET),
)
PROCUREMENT = (
    preset("pfcb", **BUDGET),
    preset("pfcb-published", **BUDGET),
    preset("pfcb-interactive", **BUDGET),
    preset("fcb"),
    preset("fcb-every-round"),
    preset("cucb-alone"),
    variant("pfcb", privatizer="independent", epsilon=4.0),
    variant("pfcb", privatizer="continual", epsilon=4.0),
    variant("pfcb", schedule="powers", purchases="optimistic", epsilon=4.0),
    variant("pfcb", oracle="exact", epsilon=4.0),
    variant("cucb-alone", exploration_units="capacity", y=5.0),
    preset("pfcb-secure", **BUDGET),
)
CLUSTERED = (
    preset("fclub", **BUDGET),
    preset("fclub-released", **BUDGET),
    preset("fclub-clusters", **BUDGET),
    preset("fclub-local"),
    preset("fclub-clear"),
    preset("fclub-published", **BUDGET),
    preset("fclub-authors", **BUDGET),
    preset("fclub-dc"),
    preset("fclub-sync"),
    preset("club"),
    preset("sclub"),
    preset("linucb-per-user"),
    preset("homo"),
    preset("homo-dc"),
    variant("fclub", clustering="population", epsilon=4.0),
    variant("fclub", center_rewards=False, trust=0.5, epsilon=4.0),
    variant("fclub-dc", confidence="lemma", bonus="root"),
    variant("fclub-dc", acts_on="synchronized", sharing="delayed(1.1, 1.1)"),
    variant("club", alpha1=0.1),
    variant("sclub", alpha1=0.5, alpha2=0.5),
)
#: By kind; ``alike`` is a world of buyers that are all alike, which one preset needs.
SMALL: dict[str, Small] = {
    "linear": Small(20_000, {"kind": "linear", "agents": 4, "dim": 4, "arms": 10}, LINEAR),
    "classification": Small(
        5000,
        {"kind": "classification", "dataset": "breast_cancer", "agents": 4, "components": 5},
        (*LINEAR[:11], *PERSONS),
    ),
    "drifting": Small(
        3000,
        {
            "kind": "linear",
            "agents": 3,
            "dim": 3,
            "arms": 5,
            "drift": "change(700)",
            "first_round": [1, 90, 1001],
        },
        (*LINEAR[:8], preset("feducb-hybrid", **BUDGET), preset("feducb-p2p", **RING, **BUDGET)),
    ),
    "procurement": Small(
        20_000,
        {"kind": "procurement", "agents": 4, "producers": 6, "max_capacity": 10},
        PROCUREMENT,
    ),
    "normal": Small(
        1000,
        {
            "kind": "procurement",
            "case": "normal",
            "agents": 3,
            "producers": 5,
            "benchmark": "exact",
        },
        PROCUREMENT[:6],
    ),
    "alike": Small(
        1000,
        {"kind": "procurement", "agents": 4, "producers": 6, "homogeneous": True},
        (preset("homogeneous-fcb"), preset("fcb")),
    ),
    "clustered": Small(
        50_000,
        {
            "kind": "clustered",
            "users": 12,
            "clusters": 3,
            "dim": 4,
            "servers": 3,
            "items": 6,
            "placement": "spread",
        },
        CLUSTERED,
    ),
    "bernoulli": Small(
        2000,
        {"kind": "bernoulli", "means": "uniform", "arms": 5},
        (
            *(preset(f"samba-{name}", **SAMBA) for name in ALGORITHMS),
            *(preset(f"distributed-{name}") for name in ALGORITHMS),
            *(preset(f"plain-{name}") for name in ALGORITHMS),
            *(variant(f"samba-{name}", cipher="stream", **SAMBA) for name in ALGORITHMS),
            *(preset(f"samba-silent-{name}") for name in ALGORITHMS),
            preset("samba-egreedy-printed", **SAMBA),
            variant("samba-egreedy", exploration_shortcut="none", **SAMBA),
            variant("samba-egreedy", exploration_shortcut="published", **SAMBA),
        ),
    ),
}
