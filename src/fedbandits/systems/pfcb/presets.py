"""Named P-FCB variants: each is a composition of parts, nothing more."""

from __future__ import annotations

from fedbandits.systems.base import Preset

#: What every variant of the paper has in common.
_AS_PUBLISHED = {"schedule": "literal", "purchases": "optimistic"}
_IN_CLEAR = {"privatizer": "none", "acceptance": "always", "weighting": "constant(1)"}
#: Procedure 1, with the values of section 6.1: ω₁ = 0.1 radii of W and ln(nt), ω₂ = 10.
_PROCEDURE_1 = {"acceptance": "within-radius(0.1, pooled, shared)", "weighting": "constant(10)"}

#: What is sent, when, with which noise, and what others make of it. How buyers purchase is not.
_SHARING = (
    "schedule", "window", "privatizer", "aggregation", "local_view", "acceptance", "weighting",
    "outcomes", "epsilon", "delta",
)  # fmt: skip

PRESETS: dict[str, Preset] = {
    "pfcb": Preset(
        "the sound variant: correlated noise, inverse-variance weights, cautious purchases", {}
    ),
    "pfcb-secure": Preset(
        "secure sums: nobody sees more than the sum of all buyers, which has the noise of one",
        {"aggregation": "secure-sum", "privatizer": "optimal"},
    ),
    "pfcb-published": Preset(
        "Solanki et al. 2022, Algorithm 2, as published: decreasing budgets, ω₁ = 0.1, ω₂ = 10",
        {**_AS_PUBLISHED, **_PROCEDURE_1, "privatizer": "published"},
    ),
    "pfcb-interactive": Preset(
        "buyers act only on reports, so the claim also holds for interactive data",
        {"local_view": "released", "exploration_units": "capacity", "schedule": "growing(2)"},
    ),
    "fcb": Preset(
        "as published (section 6.1): P-FCB with Procedure 1, but reports have no noise",
        {**_AS_PUBLISHED, **_PROCEDURE_1, "privatizer": "none"},
    ),
    "fcb-every-round": Preset(
        "as in Algorithm 1: reports without noise after every round; a lower limit for regret",
        {**_AS_PUBLISHED, **_IN_CLEAR, "schedule": "every"},
        stands_for="pooled",
        sharing=_SHARING,
    ),
    "cucb-alone": Preset(
        "as published, without communication; the difference is the benefit of collaboration",
        {**_AS_PUBLISHED, **_IN_CLEAR, "schedule": "never"},
        stands_for="alone",
        sharing=_SHARING,
    ),
    "homogeneous-fcb": Preset(
        "Solanki et al. 2022, Algorithm 1: one shared model for identical buyers",
        {
            **_AS_PUBLISHED,
            **_IN_CLEAR,
            "schedule": "every",
            "radius": "printed",
            "exploration_log": "round",
        },
    ),
}
