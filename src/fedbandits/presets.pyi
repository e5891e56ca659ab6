"""Every preset as a function. Made by ``python -m fedbandits.settings.stubs``; do not edit."""

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
    _agents_config.NoNoise | _agents_config.Toeplitz | _agents_config.Tree | str | Mapping[str, Any]
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
    _agents_config.NoNoise | _agents_config.Toeplitz | _agents_config.Tree | str | Mapping[str, Any]
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
    privatizer: _FedUCBPrivatizer = "toeplitz",
    local_view: Literal["raw", "released"] = "released",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Sound: growing batches, Toeplitz noise, agents act on releases alone.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    """

def feducb_published(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "determinant(M log T)",
    privatizer: _FedUCBPrivatizer = "tree(published)",
    local_view: Literal["raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "published",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
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
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    """

def feducb_nonprivate(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "growing(1.5, auto)",
    privatizer: _FedUCBPrivatizer = "none",
    local_view: Literal["raw", "released"] = "released",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """The sound variant without noise: what privacy costs.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    """

def linucb_alone(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "never",
    privatizer: _FedUCBPrivatizer = "none",
    local_view: Literal["raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """No communication: what collaboration brings.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    """

def linucb_pooled(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "every(1)",
    privatizer: _FedUCBPrivatizer = "none",
    local_view: Literal["raw", "released"] = "released",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Every record shared in clear after every round: the floor.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    """

def dislinucb(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "determinant(wang)",
    privatizer: _FedUCBPrivatizer = "none",
    local_view: Literal["raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Wang et al. 2020: in clear, all sync when a determinant has grown enough.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    """

def ldp_silo(
    *,
    label: str | None = None,
    schedule: _FedUCBSchedule = "every(auto)",
    privatizer: _FedUCBPrivatizer = "tree(calibrated)",
    local_view: Literal["raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
) -> Variant:
    """Zhou & Chowdhury 2024: equal batches, calibrated tree, agents act on own raw records.

    A preset of the system 'feducb' (Dubey & Pentland 2020, Differentially-Private Federated Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``,
        ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    """

def feducb_p2p(
    *,
    label: str | None = None,
    schedule: _PeerFedUCBSchedule = "growing(1.5, auto)",
    privatizer: _PeerFedUCBPrivatizer = "toeplitz",
    local_view: Literal["raw", "released"] = "released",
    confidence: Literal["adaptive", "published"] = "adaptive",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
    graph: _PeerFedUCBGraph = "complete",
    gamma: int = 1,
) -> Variant:
    """Sound: growing batches, everybody pools the newest release of every peer it has heard.

    A preset of the system 'feducb_p2p' (Dubey & Pentland 2020, the same peer to peer (Algorithm 3)).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        Fixed in advance (``growing``, ``every``, ``evenly``, ``never``): all agents release
        in the same rounds and pool the newest release of every peer within γ hops.
        ``determinant``: Algorithm 3, with γ estimators in turn and syncs within cliques that
        agents call for.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    graph
        Who can talk to whom: ``complete``, ``ring``, ``line``, ``star``, ``grid``, ``erdos-
        renyi(p)``, ``barabasi-albert(links)``, or the path of an edge list.
    gamma
        γ: a message lives so many hops, one a round.
    """

def feducb_p2p_published(
    *,
    label: str | None = None,
    schedule: _PeerFedUCBSchedule = "determinant(M log T)",
    privatizer: _PeerFedUCBPrivatizer = "tree(published)",
    local_view: Literal["raw", "released"] = "raw",
    confidence: Literal["adaptive", "published"] = "published",
    exploration_scale: float = 1.0,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-05,
    context_bound: float = 1.0,
    reward_bound: float = 1.0,
    parameter_bound: float = 1.0,
    out_of_bounds: Literal["clip", "refuse"] = "refuse",
    noise_scale: float = 0.5,
    alpha: float = 0.01,
    regularization: float | Literal["auto"] = "auto",
    graph: _PeerFedUCBGraph = "complete",
    gamma: int = 1,
) -> Variant:
    """Dubey & Pentland 2020, Algorithm 3: γ estimators in turn, cliques, raw trigger, tree.

    A preset of the system 'feducb_p2p' (Dubey & Pentland 2020, the same peer to peer (Algorithm 3)).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        Fixed in advance (``growing``, ``every``, ``evenly``, ``never``): all agents release
        in the same rounds and pool the newest release of every peer within γ hops.
        ``determinant``: Algorithm 3, with γ estimators in turn and syncs within cliques that
        agents call for.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records
        since the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its
        own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, so that they stay linear in θ*, then cuts the reward
        off at B; where rewards are cut off the confidence bound no longer holds. What is no
        number counts as 0; a context of infinite length keeps its infinite entries, cut to
        length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the
        operator norm of the pooled noise, since less would only loosen the radius.
    graph
        Who can talk to whom: ``complete``, ``ring``, ``line``, ``star``, ``grid``, ``erdos-
        renyi(p)``, ``barabasi-albert(links)``, or the path of an edge list.
    gamma
        γ: a message lives so many hops, one a round.
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
    """He et al. 2022: in clear, each agent exchanges with the server when it has learned enough.

    A preset of the system 'fedlinucb_async' (He, Wang, Min & Gu 2022, A Simple and Provably Efficient Algorithm for Asynchronous Federated Contextual Linear Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    growth
        The paper's α: an agent exchanges with the server when its own records since its last
        exchange make det Σ more than 1 + α times what it was then. ``auto``: 1/M².
    confidence
        ``published``: β of the paper's Theorem 5.1. ``adaptive``: the radius of the other
        variants, valid where decision sets do not depend on rewards (docs/baselines.md).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a
        statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales
        context and reward back together, then cuts the reward off at B. What is no number
        counts as 0; a context of infinite length keeps its infinite entries, cut to length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail; the paper's δ.
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
) -> Variant:
    """Sound: noisy running sums of users in rounds fixed in advance, clusters as a mixture.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``; the first one by default after five rounds a user.
    releases
        What a server releases at a phase's end. ``users``: the running sum of each of its
        users. ``clusters``: for each cluster of its users the sum of the phase's records; far
        less noise, but who is in which cluster, and how many there are, is found in raw data.
        ``never``: servers learn by themselves.
    noise
        ``calibrated`` to (ε, δ), or ``none``.
    local_view
        ``raw``: a server uses its own users' records at once. ``released``: it acts on
        releases alone, its own included, and learns nothing within a phase.
    clustering
        ``mixture``, or ``population``: one cluster, whose spread says how much users differ.
    center_rewards
        Learn y - ½ where one coordinate of all items is constant: a record then moves the
        sums by 1.25 instead of 2, for the same recommendations.
    strictness
        What one more cluster must gain, as a multiple of the Bayesian information criterion.
    trust
        How far other servers' users may move the centre of a cluster, see
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        How many clusters one server can have.
    exploration_scale
        Items are scored by their mean reward plus so many of its standard deviations, a
        single reward's deviation being taken for ½.
    epsilon
        ε of the budget of all releases of a server's users together.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
) -> Variant:
    """Servers act on releases alone, so that the claim holds for interactive data too.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``; the first one by default after five rounds a user.
    releases
        What a server releases at a phase's end. ``users``: the running sum of each of its
        users. ``clusters``: for each cluster of its users the sum of the phase's records; far
        less noise, but who is in which cluster, and how many there are, is found in raw data.
        ``never``: servers learn by themselves.
    noise
        ``calibrated`` to (ε, δ), or ``none``.
    local_view
        ``raw``: a server uses its own users' records at once. ``released``: it acts on
        releases alone, its own included, and learns nothing within a phase.
    clustering
        ``mixture``, or ``population``: one cluster, whose spread says how much users differ.
    center_rewards
        Learn y - ½ where one coordinate of all items is constant: a record then moves the
        sums by 1.25 instead of 2, for the same recommendations.
    strictness
        What one more cluster must gain, as a multiple of the Bayesian information criterion.
    trust
        How far other servers' users may move the centre of a cluster, see
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        How many clusters one server can have.
    exploration_scale
        Items are scored by their mean reward plus so many of its standard deviations, a
        single reward's deviation being taken for ½.
    epsilon
        ε of the budget of all releases of a server's users together.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
) -> Variant:
    """One noisy sum a cluster: less noise, a weaker claim, which takes the clusters as public.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``; the first one by default after five rounds a user.
    releases
        What a server releases at a phase's end. ``users``: the running sum of each of its
        users. ``clusters``: for each cluster of its users the sum of the phase's records; far
        less noise, but who is in which cluster, and how many there are, is found in raw data.
        ``never``: servers learn by themselves.
    noise
        ``calibrated`` to (ε, δ), or ``none``.
    local_view
        ``raw``: a server uses its own users' records at once. ``released``: it acts on
        releases alone, its own included, and learns nothing within a phase.
    clustering
        ``mixture``, or ``population``: one cluster, whose spread says how much users differ.
    center_rewards
        Learn y - ½ where one coordinate of all items is constant: a record then moves the
        sums by 1.25 instead of 2, for the same recommendations.
    strictness
        What one more cluster must gain, as a multiple of the Bayesian information criterion.
    trust
        How far other servers' users may move the centre of a cluster, see
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        How many clusters one server can have.
    exploration_scale
        Items are scored by their mean reward plus so many of its standard deviations, a
        single reward's deviation being taken for ½.
    epsilon
        ε of the budget of all releases of a server's users together.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
) -> Variant:
    """Every server by itself: what clusters bring without any release.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``; the first one by default after five rounds a user.
    releases
        What a server releases at a phase's end. ``users``: the running sum of each of its
        users. ``clusters``: for each cluster of its users the sum of the phase's records; far
        less noise, but who is in which cluster, and how many there are, is found in raw data.
        ``never``: servers learn by themselves.
    noise
        ``calibrated`` to (ε, δ), or ``none``.
    local_view
        ``raw``: a server uses its own users' records at once. ``released``: it acts on
        releases alone, its own included, and learns nothing within a phase.
    clustering
        ``mixture``, or ``population``: one cluster, whose spread says how much users differ.
    center_rewards
        Learn y - ½ where one coordinate of all items is constant: a record then moves the
        sums by 1.25 instead of 2, for the same recommendations.
    strictness
        What one more cluster must gain, as a multiple of the Bayesian information criterion.
    trust
        How far other servers' users may move the centre of a cluster, see
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        How many clusters one server can have.
    exploration_scale
        Items are scored by their mean reward plus so many of its standard deviations, a
        single reward's deviation being taken for ½.
    epsilon
        ε of the budget of all releases of a server's users together.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
) -> Variant:
    """Users' sums leave in clear: what privacy costs.

    A preset of the system 'fclub' (after Liu et al. 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When phases end: ``growing(1.4)``; the first one by default after five rounds a user.
    releases
        What a server releases at a phase's end. ``users``: the running sum of each of its
        users. ``clusters``: for each cluster of its users the sum of the phase's records; far
        less noise, but who is in which cluster, and how many there are, is found in raw data.
        ``never``: servers learn by themselves.
    noise
        ``calibrated`` to (ε, δ), or ``none``.
    local_view
        ``raw``: a server uses its own users' records at once. ``released``: it acts on
        releases alone, its own included, and learns nothing within a phase.
    clustering
        ``mixture``, or ``population``: one cluster, whose spread says how much users differ.
    center_rewards
        Learn y - ½ where one coordinate of all items is constant: a record then moves the
        sums by 1.25 instead of 2, for the same recommendations.
    strictness
        What one more cluster must gain, as a multiple of the Bayesian information criterion.
    trust
        How far other servers' users may move the centre of a cluster, see
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        How many clusters one server can have.
    exploration_scale
        Items are scored by their mean reward plus so many of its standard deviations, a
        single reward's deviation being taken for ½.
    epsilon
        ε of the budget of all releases of a server's users together.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
) -> Variant:
    """UCB by SAMBA: scores and bits encrypted, servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Thompson sampling by SAMBA: scores and bits encrypted, servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Ε-greedy by SAMBA: scores and bits encrypted, servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Ε-greedy with decreasing ε by SAMBA: scores and bits encrypted, servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Softmax by SAMBA: scores and bits encrypted, servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Pursuit by SAMBA: scores and bits encrypted, servers see masked ones.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """UCB with SAMBA's messages in clear: what encryption costs.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Thompson sampling with SAMBA's messages in clear: what encryption costs.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Ε-greedy with SAMBA's messages in clear: what encryption costs.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Ε-greedy with decreasing ε with SAMBA's messages in clear: what encryption costs.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Softmax with SAMBA's messages in clear: what encryption costs.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Pursuit with SAMBA's messages in clear: what encryption costs.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """UCB on one machine: what SAMBA must return.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Thompson sampling on one machine: what SAMBA must return.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Ε-greedy on one machine: what SAMBA must return.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Ε-greedy with decreasing ε on one machine: what SAMBA must return.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Softmax on one machine: what SAMBA must return.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Pursuit on one machine: what SAMBA must return.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
) -> Variant:
    """Ε-greedy by SAMBA to the letter: in steps that explore the Controller draws the scores.

    A preset of the system 'samba' (Ciucanu, Lafourcade, Marcadet & Soare 2022, SAMBA: A Generic Framework for Secure Federated Multi-Armed Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1,
        harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is
        many times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp
        chooses by draws of its own. ``none``: owners send equal scores (section 4.1.2).
        ``published``: as section 5.4 prints it: owners send nothing, the Controller draws one
        number as the score of all arms, Comp takes the first of equals, whose arm the
        Controller knows. ``published-each``: the same, reading "a random number as score for
        all arms" as one for each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order,
        as in the paper, from which the Controller knows the arm of every step that explores.
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
    """Sound: noise that fits a purchase, reports weighed by their variance, cautious purchases.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which they do; 200 and 40,000 in the paper, where T =
        100,000. ``auto`` keeps those proportions, but opens in round 10 at the latest where
        ``local_view`` is ``released``: nothing is learned before.
    privatizer
        How a report is made: ``correlated``, ``independent``, ``published``, ``continual``,
        ``none``.
    local_view
        ``raw``: a buyer's own purchases count at once. ``released``: it acts on reports
        alone, its own noisy ones included.
    acceptance
        Which reports are believed: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much they count: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        ``cautious``: revenue at the upper confidence bound, quality so that a purchase meets
        the constraint with probability ``quality_confidence``, nominally and per round.
        ``optimistic``: both at the upper bound.
    quality_confidence
        Probability with which a ``cautious`` purchase meets the constraint, nominally and per
        round.
    quality_margin
        The margin γ: the constraint is aimed at α + γ.
    oracle
        How a purchase is worked out: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius √(3 ln x / 2W), W being the units known of, with x the round
        (``own``), or the number n of buyers times it (``shared``: what the proof of Theorem 1
        needs). ``printed`` is line 15 of Algorithm 1 to the letter, √(3 ln(nt) / 2nW): all
        buyers' units are in W already, so n is in it twice.
    exploration_scale
        The radius is multiplied by it.
    zeta
        ζ: the pure exploration lasts 3 ln(yT) / (2nζ²) rounds, a quarter of the horizon at
        most. The paper does not state it. With ζ = 0.6 that is 5 rounds at the paper's scale:
        its Figure 5 leaves no room for many more.
    y
        y in the length of the pure exploration, see ``zeta``; ``agents`` stands for n. The
        paper does not state it.
    exploration_log
        Whether that is the log of yT (``horizon``, Algorithm 2), or of yt, as long as it
        holds (``round``, Algorithm 1).
    explorers
        The n in that length: ``all`` buyers, which may share its rounds, or ``one``, as in
        the single-agent algorithm that the paper's buyers without communication follow.
    exploration_units
        What is bought from everybody while exploring: ``one`` unit, or all ``capacity``.
    outcomes
        When inspections may tell what was good. ``immediate``: before the next report leaves;
        an outcome that comes after it is refused. ``late``: any time, and it counts in the
        report after it. A purchase can then move from one report to another, so there is more
        noise, by up to √2. In a simulation all inspections are immediate.
    epsilon
        ε of the budget of every buyer, for all it ever sends.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
        [t̲, t̄], the rounds between which they do; 200 and 40,000 in the paper, where T =
        100,000. ``auto`` keeps those proportions, but opens in round 10 at the latest where
        ``local_view`` is ``released``: nothing is learned before.
    privatizer
        How a report is made: ``correlated``, ``independent``, ``published``, ``continual``,
        ``none``.
    local_view
        ``raw``: a buyer's own purchases count at once. ``released``: it acts on reports
        alone, its own noisy ones included.
    acceptance
        Which reports are believed: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much they count: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        ``cautious``: revenue at the upper confidence bound, quality so that a purchase meets
        the constraint with probability ``quality_confidence``, nominally and per round.
        ``optimistic``: both at the upper bound.
    quality_confidence
        Probability with which a ``cautious`` purchase meets the constraint, nominally and per
        round.
    quality_margin
        The margin γ: the constraint is aimed at α + γ.
    oracle
        How a purchase is worked out: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius √(3 ln x / 2W), W being the units known of, with x the round
        (``own``), or the number n of buyers times it (``shared``: what the proof of Theorem 1
        needs). ``printed`` is line 15 of Algorithm 1 to the letter, √(3 ln(nt) / 2nW): all
        buyers' units are in W already, so n is in it twice.
    exploration_scale
        The radius is multiplied by it.
    zeta
        ζ: the pure exploration lasts 3 ln(yT) / (2nζ²) rounds, a quarter of the horizon at
        most. The paper does not state it. With ζ = 0.6 that is 5 rounds at the paper's scale:
        its Figure 5 leaves no room for many more.
    y
        y in the length of the pure exploration, see ``zeta``; ``agents`` stands for n. The
        paper does not state it.
    exploration_log
        Whether that is the log of yT (``horizon``, Algorithm 2), or of yt, as long as it
        holds (``round``, Algorithm 1).
    explorers
        The n in that length: ``all`` buyers, which may share its rounds, or ``one``, as in
        the single-agent algorithm that the paper's buyers without communication follow.
    exploration_units
        What is bought from everybody while exploring: ``one`` unit, or all ``capacity``.
    outcomes
        When inspections may tell what was good. ``immediate``: before the next report leaves;
        an outcome that comes after it is refused. ``late``: any time, and it counts in the
        report after it. A purchase can then move from one report to another, so there is more
        noise, by up to √2. In a simulation all inspections are immediate.
    epsilon
        ε of the budget of every buyer, for all it ever sends.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
    """Buyers act on reports alone, so that the claim holds for interactive data too.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which they do; 200 and 40,000 in the paper, where T =
        100,000. ``auto`` keeps those proportions, but opens in round 10 at the latest where
        ``local_view`` is ``released``: nothing is learned before.
    privatizer
        How a report is made: ``correlated``, ``independent``, ``published``, ``continual``,
        ``none``.
    local_view
        ``raw``: a buyer's own purchases count at once. ``released``: it acts on reports
        alone, its own noisy ones included.
    acceptance
        Which reports are believed: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much they count: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        ``cautious``: revenue at the upper confidence bound, quality so that a purchase meets
        the constraint with probability ``quality_confidence``, nominally and per round.
        ``optimistic``: both at the upper bound.
    quality_confidence
        Probability with which a ``cautious`` purchase meets the constraint, nominally and per
        round.
    quality_margin
        The margin γ: the constraint is aimed at α + γ.
    oracle
        How a purchase is worked out: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius √(3 ln x / 2W), W being the units known of, with x the round
        (``own``), or the number n of buyers times it (``shared``: what the proof of Theorem 1
        needs). ``printed`` is line 15 of Algorithm 1 to the letter, √(3 ln(nt) / 2nW): all
        buyers' units are in W already, so n is in it twice.
    exploration_scale
        The radius is multiplied by it.
    zeta
        ζ: the pure exploration lasts 3 ln(yT) / (2nζ²) rounds, a quarter of the horizon at
        most. The paper does not state it. With ζ = 0.6 that is 5 rounds at the paper's scale:
        its Figure 5 leaves no room for many more.
    y
        y in the length of the pure exploration, see ``zeta``; ``agents`` stands for n. The
        paper does not state it.
    exploration_log
        Whether that is the log of yT (``horizon``, Algorithm 2), or of yt, as long as it
        holds (``round``, Algorithm 1).
    explorers
        The n in that length: ``all`` buyers, which may share its rounds, or ``one``, as in
        the single-agent algorithm that the paper's buyers without communication follow.
    exploration_units
        What is bought from everybody while exploring: ``one`` unit, or all ``capacity``.
    outcomes
        When inspections may tell what was good. ``immediate``: before the next report leaves;
        an outcome that comes after it is refused. ``late``: any time, and it counts in the
        report after it. A purchase can then move from one report to another, so there is more
        noise, by up to √2. In a simulation all inspections are immediate.
    epsilon
        ε of the budget of every buyer, for all it ever sends.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
    """As published (section 6.1): P-FCB, Procedure 1 too, that tells true values.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which they do; 200 and 40,000 in the paper, where T =
        100,000. ``auto`` keeps those proportions, but opens in round 10 at the latest where
        ``local_view`` is ``released``: nothing is learned before.
    privatizer
        How a report is made: ``correlated``, ``independent``, ``published``, ``continual``,
        ``none``.
    local_view
        ``raw``: a buyer's own purchases count at once. ``released``: it acts on reports
        alone, its own noisy ones included.
    acceptance
        Which reports are believed: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much they count: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        ``cautious``: revenue at the upper confidence bound, quality so that a purchase meets
        the constraint with probability ``quality_confidence``, nominally and per round.
        ``optimistic``: both at the upper bound.
    quality_confidence
        Probability with which a ``cautious`` purchase meets the constraint, nominally and per
        round.
    quality_margin
        The margin γ: the constraint is aimed at α + γ.
    oracle
        How a purchase is worked out: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius √(3 ln x / 2W), W being the units known of, with x the round
        (``own``), or the number n of buyers times it (``shared``: what the proof of Theorem 1
        needs). ``printed`` is line 15 of Algorithm 1 to the letter, √(3 ln(nt) / 2nW): all
        buyers' units are in W already, so n is in it twice.
    exploration_scale
        The radius is multiplied by it.
    zeta
        ζ: the pure exploration lasts 3 ln(yT) / (2nζ²) rounds, a quarter of the horizon at
        most. The paper does not state it. With ζ = 0.6 that is 5 rounds at the paper's scale:
        its Figure 5 leaves no room for many more.
    y
        y in the length of the pure exploration, see ``zeta``; ``agents`` stands for n. The
        paper does not state it.
    exploration_log
        Whether that is the log of yT (``horizon``, Algorithm 2), or of yt, as long as it
        holds (``round``, Algorithm 1).
    explorers
        The n in that length: ``all`` buyers, which may share its rounds, or ``one``, as in
        the single-agent algorithm that the paper's buyers without communication follow.
    exploration_units
        What is bought from everybody while exploring: ``one`` unit, or all ``capacity``.
    outcomes
        When inspections may tell what was good. ``immediate``: before the next report leaves;
        an outcome that comes after it is refused. ``late``: any time, and it counts in the
        report after it. A purchase can then move from one report to another, so there is more
        noise, by up to √2. In a simulation all inspections are immediate.
    epsilon
        ε of the budget of every buyer, for all it ever sends.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
    """True values after every round, all taken, as in Algorithm 1: the floor.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which they do; 200 and 40,000 in the paper, where T =
        100,000. ``auto`` keeps those proportions, but opens in round 10 at the latest where
        ``local_view`` is ``released``: nothing is learned before.
    privatizer
        How a report is made: ``correlated``, ``independent``, ``published``, ``continual``,
        ``none``.
    local_view
        ``raw``: a buyer's own purchases count at once. ``released``: it acts on reports
        alone, its own noisy ones included.
    acceptance
        Which reports are believed: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much they count: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        ``cautious``: revenue at the upper confidence bound, quality so that a purchase meets
        the constraint with probability ``quality_confidence``, nominally and per round.
        ``optimistic``: both at the upper bound.
    quality_confidence
        Probability with which a ``cautious`` purchase meets the constraint, nominally and per
        round.
    quality_margin
        The margin γ: the constraint is aimed at α + γ.
    oracle
        How a purchase is worked out: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius √(3 ln x / 2W), W being the units known of, with x the round
        (``own``), or the number n of buyers times it (``shared``: what the proof of Theorem 1
        needs). ``printed`` is line 15 of Algorithm 1 to the letter, √(3 ln(nt) / 2nW): all
        buyers' units are in W already, so n is in it twice.
    exploration_scale
        The radius is multiplied by it.
    zeta
        ζ: the pure exploration lasts 3 ln(yT) / (2nζ²) rounds, a quarter of the horizon at
        most. The paper does not state it. With ζ = 0.6 that is 5 rounds at the paper's scale:
        its Figure 5 leaves no room for many more.
    y
        y in the length of the pure exploration, see ``zeta``; ``agents`` stands for n. The
        paper does not state it.
    exploration_log
        Whether that is the log of yT (``horizon``, Algorithm 2), or of yt, as long as it
        holds (``round``, Algorithm 1).
    explorers
        The n in that length: ``all`` buyers, which may share its rounds, or ``one``, as in
        the single-agent algorithm that the paper's buyers without communication follow.
    exploration_units
        What is bought from everybody while exploring: ``one`` unit, or all ``capacity``.
    outcomes
        When inspections may tell what was good. ``immediate``: before the next report leaves;
        an outcome that comes after it is refused. ``late``: any time, and it counts in the
        report after it. A purchase can then move from one report to another, so there is more
        noise, by up to √2. In a simulation all inspections are immediate.
    epsilon
        ε of the budget of every buyer, for all it ever sends.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
    """As published, without communication: what collaboration brings.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which they do; 200 and 40,000 in the paper, where T =
        100,000. ``auto`` keeps those proportions, but opens in round 10 at the latest where
        ``local_view`` is ``released``: nothing is learned before.
    privatizer
        How a report is made: ``correlated``, ``independent``, ``published``, ``continual``,
        ``none``.
    local_view
        ``raw``: a buyer's own purchases count at once. ``released``: it acts on reports
        alone, its own noisy ones included.
    acceptance
        Which reports are believed: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much they count: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        ``cautious``: revenue at the upper confidence bound, quality so that a purchase meets
        the constraint with probability ``quality_confidence``, nominally and per round.
        ``optimistic``: both at the upper bound.
    quality_confidence
        Probability with which a ``cautious`` purchase meets the constraint, nominally and per
        round.
    quality_margin
        The margin γ: the constraint is aimed at α + γ.
    oracle
        How a purchase is worked out: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius √(3 ln x / 2W), W being the units known of, with x the round
        (``own``), or the number n of buyers times it (``shared``: what the proof of Theorem 1
        needs). ``printed`` is line 15 of Algorithm 1 to the letter, √(3 ln(nt) / 2nW): all
        buyers' units are in W already, so n is in it twice.
    exploration_scale
        The radius is multiplied by it.
    zeta
        ζ: the pure exploration lasts 3 ln(yT) / (2nζ²) rounds, a quarter of the horizon at
        most. The paper does not state it. With ζ = 0.6 that is 5 rounds at the paper's scale:
        its Figure 5 leaves no room for many more.
    y
        y in the length of the pure exploration, see ``zeta``; ``agents`` stands for n. The
        paper does not state it.
    exploration_log
        Whether that is the log of yT (``horizon``, Algorithm 2), or of yt, as long as it
        holds (``round``, Algorithm 1).
    explorers
        The n in that length: ``all`` buyers, which may share its rounds, or ``one``, as in
        the single-agent algorithm that the paper's buyers without communication follow.
    exploration_units
        What is bought from everybody while exploring: ``one`` unit, or all ``capacity``.
    outcomes
        When inspections may tell what was good. ``immediate``: before the next report leaves;
        an outcome that comes after it is refused. ``late``: any time, and it counts in the
        report after it. A purchase can then move from one report to another, so there is more
        noise, by up to √2. In a simulation all inspections are immediate.
    epsilon
        ε of the budget of every buyer, for all it ever sends.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
    """Solanki et al. 2022, Algorithm 1: one shared model for buyers that are all alike.

    A preset of the system 'pfcb' (Solanki et al. 2022, Differentially Private Federated Combinatorial Bandits with Constraints).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which they do; 200 and 40,000 in the paper, where T =
        100,000. ``auto`` keeps those proportions, but opens in round 10 at the latest where
        ``local_view`` is ``released``: nothing is learned before.
    privatizer
        How a report is made: ``correlated``, ``independent``, ``published``, ``continual``,
        ``none``.
    local_view
        ``raw``: a buyer's own purchases count at once. ``released``: it acts on reports
        alone, its own noisy ones included.
    acceptance
        Which reports are believed: ``within-deviations(4)``, ``within-radius(ω₁)``,
        ``always``.
    weighting
        How much they count: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        ``cautious``: revenue at the upper confidence bound, quality so that a purchase meets
        the constraint with probability ``quality_confidence``, nominally and per round.
        ``optimistic``: both at the upper bound.
    quality_confidence
        Probability with which a ``cautious`` purchase meets the constraint, nominally and per
        round.
    quality_margin
        The margin γ: the constraint is aimed at α + γ.
    oracle
        How a purchase is worked out: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius √(3 ln x / 2W), W being the units known of, with x the round
        (``own``), or the number n of buyers times it (``shared``: what the proof of Theorem 1
        needs). ``printed`` is line 15 of Algorithm 1 to the letter, √(3 ln(nt) / 2nW): all
        buyers' units are in W already, so n is in it twice.
    exploration_scale
        The radius is multiplied by it.
    zeta
        ζ: the pure exploration lasts 3 ln(yT) / (2nζ²) rounds, a quarter of the horizon at
        most. The paper does not state it. With ζ = 0.6 that is 5 rounds at the paper's scale:
        its Figure 5 leaves no room for many more.
    y
        y in the length of the pure exploration, see ``zeta``; ``agents`` stands for n. The
        paper does not state it.
    exploration_log
        Whether that is the log of yT (``horizon``, Algorithm 2), or of yt, as long as it
        holds (``round``, Algorithm 1).
    explorers
        The n in that length: ``all`` buyers, which may share its rounds, or ``one``, as in
        the single-agent algorithm that the paper's buyers without communication follow.
    exploration_units
        What is bought from everybody while exploring: ``one`` unit, or all ``capacity``.
    outcomes
        When inspections may tell what was good. ``immediate``: before the next report leaves;
        an outcome that comes after it is refused. ``late``: any time, and it counts in the
        report after it. A purchase can then move from one report to another, so there is more
        noise, by up to √2. In a simulation all inspections are immediate.
    epsilon
        ε of the budget of every buyer, for all it ever sends.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
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
    """Liu et al. 2022, FCLUB-CDP as published, with its noise really added.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
    """What the authors' code for FCLUB-CDP really runs: no noise is added, merging is another.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
    """Liu et al. 2022 without noise: clusters by phases, delayed communication.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
    """Liu et al. 2022 without noise, every observation shared at once.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
    """Gentile et al. 2014 on every server by itself: edges are deleted round by round.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
    """Li et al. 2019 on every server by itself: users split off and clusters merge.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
    """LinUCB of every user alone: what collaboration must be better than.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
    """One cluster of all users, every observation shared at once.

    A preset of the system 'fclub_published' (Liu, Zhao, Yu, Li & Lui 2022, Federated Online Clustering of Bandits).

    Parameters
    ----------
    label
        Its name in results; the preset's by default.
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as
        the authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4,
        SCLUB's merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly
        or through others, are one; where that changes who learns with whom, all begin anew
        from the reports. ``authors``: what the authors' code does. Clusters of one server may
        become one again too. Nothing is merged while every pair passes the test, nor while
        every cluster stands alone and none has split. Where nothing changed each server
        begins anew with the records of its own users, and what came from others is dropped.
        Where something changed the clusters of a group share one array: an upload counts
        twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p
        F(t), clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their
        code for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared
        as they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
    """
