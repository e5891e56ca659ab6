"""Encryption costs time, not reward.

SAMBA runs a bandit on encrypted rewards. It gets the reward of the same algorithm in plain, and takes longer.
"""

import matplotlib.pyplot as plt

import fedbandits as fb

experiment = fb.Experiment(
    rounds=500,
    replicates=2,
    environment=fb.environments.Bernoulli(means="uniform", arms=5),
    systems=(
        fb.presets.plain_thompson(label="plain"),
        fb.presets.distributed_thompson(label="distributed"),
        fb.presets.samba_thompson(label="encrypted"),
    ),
)
result = fb.run(experiment)
reward = result.reward.isel(round=-1).sum("party").mean("replicate")

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
left.bar(result.system, reward)
left.set_ylabel("reward in 500 rounds")
right.bar(result.system, result.seconds)
right.set(ylabel="seconds", yscale="log")
figure.savefig("samba.png", dpi=150)
