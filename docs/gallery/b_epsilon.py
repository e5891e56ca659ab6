"""What a smaller ε costs.

The same hospitals with five budgets. The picture shows mistakes against ε. Learning alone is the dashed line: below it, learning together pays.
"""

import matplotlib.pyplot as plt

import fedbandits as fb

budgets = [0.1, 0.3, 1.0, 3.0, 10.0]
experiment = fb.Experiment(
    rounds=40,
    replicates=4,
    environment=fb.environments.Classification(
        dataset="breast_cancer", agents=200, components=5, shards="shared"
    ),
    systems=(
        fb.presets.linucb_alone(),
        *(fb.presets.feducb(epsilon=each, label=f"ε = {each}") for each in budgets),
    ),
)
regret = fb.run(experiment).regret.isel(round=-1).mean("party")  # (system, replicate)
alone, private = regret[0].mean(), regret[1:]
error = private.std("replicate", ddof=1) / private.sizes["replicate"] ** 0.5

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(budgets, private.mean("replicate"), error, marker="o", label="feducb")
axes.axhline(float(alone), linestyle="--", color="gray", label="alone")
axes.set(xscale="log", xlabel="ε", ylabel="mistakes a hospital in 40 visits")
axes.legend()
figure.savefig("epsilon.png", dpi=150)
