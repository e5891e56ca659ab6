"""A table of one's own.

A frame has a row for each visit, a column for the ward, and two features. The finding is to be named. A typical value of each feature and a typical deviation are stated, because they must not come from the data.
"""

import numpy as np
import pandas as pd

import fedbandits as fb

rng = np.random.default_rng(0)
age, size = rng.uniform(18, 90, 2000), rng.uniform(0, 5, 2000)
frame = pd.DataFrame(
    {
        "ward": rng.choice(["Köln", "Bonn", "Düren", "Ulm"], 2000),
        "age": age,
        "size": size,
        "finding": np.where(age / 30 + size + rng.normal(size=2000) > 4.5, "bösartig", "gutartig"),
    }
)
experiment = fb.Experiment(
    rounds=300,
    replicates=3,
    environment=fb.environments.table(
        frame,
        site="ward",
        features=["age", "size"],
        centre={"age": 50, "size": 3},
        spread={"age": 20, "size": 2},
        target="finding",
        classes=["gutartig", "bösartig"],
    ),
    systems=(
        fb.presets.linucb_alone(),
        fb.presets.linucb_pooled(label="pooled in clear"),
        fb.presets.feducb(epsilon=10.0, delta=1e-5),
    ),
)
result = fb.run(experiment)
print(fb.answer(experiment, result))
fb.plot.regret(result).figure.savefig("mistakes.png", dpi=150)
