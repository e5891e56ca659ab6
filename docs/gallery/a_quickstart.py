"""Learning together, alone, and in clear.

200 small hospitals learn to tell malignant from benign tumours, on data that comes with scikit-learn. Each hospital has 40 visits. Private learning lies between learning alone and pooling all records in clear.
"""

import fedbandits as fb

experiment = fb.Experiment(
    rounds=40,
    replicates=4,
    environment=fb.environments.Classification(
        dataset="breast_cancer", agents=200, components=5, shards="shared"
    ),
    systems=(
        fb.presets.linucb_alone(),
        fb.presets.linucb_pooled(label="pooled in clear"),
        fb.presets.feducb(epsilon=1.0, delta=1e-5),
    ),
)
result = fb.run(experiment, out="hospitals")
mistakes = result.regret.isel(round=-1).mean(("party", "replicate"))
for system in mistakes.system.values:
    print(f"{system:16} {float(mistakes.sel(system=system)):5.1f} mistakes a hospital")
