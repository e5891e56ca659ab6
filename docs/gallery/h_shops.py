"""Customers of unknown kinds.

Five servers have 20 customers of three kinds, and nobody knows who is of which kind. Servers find kinds among their own customers, or together with noise.
"""

import fedbandits as fb

experiment = fb.Experiment(
    rounds=10_000,
    replicates=3,
    environment=fb.environments.Clustered(
        users=20, clusters=3, dim=5, servers=5, placement="spread", items=10
    ),
    systems=(
        fb.presets.linucb_per_user(),
        fb.presets.fclub_local(),
        fb.presets.fclub(epsilon=2.0, delta=1e-5),
    ),
)
fb.run(experiment, out="shops")
