"""The configuration of a FedUCB variant with a controller, and its presets."""

from __future__ import annotations

import msgspec

from fedbandits.systems.agents.config import AgentsConfig, Determinant, Never
from fedbandits.systems.aggregation import Aggregation, Clear
from fedbandits.systems.base import Preset


class FedUCB(AgentsConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of FedUCB with a controller (Dubey & Pentland 2020, Algorithm 1).

    Parameters
    ----------
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``, ``determinant(D)``,
        ``never``.
    aggregation
        Who adds up releases. ``clear``: the controller sees each release. ``secure-sum``: nobody
        sees more than sums, so their noise is needed once (docs/secure-sums.md). It needs a
        schedule that is fixed in advance, calibrated noise, and one ε for all agents.

    Notes
    -----
    The other settings are as for :class:`~fedbandits.systems.agents.config.AgentsConfig`.
    """

    aggregation: Aggregation = msgspec.field(default_factory=Clear)

    def validate(self) -> None:
        super().validate()
        reason = "" if isinstance(self.aggregation, Clear) else self._not_summed()
        if reason:
            raise ValueError(f"aggregation: secure sums cannot be had here: {reason}")

    def _not_summed(self) -> str:
        """Say why releases cannot be added up secretly; empty if they can."""
        if not self.is_private:
            return "there is no noise to share; leave out aggregation, or set a privatizer"
        if self.uses_published_noise:
            return 'the noise of the paper is not calibrated; set privatizer = "tree"'
        if isinstance(self.schedule, Determinant | Never):
            return "all agents must release after the same rounds; use growing, every or evenly"
        if isinstance(self.epsilon, tuple):
            return "all agents share one noise; give one epsilon"
        if self.confidence == "published":
            return 'published bounds are for the noise of one agent; set confidence = "adaptive"'
        return ""


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
