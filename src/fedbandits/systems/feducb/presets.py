"""Named FedUCB variants: each is a composition of parts, nothing more."""

from __future__ import annotations

from fedbandits.systems.base import Preset

_IN_CLEAR = {"privatizer": "none"}
_SECURE = {"aggregation": "secure-sum"}
#: Own records, and others' as far as they help. Others explore too: half a deviation is enough.
_HYBRID = {"local_view": "joint", "exploration_scale": 0.5}
#: Draws from a posterior of half its deviation: less is lost so than with the whole one.
_DRAWS = {"exploration": "draws", "exploration_scale": 0.5}
#: What is sent, when, and with which noise.
_SHARING = (
    "schedule", "privatizer", "aggregation", "local_view", "epsilon", "delta", "unit",
    "records_per_person", "gram_noise",
)  # fmt: skip

PRESETS: dict[str, Preset] = {
    "feducb": Preset(
        "the sound variant: growing batches, optimal noise, agents act only on releases", {}
    ),
    "feducb-hybrid": Preset(
        "own records, and others' releases as far as their noise allows, in one estimate",
        _HYBRID,
    ),
    "feducb-secure": Preset(
        "secure sums, on which alone agents act: nobody sees more than sums with the noise of one",
        _SECURE,
    ),
    "feducb-secure-hybrid": Preset(
        "own records, and secure sums of all releases as far as own records agree with them",
        {**_SECURE, **_HYBRID},
    ),
    "feducb-published": Preset(
        "Dubey & Pentland 2020 as published: determinant trigger, tree noise, raw local view",
        {
            "schedule": "determinant(M log T)",
            "privatizer": "tree(published)",
            "local_view": "raw",
            "confidence": "published",
        },
    ),
    "feducb-nonprivate": Preset(
        "the sound variant without noise; the difference is the cost of privacy", _IN_CLEAR
    ),
    "linucb-alone": Preset(
        "agents without communication; the difference is the benefit of collaboration",
        {**_IN_CLEAR, "schedule": "never", "local_view": "raw"},
        stands_for="alone",
        sharing=_SHARING,
        at_best={"confidence": "deviations"},
    ),
    "linucb-pooled": Preset(
        "all records are shared in clear after every round; a lower limit for regret",
        {**_IN_CLEAR, "schedule": "every(1)"},
        stands_for="pooled",
        sharing=_SHARING,
    ),
    "linucb-pooled-hybrid": Preset(
        "own records, and all others' in clear as far as own records agree with them",
        {**_IN_CLEAR, **_HYBRID, "schedule": "growing(1.1, 1)"},
        stands_for="pooled",
        sharing=_SHARING,
    ),
    "lints-alone": Preset(
        "linear Thompson sampling without communication",
        {**_IN_CLEAR, **_DRAWS, "schedule": "never", "local_view": "raw"},
        stands_for="alone",
        sharing=_SHARING,
        at_best={"confidence": "deviations"},
    ),
    "lints-pooled": Preset(
        "linear Thompson sampling; all records are shared in clear after every round",
        {**_IN_CLEAR, **_DRAWS, "schedule": "every(1)"},
        stands_for="pooled",
        sharing=_SHARING,
    ),
    "lints-hybrid": Preset(
        "linear Thompson sampling from own records, and others' releases as far as noise allows",
        {**_DRAWS, "local_view": "joint"},
    ),
    "dislinucb": Preset(
        "Wang et al. 2020: no noise; all agents sync when a determinant has grown enough",
        {
            **_IN_CLEAR,
            "schedule": "determinant(wang)",
            "local_view": "raw",
            "confidence": "adaptive",
        },
    ),
    "ldp-silo": Preset(
        "Zhou & Chowdhury 2024: equal batches, calibrated tree noise, raw local view",
        {
            "schedule": "every(auto)",
            "privatizer": "tree",
            "local_view": "raw",
            "confidence": "adaptive",
        },
    ),
}
