"""Sentences of an answer: private systems beside parties alone, and beside everything pooled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from fedbandits.environments.base import Words
from fedbandits.experiments.answers.rivals import RivalResult
from fedbandits.experiments.baselines import Kind
from fedbandits.experiments.intervals import FEWEST, decimal_places, fixed, with_error
from fedbandits.experiments.tuning import MORE
from fedbandits.offline.estimates import FEW

#: Kinds of baselines in words.
KINDS: dict[Kind, str] = {"alone": "learning alone", "pooled": "everything pooled in clear"}


def _at_best(alone: RivalResult | Comparison) -> str:
    """Write the settings of parties alone at their best: ``at its best (α = 0.5, λ = 3)``."""
    ridge = "" if alone.ridge_at_best is None else f", λ = {alone.ridge_at_best:g}"
    return f"at its best (α = {alone.at_best:g}{ridge})"


def compared_with(opponents: Sequence[RivalResult], words: Words, unit: str) -> Iterator[str]:
    """Yield the line of all opponents, each with its loss; no line without opponents."""
    groups = []
    for kind, in_words in KINDS.items():
        losses = [_with_number(rival, words) for rival in opponents if rival.kind == kind]
        if losses:
            groups.append(f"{in_words}: {', '.join(losses)}")
    if groups:
        yield f"Compared with {'; with '.join(groups)}, in {unit}."


def _with_number(rival: RivalResult, words: Words) -> str:
    how = _at_best(rival) if rival.at_best is not None else f"by {rival.name}"
    counted = f"{rival.replicates} replicate{'s' if rival.replicates > 1 else ''}"
    if rival.parties is not None:
        counted = f"{rival.parties} {words.parties}, {counted}"
    return f"{_loss(rival.mean)} {how}{'' if rival.linear else f' ({counted})'}"


def wrong_model(opponents: Sequence[RivalResult], kind: Kind, unit: str) -> str:
    """Write that a linear model is wrong: another model loses far less, by more than chance."""
    rivals = sorted((one for one in opponents if one.kind == kind), key=lambda one: one.mean)
    linear = next(rival for rival in rivals if rival.linear)
    other = next(rival for rival in rivals if not rival.linear)
    said = "alone" if kind == "alone" else "pooled in clear"
    return (
        f"A linear model is the wrong one for this data: {said}, {other.name} has "
        f"{_loss(other.mean)} {unit}, and the best linear one {_loss(linear.mean)}."
    )


def _loss(mean: float) -> str:
    return f"{mean:,.0f}" if abs(mean) >= 100.0 else f"{mean:.3g}"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A private system beside parties alone, or beside everything pooled in clear."""

    system: str  # label of the judged system
    kind: Literal["alone", "pooled"]  # kind of the baseline
    baseline: str  # label of the baseline
    #: The ε that accounting supports for the judged system. None if encryption protects.
    epsilon: float | None
    replicates: int  # number of replicates that both have finished
    #: Means of both over these replicates, in the answer's unit.
    system_mean: float | None
    baseline_mean: float | None
    #: Mean loss that the judged system saves: positive if the system is better.
    saves: float | None
    #: Half the width of the interval around ``saves``. None with too few replicates.
    half_width: float | None
    level: float  # probability with which the interval covers the true mean
    share: float | None  # ``saves`` as a share of ``baseline_mean``. None if that is 0
    #: Whether the system is better. None without an interval, or if the interval contains 0.
    pays: bool | None
    #: Share of parties, over replicates, that lose more with the judged system, which includes
    #: chance. None for a single party.
    worse_off: float | None
    syncs_less: bool  # whether the judged system syncs less often than the baseline
    #: Differing settings that are not about sharing.
    differs_in: tuple[str, ...] = ()
    #: Whether this comparison, with the best opponent that learns alone, decides the verdict.
    decides: bool = False
    #: ``exploration_scale`` of parties alone at their best; None for other baselines.
    at_best: float | None = None
    #: ``regularization`` of parties alone at their best; None for the default.
    ridge_at_best: float | None = None
    #: ``exploration_scale`` of the judged system, if this comparison decides.
    own_scale: float | None = None


#: Least share of parties that are worse off for a sentence about them.
_NOTABLE = 0.1
_POOLED = KINDS["pooled"]
_ON_LOG = (
    "Rewards are doubly robust estimates from one log, of the whole run, learning included. ± is "
    "an interval at {level:.1%} for the chance of the log. It is rather too wide: both systems met "
    "the same events, and it holds however their errors go together."
)


