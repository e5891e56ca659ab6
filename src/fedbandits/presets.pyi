"""Every preset as a function; do not edit.

Made by ``python -m fedbandits.settings.reference.stubs``.
"""

# ruff: noqa: E501 - what systems say of their presets is taken as it is
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from fedbandits.federation import graphs as _federation_graphs
from fedbandits.settings.experiment import Variant
from fedbandits.systems.agents import config as _agents_config
from fedbandits.systems.fclub import config as _fclub_config
from fedbandits.systems.fclub_published import config as _fclub_published_config
from fedbandits.systems.pfcb import config as _pfcb_config
from fedbandits.systems.samba import config as _samba_config

_FedUCBSchedule: TypeAlias = (
    _agents_config.Every
    | _agents_config.Growing
    | _agents_config.Evenly
    | _agents_config.Determinant
    | _agents_config.Never
    | str
    | Mapping[str, Any]
)
_FedUCBPrivatizer: TypeAlias = (
    _agents_config.NoNoise
    | _agents_config.Toeplitz
    | _agents_config.Optimal
    | _agents_config.Tree
    | str
    | Mapping[str, Any]
)
_PeerFedUCBSchedule: TypeAlias = (
    _agents_config.Every
    | _agents_config.Growing
    | _agents_config.Evenly
    | _agents_config.Determinant
    | _agents_config.Never
    | str
    | Mapping[str, Any]
)
_PeerFedUCBPrivatizer: TypeAlias = (
    _agents_config.NoNoise
    | _agents_config.Toeplitz
    | _agents_config.Optimal
    | _agents_config.Tree
    | str
    | Mapping[str, Any]
)
_PeerFedUCBGraph: TypeAlias = (
    _federation_graphs.Complete
    | _federation_graphs.Ring
    | _federation_graphs.Line
    | _federation_graphs.Star
    | _federation_graphs.Grid
    | _federation_graphs.ErdosRenyi
    | _federation_graphs.BarabasiAlbert
    | _federation_graphs.EdgeFile
    | str
    | Mapping[str, Any]
)
_FCLUBSchedule: TypeAlias = _fclub_config.Growing | str | Mapping[str, Any]
_SambaAlgorithm: TypeAlias = (
    _samba_config.UCB
    | _samba_config.Thompson
    | _samba_config.EpsilonGreedy
    | _samba_config.DecreasingEpsilonGreedy
    | _samba_config.Softmax
    | _samba_config.Pursuit
    | str
    | Mapping[str, Any]
)
_PFCBSchedule: TypeAlias = (
    _pfcb_config.ToTheLetter
    | _pfcb_config.Powers
    | _pfcb_config.Growing
    | _pfcb_config.Every
    | _pfcb_config.Never
    | str
    | Mapping[str, Any]
)
_PFCBPrivatizer: TypeAlias = (
    _pfcb_config.NoNoise
    | _pfcb_config.Published
    | _pfcb_config.Independent
    | _pfcb_config.Correlated
    | _pfcb_config.Continual
    | str
    | Mapping[str, Any]
)
_PFCBAcceptance: TypeAlias = (
    _pfcb_config.WithinRadius
    | _pfcb_config.WithinDeviations
    | _pfcb_config.Always
    | str
    | Mapping[str, Any]
)
_PFCBWeighting: TypeAlias = (
    _pfcb_config.Constant | _pfcb_config.InverseVariance | str | Mapping[str, Any]
)
_PublishedFCLUBClustering: TypeAlias = (
    _fclub_published_config.Alone
    | _fclub_published_config.Together
    | _fclub_published_config.Phased
    | _fclub_published_config.Edges
    | _fclub_published_config.Sets
    | str
    | Mapping[str, Any]
)
_PublishedFCLUBSharing: TypeAlias = (
    _fclub_published_config.Never
    | _fclub_published_config.Always
    | _fclub_published_config.Delayed
    | str
    | Mapping[str, Any]
)
_PublishedFCLUBPrivatizer: TypeAlias = (
    _fclub_published_config.NoNoise | _fclub_published_config.Published | str | Mapping[str, Any]
)
_PublishedFCLUBConfidence: TypeAlias = (
    _fclub_published_config.Practical
    | _fclub_published_config.Lemma
    | _fclub_published_config.Authors
    | str
    | Mapping[str, Any]
)

