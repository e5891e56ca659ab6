"""Does it pay to learn together?

200 small hospitals learn to tell malignant from benign tumours, on data that comes with scikit-learn. Each hospital has 40 visits. The answer compares private learning with learning alone, replicate by replicate.
"""

import fedbandits as fb

experiment = fb.Experiment(
    rounds=40,
    replicates=6,
    environment=fb.environments.Classification(
        dataset="breast_cancer", agents=200, components=5, shards="shared"
    ),
    systems=(
        fb.presets.linucb_alone(),
        fb.presets.linucb_pooled(label="pooled in clear"),
        fb.presets.feducb_secure(epsilon=1.0, delta=1e-5),
    ),
)
result = fb.run(experiment)
print(fb.answer(experiment, result))
fb.plot.regret(result).figure.savefig("mistakes.png", dpi=150)
