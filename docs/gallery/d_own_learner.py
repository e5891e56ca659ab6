"""A private learner of one's own.

A few lines of numpy say what an agent adds to a sum, and how it decides from the noisy total. The package adds the noise and states the claim.
"""

import numpy as np

import fedbandits as fb


@fb.register
class PrivateRidge(fb.PrivateLearner):
    """Plays the arm that looks best to ridge regression on the noisy total."""

    record_bound = 2**0.5  # contexts of norm 1, and rewards of at most 1

    def begin(self):
        self.total = np.zeros((self.facts.dimension, self.facts.dimension + 1))

    def record(self, context, arm, reward):
        return np.outer(context, np.append(context, reward)).ravel()

    def receive(self, total):
        self.total = total.reshape(self.total.shape)

    def decide(self, contexts, draws):
        gram, sums = self.total[:, :-1], self.total[:, -1]
        ridge = 1.0 + 4.0 * self.noise_deviation  # more noise, more caution
        return np.argmax(
            contexts @ np.linalg.solve(gram + gram.T + ridge * np.eye(len(gram)), sums)
        )


experiment = fb.Experiment(
    rounds=1000,
    replicates=3,
    environment=fb.environments.Linear(agents=10, dim=5, arms=10),
    systems=(
        fb.system("private-ridge", epsilon=1.0, delta=1e-5, label="ε = 1"),
        fb.system("private-ridge", epsilon=10.0, delta=1e-5, label="ε = 10"),
        fb.presets.feducb(epsilon=1.0, label="feducb, ε = 1"),
    ),
)
fb.run(experiment, out="own")
print(experiment.claims()["ε = 1"].headline)
