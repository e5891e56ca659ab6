"""What a smaller ε costs.

The same hospitals with five budgets, as one sweep. The picture shows mistakes against ε. Below the dashed line, learning together pays.
"""

import matplotlib.pyplot as plt

import fedbandits as fb

experiment = fb.Experiment(
    rounds=40,
    replicates=4,
    environment=fb.environments.Classification(
        dataset="breast_cancer", agents=200, components=5, shards="shared"
    ),
    systems=(fb.presets.linucb_alone(), fb.presets.feducb_secure()),
)
result = fb.sweep(experiment, {"systems.*.epsilon": [0.1, 0.3, 1.0, 3.0, 10.0]})
regret = result.regret.isel(round=-1).mean("party")  # (epsilon, system, replicate)
private, alone = regret.sel(system="feducb-secure"), regret.sel(system="linucb-alone")
error = private.std("replicate", ddof=1) / private.sizes["replicate"] ** 0.5

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(result.epsilon, private.mean("replicate"), error, marker="o", label="feducb-secure")
axes.axhline(float(alone.mean()), linestyle="--", color="gray", label="alone")
axes.set(xscale="log", xlabel="ε", ylabel="mistakes a hospital in 40 visits")
axes.legend()
figure.savefig("epsilon.png", dpi=150)
