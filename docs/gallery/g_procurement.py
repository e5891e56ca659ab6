"""Buyers that keep their orders to themselves.

Five buyers order quantities from producers of unknown quality. They share noisy reports of their purchases. Revenue that is lost is the regret.
"""

import fedbandits as fb

window = (100, 2_000)
experiment = fb.Experiment(
    rounds=4_000,
    replicates=3,
    environment=fb.environments.Procurement(
        case="uniform", agents=5, producers=10, max_capacity=20, quality_threshold=0.4
    ),
    systems=(
        fb.presets.cucb_alone(),
        fb.presets.pfcb(epsilon=1.0, delta=0.01, window=window),
        fb.presets.fcb(label="in clear", window=window),
    ),
)
fb.run(experiment, out="buyers")