class Said(NamedTuple):
    """The common facts of all sentences of a run."""

    words: Words  # words of the environment
    unit: str  # unit of all numbers
    loss: str  # the loss in a word; empty if rewards are compared
    private: tuple[str, ...]  # labels of the systems that claim a finite ε
    on_log: bool = False  # whether numbers are estimates from a log
    asked: int = 0  # number of replicates of a complete run
    tried_on: int = 0  # number of replicates on which learning alone was tuned
    opponents: tuple[RivalResult, ...] = ()  # all rivals of private systems
    wrong_for: tuple[Kind, ...] = ()  # kinds with a better model that is not linear

    def lines(self, compared: Sequence[Comparison], broken: Sequence[str]) -> tuple[str, ...]:
        """Return all lines; the first answers the question as a whole."""
        every = [one for one in compared if one.kind == "alone"]
        alone = [one for one in every if one.decides] or every
        others = [one for one in every if one not in alone]
        pooled = [one for one in compared if one.kind == "pooled" and one.epsilon is not None]
        lines = [*self._whole(alone)]
        lines += compared_with(self.opponents, self.words, self.unit) if alone else []
        lines += [wrong_model(self.opponents, kind, self.unit) for kind in self.wrong_for]
        if len(alone) > 1:
            lines += [self._each(one) for one in alone]
        lines += [self._beside(one) for one in others]
        lines += [self._cost(one) for one in pooled]
        lines += [self._encryption(one) for one in compared if one.epsilon is None]
        lines += [line for one in alone for line in self._worse_off(one)]
        lines += [_unfair(one) for one in (*every, *pooled) if one.differs_in]
        lines += [_untuned(one) for one in alone[:1] if one.half_width is not None and not one.pays]
        lines += [
            f"{label} claims no finite ε, so there is no verdict on private learning with it."
            for label in broken
        ]
        if not lines:
            return ("No system of this run claims a finite ε: no verdict on private learning.",)
        return tuple(lines)

    def how(self, compared: Sequence[Comparison]) -> str:
        """Describe the method of the numbers."""
        if not compared:
            return ""
        if self.on_log:
            return _ON_LOG.format(level=compared[0].level)
        counts = sorted({one.replicates for one in compared})
        count = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        text = _tuned(compared, self.tried_on, bool(self.opponents))
        text += (
            f"Differences are paired over {count} replicates: in each, both systems meet the same "
            "contexts and reward draws."
        )
        if all(one.half_width is None for one in compared):
            return text
        several = len(self.private)
        if several < 2:
            text += " ± is a 95% interval by Student's t."
        else:
            text += (
                f" ± is an interval by Student's t at {compared[0].level:.1%}, so that those of "
                f"all {several} private systems with learning alone hold together with 95%."
            )
        return text + " It covers chance between replicates, not other data or other settings."

    def _whole(self, alone: Sequence[Comparison]) -> Iterator[str]:
        """Write the headline, or the remedy without parties alone."""
        if not self.private:
            return
        if not alone:
            yield (
                "Whether it pays is not known: no system of this run learns alone. "
                "fb.with_alone adds one, and fedbandits run does so without --no-alone."
            )
            return
        yield self._headline(alone[0])

    def _headline(self, best: Comparison) -> str:
        named, amount = f"{best.system}, ε = {_epsilon(best)}", self._amount(best)
        if best.saves is None:
            return "Whether it pays is not known: no replicate of both systems is finished."
        if best.half_width is None:
            return (
                f"Whether it pays is not known yet: {self._too_few(best)} for an interval. "
                f"Learning together privately ({named}) {self._verb(best)} {amount}. "
                f"{self._remedy(best)}"
            )
        if best.pays:
            level, alone = _levels(best)
            return (
                f"Learning together privately {self._verb(best)} {amount}{_share(best)}: "
                f"{level} with {_named(best)}, {alone} {_alone(best)}."
            )
        if best.pays is None:
            saved = f"{self._verb(best, signed=True)} {self._amount(best, signed=True)}"
            return (
                f"No difference was found: learning together privately ({named}) {saved} beside "
                f"learning {_alone(best)}."
            )
        return (
            f"It does not pay here: learning together privately ({named}) {self._verb(best)} "
            f"{amount} than learning {_alone(best)}{_share(best)}."
        )

    def _each(self, one: Comparison) -> str:
        """Write the line of one of several private systems."""
        if one.saves is None or one.half_width is None:
            return f"{_named(one)}: not known; {self._too_few(one)} for an interval."
        if one.pays is None:
            amount = self._amount(one, signed=True)
            saved = " saved" if self.loss else ""
            return f"{_named(one)}: no difference to learning alone was found ({amount}{saved})."
        pays = "pays" if one.pays else "does not pay"
        than = "" if one.pays else " than learning alone"
        return f"{_named(one)} {pays}: it {self._verb(one)} {self._amount(one)}{than}{_share(one)}."

    def _beside(self, one: Comparison) -> str:
        """Write the line of a private system beside parties alone that are not at their best."""
        if one.saves is None or one.half_width is None:
            return f"{one.system} beside {one.baseline}: not known; {self._too_few(one)}."
        amount = self._amount(one, signed=True)
        return (
            f"{_named(one)} {self._verb(one, signed=True)} {amount} beside {one.baseline}, which "
            "explores by a radius that is proved."
        )

    def _too_few(self, one: Comparison) -> str:
        """Write the missing data."""
        if self.on_log:
            return "the events of the log that match are too few"
        return f"{_replicates(one)} too few"

    def _remedy(self, one: Comparison) -> str:
        if self.on_log:
            return f"Use a longer log, or fewer actions; about {FEW:g} effective events are needed."
        if one.replicates >= FEWEST:
            return "All of them differ by the same amount. Run it with --replicates 8."
        if self.asked >= FEWEST:
            return f"--resume goes on; at least {FEWEST} are needed."
        return f"Run it with --replicates 8; at least {FEWEST} are needed."

    def _verb(self, one: Comparison, signed: bool = False) -> str:
        if not self.loss:
            return "earns"
        if signed or (one.saves or 0.0) >= 0.0:
            return "saves"
        return "makes" if self.loss == "mistakes" else "has"

    def _amount(self, one: Comparison, signed: bool = False) -> str:
        """Write the difference with its unit; without a sign if the words have the direction."""
        saves = one.saves or 0.0
        number = with_error(saves if signed else abs(saves), one.half_width)
        if self.loss and (signed or saves >= 0.0):
            return f"{number} {self.unit}"
        more = "more" if self.loss or signed or saves >= 0.0 else "less"
        return f"{number} {more} {self.unit}"

    def _cost(self, one: Comparison) -> str:
        """Write the cost of privacy, compared with everything pooled."""
        of = f" with {one.system}" if len(self.private) > 1 else ""
        if one.saves is None or one.half_width is None:
            return f"What privacy costs{of} is not known: {self._too_few(one)}."
        amount = f"{with_error(abs(one.saves), one.half_width)} {self.unit}"
        if one.pays is None:
            cost = with_error(-one.saves, one.half_width)
            return f"No cost of privacy{of} was found: {cost} {self.unit} beside {_POOLED}."
        if one.pays:
            return f"{one.system} is even better than {_POOLED}, by {amount}."
        also = " This includes that it exchanges less often." if one.syncs_less else ""
        return f"Privacy{of} costs {amount}, compared with {_POOLED}.{also}"

    def _encryption(self, one: Comparison) -> str:
        """Write the cost of encryption, beside the same algorithm in clear."""
        if one.saves is None:
            return (
                f"What encryption costs with {one.system} is not known: no replicate is finished."
            )
        number = with_error(one.saves, one.half_width)
        if one.saves == 0.0 and not one.half_width:
            return (
                f"Encryption costs no reward: {one.system} earns what {one.baseline} earns "
                f"(difference {number}, {one.replicates} replicates)."
            )
        return f"Encryption: {one.system} saves {number} {self.unit} beside {one.baseline}."

    def _worse_off(self, one: Comparison) -> Iterator[str]:
        """Write a sentence on parties that lose, if they are many and the group gains."""
        if not one.pays or one.worse_off is None or one.worse_off < _NOTABLE:
            return
        lose = f"make more {self.loss}" if self.loss == "mistakes" else f"have more {self.loss}"
        yield (
            f"{one.worse_off:.0%} of the {self.words.parties} {lose if self.loss else 'earn less'} "
            f"with {one.system} than alone; part of that is chance."
        )