def feducb(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "growing(1.5, auto)",
    privatizer: _FedUCBPrivatizer = "optimal",
    local_view: Literal["joint", "raw", "released"] = "released",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """The sound variant: growing batches, optimal noise, agents act only on releases.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    """

def feducb_hybrid(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "growing(1.5, auto)",
    privatizer: _FedUCBPrivatizer = "optimal",
    local_view: Literal["joint", "raw", "released"] = "joint",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Own records and releases in one estimate, under the smaller of two bounds.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    """

def feducb_published(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "determinant(M log T)",
    privatizer: _FedUCBPrivatizer = "tree(published)",
    local_view: Literal["joint", "raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "published",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Dubey & Pentland 2020 as published: determinant trigger, tree noise, raw local view.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    """

def feducb_nonprivate(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "growing(1.5, auto)",
    privatizer: _FedUCBPrivatizer = "none",
    local_view: Literal["joint", "raw", "released"] = "released",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """The sound variant without noise; the difference is the cost of privacy.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    """

def linucb_alone(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "never",
    privatizer: _FedUCBPrivatizer = "none",
    local_view: Literal["joint", "raw", "released"] = "joint",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Agents without communication; the difference is the benefit of collaboration.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    """

def linucb_pooled(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "every(1)",
    privatizer: _FedUCBPrivatizer = "none",
    local_view: Literal["joint", "raw", "released"] = "released",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """All records are shared in clear after every round; a lower limit for regret.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    """

def dislinucb(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "determinant(wang)",
    privatizer: _FedUCBPrivatizer = "none",
    local_view: Literal["joint", "raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Wang et al. 2020: no noise; all agents sync when a determinant has grown enough.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    """

def ldp_silo(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "every(auto)",
    privatizer: _FedUCBPrivatizer = "tree(calibrated)",
    local_view: Literal["joint", "raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Zhou & Chowdhury 2024: equal batches, calibrated tree noise, raw local view.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    """

def feducb_p2p(
    *,
    label: str | None = None,
    schedule: _PeerFedUCBSchedule = "growing(1.5, auto)",
    privatizer: _PeerFedUCBPrivatizer = "optimal",
    local_view: Literal["joint", "raw", "released"] = "released",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
    graph: _PeerFedUCBGraph = "complete",
    gamma: int = 1,
) -> Variant:
    """The sound variant: growing batches; agents add up the newest releases of their peers.

    A preset of the system 'feducb_p2p' (Dubey & Pentland 2020, the same peer to peer (Algorithm 3)).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When agents release. ``growing``, ``every``, ``evenly`` and ``never`` are fixed in
        advance: all agents release in the same rounds, and add up the newest releases of all
        peers within γ hops. ``determinant`` is Algorithm 3: γ estimators take turns, and an
        agent can call for a sync in its clique.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    graph
        Which agents are linked: ``complete``, ``ring``, ``line``, ``star``, ``grid``,
        ``erdos-renyi(p)``, ``barabasi-albert(links)``, or the path of an edge list.
    gamma
        γ, the number of hops that a message travels, one in each round.
    """

def feducb_p2p_hybrid(
    *,
    label: str | None = None,
    schedule: _PeerFedUCBSchedule = "growing(1.5, auto)",
    privatizer: _PeerFedUCBPrivatizer = "optimal",
    local_view: Literal["joint", "raw", "released"] = "joint",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
    graph: _PeerFedUCBGraph = "complete",
    gamma: int = 1,
) -> Variant:
    """Own records and what peers released in one estimate, under the smaller of two bounds.

    A preset of the system 'feducb_p2p' (Dubey & Pentland 2020, the same peer to peer (Algorithm 3)).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When agents release. ``growing``, ``every``, ``evenly`` and ``never`` are fixed in
        advance: all agents release in the same rounds, and add up the newest releases of all
        peers within γ hops. ``determinant`` is Algorithm 3: γ estimators take turns, and an
        agent can call for a sync in its clique.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    graph
        Which agents are linked: ``complete``, ``ring``, ``line``, ``star``, ``grid``,
        ``erdos-renyi(p)``, ``barabasi-albert(links)``, or the path of an edge list.
    gamma
        γ, the number of hops that a message travels, one in each round.
    """

def feducb_p2p_published(
    *,
    label: str | None = None,
    schedule: _PeerFedUCBSchedule = "determinant(M log T)",
    privatizer: _PeerFedUCBPrivatizer = "tree(published)",
    local_view: Literal["joint", "raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "published",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    gram_noise: float | Literal["auto"] = "auto",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
    regularization: float | Literal["auto"] = "auto",
    graph: _PeerFedUCBGraph = "complete",
    gamma: int = 1,
) -> Variant:
    """Dubey & Pentland 2020, Algorithm 3: γ estimators, cliques, raw trigger, tree noise.

    A preset of the system 'feducb_p2p' (Dubey & Pentland 2020, the same peer to peer (Algorithm 3)).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When agents release. ``growing``, ``every``, ``evenly`` and ``never`` are fixed in
        advance: all agents release in the same rounds, and add up the newest releases of all
        peers within γ hops. ``determinant`` is Algorithm 3: γ estimators take turns, and an
        agent can call for a sync in its clique.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its
        own records since the last sync. ``joint``: one estimate from all its own records and
        what others released, under the smaller of two bounds (docs/confidence.md).
    confidence
        How the confidence radius is computed: ``adaptive`` (docs/confidence.md) or
        ``published`` (Proposition 2).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent
        its own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may
        fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, so that the reward stays linear in
        θ*. Then it cuts the reward off at B. If rewards are cut off, the confidence bound no
        longer holds. NaN counts as 0. A context of infinite norm keeps its infinite entries,
        scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``:
        the ρ with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
        paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of
        its first k visits. Noise is calibrated for k records at once, so it is k times as
        large. Used with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: without noise it is 1. With noise it is the bound
        on the operator norm of pooled noise that has everywhere the deviation of that of Σ x
        y. A smaller λ₁ would let more noise into estimates.
    graph
        Which agents are linked: ``complete``, ``ring``, ``line``, ``star``, ``grid``,
        ``erdos-renyi(p)``, ``barabasi-albert(links)``, or the path of an edge list.
    gamma
        γ, the number of hops that a message travels, one in each round.
    """

def fedlinucb_async(
    *,
    label: str | None = None,
    growth: float | Literal["auto"] = "auto",
    confidence: Literal["adaptive", "published"] = "published",
    exploration_scale: float = 1.0,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """He et al. 2022: no noise; an agent exchanges with the server when it has learned enough.

    A preset of the system 'fedlinucb_async' (He, Wang, Min & Gu 2022, A Simple and Provably Efficient Algorithm for Asynchronous Federated Contextual Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    growth
        α of the paper. An agent exchanges with the server when its new records have made det
        Σ more than 1 + α times as large as at its last exchange. ``auto``: 1/M².
    confidence
        How the confidence radius is computed. ``published``: β of Theorem 5.1. ``adaptive``:
        the radius of the other systems. It is valid if decision sets do not depend on rewards
        (docs/baselines.md).
    exploration_scale
        Factor of the confidence radius. 1 is the value of the theorem.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is
        used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first
        scales context and reward back by the same factor, then cuts the reward off at B. NaN
        counts as 0. A context of infinite norm keeps its infinite entries, scaled to norm L.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail; δ in the paper.
    regularization
        λ, the ridge parameter. ``auto``: 1/S², as in the paper.
    """

def fclub(
    *,
    label: str | None = None,
    schedule: _FCLUBSchedule = "growing(1.4, auto)",
    releases: Literal["clusters", "never", "users"] = "users",
    noise: Literal["calibrated", "none"] = "calibrated",
    local_view: Literal["raw", "released"] = "raw",
    clustering: Literal["mixture", "population"] = "mixture",
    center_rewards: bool = True,
    strictness: float = 0.75,
    trust: float = 1.0,
    most_clusters: int = 32,
    exploration_scale: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 1e-05,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
) -> Variant:
    """The sound variant: noisy sums of users in fixed rounds, clusters from a mixture model.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``. By default the first phase ends after five rounds
        for each user.
    releases
        What a server releases at the end of a phase. ``users``: the running sum of each of
        its users. ``clusters``: for each cluster of its users, the sum of the records of this
        phase. This needs far less noise, but the number of clusters and the users in each are
        computed from raw data. ``never``: nothing, so servers learn alone.
    noise
        ``calibrated``: the noise that (ε, δ) needs. ``none``: no noise.
    local_view
        What a server decides on. ``raw``: also the newest records of its own users.
        ``released``: only releases, its own included. It then learns nothing during a phase.
    clustering
        ``mixture``: several clusters. ``population``: one cluster, whose spread describes how
        much users differ.
    center_rewards
        Whether to learn y - ½ instead of y if one coordinate of all items is constant. A
        record then changes the sums by 1.25 instead of 2, and recommendations stay the same.
    strictness
        Gain that an additional cluster must bring, as a multiple of the Bayesian information
        criterion.
    trust
        Prior odds that users of other servers who seem to fit a cluster belong there, as a
        multiple of exp(-d/2). 0: they are ignored. See
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        Largest number of clusters of one server.
    exploration_scale
        The score of an item is its mean reward plus this number of standard deviations of the
        mean. The standard deviation of a single reward is taken to be ½.
    epsilon
        ε of the budget for all releases of one server about its users.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        user together.
    records_per_person
        k, the number of records of one user that count for what its server releases: the
        first k. Noise is calibrated for k records at once, so it is k times as large. The
        server itself learns from all of them, if ``local_view`` is ``raw``. Used with ``unit
        = "person"`` only.
    """

def fclub_released(
    *,
    label: str | None = None,
    schedule: _FCLUBSchedule = "growing(1.4, auto)",
    releases: Literal["clusters", "never", "users"] = "users",
    noise: Literal["calibrated", "none"] = "calibrated",
    local_view: Literal["raw", "released"] = "released",
    clustering: Literal["mixture", "population"] = "mixture",
    center_rewards: bool = True,
    strictness: float = 0.75,
    trust: float = 1.0,
    most_clusters: int = 32,
    exploration_scale: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 1e-05,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
) -> Variant:
    """Servers act only on releases, so the claim also holds for interactive data.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``. By default the first phase ends after five rounds
        for each user.
    releases
        What a server releases at the end of a phase. ``users``: the running sum of each of
        its users. ``clusters``: for each cluster of its users, the sum of the records of this
        phase. This needs far less noise, but the number of clusters and the users in each are
        computed from raw data. ``never``: nothing, so servers learn alone.
    noise
        ``calibrated``: the noise that (ε, δ) needs. ``none``: no noise.
    local_view
        What a server decides on. ``raw``: also the newest records of its own users.
        ``released``: only releases, its own included. It then learns nothing during a phase.
    clustering
        ``mixture``: several clusters. ``population``: one cluster, whose spread describes how
        much users differ.
    center_rewards
        Whether to learn y - ½ instead of y if one coordinate of all items is constant. A
        record then changes the sums by 1.25 instead of 2, and recommendations stay the same.
    strictness
        Gain that an additional cluster must bring, as a multiple of the Bayesian information
        criterion.
    trust
        Prior odds that users of other servers who seem to fit a cluster belong there, as a
        multiple of exp(-d/2). 0: they are ignored. See
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        Largest number of clusters of one server.
    exploration_scale
        The score of an item is its mean reward plus this number of standard deviations of the
        mean. The standard deviation of a single reward is taken to be ½.
    epsilon
        ε of the budget for all releases of one server about its users.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        user together.
    records_per_person
        k, the number of records of one user that count for what its server releases: the
        first k. Noise is calibrated for k records at once, so it is k times as large. The
        server itself learns from all of them, if ``local_view`` is ``raw``. Used with ``unit
        = "person"`` only.
    """

def fclub_clusters(
    *,
    label: str | None = None,
    schedule: _FCLUBSchedule = "growing(1.4, auto)",
    releases: Literal["clusters", "never", "users"] = "clusters",
    noise: Literal["calibrated", "none"] = "calibrated",
    local_view: Literal["raw", "released"] = "raw",
    clustering: Literal["mixture", "population"] = "mixture",
    center_rewards: bool = True,
    strictness: float = 0.75,
    trust: float = 1.0,
    most_clusters: int = 32,
    exploration_scale: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 1e-05,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
) -> Variant:
    """One noisy sum for each cluster: less noise, but the claim treats clusters as public.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``. By default the first phase ends after five rounds
        for each user.
    releases
        What a server releases at the end of a phase. ``users``: the running sum of each of
        its users. ``clusters``: for each cluster of its users, the sum of the records of this
        phase. This needs far less noise, but the number of clusters and the users in each are
        computed from raw data. ``never``: nothing, so servers learn alone.
    noise
        ``calibrated``: the noise that (ε, δ) needs. ``none``: no noise.
    local_view
        What a server decides on. ``raw``: also the newest records of its own users.
        ``released``: only releases, its own included. It then learns nothing during a phase.
    clustering
        ``mixture``: several clusters. ``population``: one cluster, whose spread describes how
        much users differ.
    center_rewards
        Whether to learn y - ½ instead of y if one coordinate of all items is constant. A
        record then changes the sums by 1.25 instead of 2, and recommendations stay the same.
    strictness
        Gain that an additional cluster must bring, as a multiple of the Bayesian information
        criterion.
    trust
        Prior odds that users of other servers who seem to fit a cluster belong there, as a
        multiple of exp(-d/2). 0: they are ignored. See
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        Largest number of clusters of one server.
    exploration_scale
        The score of an item is its mean reward plus this number of standard deviations of the
        mean. The standard deviation of a single reward is taken to be ½.
    epsilon
        ε of the budget for all releases of one server about its users.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        user together.
    records_per_person
        k, the number of records of one user that count for what its server releases: the
        first k. Noise is calibrated for k records at once, so it is k times as large. The
        server itself learns from all of them, if ``local_view`` is ``raw``. Used with ``unit
        = "person"`` only.
    """

def fclub_local(
    *,
    label: str | None = None,
    schedule: _FCLUBSchedule = "growing(1.4, auto)",
    releases: Literal["clusters", "never", "users"] = "never",
    noise: Literal["calibrated", "none"] = "calibrated",
    local_view: Literal["raw", "released"] = "raw",
    clustering: Literal["mixture", "population"] = "mixture",
    center_rewards: bool = True,
    strictness: float = 0.75,
    trust: float = 1.0,
    most_clusters: int = 32,
    exploration_scale: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 1e-05,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
) -> Variant:
    """Servers without communication; shows the benefit of clusters alone.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``. By default the first phase ends after five rounds
        for each user.
    releases
        What a server releases at the end of a phase. ``users``: the running sum of each of
        its users. ``clusters``: for each cluster of its users, the sum of the records of this
        phase. This needs far less noise, but the number of clusters and the users in each are
        computed from raw data. ``never``: nothing, so servers learn alone.
    noise
        ``calibrated``: the noise that (ε, δ) needs. ``none``: no noise.
    local_view
        What a server decides on. ``raw``: also the newest records of its own users.
        ``released``: only releases, its own included. It then learns nothing during a phase.
    clustering
        ``mixture``: several clusters. ``population``: one cluster, whose spread describes how
        much users differ.
    center_rewards
        Whether to learn y - ½ instead of y if one coordinate of all items is constant. A
        record then changes the sums by 1.25 instead of 2, and recommendations stay the same.
    strictness
        Gain that an additional cluster must bring, as a multiple of the Bayesian information
        criterion.
    trust
        Prior odds that users of other servers who seem to fit a cluster belong there, as a
        multiple of exp(-d/2). 0: they are ignored. See
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        Largest number of clusters of one server.
    exploration_scale
        The score of an item is its mean reward plus this number of standard deviations of the
        mean. The standard deviation of a single reward is taken to be ½.
    epsilon
        ε of the budget for all releases of one server about its users.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        user together.
    records_per_person
        k, the number of records of one user that count for what its server releases: the
        first k. Noise is calibrated for k records at once, so it is k times as large. The
        server itself learns from all of them, if ``local_view`` is ``raw``. Used with ``unit
        = "person"`` only.
    """

def fclub_clear(
    *,
    label: str | None = None,
    schedule: _FCLUBSchedule = "growing(1.4, auto)",
    releases: Literal["clusters", "never", "users"] = "users",
    noise: Literal["calibrated", "none"] = "none",
    local_view: Literal["raw", "released"] = "raw",
    clustering: Literal["mixture", "population"] = "mixture",
    center_rewards: bool = True,
    strictness: float = 0.75,
    trust: float = 1.0,
    most_clusters: int = 32,
    exploration_scale: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 1e-05,
    unit: Literal["person", "record"] = "record",
    records_per_person: int = 1,
) -> Variant:
    """Sums of users without noise; the difference is the cost of privacy.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``. By default the first phase ends after five rounds
        for each user.
    releases
        What a server releases at the end of a phase. ``users``: the running sum of each of
        its users. ``clusters``: for each cluster of its users, the sum of the records of this
        phase. This needs far less noise, but the number of clusters and the users in each are
        computed from raw data. ``never``: nothing, so servers learn alone.
    noise
        ``calibrated``: the noise that (ε, δ) needs. ``none``: no noise.
    local_view
        What a server decides on. ``raw``: also the newest records of its own users.
        ``released``: only releases, its own included. It then learns nothing during a phase.
    clustering
        ``mixture``: several clusters. ``population``: one cluster, whose spread describes how
        much users differ.
    center_rewards
        Whether to learn y - ½ instead of y if one coordinate of all items is constant. A
        record then changes the sums by 1.25 instead of 2, and recommendations stay the same.
    strictness
        Gain that an additional cluster must bring, as a multiple of the Bayesian information
        criterion.
    trust
        Prior odds that users of other servers who seem to fit a cluster belong there, as a
        multiple of exp(-d/2). 0: they are ignored. See
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        Largest number of clusters of one server.
    exploration_scale
        The score of an item is its mean reward plus this number of standard deviations of the
        mean. The standard deviation of a single reward is taken to be ½.
    epsilon
        ε of the budget for all releases of one server about its users.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        user together.
    records_per_person
        k, the number of records of one user that count for what its server releases: the
        first k. Noise is calibrated for k records at once, so it is k times as large. The
        server itself learns from all of them, if ``local_view`` is ``raw``. Used with ``unit
        = "person"`` only.
    """

def samba_ucb(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "ucb(2)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """UCB by SAMBA: scores and bits are encrypted, and servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_thompson(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "thompson",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Thompson sampling by SAMBA: scores and bits are encrypted, and servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_egreedy(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "epsilon-greedy(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Ε-greedy by SAMBA: scores and bits are encrypted, and servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_egreedy_decreasing(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "decreasing-epsilon-greedy(1, 1, harmonic)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Ε-greedy with decreasing ε by SAMBA: scores and bits are encrypted, and servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_softmax(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "softmax(0.06)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Softmax by SAMBA: scores and bits are encrypted, and servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_pursuit(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "pursuit(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Pursuit by SAMBA: scores and bits are encrypted, and servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def distributed_ucb(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "ucb(2)",
    execution: Literal["distributed", "plain", "secure"] = "distributed",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """UCB with SAMBA's messages in clear; shows the cost of encryption.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def distributed_thompson(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "thompson",
    execution: Literal["distributed", "plain", "secure"] = "distributed",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Thompson sampling with SAMBA's messages in clear; shows the cost of encryption.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def distributed_egreedy(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "epsilon-greedy(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "distributed",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Ε-greedy with SAMBA's messages in clear; shows the cost of encryption.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def distributed_egreedy_decreasing(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "decreasing-epsilon-greedy(1, 1, harmonic)",
    execution: Literal["distributed", "plain", "secure"] = "distributed",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Ε-greedy with decreasing ε with SAMBA's messages in clear; shows the cost of encryption.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def distributed_softmax(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "softmax(0.06)",
    execution: Literal["distributed", "plain", "secure"] = "distributed",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Softmax with SAMBA's messages in clear; shows the cost of encryption.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def distributed_pursuit(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "pursuit(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "distributed",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Pursuit with SAMBA's messages in clear; shows the cost of encryption.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def plain_ucb(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "ucb(2)",
    execution: Literal["distributed", "plain", "secure"] = "plain",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """UCB on one machine; SAMBA must return the same.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def plain_thompson(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "thompson",
    execution: Literal["distributed", "plain", "secure"] = "plain",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Thompson sampling on one machine; SAMBA must return the same.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def plain_egreedy(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "epsilon-greedy(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "plain",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Ε-greedy on one machine; SAMBA must return the same.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def plain_egreedy_decreasing(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "decreasing-epsilon-greedy(1, 1, harmonic)",
    execution: Literal["distributed", "plain", "secure"] = "plain",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Ε-greedy with decreasing ε on one machine; SAMBA must return the same.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def plain_softmax(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "softmax(0.06)",
    execution: Literal["distributed", "plain", "secure"] = "plain",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Softmax on one machine; SAMBA must return the same.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def plain_pursuit(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "pursuit(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "plain",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Pursuit on one machine; SAMBA must return the same.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_egreedy_printed(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "epsilon-greedy(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 2048,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "published",
    tie_breaking: Literal["first", "random"] = "first",
    comparison: Literal["published", "silent"] = "published",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "paillier",
) -> Variant:
    """Ε-greedy by SAMBA as printed: the Controller draws the scores of exploring steps.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_silent_ucb(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "ucb(2)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "silent",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "shares",
) -> Variant:
    """UCB by SAMBA with shared scores: neither server learns anything about them.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_silent_thompson(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "thompson",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "silent",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "shares",
) -> Variant:
    """Thompson sampling by SAMBA with shared scores: neither server learns anything about them.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_silent_egreedy(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "epsilon-greedy(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "silent",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "shares",
) -> Variant:
    """Ε-greedy by SAMBA with shared scores: neither server learns anything about them.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_silent_egreedy_decreasing(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "decreasing-epsilon-greedy(1, 1, harmonic)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "silent",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "shares",
) -> Variant:
    """Ε-greedy with decreasing ε by SAMBA with shared scores: neither server learns anything about them.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_silent_softmax(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "softmax(0.06)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "silent",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "shares",
) -> Variant:
    """Softmax by SAMBA with shared scores: neither server learns anything about them.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def samba_silent_pursuit(
    *,
    label: str | None = None,
    algorithm: _SambaAlgorithm = "pursuit(0.1)",
    execution: Literal["distributed", "plain", "secure"] = "secure",
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm",
    paillier_bits: Literal[2048, 3072, 4096] = 3072,
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty",
    tie_breaking: Literal["first", "random"] = "random",
    comparison: Literal["published", "silent"] = "silent",
    arity: int = 8,
    total: Literal["paillier", "shares"] = "shares",
) -> Variant:
    """Pursuit by SAMBA with shared scores: neither server learns anything about them.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-
        epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same
        arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of
        messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp
        draws the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        printed in section 5.4. Owners send nothing. The Controller draws one number and uses
        it as the score of all arms. Comp takes the first of these equal scores, so the
        Controller knows the arm. ``published-each``: another reading of the same text. The
        Controller draws one number for each arm, and Comp takes the largest, so the
        Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its
        own draws. ``first``: the first in the order of the Controller, as in the paper. The
        Controller then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper,
        and learns their ratios. ``silent``: both servers compare scores that are shared
        between them. They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a
        group, at most. With a larger value there are fewer rounds between the servers, and
        mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums,
        as in the paper. ``shares``: owners split their sums between both servers. It needs
        ``comparison = "silent"``.
    """

def pfcb(
    *,
    label: str | None = None,
    schedule: _PFCBSchedule = "growing(1.5)",
    window: Sequence[int] | Literal["auto"] = "auto",
    privatizer: _PFCBPrivatizer = "correlated",
    local_view: Literal["raw", "released"] = "raw",
    acceptance: _PFCBAcceptance = "within-deviations(4)",
    weighting: _PFCBWeighting = "inverse-variance",
    purchases: Literal["cautious", "optimistic"] = "cautious",
    quality_confidence: float = 0.999,
    quality_margin: float = 0.0,
    oracle: Literal["exact", "greedy"] = "greedy",
    radius: Literal["own", "printed", "shared"] = "own",
    exploration_scale: float = 1.0,
    zeta: float = 0.6,
    y: float | Literal["agents"] = "agents",
    exploration_log: Literal["horizon", "round"] = "horizon",
    explorers: Literal["all", "one"] = "all",
    exploration_units: Literal["capacity", "one"] = "one",
    outcomes: Literal["immediate", "late"] = "immediate",
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> Variant:
    """The sound variant: correlated noise, inverse-variance weights, cautious purchases.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and
        40,000 with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is
        ``released``, it opens in round 10 at the latest, because buyers learn nothing before.
    privatizer
        How noise is added to a report: ``correlated``, ``independent``, ``published``,
        ``continual``, ``none``.
    local_view
        What a buyer decides on. ``raw``: also its own purchases since the last report.
        ``released``: only reports, its own noisy ones included.
    acceptance
        Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence
        bound. Quality is set so that a purchase meets the constraint with probability
        ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
        confidence bound.
    quality_confidence
        Nominal probability with which a ``cautious`` purchase meets the constraint in each
        round.
    quality_margin
        The margin γ: purchases aim at an average quality of α + γ.
    oracle
        How a purchase is computed: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W),
        with the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs.
        ``printed``: √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already
        contains the units of all n buyers, so n is counted twice there.
    exploration_scale
        Factor of the confidence radius.
    zeta
        ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the
        horizon. The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the
        paper. Figure 5 of the paper excludes many more.
    y
        y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does
        not give y.
    exploration_log
        The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm
        2. ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends
        when t is larger than the length.
    explorers
        n in the length of pure exploration. ``all``: the number of buyers, which share the
        exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
        communication use in the paper.
    exploration_units
        What is bought from each producer during exploration: ``one`` unit, or the whole
        ``capacity``.
    outcomes
        When the outcome of a purchase may arrive. ``immediate``: before the next report;
        later outcomes are refused. ``late``: at any time; the outcome then counts in the next
        report. A purchase can then move from one report to another, so the noise is larger,
        by a factor of at most √2. In a simulation outcomes are immediate, unless
        ``environment.delay`` is set.
    epsilon
        ε of the budget of every buyer, for everything that it sends.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    """

def pfcb_published(
    *,
    label: str | None = None,
    schedule: _PFCBSchedule = "literal",
    window: Sequence[int] | Literal["auto"] = "auto",
    privatizer: _PFCBPrivatizer = "published(binary)",
    local_view: Literal["raw", "released"] = "raw",
    acceptance: _PFCBAcceptance = "within-radius(0.1, pooled, shared)",
    weighting: _PFCBWeighting = "constant(10)",
    purchases: Literal["cautious", "optimistic"] = "optimistic",
    quality_confidence: float = 0.999,
    quality_margin: float = 0.0,
    oracle: Literal["exact", "greedy"] = "greedy",
    radius: Literal["own", "printed", "shared"] = "own",
    exploration_scale: float = 1.0,
    zeta: float = 0.6,
    y: float | Literal["agents"] = "agents",
    exploration_log: Literal["horizon", "round"] = "horizon",
    explorers: Literal["all", "one"] = "all",
    exploration_units: Literal["capacity", "one"] = "one",
    outcomes: Literal["immediate", "late"] = "immediate",
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> Variant:
    """Solanki et al. 2022, Algorithm 2, as published: decreasing budgets, ω₁ = 0.1, ω₂ = 10.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and
        40,000 with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is
        ``released``, it opens in round 10 at the latest, because buyers learn nothing before.
    privatizer
        How noise is added to a report: ``correlated``, ``independent``, ``published``,
        ``continual``, ``none``.
    local_view
        What a buyer decides on. ``raw``: also its own purchases since the last report.
        ``released``: only reports, its own noisy ones included.
    acceptance
        Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence
        bound. Quality is set so that a purchase meets the constraint with probability
        ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
        confidence bound.
    quality_confidence
        Nominal probability with which a ``cautious`` purchase meets the constraint in each
        round.
    quality_margin
        The margin γ: purchases aim at an average quality of α + γ.
    oracle
        How a purchase is computed: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W),
        with the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs.
        ``printed``: √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already
        contains the units of all n buyers, so n is counted twice there.
    exploration_scale
        Factor of the confidence radius.
    zeta
        ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the
        horizon. The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the
        paper. Figure 5 of the paper excludes many more.
    y
        y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does
        not give y.
    exploration_log
        The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm
        2. ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends
        when t is larger than the length.
    explorers
        n in the length of pure exploration. ``all``: the number of buyers, which share the
        exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
        communication use in the paper.
    exploration_units
        What is bought from each producer during exploration: ``one`` unit, or the whole
        ``capacity``.
    outcomes
        When the outcome of a purchase may arrive. ``immediate``: before the next report;
        later outcomes are refused. ``late``: at any time; the outcome then counts in the next
        report. A purchase can then move from one report to another, so the noise is larger,
        by a factor of at most √2. In a simulation outcomes are immediate, unless
        ``environment.delay`` is set.
    epsilon
        ε of the budget of every buyer, for everything that it sends.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    """

def pfcb_interactive(
    *,
    label: str | None = None,
    schedule: _PFCBSchedule = "growing(2)",
    window: Sequence[int] | Literal["auto"] = "auto",
    privatizer: _PFCBPrivatizer = "correlated",
    local_view: Literal["raw", "released"] = "released",
    acceptance: _PFCBAcceptance = "within-deviations(4)",
    weighting: _PFCBWeighting = "inverse-variance",
    purchases: Literal["cautious", "optimistic"] = "cautious",
    quality_confidence: float = 0.999,
    quality_margin: float = 0.0,
    oracle: Literal["exact", "greedy"] = "greedy",
    radius: Literal["own", "printed", "shared"] = "own",
    exploration_scale: float = 1.0,
    zeta: float = 0.6,
    y: float | Literal["agents"] = "agents",
    exploration_log: Literal["horizon", "round"] = "horizon",
    explorers: Literal["all", "one"] = "all",
    exploration_units: Literal["capacity", "one"] = "capacity",
    outcomes: Literal["immediate", "late"] = "immediate",
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> Variant:
    """Buyers act only on reports, so the claim also holds for interactive data.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and
        40,000 with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is
        ``released``, it opens in round 10 at the latest, because buyers learn nothing before.
    privatizer
        How noise is added to a report: ``correlated``, ``independent``, ``published``,
        ``continual``, ``none``.
    local_view
        What a buyer decides on. ``raw``: also its own purchases since the last report.
        ``released``: only reports, its own noisy ones included.
    acceptance
        Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence
        bound. Quality is set so that a purchase meets the constraint with probability
        ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
        confidence bound.
    quality_confidence
        Nominal probability with which a ``cautious`` purchase meets the constraint in each
        round.
    quality_margin
        The margin γ: purchases aim at an average quality of α + γ.
    oracle
        How a purchase is computed: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W),
        with the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs.
        ``printed``: √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already
        contains the units of all n buyers, so n is counted twice there.
    exploration_scale
        Factor of the confidence radius.
    zeta
        ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the
        horizon. The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the
        paper. Figure 5 of the paper excludes many more.
    y
        y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does
        not give y.
    exploration_log
        The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm
        2. ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends
        when t is larger than the length.
    explorers
        n in the length of pure exploration. ``all``: the number of buyers, which share the
        exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
        communication use in the paper.
    exploration_units
        What is bought from each producer during exploration: ``one`` unit, or the whole
        ``capacity``.
    outcomes
        When the outcome of a purchase may arrive. ``immediate``: before the next report;
        later outcomes are refused. ``late``: at any time; the outcome then counts in the next
        report. A purchase can then move from one report to another, so the noise is larger,
        by a factor of at most √2. In a simulation outcomes are immediate, unless
        ``environment.delay`` is set.
    epsilon
        ε of the budget of every buyer, for everything that it sends.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    """

def fcb(
    *,
    label: str | None = None,
    schedule: _PFCBSchedule = "literal",
    window: Sequence[int] | Literal["auto"] = "auto",
    privatizer: _PFCBPrivatizer = "none",
    local_view: Literal["raw", "released"] = "raw",
    acceptance: _PFCBAcceptance = "within-radius(0.1, pooled, shared)",
    weighting: _PFCBWeighting = "constant(10)",
    purchases: Literal["cautious", "optimistic"] = "optimistic",
    quality_confidence: float = 0.999,
    quality_margin: float = 0.0,
    oracle: Literal["exact", "greedy"] = "greedy",
    radius: Literal["own", "printed", "shared"] = "own",
    exploration_scale: float = 1.0,
    zeta: float = 0.6,
    y: float | Literal["agents"] = "agents",
    exploration_log: Literal["horizon", "round"] = "horizon",
    explorers: Literal["all", "one"] = "all",
    exploration_units: Literal["capacity", "one"] = "one",
    outcomes: Literal["immediate", "late"] = "immediate",
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> Variant:
    """As published (section 6.1): P-FCB with Procedure 1, but reports have no noise.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and
        40,000 with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is
        ``released``, it opens in round 10 at the latest, because buyers learn nothing before.
    privatizer
        How noise is added to a report: ``correlated``, ``independent``, ``published``,
        ``continual``, ``none``.
    local_view
        What a buyer decides on. ``raw``: also its own purchases since the last report.
        ``released``: only reports, its own noisy ones included.
    acceptance
        Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence
        bound. Quality is set so that a purchase meets the constraint with probability
        ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
        confidence bound.
    quality_confidence
        Nominal probability with which a ``cautious`` purchase meets the constraint in each
        round.
    quality_margin
        The margin γ: purchases aim at an average quality of α + γ.
    oracle
        How a purchase is computed: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W),
        with the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs.
        ``printed``: √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already
        contains the units of all n buyers, so n is counted twice there.
    exploration_scale
        Factor of the confidence radius.
    zeta
        ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the
        horizon. The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the
        paper. Figure 5 of the paper excludes many more.
    y
        y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does
        not give y.
    exploration_log
        The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm
        2. ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends
        when t is larger than the length.
    explorers
        n in the length of pure exploration. ``all``: the number of buyers, which share the
        exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
        communication use in the paper.
    exploration_units
        What is bought from each producer during exploration: ``one`` unit, or the whole
        ``capacity``.
    outcomes
        When the outcome of a purchase may arrive. ``immediate``: before the next report;
        later outcomes are refused. ``late``: at any time; the outcome then counts in the next
        report. A purchase can then move from one report to another, so the noise is larger,
        by a factor of at most √2. In a simulation outcomes are immediate, unless
        ``environment.delay`` is set.
    epsilon
        ε of the budget of every buyer, for everything that it sends.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    """

def fcb_every_round(
    *,
    label: str | None = None,
    schedule: _PFCBSchedule = "every",
    window: Sequence[int] | Literal["auto"] = "auto",
    privatizer: _PFCBPrivatizer = "none",
    local_view: Literal["raw", "released"] = "raw",
    acceptance: _PFCBAcceptance = "always",
    weighting: _PFCBWeighting = "constant(1)",
    purchases: Literal["cautious", "optimistic"] = "optimistic",
    quality_confidence: float = 0.999,
    quality_margin: float = 0.0,
    oracle: Literal["exact", "greedy"] = "greedy",
    radius: Literal["own", "printed", "shared"] = "own",
    exploration_scale: float = 1.0,
    zeta: float = 0.6,
    y: float | Literal["agents"] = "agents",
    exploration_log: Literal["horizon", "round"] = "horizon",
    explorers: Literal["all", "one"] = "all",
    exploration_units: Literal["capacity", "one"] = "one",
    outcomes: Literal["immediate", "late"] = "immediate",
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> Variant:
    """As in Algorithm 1: reports without noise after every round; a lower limit for regret.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and
        40,000 with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is
        ``released``, it opens in round 10 at the latest, because buyers learn nothing before.
    privatizer
        How noise is added to a report: ``correlated``, ``independent``, ``published``,
        ``continual``, ``none``.
    local_view
        What a buyer decides on. ``raw``: also its own purchases since the last report.
        ``released``: only reports, its own noisy ones included.
    acceptance
        Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence
        bound. Quality is set so that a purchase meets the constraint with probability
        ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
        confidence bound.
    quality_confidence
        Nominal probability with which a ``cautious`` purchase meets the constraint in each
        round.
    quality_margin
        The margin γ: purchases aim at an average quality of α + γ.
    oracle
        How a purchase is computed: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W),
        with the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs.
        ``printed``: √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already
        contains the units of all n buyers, so n is counted twice there.
    exploration_scale
        Factor of the confidence radius.
    zeta
        ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the
        horizon. The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the
        paper. Figure 5 of the paper excludes many more.
    y
        y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does
        not give y.
    exploration_log
        The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm
        2. ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends
        when t is larger than the length.
    explorers
        n in the length of pure exploration. ``all``: the number of buyers, which share the
        exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
        communication use in the paper.
    exploration_units
        What is bought from each producer during exploration: ``one`` unit, or the whole
        ``capacity``.
    outcomes
        When the outcome of a purchase may arrive. ``immediate``: before the next report;
        later outcomes are refused. ``late``: at any time; the outcome then counts in the next
        report. A purchase can then move from one report to another, so the noise is larger,
        by a factor of at most √2. In a simulation outcomes are immediate, unless
        ``environment.delay`` is set.
    epsilon
        ε of the budget of every buyer, for everything that it sends.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    """

def cucb_alone(
    *,
    label: str | None = None,
    schedule: _PFCBSchedule = "never",
    window: Sequence[int] | Literal["auto"] = "auto",
    privatizer: _PFCBPrivatizer = "none",
    local_view: Literal["raw", "released"] = "raw",
    acceptance: _PFCBAcceptance = "always",
    weighting: _PFCBWeighting = "constant(1)",
    purchases: Literal["cautious", "optimistic"] = "optimistic",
    quality_confidence: float = 0.999,
    quality_margin: float = 0.0,
    oracle: Literal["exact", "greedy"] = "greedy",
    radius: Literal["own", "printed", "shared"] = "own",
    exploration_scale: float = 1.0,
    zeta: float = 0.6,
    y: float | Literal["agents"] = "agents",
    exploration_log: Literal["horizon", "round"] = "horizon",
    explorers: Literal["all", "one"] = "all",
    exploration_units: Literal["capacity", "one"] = "one",
    outcomes: Literal["immediate", "late"] = "immediate",
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> Variant:
    """As published, without communication; the difference is the benefit of collaboration.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and
        40,000 with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is
        ``released``, it opens in round 10 at the latest, because buyers learn nothing before.
    privatizer
        How noise is added to a report: ``correlated``, ``independent``, ``published``,
        ``continual``, ``none``.
    local_view
        What a buyer decides on. ``raw``: also its own purchases since the last report.
        ``released``: only reports, its own noisy ones included.
    acceptance
        Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence
        bound. Quality is set so that a purchase meets the constraint with probability
        ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
        confidence bound.
    quality_confidence
        Nominal probability with which a ``cautious`` purchase meets the constraint in each
        round.
    quality_margin
        The margin γ: purchases aim at an average quality of α + γ.
    oracle
        How a purchase is computed: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W),
        with the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs.
        ``printed``: √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already
        contains the units of all n buyers, so n is counted twice there.
    exploration_scale
        Factor of the confidence radius.
    zeta
        ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the
        horizon. The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the
        paper. Figure 5 of the paper excludes many more.
    y
        y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does
        not give y.
    exploration_log
        The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm
        2. ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends
        when t is larger than the length.
    explorers
        n in the length of pure exploration. ``all``: the number of buyers, which share the
        exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
        communication use in the paper.
    exploration_units
        What is bought from each producer during exploration: ``one`` unit, or the whole
        ``capacity``.
    outcomes
        When the outcome of a purchase may arrive. ``immediate``: before the next report;
        later outcomes are refused. ``late``: at any time; the outcome then counts in the next
        report. A purchase can then move from one report to another, so the noise is larger,
        by a factor of at most √2. In a simulation outcomes are immediate, unless
        ``environment.delay`` is set.
    epsilon
        ε of the budget of every buyer, for everything that it sends.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    """

def homogeneous_fcb(
    *,
    label: str | None = None,
    schedule: _PFCBSchedule = "every",
    window: Sequence[int] | Literal["auto"] = "auto",
    privatizer: _PFCBPrivatizer = "none",
    local_view: Literal["raw", "released"] = "raw",
    acceptance: _PFCBAcceptance = "always",
    weighting: _PFCBWeighting = "constant(1)",
    purchases: Literal["cautious", "optimistic"] = "optimistic",
    quality_confidence: float = 0.999,
    quality_margin: float = 0.0,
    oracle: Literal["exact", "greedy"] = "greedy",
    radius: Literal["own", "printed", "shared"] = "printed",
    exploration_scale: float = 1.0,
    zeta: float = 0.6,
    y: float | Literal["agents"] = "agents",
    exploration_log: Literal["horizon", "round"] = "round",
    explorers: Literal["all", "one"] = "all",
    exploration_units: Literal["capacity", "one"] = "one",
    outcomes: Literal["immediate", "late"] = "immediate",
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> Variant:
    """Solanki et al. 2022, Algorithm 1: one shared model for identical buyers.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and
        40,000 with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is
        ``released``, it opens in round 10 at the latest, because buyers learn nothing before.
    privatizer
        How noise is added to a report: ``correlated``, ``independent``, ``published``,
        ``continual``, ``none``.
    local_view
        What a buyer decides on. ``raw``: also its own purchases since the last report.
        ``released``: only reports, its own noisy ones included.
    acceptance
        Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence
        bound. Quality is set so that a purchase meets the constraint with probability
        ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
        confidence bound.
    quality_confidence
        Nominal probability with which a ``cautious`` purchase meets the constraint in each
        round.
    quality_margin
        The margin γ: purchases aim at an average quality of α + γ.
    oracle
        How a purchase is computed: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W),
        with the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs.
        ``printed``: √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already
        contains the units of all n buyers, so n is counted twice there.
    exploration_scale
        Factor of the confidence radius.
    zeta
        ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the
        horizon. The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the
        paper. Figure 5 of the paper excludes many more.
    y
        y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does
        not give y.
    exploration_log
        The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm
        2. ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends
        when t is larger than the length.
    explorers
        n in the length of pure exploration. ``all``: the number of buyers, which share the
        exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
        communication use in the paper.
    exploration_units
        What is bought from each producer during exploration: ``one`` unit, or the whole
        ``capacity``.
    outcomes
        When the outcome of a purchase may arrive. ``immediate``: before the next report;
        later outcomes are refused. ``late``: at any time; the outcome then counts in the next
        report. A purchase can then move from one report to another, so the noise is larger,
        by a factor of at most √2. In a simulation outcomes are immediate, unless
        ``environment.delay`` is set.
    epsilon
        ε of the budget of every buyer, for everything that it sends.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    """

def fclub_published(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "phased",
    sharing: _PublishedFCLUBSharing = "delayed(1.01, 1.01)",
    privatizer: _PublishedFCLUBPrivatizer = "published(auto)",
    acts_on: Literal["buffered", "synchronized"] = "synchronized",
    alpha1: float = 1.0,
    alpha2: float = 2.0,
    merging: Literal["authors", "printed"] = "printed",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "lemma",
    bonus: Literal["root", "square"] = "root",
    exploration_scale: float = 1.0,
    regularization: float = 2.0,
    edge_regularization: float = 2.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """Liu et al. 2022: FCLUB-CDP as published, and its noise is added.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

def fclub_authors(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "phased",
    sharing: _PublishedFCLUBSharing = "delayed(1.01, 1.01)",
    privatizer: _PublishedFCLUBPrivatizer = "none",
    acts_on: Literal["buffered", "synchronized"] = "buffered",
    alpha1: float = 1.5,
    alpha2: float = 2.0,
    merging: Literal["authors", "printed"] = "authors",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "authors",
    bonus: Literal["root", "square"] = "square",
    exploration_scale: float = 0.005,
    regularization: float = 1.0,
    edge_regularization: float = 2.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """The authors' code for FCLUB-CDP: it adds no noise, and merges clusters in another way.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

def fclub_dc(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "phased",
    sharing: _PublishedFCLUBSharing = "delayed(1.01, 1.01)",
    privatizer: _PublishedFCLUBPrivatizer = "none",
    acts_on: Literal["buffered", "synchronized"] = "buffered",
    alpha1: float = 1.5,
    alpha2: float = 2.0,
    merging: Literal["authors", "printed"] = "printed",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "practical(1.5)",
    bonus: Literal["root", "square"] = "square",
    exploration_scale: float = 1.0,
    regularization: float = 2.0,
    edge_regularization: float = 2.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """Liu et al. 2022 without noise: clusters in phases, delayed communication.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

def fclub_sync(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "phased",
    sharing: _PublishedFCLUBSharing = "always",
    privatizer: _PublishedFCLUBPrivatizer = "none",
    acts_on: Literal["buffered", "synchronized"] = "buffered",
    alpha1: float = 1.5,
    alpha2: float = 2.0,
    merging: Literal["authors", "printed"] = "printed",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "practical(1.5)",
    bonus: Literal["root", "square"] = "square",
    exploration_scale: float = 1.0,
    regularization: float = 2.0,
    edge_regularization: float = 2.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """Liu et al. 2022 without noise; every observation is shared at once.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

def club(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "edges",
    sharing: _PublishedFCLUBSharing = "never",
    privatizer: _PublishedFCLUBPrivatizer = "none",
    acts_on: Literal["buffered", "synchronized"] = "buffered",
    alpha1: float = 0.25,
    alpha2: float = 2.0,
    merging: Literal["authors", "printed"] = "printed",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "practical(0.25)",
    bonus: Literal["root", "square"] = "square",
    exploration_scale: float = 1.0,
    regularization: float = 1.0,
    edge_regularization: float = 1.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """Gentile et al. 2014 on every server alone: edges are deleted round by round.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

def sclub(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "sets",
    sharing: _PublishedFCLUBSharing = "never",
    privatizer: _PublishedFCLUBPrivatizer = "none",
    acts_on: Literal["buffered", "synchronized"] = "buffered",
    alpha1: float = 1.5,
    alpha2: float = 0.75,
    merging: Literal["authors", "printed"] = "printed",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "practical(1.5)",
    bonus: Literal["root", "square"] = "square",
    exploration_scale: float = 1.0,
    regularization: float = 1.0,
    edge_regularization: float = 1.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """Li et al. 2019 on every server alone: users leave clusters, and clusters merge.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

def linucb_per_user(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "alone",
    sharing: _PublishedFCLUBSharing = "never",
    privatizer: _PublishedFCLUBPrivatizer = "none",
    acts_on: Literal["buffered", "synchronized"] = "buffered",
    alpha1: float = 1.5,
    alpha2: float = 2.0,
    merging: Literal["authors", "printed"] = "printed",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "practical(15)",
    bonus: Literal["root", "square"] = "square",
    exploration_scale: float = 1.0,
    regularization: float = 2.0,
    edge_regularization: float = 2.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """LinUCB for every user alone; the baseline that collaboration must beat.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

def homo(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "together",
    sharing: _PublishedFCLUBSharing = "always",
    privatizer: _PublishedFCLUBPrivatizer = "none",
    acts_on: Literal["buffered", "synchronized"] = "buffered",
    alpha1: float = 1.5,
    alpha2: float = 2.0,
    merging: Literal["authors", "printed"] = "printed",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "practical(1.5)",
    bonus: Literal["root", "square"] = "square",
    exploration_scale: float = 1.0,
    regularization: float = 2.0,
    edge_regularization: float = 2.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """One cluster of all users; every observation is shared at once.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

def homo_dc(
    *,
    label: str | None = None,
    clustering: _PublishedFCLUBClustering = "together",
    sharing: _PublishedFCLUBSharing = "delayed(1.01, 1.01)",
    privatizer: _PublishedFCLUBPrivatizer = "none",
    acts_on: Literal["buffered", "synchronized"] = "buffered",
    alpha1: float = 1.5,
    alpha2: float = 2.0,
    merging: Literal["authors", "printed"] = "printed",
    alpha_p: float = 1.0,
    confidence: _PublishedFCLUBConfidence = "practical(1.5)",
    bonus: Literal["root", "square"] = "square",
    exploration_scale: float = 1.0,
    regularization: float = 2.0,
    edge_regularization: float = 2.0,
    merge_regularization: float = 1.0,
    failure_probability: float = 0.01,
    epsilon: float = 1.0,
    delta: float = 0.1,
) -> Variant:
    """One cluster of all users, delayed communication.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB),
        ``together``, ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
        records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
        (Algorithm 1, line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F +
        F). Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F
        + F). Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that
        pass equation 4, directly or through others, become one. If this changes the clusters,
        all start again from the reports. ``authors``: what the authors' code does. Clusters
        of one server may also become one again. Nothing is merged while every pair passes the
        test. Nothing is merged either while every cluster stands alone and none has split. If
        nothing changed, each server starts again with the records of its own users, and drops
        what came from others. If something changed, the clusters of a group share one array.
        Then an upload counts twice, and all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
        more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p
        F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
        √(xᵀM⁻¹x), as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the
        noise is used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """
