"""Attacking a claim.

An audit plays a system in two worlds that differ in one record, and tells them apart from what leaves. The sound preset holds. The published one is broken: when it sends messages depends on raw records.
"""

import fedbandits as fb

experiment = fb.Experiment(
    rounds=100,
    environment=fb.environments.Linear(agents=3, dim=3, arms=4),
    systems=(fb.presets.feducb(epsilon=1.0), fb.presets.feducb_published(epsilon=1.0)),
)
for verdict in fb.audit(experiment, runs=1000).verdicts:
    print(f"{verdict.system}: {verdict.outcome}")
    print(f"    claimed ε = {verdict.epsilon:.3g}, certainly at least {verdict.epsilon_low:.2f}")
