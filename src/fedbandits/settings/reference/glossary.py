"""Words of results, reports, audits and pages, each with its meaning: one place for all of them.

``python -m fedbandits.settings.reference.glossary > docs/glossary.md`` makes the page of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEAD = """# Glossary

Every term that a report, a page or a command uses, in one or two sentences. It is for readers of
any of them; you need not have read the others. `fedbandits explain TERM` shows the same in the
terminal.

<!-- Made by `python -m fedbandits.settings.reference.glossary > docs/glossary.md`. -->
"""

_PROBLEM = {
    "bandit": "A problem of repeated decisions in which only the reward of the chosen action is "
    "seen. Nobody learns what another action would have brought.",
    "agent": "One learner. It sees contexts, chooses arms, and learns from rewards. In the "
    "examples it is a hospital or a shop.",
    "party": "Anybody who sends or receives messages: an agent, a server, a controller, or a "
    "customer.",
    "arm": "One of the actions to choose from, such as a treatment, a product, or a class to name.",
    "context": "The numbers that describe one arm in one visit, before the decision: a vector x.",
    "decision set": "The contexts of all arms that an agent may choose from in one round.",
    "reward": "What the chosen arm brought, as one number y. Where a class is named, it is 1 if "
    "the class is right and 0 if not.",
    "record": "What is learned from one decision: the chosen arm, its context and its reward.",
    "visit": "One decision for one person or case. A person may come for several visits.",
    "round": "One step of an experiment. In most environments every party acts once a round.",
    "horizon": "The number of rounds that is planned, T.",
    "regret": "The reward of the best decisions less the reward of those that were made, added "
    "up. Less is better. Where a class is named, it is the number of mistakes.",
    "linear model": "The expected reward of an arm is the inner product of its context with an "
    "unknown vector θ*.",
    "Gram matrix": "The sum of x xᵀ over records. Together with the sum of x y it is all that a "
    "linear learner needs of them.",
    "confidence radius": "How far the unknown θ* may lie from its estimate, as a theorem proves. "
    "An arm's score is its estimated reward plus this radius times the arm's uncertainty. By "
    "default agents take standard deviations of their estimate instead: nothing is proved of them.",
    "exploration scale": "How many standard deviations an agent explores, or a factor on a radius "
    "that is proved. Of the latter, less than 1 often loses less, and no theorem covers it.",
    "α": "The exploration scale, as LinUCB's authors call it.",
    "drift": "The world changes with time: at once at a change point, or a little every round.",
    "delay": "The rounds between a decision and its reward.",
}

_LOGS = {
    "log": "Decisions that somebody has made already, with their rewards. What other decisions "
    "would have brought is not known.",
    "propensity": "The probability with which the chosen action was chosen when a log was made.",
    "replay": "An estimate from a log. Only those records count in which the learner chooses what "
    "the log has.",
    "IPS": "Inverse propensity score: an estimate of the reward of other decisions from a log. "
    "Every matching record counts 1 over its propensity.",
    "self-normalised IPS": "IPS over the sum of the weights. It has a small bias, and is often "
    "much less noisy.",
    "doubly robust": "An estimate that adds IPS to a model of the rewards. It has no bias if the "
    "model or the propensities are right.",
}

_TOGETHER = {
    "federation": "Several organisations that learn together and keep their records to themselves.",
    "alone": "Every party learns from its own records only, and sends nothing.",
    "alone at its best": "Parties alone, whose exploration scale α and ridge parameter λ were "
    "searched on other replicates: the best values are taken.",
    "pooled in clear": "All parties share everything at once, without noise or privacy. It is the "
    "most that learning together can bring where all have the same θ*.",
    "release": "Statistics that a party sends, with noise where there is any: once sent, they "
    "cannot be taken back.",
    "sync": "An exchange: parties release what they have learned, and take up what others did.",
    "schedule": "When parties sync: in rounds that are fixed in advance, or when a trigger fires.",
    "trigger": "A rule that calls for a sync when data have changed enough. When it reads raw "
    "data, the time of a message tells of these data.",
    "controller": "The party that adds up the releases of agents, and hands out the sum.",
    "secure sum": "Releases are masked, so that nobody sees more than their sum. The noise of the "
    "guarantee is then needed once, and not by every party.",
    "share of noise": "The part of a secure sum's noise that one party adds. The shares together "
    "are the noise of the guarantee; one of them alone is much less.",
    "helper": "In a secure sum: a party that holds keys and no data. It takes the masks off a sum "
    "of many parties, never off a single release. The controller and all helpers must not be one "
    "hand.",
    "increment": "In a secure sum: what an agent sends, masked. It is the change of its release "
    "since the last one that is in the sum.",
    "peer to peer": "Without a controller: parties on a graph send to their neighbours.",
    "released view": "An agent decides on released statistics alone, also about its own records.",
    "raw view": "An agent decides on released statistics, and on its own records since the last "
    "sync, without noise.",
    "joint view": "An agent decides by one estimate, from all its own records without noise and "
    "from what others released.",
    "hybrid": "A preset with a joint view, for parties that cannot know before whether learning "
    "together pays. Its claim is for a fixed log.",
    "partial pooling": "The records of others count for an agent as far as its own agree with "
    "them. They count for much where all agents are alike, and hardly where agents differ much.",
    "in clear": "Without noise and without encryption: who reads a message reads the statistics.",
    "contents": "What stands in messages, as against message times.",
    "message times": "Which messages exist, and at the end of which round each leaves.",
    "terms": "What all parties of a federation agree on: the system, its settings, public facts, "
    "and who takes part. Nothing in them is secret.",
}

_PRIVACY = {
    "claim": "What a system promises about privacy: who is protected, from whom, how much, under "
    "which conditions, and what is not protected. `fedbandits privacy CONFIG.toml` shows it.",
    "differential privacy": "A promise about what one record can change: whatever is released "
    "has almost the same probability with the record and with another in its place.",
    "neighbouring data sets": "Two data sets that differ in one record. The promise compares them.",
    "unit": "The record that is protected: what two neighbouring data sets differ in. Often it is "
    "one visit, not one person.",
    "privacy unit": "See unit: what is protected, one visit or one person.",
    "from whom": "Against whom the claim holds: who may look, and at what.",
    "holds for": "Whether the claim holds for interactive data, for a fixed log, or for nothing.",
    "protected by": "The encryption that stands in the place of noise.",
    "the paper claims": "The ε and δ that the paper states; accounting may support less.",
    "contents, by party": "See contents: the ε of what each kind of party sends.",
    "charged": "What the claim counts: kinds of releases, their number and their noise.",
    "in total": "The cost of everything that leaves, as μ and as ε at δ.",
    "by who looks": "The ε against each observer: who sees more is told with a larger ε.",
    "conditional on": "What must be true for the claim to hold.",
    "not protected": "What the claim does not cover.",
    "per person": "The ε of a person with as many visits as are expected of anybody at most.",
    "neighbours": "See neighbouring data sets: what is compared.",
    "replace-one": "See relation: one record has another value.",
    "bounds": "Limits that no record may break: L of a context's norm, B of a reward. What one "
    "record can change follows from them.",
    "record norm": "The largest norm of what one record adds to a release; see sensitivity.",
    "accounting": "To add up what all releases cost together, and to state it as ε at δ.",
    "relation": "How neighbouring data sets differ. replace-one: one record has another value. "
    "add-remove: one record is there or not. replace-person: all records of one person have other "
    "values.",
    "ε": "How much one record can change what an observer sees: the smaller, the more private. "
    "An observer's odds in favour of any guess about the record change by a factor of at most "
    "e^ε, except with probability about δ.",
    "δ": "The probability with which the promise of ε may fail. It should be far below 1 over the "
    "number of records.",
    "μ": "The cost of releases in Gaussian differential privacy. The squares of μ of several "
    "independent releases add up; μ and δ together give ε.",
    "Gaussian differential privacy": "A way to count the cost of releases. Telling two "
    "neighbouring data sets apart is at least as hard as telling two normal variables apart, of "
    "means 0 and μ and of variance 1.",
    "sensitivity": "The most that one record can change in what is released, before noise.",
    "composition": "The cost of several releases of the same data together. In Gaussian "
    "differential privacy μ is the root of the sum of squares. In basic composition ε adds up.",
    "person": "Somebody who may have many records. k records of one person at one party cost k "
    "times μ. n at each of several parties cost √(Σ n²) times μ if parties have noise of their "
    "own, and Σ n times μ if they share one noise. ε grows faster than that.",
    "one noise": "A claim's one_noise says whether one noise covers the sum of all parties, as in "
    "secure sums. Then what records at several parties cost adds up; else its squares do.",
    "interactive": "The claim holds also when the system reacts to the changed record, so that "
    "later decisions and records change with it.",
    "fixed log": "The claim holds only if every other record would have been the same.",
    "ε claimed": "See epsilon_claimed: what the paper states, where there is a paper.",
    "ε accounted": "See epsilon_accounted: what accounting supports for everything that leaves.",
    "ε contents": "See epsilon_contents: what the contents of messages cost, message times aside.",
    "contents alone": "The ε of the contents of messages, if everybody may know which messages "
    "there are, and when.",
    "event": "What a mechanism does to data, in a form that accounting can price: for example one "
    "release with Gaussian noise.",
    "budget": "The ε and δ, or the μ, that all releases of one party may cost together.",
    "charge": "What one release costs. The ledger writes it down before the release leaves.",
    "ledger": "A file that keeps every charge of a party, and refuses a release that would exceed "
    "the budget.",
    "secure noise": "Noise from the operating system's randomness, exact on a grid. Real parties "
    "need it.",
    "simulated noise": "Noise from an experiment's seed. It can be computed again, so it protects "
    "nobody.",
}

_AUDITS = {
    "audit": "Attacks on a system that is about to be used: they try to tell two neighbouring "
    "data sets apart. What they find is evidence, not proof.",
    "false alarm": "An observer says that the record is there, and it is not. Its probability is "
    "the false positive rate.",
    "power": "The probability that an observer says that the record is there if it is. At most "
    "e^ε times the probability of a false alarm, plus δ.",
    "ε_low": "In an audit: a lower bound on the true ε, from the errors of attacks. A claim with a "
    "smaller ε is broken.",
    "tightness": "In an audit: the largest lower bound on ε that attacks on contents showed, over "
    "the ε that accounting states for contents. Near 1, the accounting is exact. Far below 1, "
    "there is more noise than needed, or there were too few runs.",
    "noise × needed": "In an audit: how many times larger the noise is than the claimed ε and δ "
    "need. 1 is calibrated.",
    "holds": "A verdict of an audit: no attack showed more than the claim allows. That is "
    "evidence, not proof.",
    "broken": "A verdict of an audit: an attack showed more than the claim allows.",
}

_RESULTS = {
    "environment": "Where contexts and rewards come from: a formula, a data set, or a file.",
    "preset": "A named variant of a system: a composition of parts, each of which can be changed.",
    "replicate": "One repetition of an experiment, with a world and draws of its own.",
    "checkpoint": "A round whose totals a result keeps.",
    "sweep": "The same experiment for several values of a key, such as several ε.",
    "verdict": "The answer in one sentence: of an experiment, whether learning together pays; of "
    "an audit, whether the claim holds.",
    "95% interval": "A range that holds the true mean in 95 of 100 such experiments. It is from "
    "Student's t over replicates.",
    "s.e.": "Standard error of a mean over replicates.",
}

#: Terms by subject, in the order in which a reader meets them.
SUBJECTS: dict[str, dict[str, str]] = {
    "Decisions and rewards": _PROBLEM,
    "Estimates from a log": _LOGS,
    "Learning together": _TOGETHER,
    "Privacy": _PRIVACY,
    "Audits": _AUDITS,
    "Experiments": _RESULTS,
}

#: The same terms, whatever their subject.
TERMS: dict[str, str] = {
    term: meaning for terms in SUBJECTS.values() for term, meaning in terms.items()
}

#: Columns of ``summary.csv``.
COLUMNS: dict[str, str] = {
    "system": "Label of the system, as the configuration gives it.",
    "replicates": "How many replicates were finished, and are counted.",
    "rounds": "The horizon T, in rounds.",
    "regret_mean": "Regret of the whole group at the end: summed over all parties, then the mean "
    "over replicates.",
    "regret_sem": "Standard error of regret_mean. Empty with a single replicate.",
    "regret_ci95": "Half the width of the 95% interval of regret_mean, by Student's t over "
    "replicates. nan with fewer than 3 replicates.",
    "reward_mean": "Reward of the whole group at the end: summed over all parties, then the mean "
    "over replicates.",
    "reward_ci95": "The same as regret_ci95, for reward_mean.",
    "messages": "How many messages parties sent, mean over replicates.",
    "bytes": "How many bytes those messages had, mean over replicates.",
    "syncs": "How often parties exchanged what they had learned, mean over replicates.",
    "epsilon_claimed": "The ε that the paper states for a published variant; otherwise the same as "
    "epsilon_accounted.",
    "epsilon_accounted": "The ε that accounting supports for everything that leaves a party: the "
    "contents of messages, which messages there are, and when. inf: no finite ε holds. nan: "
    "encryption protects, and has no ε.",
    "epsilon_contents": "The ε of the contents of messages alone. It tells how much privacy there "
    "is where everybody may know which messages there are, and when.",
    "delta": "The δ that goes with every ε of the row.",
    "seconds": "Wall-clock time of the system's replicates, compilation not counted.",
    "agent_steps_per_second": "Speed: parties × rounds × replicates, over seconds. Where one party "
    "acts a round, it is rounds × replicates.",
    "value_replay": "Only of a log: mean reward of a decision, by replay (rejection sampling); the "
    "ends of its 95% interval are in value_replay_low and value_replay_high.",
    "value_ips": "Only of a log: the same by inverse propensity scoring.",
    "value_snips": "Only of a log: the same by self-normalised inverse propensity scoring.",
    "value_dr": "Only of a log: the same by doubly robust estimation.",
    "effective_ips": "Only of a log: effective number of events that value_ips rests on; below 30 "
    "its interval cannot be trusted. The other methods have such a column too.",
}

#: Variables of a result (``results.nc``).
VARIABLES: dict[str, str] = {
    "regret": "What a party lost against the best decisions, added up from round 1. By system, "
    "replicate, party and round.",
    "reward": "What a party gained, added up from round 1. By system, replicate, party and round.",
    "messages": "Messages of the whole group, added up from round 1. By system, replicate and "
    "round.",
    "bytes": "Bytes of those messages, added up from round 1. By system, replicate and round.",
    "syncs": "Syncs of the whole group, added up from round 1. By system, replicate and round.",
    "epsilon": "ε accounted so far for everything that leaves one party, at the system's δ: "
    "contents, which messages there are, and when. inf: no finite ε holds. nan: encryption "
    "protects, and has no ε. By system, replicate and round.",
    "epsilon_contents": "ε that the contents of one party's messages alone have cost so far, at "
    "the system's δ. By system, replicate and round.",
    "seconds": "Wall-clock time of a system's replicates, compilation not counted. By system.",
    "value": "Only of a log: mean reward of a decision so far, estimated. By system, replicate, "
    "estimator and round; value_low and value_high are the ends of its 95% interval.",
    "matched": "Only of a log: events so far that tell something of the value. By system, "
    "replicate, estimator and round.",
    "effective": "Only of a log: how many equally weighted events these amount to.",
    "events": "Only of a log: events met so far. By system, replicate, party and round.",
    "observed": "Only of a log: events whose reward was observed. By system, replicate, party and "
    "round.",
    "epsilon_spent": "Of a sweep over epsilon: the variable epsilon. Its name is there that of the "
    "swept key.",
    "parties": "Of a sweep: how many parties a point has. Others are NaN there.",
    "acting": "Of a sweep: how many parties of a point act in a round.",
    "claim_epsilon": "Of a sweep: the ε that accounting supports for everything that leaves a "
    "party, by point and system.",
    "claim_epsilon_contents": "Of a sweep: the ε of the contents of messages alone, by point and "
    "system.",
    "claim_encrypted": "Of a sweep: 1 where encryption protects, and no ε is claimed; else 0.",
    "claim_delta": "Of a sweep: the δ that goes with both, by point and system.",
    "cluster_size": "fclub, fclub_published: how many users are in the cluster of a user.",
    "adjusted_rand_index": "fclub, fclub_published: how well the clusters that were found agree "
    "with the true ones: 1 is perfect, about 0 is as good as chance.",
    "others_count_as": "Hybrids of feducb, feducb_p2p: how many of its own records tell a party as "
    "much as others' records did by the last sync. nan before it, and for a party without records.",
    "regret_after_exploration": "pfcb: a buyer's regret in the rounds after the pure exploration.",
    "violation_share": "pfcb: the share of rounds after the exploration in which a purchase missed "
    "the quality constraint.",
    "empty_rounds": "pfcb: rounds in which a buyer bought nothing.",
    "units": "pfcb: units that a buyer bought.",
    "reports_accepted": "pfcb: reports of others that a buyer believed.",
    "reports_refused": "pfcb: reports of others that a buyer did not believe.",
}

#: Everything in which a word may be looked up: where it is met, and what words mean there.
WORDS: dict[str, dict[str, str]] = {
    "a column of summary.csv": COLUMNS,
    "a variable of results": VARIABLES,
    "a term of reports and audits": TERMS,
}
_CODED = {"Columns of summary.csv": COLUMNS, "Variables of results.nc": VARIABLES}


def glossary_page() -> str:
    """Write the glossary as Markdown, a list for every subject."""
    return "\n".join([_HEAD, *_lists()])


def _lists() -> Iterator[str]:
    for subject, terms in SUBJECTS.items():
        yield f"## {subject}\n"
        yield from (f"* **{term}**: {_quoted(meaning)}" for term, meaning in terms.items())
        yield ""
    for subject, names in _CODED.items():
        yield f"## {subject}\n"
        yield from (f"* **`{name}`**: {_quoted(meaning)}" for name, meaning in names.items())
        yield ""


def _quoted(meaning: str) -> str:
    """Mark names of columns and presets as code, so that Markdown leaves them alone."""
    return re.sub(r"(?<![\w`])[a-z]+(?:_[a-z]+)+", lambda name: f"`{name[0]}`", meaning)


if __name__ == "__main__":
    print(glossary_page(), end="")
