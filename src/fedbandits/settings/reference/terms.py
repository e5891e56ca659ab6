"""Terms of pages, reports, claims and audits, each with what it means, by subject.

``docs/glossary.md`` is made from them: ``python -m fedbandits.settings.reference.glossary_page``.
"""

from __future__ import annotations

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
    "confidence radius": "How far the unknown θ* may lie from its estimate. An arm's score is its "
    "estimated reward plus this radius times the arm's uncertainty.",
    "exploration scale": "A factor on the confidence radius. 1 is what the theorem needs. Less "
    "explores less; it often loses less regret, and no theorem covers it.",
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
    "pooled in clear": "All parties share everything at once, without noise: the most that "
    "learning together can bring, without any privacy.",
    "release": "Statistics that a party sends, with noise where there is any: once sent, they "
    "cannot be taken back.",
    "sync": "An exchange: parties release what they have learned, and take up what others did.",
    "schedule": "When parties sync: in rounds that are fixed in advance, or when a trigger fires.",
    "trigger": "A rule that calls for a sync when data have changed enough. When it reads raw "
    "data, the time of a message tells of these data.",
    "controller": "The party that adds up the releases of agents, and hands out the sum.",
    "peer to peer": "Without a controller: parties on a graph send to their neighbours.",
    "released view": "An agent decides on released statistics alone, also about its own records.",
    "raw view": "An agent decides on released statistics, and on its own records since the last "
    "sync, without noise.",
    "joint view": "An agent decides by one estimate, from all its own records without noise and "
    "from what others released.",
    "hybrid": "A preset with a joint view, for parties that cannot know before whether learning "
    "together pays. Its claim is for a fixed log.",
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
    "from whom": "Against whom the claim holds: who may look, and at what.",
    "relation": "How neighbouring data sets differ. replace-one: one record has another value. "
    "add-remove: one record is there or not. replace-person: all records of one person have other "
    "values.",
    "ε": "How much one record can change what an observer sees: the smaller, the more private. "
    "An observer's odds in favour of any guess about the record change by a factor of at most "
    "e^ε, except with probability about δ.",
    "δ": "The probability with which the promise of ε may fail. It should be far below 1 over the "
    "number of records.",
    "μ": "The cost of releases in Gaussian differential privacy. The squares of μ of several "
    "releases add up; μ and δ together give ε.",
    "Gaussian differential privacy": "A way to count the cost of releases. Telling two "
    "neighbouring data sets apart is at least as hard as telling two normal variables apart, of "
    "means 0 and μ and of variance 1.",
    "sensitivity": "The most that one record can change in what is released, before noise.",
    "composition": "The cost of several releases of the same data together. In Gaussian "
    "differential privacy μ is the root of the sum of squares. In basic composition ε adds up.",
    "person": "Somebody who may have many records. k records of one person cost at most k times "
    "μ; ε grows faster than that.",
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