def _alone(one: Comparison) -> str:
    if one.at_best is not None:
        return f"alone {_at_best(one)}"
    return f"alone with {one.baseline}" if one.decides else "alone"


def _tuned(compared: Sequence[Comparison], replicates: int, looked: bool) -> str:
    """Describe the search for parties alone at their best, or its absence."""
    if not looked:
        alone = any(one.kind == "alone" for one in compared)
        return "Learning alone is not tuned; fb.with_alone finds its best. " if alone else ""
    return (
        "The verdict is by the best opponent that learns alone. Of learning alone at its best, α "
        "is the exploration_scale and λ the regularization: they were searched on "
        f"{replicates} to {MORE * replicates} other replicates, so on these others may be best. "
    )


def _named(one: Comparison) -> str:
    return f"{one.system} (ε = {_epsilon(one)})"


def _epsilon(one: Comparison) -> str:
    epsilon = one.epsilon or 0.0
    return f"{epsilon:,.0f}" if 1000.0 <= epsilon < 1e9 else f"{epsilon:.3g}"


def _share(one: Comparison) -> str:
    if one.share is None:
        return ""
    size = abs(one.share)
    return f" ({size:.0%})" if size >= 0.095 or size == 0.0 else f" ({size:.1%})"


def _replicates(one: Comparison) -> str:
    return f"{one.replicates} replicate{'s are' if one.replicates != 1 else ' is'}"


def _levels(one: Comparison) -> tuple[str, str]:
    """Write both means with as many digits as their difference."""
    places = decimal_places(one.half_width or abs(one.saves or 1.0))
    values = one.system_mean or 0.0, one.baseline_mean or 0.0
    system, baseline = (fixed(value, places) for value in values)
    return system, baseline


def _unfair(one: Comparison) -> str:
    keys = ", ".join(one.differs_in)
    return f"{one.system} and {one.baseline} also differ in {keys}: part of the difference is that."


def _untuned(one: Comparison) -> str:
    scale = "" if one.own_scale is None else f": its exploration_scale is {one.own_scale:g}"
    return f"{one.system} itself was not tuned here{scale}."
