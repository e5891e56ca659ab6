"""Agents on a ring, without a controller.

Ten agents talk to their neighbours. A message travels γ hops. With more hops an agent learns from more of the others.
"""

import fedbandits as fb

experiment = fb.Experiment(
    rounds=500,
    replicates=3,
    environment=fb.environments.Linear(agents=10, dim=4, arms=10),
    systems=tuple(
        fb.presets.feducb_p2p(
            graph="ring", gamma=hops, epsilon=10.0, exploration_scale=0.1, label=f"γ = {hops}"
        )
        for hops in (1, 2, 5)
    ),
)
fb.run(experiment, out="ring")
