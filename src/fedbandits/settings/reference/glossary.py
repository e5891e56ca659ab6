"""Words of results, reports and audits, each with what it means: one place for all of them."""

from __future__ import annotations

#: Columns of ``summary.csv``.
COLUMNS: dict[str, str] = {
    "system": "Label of the system, as the configuration gives it.",
    "replicates": "How many replicates were finished, and are counted.",
    "rounds": "The horizon T, in rounds.",
    "regret_mean": "Regret of the whole group at the end: summed over all parties, then the mean "
    "over replicates.",
    "regret_sem": "Standard error of regret_mean. Empty with a single replicate.",
    "reward_mean": "Reward of the whole group at the end: summed over all parties, then the mean "
    "over replicates.",
    "messages": "How many messages parties sent, mean over replicates.",
    "bytes": "How many bytes those messages had, mean over replicates.",
    "syncs": "How often parties exchanged what they had learned, mean over replicates.",
    "epsilon_claimed": "The ε that the paper states for a published variant; otherwise the same as "
    "epsilon_accounted.",
    "epsilon_accounted": "The ε that accounting supports for everything that leaves a party: the "
    "contents of messages, which messages there are, and when. inf: no finite ε holds.",
    "epsilon_contents": "The ε of the contents of messages alone. It tells how much privacy there "
    "is where everybody may know which messages there are, and when.",
    "delta": "The δ that goes with every ε of the row.",
    "seconds": "Wall-clock time of the system's replicates, compilation not counted.",
    "agent_steps_per_second": "Speed: parties × rounds × replicates, over seconds. Where one party "
    "acts a round, it is rounds × replicates.",
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
    "epsilon": "ε that the contents of one party's messages have cost so far, at the system's δ. "
    "By system, replicate and round.",
    "seconds": "Wall-clock time of a system's replicates, compilation not counted. By system.",
    "epsilon_spent": "Of a sweep over epsilon: the variable epsilon. Its name is there that of the "
    "swept key.",
    "parties": "Of a sweep: how many parties a point has. Others are NaN there.",
    "acting": "Of a sweep: how many parties of a point act in a round.",
    "claim_epsilon": "Of a sweep: the ε that accounting supports for everything that leaves a "
    "party, by point and system.",
    "claim_epsilon_contents": "Of a sweep: the ε of the contents of messages alone, by point and "
    "system.",
    "claim_delta": "Of a sweep: the δ that goes with both, by point and system.",
    "cluster_size": "fclub, fclub_published: how many users are in the cluster of a user.",
    "adjusted_rand_index": "fclub, fclub_published: how well the clusters that were found agree "
    "with the true ones: 1 is perfect, about 0 is as good as chance.",
    "regret_after_exploration": "pfcb: a buyer's regret in the rounds after the pure exploration.",
    "violation_share": "pfcb: the share of rounds after the exploration in which a purchase missed "
    "the quality constraint.",
    "empty_rounds": "pfcb: rounds in which a buyer bought nothing.",
    "units": "pfcb: units that a buyer bought.",
    "reports_accepted": "pfcb: reports of others that a buyer believed.",
    "reports_refused": "pfcb: reports of others that a buyer did not believe.",
}

#: Terms of reports, claims and audits.
TERMS: dict[str, str] = {
    "ε": "How much one record can change what an observer sees: the smaller, the more private. "
    "An observer's odds in favour of any guess about the record change by a factor of at most "
    "e^ε, except with probability about δ.",
    "δ": "The probability with which the promise of ε may fail. It should be far below 1 over the "
    "number of records.",
    "μ": "The cost of releases in Gaussian differential privacy. The squares of μ of several "
    "releases add up; μ and δ together give ε.",
    "ε claimed": "See epsilon_claimed: what the paper states, where there is a paper.",
    "ε accounted": "See epsilon_accounted: what accounting supports for everything that leaves.",
    "ε contents": "See epsilon_contents: what the contents of messages cost, message times aside.",
    "contents alone": "The ε of the contents of messages, if everybody may know which messages "
    "there are, and when.",
    "unit": "The record that is protected: what two neighbouring data sets differ in. Often it is "
    "one visit, not one person.",
    "from whom": "Against whom the claim holds: who may look, and at what.",
    "relation": "How neighbouring data sets differ. replace-one: one record has another value. "
    "add-remove: one record is there or not.",
    "interactive": "The claim holds also when the system reacts to the changed record, so that "
    "later decisions and records change with it.",
    "fixed log": "The claim holds only if every other record would have been the same.",
    "in clear": "Without noise and without encryption: who reads a message reads the statistics.",
    "tightness": "In an audit: the largest lower bound on ε that attacks on contents showed, over "
    "the ε that accounting states for contents. Near 1, the accounting is exact. Far below 1, "
    "there is more noise than needed, or there were too few runs.",
    "noise × needed": "In an audit: how many times larger the noise is than the claimed ε and δ "
    "need. 1 is calibrated.",
    "ε_low": "In an audit: a lower bound on the true ε, from the errors of attacks. A claim with a "
    "smaller ε is broken.",
    "holds": "A verdict of an audit: no attack showed more than the claim allows. That is "
    "evidence, not proof.",
    "broken": "A verdict of an audit: an attack showed more than the claim allows.",
    "s.e.": "Standard error of a mean over replicates.",
    "claim": "What a system promises about privacy: who is protected, from whom, how much, under "
    "which conditions, and what is not protected. `fedbandits privacy CONFIG.toml` shows it.",
    "sync": "An exchange: parties release what they have learned, and take up what others did.",
    "replicate": "One repetition of an experiment, with a world and draws of its own.",
    "sweep": "One experiment run for many values of some keys: `fedbandits run X --sweep "
    "KEY=VALUE,VALUE`.",
    "point": "One experiment of a sweep: one value for each swept key.",
    "preset": "A named variant of a system: a composition of parts, each of which can be changed.",
}

#: Everything in which a word may be looked up: where it is met, and what words mean there.
WORDS: dict[str, dict[str, str]] = {
    "a column of summary.csv": COLUMNS,
    "a variable of results": VARIABLES,
    "a term of reports and audits": TERMS,
}
