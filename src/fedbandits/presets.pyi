"""Every preset as a function; do not edit.

Made by ``python -m fedbandits.settings.reference.presets``.
"""

# ruff: noqa: D205 - the description of a preset may take more than one line
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from fedbandits.federation import graphs as _federation_graphs
from fedbandits.settings.experiment import Variant
from fedbandits.systems import aggregation as _systems_aggregation
from fedbandits.systems.agents import config as _agents_config
from fedbandits.systems.fclub import declare as _fclub_declare
from fedbandits.systems.fclub_published import declare as _fclub_published_declare
from fedbandits.systems.pfcb import config as _pfcb_config
from fedbandits.systems.samba import config as _samba_config

_AgentsConfigPrivatizer: TypeAlias = (
    _agents_config.NoNoise
    | _agents_config.Toeplitz
    | _agents_config.Optimal
    | _agents_config.Tree
    | str
    | Mapping[str, Any]
)
_FedUCBSchedule: TypeAlias = (
    _agents_config.Every
    | _agents_config.Growing
    | _agents_config.Evenly
    | _agents_config.Determinant
    | _agents_config.Never
    | str
    | Mapping[str, Any]
)
_FedUCBAggregation: TypeAlias = (
    _systems_aggregation.Clear | _systems_aggregation.SecureSum | str | Mapping[str, Any]
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
_FCLUBSchedule: TypeAlias = _fclub_declare.Growing | str | Mapping[str, Any]
_SambaAlgorithm: TypeAlias = (
    _samba_config.UCB
    | _samba_config.UCBTuned
    | _samba_config.KLUCB
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
    | _pfcb_config.Optimal
    | str
    | Mapping[str, Any]
)
_PFCBAggregation: TypeAlias = (
    _systems_aggregation.Clear | _systems_aggregation.SecureSum | str | Mapping[str, Any]
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
    _fclub_published_declare.Alone
    | _fclub_published_declare.Together
    | _fclub_published_declare.Phased
    | _fclub_published_declare.Edges
    | _fclub_published_declare.Sets
    | str
    | Mapping[str, Any]
)
_PublishedFCLUBSharing: TypeAlias = (
    _fclub_published_declare.Never
    | _fclub_published_declare.Always
    | _fclub_published_declare.Delayed
    | str
    | Mapping[str, Any]
)
_PublishedFCLUBPrivatizer: TypeAlias = (
    _fclub_published_declare.NoNoise | _fclub_published_declare.Published | str | Mapping[str, Any]
)
_PublishedFCLUBConfidence: TypeAlias = (
    _fclub_published_declare.Practical
    | _fclub_published_declare.Lemma
    | _fclub_published_declare.Authors
    | str
    | Mapping[str, Any]
)

class _Label(TypedDict, total=False):
    label: str | None
    """Its name in results; the preset's by default."""

class _AgentsConfigKeys(_Label, total=False):
    """Settings of linear agents that release running sums (Dubey & Pentland 2020)."""

    privatizer: _AgentsConfigPrivatizer
    """How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``. Default:
    "optimal".
    """
    local_view: Literal["joint", "raw", "released"]
    """What an agent decides on. ``released``: only released statistics. ``raw``: also its own
    records since the last sync. ``joint``: one estimate from all its own records and what
    others released, by standard deviations alone. With ``deviations`` ``raw`` is the same
    (docs/exploration.md). Default: "released".
    """
    confidence: Literal["adaptive", "deviations", "published"]
    """How far an agent explores. ``adaptive``: by a radius that is proved (docs/confidence.md).
    ``published``: by that of the paper (Proposition 2). ``deviations``: by standard
    deviations of its estimate, as LinUCB does. Nothing is proved then, and regret is smaller.
    Default: "deviations".
    """
    exploration: Literal["draws", "widths"]
    """How an agent explores. ``widths``: an arm's score is its estimate and a width. ``draws``:
    Thompson sampling, an arm's score is its estimate under parameters that are drawn for each
    decision. It needs ``confidence = "deviations"`` (docs/exploration.md). Default: "widths".
    """
    exploration_scale: float
    """Factor of the confidence radius; 1 is the value of the theorem. With ``deviations`` it is
    α, the number of standard deviations. With ``draws`` it is the standard deviation of what
    is drawn, in those of the estimate. Default: 1.0.
    """
    epsilon: float | Sequence[float]
    """ε of the budget of every agent, for everything that it sends. A list gives each agent its
    own ε. Default: 1.0.
    """
    delta: float
    """δ of the budget of every agent: the probability with which the guarantee of ε may fail.
    Default: 1e-05.
    """
    context_bound: float
    """L, the largest norm of a context. Every context is checked against it before it is used.
    Default: 1.0.
    """
    reward_bound: float
    """B, the largest absolute reward. Every reward is checked against it before it is used.
    Default: 1.0.
    """
    reward_centre: float | Literal["auto"]
    """A number that is taken from every reward before it is learned. ``auto``: the middle of the
    range of rewards, where noise is added, ``confidence`` is ``deviations``, and every
    context has a constant coordinate, which is a public fact. B and S are then half as large,
    and so is the noise (docs/feducb.md). Elsewhere nothing is taken: a linear model could not
    make up for it. Of a number that is given, B bounds the distance of rewards from it.
    Regret and rewards in results are counted as they come. Default: "auto".
    """
    parameter_bound: float
    """S, the largest norm that θ* may have. Default: 1.0."""
    out_of_bounds: Literal["clip", "refuse"]
    """What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first scales
    context and reward back by the same factor, so that the reward stays linear in θ*. Then it
    cuts the reward off at B. If rewards are cut off, the confidence bound no longer holds.
    NaN counts as 0. A context of infinite norm keeps its infinite entries, scaled to norm L.
    Default: "refuse".
    """
    gram_noise: float | Literal["auto"]
    """ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``: the
    ρ with the least noise in the estimate of θ*, for calibrated noise
    (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the
    paper. Default: "auto".
    """
    noise_scale: float
    """σ: rewards are σ-sub-Gaussian around their mean. Default: 0.5."""
    alpha: float
    """Probability with which the confidence bound may fail. With ``deviations`` there is no
    bound, and it changes nothing. Default: 0.01.
    """
    unit: Literal["person", "record"]
    """What the guarantee is for. ``record``: one interaction. ``person``: all records of one
    person at one agent together. The world must say who comes. Default: "record".
    """
    records_per_person: int
    """k, the number of records of one person that count for what an agent releases: those of its
    first k visits. Noise is calibrated for k records at once, so it is k times as large. Used
    with ``unit = "person"`` only. Default: 1.
    """
    regularization: float | Literal["auto"]
    """λ₁, the ridge parameter. ``auto``: with ``deviations`` it is (2σ/S)², so that two standard
    deviations of a mean reward that nothing is known of are S‖x‖. With a radius it is 1
    without noise. With noise it is then the bound on the operator norm of pooled noise that
    has everywhere the deviation of that of Σ x y. A smaller λ₁ would let more noise into
    estimates. Default: "auto".
    """

class _FedUCBKeys(_AgentsConfigKeys, total=False):
    """Settings of FedUCB with a controller (Dubey & Pentland 2020, Algorithm 1)."""

    schedule: _FedUCBSchedule
    """When all agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``, ``determinant(D)``,
    ``never``. Default: "growing(1.5, auto)".
    """
    aggregation: _FedUCBAggregation
    """Who adds up releases. ``clear``: the controller sees each release. ``secure-sum``: nobody
    sees more than sums, so their noise is needed once (docs/secure-sums.md). It needs a
    schedule that is fixed in advance, calibrated noise, and one ε for all agents. Default:
    "clear".
    """

class _PeerFedUCBKeys(_AgentsConfigKeys, total=False):
    """Settings of FedUCB without a controller (Dubey & Pentland 2020, Algorithm 3)."""

    schedule: _PeerFedUCBSchedule
    """When agents release. ``growing``, ``every``, ``evenly`` and ``never`` are fixed in
    advance: all agents release in the same rounds, and add up the newest releases of all
    peers within γ hops. ``determinant`` is Algorithm 3: γ estimators take turns, and an agent
    can call for a sync in its clique. Default: "growing(1.5, auto)".
    """
    graph: _PeerFedUCBGraph
    """Which agents are linked: ``complete``, ``ring``, ``line``, ``star``, ``grid``,
    ``erdos-renyi(p)``, ``barabasi-albert(links)``, or the path of an edge list. Default:
    "complete".
    """
    gamma: int
    """γ, the number of hops that a message travels, one in each round. Default: 1."""

class _AsyncFedLinUCBKeys(_Label, total=False):
    """Settings of asynchronous FedLinUCB (He et al. 2022, Algorithm 1), which adds no noise."""

    growth: float | Literal["auto"]
    """α of the paper. An agent exchanges with the server when its new records have made det Σ
    more than 1 + α times as large as at its last exchange. ``auto``: 1/M². Default: "auto".
    """
    confidence: Literal["adaptive", "deviations", "published"]
    """How far an agent explores. ``published``: by β of Theorem 5.1. ``adaptive``: by the radius
    of the other systems. It is valid if decision sets do not depend on rewards
    (docs/baselines.md). ``deviations``: by standard deviations of its estimate; nothing is
    proved. Default: "published".
    """
    exploration_scale: float
    """Factor of the confidence radius; 1 is the value of the theorem. With ``deviations`` it is
    α, the number of standard deviations. Default: 1.0.
    """
    context_bound: float
    """L, the largest norm of a context. Every context is checked against it before it is used.
    Default: 1.0.
    """
    reward_bound: float
    """B, the largest absolute reward. Every reward is checked against it before it is used.
    Default: 1.0.
    """
    parameter_bound: float
    """S, the largest norm that θ* may have. Default: 1.0."""
    out_of_bounds: Literal["clip", "refuse"]
    """What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first scales
    context and reward back by the same factor, then cuts the reward off at B. NaN counts as
    0. A context of infinite norm keeps its infinite entries, scaled to norm L. Default:
    "refuse".
    """
    noise_scale: float
    """σ: rewards are σ-sub-Gaussian around their mean. Default: 0.5."""
    alpha: float
    """Probability with which the confidence bound may fail; δ in the paper. Default: 0.01."""
    regularization: float | Literal["auto"]
    """λ, the ridge parameter. ``auto``: 1/S², as in the paper; with ``deviations`` (2σ/S)².
    Default: "auto".
    """

class _FCLUBKeys(_Label, total=False):
    """Settings of the sound FCLUB: releases in fixed rounds, and clusters from a mixture model."""

    schedule: _FCLUBSchedule
    """When phases end: ``growing(1.4)``. By default the first phase ends after five rounds for
    each user. Default: "growing(1.4, auto)".
    """
    releases: Literal["clusters", "never", "users"]
    """What a server releases at the end of a phase. ``users``: the running sum of each of its
    users. ``clusters``: for each cluster of its users, the sum of the records of this phase.
    This needs far less noise, but the number of clusters and the users in each are computed
    from raw data. ``never``: nothing, so servers learn alone. Default: "users".
    """
    noise: Literal["calibrated", "none"]
    """``calibrated``: the noise that (ε, δ) needs. ``none``: no noise. Default: "calibrated"."""
    local_view: Literal["raw", "released"]
    """What a server decides on. ``raw``: also the newest records of its own users. ``released``:
    only releases, its own included. It then learns nothing during a phase. Default: "raw".
    """
    clustering: Literal["mixture", "population"]
    """``mixture``: several clusters. ``population``: one cluster, whose spread describes how
    much users differ. Default: "mixture".
    """
    center_rewards: bool
    """Whether to learn y - ½ instead of y if one coordinate of all items is constant. A record
    then changes the sums by 1.25 instead of 2, and recommendations stay the same. Default:
    True.
    """
    strictness: float
    """Gain that an additional cluster must bring, as a multiple of the Bayesian information
    criterion. Default: 0.75.
    """
    trust: float
    """Prior odds that users of other servers who seem to fit a cluster belong there, as a
    multiple of exp(-d/2). 0: they are ignored. See
    :func:`~fedbandits.learners.clustering.attach`. Default: 1.0.
    """
    most_clusters: int
    """Largest number of clusters of one server. Default: 32."""
    exploration_scale: float
    """The score of an item is its mean reward plus this number of standard deviations of the
    mean. The standard deviation of a single reward is taken to be ½. Default: 1.0.
    """
    epsilon: float
    """ε of the budget for all releases of one server about its users. Default: 1.0."""
    delta: float
    """δ of that budget: the probability with which the guarantee of ε may fail. Default: 1e-05."""
    unit: Literal["person", "record"]
    """What the guarantee is for. ``record``: one interaction. ``person``: all records of one
    user together. Default: "record".
    """
    records_per_person: int
    """k, the number of records of one user that count for what its server releases: the first k.
    Noise is calibrated for k records at once, so it is k times as large. The server itself
    learns from all of them, if ``local_view`` is ``raw``. Used with ``unit = "person"`` only.
    Default: 1.
    """

class _SambaKeys(_Label, total=False):
    """Settings of SAMBA (Ciucanu et al. 2022): owners with one arm each, two servers, a
    customer.
    """

    algorithm: _SambaAlgorithm
    """The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``,
    ``decreasing-epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``. The
    paper does not have ``ucb-tuned`` and ``kl-ucb``, which make fewer mistakes than ``ucb``.
    Default: "ucb(2)".
    """
    execution: Literal["distributed", "plain", "secure"]
    """How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
    without encryption. ``plain``: one machine that has all data. All three pull the same arms
    (Theorem 2). Default: "secure".
    """
    cipher: Literal["aes-gcm", "stream"]
    """Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
    confidential and many times faster in simulation, but does not detect changes of messages.
    Default: "aes-gcm".
    """
    paillier_bits: Literal[2048, 3072, 4096]
    """Length of the customer's Paillier key, in bits; the paper's key has 2048. Default: 3072."""
    exploration_shortcut: Literal["empty", "none", "published", "published-each"]
    """What is sent in a step that explores. ``empty``: owners send empty packets, and Comp draws
    the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as printed in
    section 5.4. Owners send nothing. The Controller draws one number and uses it as the score
    of all arms. Comp takes the first of these equal scores, so the Controller knows the arm.
    ``published-each``: another reading of the same text. The Controller draws one number for
    each arm, and Comp takes the largest, so the Controller knows the arm. Default: "empty".
    """
    tie_breaking: Literal["first", "random"]
    """How Comp chooses among equal scores or empty packets. ``random``: at random, with its own
    draws. ``first``: the first in the order of the Controller, as in the paper. The
    Controller then knows the arm of every step that explores. Default: "random".
    """
    comparison: Literal["published", "silent"]
    """How servers find the arm. ``published``: Comp compares masked scores, as in the paper, and
    learns their ratios. ``silent``: both servers compare scores that are shared between them.
    They learn only the budget, the number of arms and the algorithm. Default: "published".
    """
    arity: int
    """Only for ``comparison = "silent"``: how many scores are compared all with all in a group,
    at most. With a larger value there are fewer rounds between the servers, and mostly more
    bytes. Default: 8.
    """
    total: Literal["paillier", "shares"]
    """How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums, as
    in the paper. ``shares``: owners split their sums between both servers. It needs
    ``comparison = "silent"``. Default: "paillier".
    """

class _PFCBKeys(_Label, total=False):
    """Settings of P-FCB (Solanki et al. 2022, Algorithms 1 and 2)."""

    schedule: _PFCBSchedule
    """When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
    ``never``. Default: "growing(1.5)".
    """
    window: Sequence[int] | Literal["auto"]
    """[t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and 40,000
    with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is ``released``, it
    opens in round 10 at the latest, because buyers learn nothing before. Default: "auto".
    """
    privatizer: _PFCBPrivatizer
    """How noise is added to a report: ``correlated``, ``independent``, ``published``,
    ``continual``, ``optimal``, ``none``. Default: "correlated".
    """
    aggregation: _PFCBAggregation
    """Who adds up what buyers report. ``clear``: every buyer sees each report of every other
    one. ``secure-sum``: buyers send to a controller, and nobody sees more than sums, so their
    noise is needed once (docs/secure-sums.md). It needs running sums: the privatizer
    ``optimal`` or ``continual``. Default: "clear".
    """
    local_view: Literal["raw", "released"]
    """What a buyer decides on. ``raw``: also its own purchases since the last report.
    ``released``: only reports, its own noisy ones included. Of a secure sum: only the sum.
    Default: "raw".
    """
    acceptance: _PFCBAcceptance
    """Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``,
    ``always``. Default: "within-deviations(4)".
    """
    weighting: _PFCBWeighting
    """How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``. Default:
    "inverse-variance".
    """
    purchases: Literal["cautious", "optimistic"]
    """Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence
    bound. Quality is set so that a purchase meets the constraint with probability
    ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
    confidence bound. Default: "cautious".
    """
    quality_confidence: float
    """Nominal probability with which a ``cautious`` purchase meets the constraint in each round.
    Default: 0.999.
    """
    quality_margin: float
    """The margin γ: purchases aim at an average quality of α + γ. Default: 0.0."""
    oracle: Literal["exact", "greedy"]
    """How a purchase is computed: ``greedy``, or ``exact`` for the optimum. Default: "greedy"."""
    radius: Literal["own", "printed", "shared"]
    """The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W), with
    the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs.
    ``printed``: √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already contains
    the units of all n buyers, so n is counted twice there. Default: "own".
    """
    exploration_scale: float
    """Factor of the confidence radius. Default: 1.0."""
    zeta: float
    """ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the horizon.
    The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the paper.
    Figure 5 of the paper excludes many more. Default: 0.6.
    """
    y: float | Literal["agents"]
    """y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does not
    give y. Default: "agents".
    """
    exploration_log: Literal["horizon", "round"]
    """The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm 2.
    ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends when t is
    larger than the length. Default: "horizon".
    """
    explorers: Literal["all", "one"]
    """n in the length of pure exploration. ``all``: the number of buyers, which share the
    exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
    communication use in the paper. Default: "all".
    """
    exploration_units: Literal["capacity", "one"]
    """What is bought from each producer during exploration: ``one`` unit, or the whole
    ``capacity``. Default: "one".
    """
    outcomes: Literal["immediate", "late"]
    """When the outcome of a purchase may arrive. ``immediate``: before the next report; later
    outcomes are refused. ``late``: at any time; the outcome then counts in the next report. A
    purchase can then move from one report to another, so the noise is larger, by a factor of
    at most √2. In a simulation outcomes are immediate, unless ``environment.delay`` is set.
    Default: "immediate".
    """
    epsilon: float
    """ε of the budget of every buyer, for everything that it sends. Default: 1.0."""
    delta: float
    """δ of that budget: the probability with which the guarantee of ε may fail. Default: 0.01."""

class _PublishedFCLUBKeys(_Label, total=False):
    """Settings of the published FCLUB (Liu et al. 2022, Algorithms 1 to 5)."""

    clustering: _PublishedFCLUBClustering
    """Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
    ``alone``. Default: "phased".
    """
    sharing: _PublishedFCLUBSharing
    """When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``. Default:
    "delayed(1.01, 1.01)".
    """
    privatizer: _PublishedFCLUBPrivatizer
    """``none``, or ``published``: the noise of Algorithm 5. Default: "none"."""
    acts_on: Literal["buffered", "synchronized"]
    """The statistics with which a server recommends. ``buffered``: S + ΔS, which includes
    records that are not uploaded yet, as in the authors' code. ``synchronized``: only S
    (Algorithm 1, line 12). Default: "buffered".
    """
    alpha1: float
    """α₁. Two users are different if the distance of their estimates is larger than α₁ (F + F).
    Used in equation 3, for the edges of CLUB and the splits of SCLUB. Default: 1.5.
    """
    alpha2: float
    """α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F +
    F). Used in equation 4, and for the merges of SCLUB. Default: 2.0.
    """
    merging: Literal["authors", "printed"]
    """How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that pass
    equation 4, directly or through others, become one. If this changes the clusters, all
    start again from the reports. ``authors``: what the authors' code does. Clusters of one
    server may also become one again. Nothing is merged while every pair passes the test.
    Nothing is merged either while every cluster stands alone and none has split. If nothing
    changed, each server starts again with the records of its own users, and drops what came
    from others. If something changed, the clusters of a group share one array. Then an upload
    counts twice, and all of them have it at once. Default: "printed".
    """
    alpha_p: float
    """α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by
    more than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p F(t).
    Default: 1.0.
    """
    confidence: _PublishedFCLUBConfidence
    """How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
    ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP. Default:
    "practical(1.5)".
    """
    bonus: Literal["root", "square"]
    """The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β
    √(xᵀM⁻¹x), as in the paper. Default: "square".
    """
    exploration_scale: float
    """Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem. Default:
    1.0.
    """
    regularization: float
    """Ridge parameter λ for recommendations. With ``published`` noise, the shift of the noise is
    used in its place. Default: 2.0.
    """
    edge_regularization: float
    """Ridge parameter λ of users' estimates in equation 3. Default: 2.0."""
    merge_regularization: float
    """Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
    ``regularization`` instead. Default: 1.0.
    """
    failure_probability: float
    """α of Lemma 1 and of the bound on the noise. Default: 0.01."""
    epsilon: float
    """ε that the paper claims for the ``published`` noise. Default: 1.0."""
    delta: float
    """δ that the paper claims for the ``published`` noise. Default: 0.1."""

def feducb(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """The sound variant: growing batches, optimal noise, agents act only on releases."""

def feducb_hybrid(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Own records, and others' releases as far as their noise allows, in one estimate.

    Other defaults: local_view="joint", exploration_scale=0.5.
    """

def feducb_secure(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Secure sums, on which alone agents act: nobody sees more than sums with the noise of one.

    Other defaults: aggregation="secure-sum(2, auto, auto)".
    """

def feducb_secure_hybrid(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Own records, and secure sums of all releases as far as own records agree with them.

    Other defaults: local_view="joint", exploration_scale=0.5, aggregation="secure-sum(2,
    auto, auto)".
    """

def feducb_published(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Dubey & Pentland 2020 as published: determinant trigger, tree noise, raw local view.

    Other defaults: schedule="determinant(M log T)", privatizer="tree(published)",
    local_view="raw", confidence="published".
    """

def feducb_nonprivate(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """The sound variant without noise; the difference is the cost of privacy.

    Other defaults: privatizer="none".
    """

def linucb_alone(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Agents without communication; the difference is the benefit of collaboration.

    Other defaults: schedule="never", privatizer="none", local_view="raw".
    """

def linucb_pooled(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """All records are shared in clear after every round; a lower limit for regret.

    Other defaults: schedule="every(1)", privatizer="none".
    """

def linucb_pooled_hybrid(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Own records, and all others' in clear as far as own records agree with them.

    Other defaults: schedule="growing(1.1, 1)", privatizer="none", local_view="joint",
    exploration_scale=0.5.
    """

def lints_alone(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Linear Thompson sampling without communication.

    Other defaults: schedule="never", privatizer="none", local_view="raw",
    exploration="draws", exploration_scale=0.5.
    """

def lints_pooled(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Linear Thompson sampling; all records are shared in clear after every round.

    Other defaults: schedule="every(1)", privatizer="none", exploration="draws",
    exploration_scale=0.5.
    """

def lints_hybrid(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Linear Thompson sampling from own records, and others' releases as far as noise allows.

    Other defaults: local_view="joint", exploration="draws", exploration_scale=0.5.
    """

def dislinucb(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Wang et al. 2020: no noise; all agents sync when a determinant has grown enough.

    Other defaults: schedule="determinant(wang)", privatizer="none", local_view="raw",
    confidence="adaptive".
    """

def ldp_silo(**keys: Unpack[_FedUCBKeys]) -> Variant:
    """Zhou & Chowdhury 2024: equal batches, calibrated tree noise, raw local view.

    Other defaults: schedule="every(auto)", privatizer="tree(calibrated)", local_view="raw",
    confidence="adaptive".
    """

def feducb_p2p(**keys: Unpack[_PeerFedUCBKeys]) -> Variant:
    """The sound variant: growing batches; agents add up the newest releases of their peers."""

def feducb_p2p_hybrid(**keys: Unpack[_PeerFedUCBKeys]) -> Variant:
    """Own records, and what peers released as far as its noise allows, in one estimate.

    Other defaults: local_view="joint".
    """

def feducb_p2p_published(**keys: Unpack[_PeerFedUCBKeys]) -> Variant:
    """Dubey & Pentland 2020, Algorithm 3: γ estimators, cliques, raw trigger, tree noise.

    Other defaults: schedule="determinant(M log T)", privatizer="tree(published)",
    local_view="raw", confidence="published".
    """

def fedlinucb_async(**keys: Unpack[_AsyncFedLinUCBKeys]) -> Variant:
    """He et al. 2022: no noise; an agent exchanges with the server when it has learned enough."""

def fclub(**keys: Unpack[_FCLUBKeys]) -> Variant:
    """The sound variant: noisy sums of users in fixed rounds, clusters from a mixture model."""

def fclub_released(**keys: Unpack[_FCLUBKeys]) -> Variant:
    """Servers act only on releases, so the claim also holds for interactive data.

    Other defaults: local_view="released".
    """

def fclub_clusters(**keys: Unpack[_FCLUBKeys]) -> Variant:
    """One noisy sum for each cluster: less noise, but the claim treats clusters as public.

    Other defaults: releases="clusters".
    """

def fclub_local(**keys: Unpack[_FCLUBKeys]) -> Variant:
    """Servers without communication; shows the benefit of clusters alone.

    Other defaults: releases="never".
    """

def fclub_clear(**keys: Unpack[_FCLUBKeys]) -> Variant:
    """Sums of users without noise; the difference is the cost of privacy.

    Other defaults: noise="none".
    """

def samba_ucb(**keys: Unpack[_SambaKeys]) -> Variant:
    """UCB by SAMBA: scores and bits are encrypted, and servers see masked ones."""

def samba_ucb_tuned(**keys: Unpack[_SambaKeys]) -> Variant:
    """UCB1-Tuned by SAMBA: scores and bits are encrypted, and servers see masked ones.

    Other defaults: algorithm="ucb-tuned".
    """

def samba_kl_ucb(**keys: Unpack[_SambaKeys]) -> Variant:
    """KL-UCB by SAMBA: scores and bits are encrypted, and servers see masked ones.

    Other defaults: algorithm="kl-ucb(0)".
    """

def samba_thompson(**keys: Unpack[_SambaKeys]) -> Variant:
    """Thompson sampling by SAMBA: scores and bits are encrypted, and servers see masked ones.

    Other defaults: algorithm="thompson".
    """

def samba_egreedy(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy by SAMBA: scores and bits are encrypted, and servers see masked ones.

    Other defaults: algorithm="epsilon-greedy(0.1)".
    """

def samba_egreedy_decreasing(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy with decreasing ε by SAMBA: scores and bits are encrypted, and servers see masked
    ones.

    Other defaults: algorithm="decreasing-epsilon-greedy(1, 1, harmonic)".
    """

def samba_softmax(**keys: Unpack[_SambaKeys]) -> Variant:
    """Softmax by SAMBA: scores and bits are encrypted, and servers see masked ones.

    Other defaults: algorithm="softmax(0.06)".
    """

def samba_pursuit(**keys: Unpack[_SambaKeys]) -> Variant:
    """Pursuit by SAMBA: scores and bits are encrypted, and servers see masked ones.

    Other defaults: algorithm="pursuit(0.1)".
    """

def distributed_ucb(**keys: Unpack[_SambaKeys]) -> Variant:
    """UCB with SAMBA's messages in clear; shows the cost of encryption.

    Other defaults: execution="distributed".
    """

def distributed_ucb_tuned(**keys: Unpack[_SambaKeys]) -> Variant:
    """UCB1-Tuned with SAMBA's messages in clear; shows the cost of encryption.

    Other defaults: algorithm="ucb-tuned", execution="distributed".
    """

def distributed_kl_ucb(**keys: Unpack[_SambaKeys]) -> Variant:
    """KL-UCB with SAMBA's messages in clear; shows the cost of encryption.

    Other defaults: algorithm="kl-ucb(0)", execution="distributed".
    """

def distributed_thompson(**keys: Unpack[_SambaKeys]) -> Variant:
    """Thompson sampling with SAMBA's messages in clear; shows the cost of encryption.

    Other defaults: algorithm="thompson", execution="distributed".
    """

def distributed_egreedy(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy with SAMBA's messages in clear; shows the cost of encryption.

    Other defaults: algorithm="epsilon-greedy(0.1)", execution="distributed".
    """

def distributed_egreedy_decreasing(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy with decreasing ε with SAMBA's messages in clear; shows the cost of encryption.

    Other defaults: algorithm="decreasing-epsilon-greedy(1, 1, harmonic)",
    execution="distributed".
    """

def distributed_softmax(**keys: Unpack[_SambaKeys]) -> Variant:
    """Softmax with SAMBA's messages in clear; shows the cost of encryption.

    Other defaults: algorithm="softmax(0.06)", execution="distributed".
    """

def distributed_pursuit(**keys: Unpack[_SambaKeys]) -> Variant:
    """Pursuit with SAMBA's messages in clear; shows the cost of encryption.

    Other defaults: algorithm="pursuit(0.1)", execution="distributed".
    """

def plain_ucb(**keys: Unpack[_SambaKeys]) -> Variant:
    """UCB on one machine; SAMBA must return the same.

    Other defaults: execution="plain".
    """

def plain_ucb_tuned(**keys: Unpack[_SambaKeys]) -> Variant:
    """UCB1-Tuned on one machine; SAMBA must return the same.

    Other defaults: algorithm="ucb-tuned", execution="plain".
    """

def plain_kl_ucb(**keys: Unpack[_SambaKeys]) -> Variant:
    """KL-UCB on one machine; SAMBA must return the same.

    Other defaults: algorithm="kl-ucb(0)", execution="plain".
    """

def plain_thompson(**keys: Unpack[_SambaKeys]) -> Variant:
    """Thompson sampling on one machine; SAMBA must return the same.

    Other defaults: algorithm="thompson", execution="plain".
    """

def plain_egreedy(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy on one machine; SAMBA must return the same.

    Other defaults: algorithm="epsilon-greedy(0.1)", execution="plain".
    """

def plain_egreedy_decreasing(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy with decreasing ε on one machine; SAMBA must return the same.

    Other defaults: algorithm="decreasing-epsilon-greedy(1, 1, harmonic)", execution="plain".
    """

def plain_softmax(**keys: Unpack[_SambaKeys]) -> Variant:
    """Softmax on one machine; SAMBA must return the same.

    Other defaults: algorithm="softmax(0.06)", execution="plain".
    """

def plain_pursuit(**keys: Unpack[_SambaKeys]) -> Variant:
    """Pursuit on one machine; SAMBA must return the same.

    Other defaults: algorithm="pursuit(0.1)", execution="plain".
    """

def samba_egreedy_printed(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy by SAMBA as printed: the Controller draws the scores of exploring steps.

    Other defaults: algorithm="epsilon-greedy(0.1)", paillier_bits=2048,
    exploration_shortcut="published", tie_breaking="first".
    """

def samba_silent_ucb(**keys: Unpack[_SambaKeys]) -> Variant:
    """UCB by SAMBA with shared scores: neither server learns anything about them.

    Other defaults: comparison="silent", total="shares".
    """

def samba_silent_ucb_tuned(**keys: Unpack[_SambaKeys]) -> Variant:
    """UCB1-Tuned by SAMBA with shared scores: neither server learns anything about them.

    Other defaults: algorithm="ucb-tuned", comparison="silent", total="shares".
    """

def samba_silent_kl_ucb(**keys: Unpack[_SambaKeys]) -> Variant:
    """KL-UCB by SAMBA with shared scores: neither server learns anything about them.

    Other defaults: algorithm="kl-ucb(0)", comparison="silent", total="shares".
    """

def samba_silent_thompson(**keys: Unpack[_SambaKeys]) -> Variant:
    """Thompson sampling by SAMBA with shared scores: neither server learns anything about them.

    Other defaults: algorithm="thompson", comparison="silent", total="shares".
    """

def samba_silent_egreedy(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy by SAMBA with shared scores: neither server learns anything about them.

    Other defaults: algorithm="epsilon-greedy(0.1)", comparison="silent", total="shares".
    """

def samba_silent_egreedy_decreasing(**keys: Unpack[_SambaKeys]) -> Variant:
    """Ε-greedy with decreasing ε by SAMBA with shared scores: neither server learns anything
    about them.

    Other defaults: algorithm="decreasing-epsilon-greedy(1, 1, harmonic)",
    comparison="silent", total="shares".
    """

def samba_silent_softmax(**keys: Unpack[_SambaKeys]) -> Variant:
    """Softmax by SAMBA with shared scores: neither server learns anything about them.

    Other defaults: algorithm="softmax(0.06)", comparison="silent", total="shares".
    """

def samba_silent_pursuit(**keys: Unpack[_SambaKeys]) -> Variant:
    """Pursuit by SAMBA with shared scores: neither server learns anything about them.

    Other defaults: algorithm="pursuit(0.1)", comparison="silent", total="shares".
    """

def pfcb(**keys: Unpack[_PFCBKeys]) -> Variant:
    """The sound variant: correlated noise, inverse-variance weights, cautious purchases."""

def pfcb_secure(**keys: Unpack[_PFCBKeys]) -> Variant:
    """Secure sums: nobody sees more than the sum of all buyers, which has the noise of one.

    Other defaults: privatizer="optimal", aggregation="secure-sum(2, auto, auto)".
    """

def pfcb_published(**keys: Unpack[_PFCBKeys]) -> Variant:
    """Solanki et al. 2022, Algorithm 2, as published: decreasing budgets, ω₁ = 0.1, ω₂ = 10.

    Other defaults: schedule="literal", privatizer="published(binary)",
    acceptance="within-radius(0.1, pooled, shared)", weighting="constant(10)",
    purchases="optimistic".
    """

def pfcb_interactive(**keys: Unpack[_PFCBKeys]) -> Variant:
    """Buyers act only on reports, so the claim also holds for interactive data.

    Other defaults: schedule="growing(2)", local_view="released",
    exploration_units="capacity".
    """

def fcb(**keys: Unpack[_PFCBKeys]) -> Variant:
    """As published (section 6.1): P-FCB with Procedure 1, but reports have no noise.

    Other defaults: schedule="literal", privatizer="none", acceptance="within-radius(0.1,
    pooled, shared)", weighting="constant(10)", purchases="optimistic".
    """

def fcb_every_round(**keys: Unpack[_PFCBKeys]) -> Variant:
    """As in Algorithm 1: reports without noise after every round; a lower limit for regret.

    Other defaults: schedule="every", privatizer="none", acceptance="always",
    weighting="constant(1)", purchases="optimistic".
    """

def cucb_alone(**keys: Unpack[_PFCBKeys]) -> Variant:
    """As published, without communication; the difference is the benefit of collaboration.

    Other defaults: schedule="never", privatizer="none", acceptance="always",
    weighting="constant(1)", purchases="optimistic".
    """

def homogeneous_fcb(**keys: Unpack[_PFCBKeys]) -> Variant:
    """Solanki et al. 2022, Algorithm 1: one shared model for identical buyers.

    Other defaults: schedule="every", privatizer="none", acceptance="always",
    weighting="constant(1)", purchases="optimistic", radius="printed",
    exploration_log="round".
    """

def fclub_published(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """Liu et al. 2022: FCLUB-CDP as published, and its noise is added.

    Other defaults: privatizer="published(auto)", acts_on="synchronized", alpha1=1.0,
    confidence="lemma", bonus="root".
    """

def fclub_authors(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """The authors' code for FCLUB-CDP: it adds no noise, and merges clusters in another way.

    Other defaults: merging="authors", confidence="authors", exploration_scale=0.005,
    regularization=1.0.
    """

def fclub_dc(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """Liu et al. 2022 without noise: clusters in phases, delayed communication."""

def fclub_sync(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """Liu et al. 2022 without noise; every observation is shared at once.

    Other defaults: sharing="always".
    """

def club(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """Gentile et al. 2014 on every server alone: edges are deleted round by round.

    Other defaults: clustering="edges", sharing="never", alpha1=0.25,
    confidence="practical(0.25)", regularization=1.0, edge_regularization=1.0.
    """

def sclub(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """Li et al. 2019 on every server alone: users leave clusters, and clusters merge.

    Other defaults: clustering="sets", sharing="never", alpha2=0.75, regularization=1.0,
    edge_regularization=1.0.
    """

def linucb_per_user(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """LinUCB for every user alone; the baseline that collaboration must beat.

    Other defaults: clustering="alone", sharing="never", confidence="practical(15)".
    """

def homo(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """One cluster of all users; every observation is shared at once.

    Other defaults: clustering="together", sharing="always".
    """

def homo_dc(**keys: Unpack[_PublishedFCLUBKeys]) -> Variant:
    """One cluster of all users, delayed communication.

    Other defaults: clustering="together".
    """
