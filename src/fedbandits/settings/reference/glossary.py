"""Words of results, reports and audits, each with what it means: one place for all of them."""

from __future__ import annotations

from fedbandits.settings.reference.terms import TERMS

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
