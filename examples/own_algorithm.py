"""An algorithm of one's own against FedUCB in one plot: runs/own_algorithm/plots/regret.png."""

import numpy as np

import fedbandits as fb


@fb.register
class Thompson(fb.Learner):
    """Thompson sampling on everybody's records, whose sums agents share in clear."""

    width: float = 0.3  # of the distribution that parameters are drawn from

    def begin(self):
        self.own, self.all = np.zeros((2, self.facts.dimension, self.facts.dimension + 1))

    def decide(self, contexts, draws):
        gram, sums = np.eye(self.facts.dimension) + self.all[:, :-1], self.all[:, -1]
        drawn = np.linalg.solve(np.linalg.cholesky(gram).T, draws.normal(len(gram)))
        return np.argmax(contexts @ (np.linalg.solve(gram, sums) + self.width * drawn))

    def observe(self, context, arm, reward):
        record = np.outer(context, np.append(context, reward))
        self.own, self.all = self.own + record, self.all + record

    def release(self):
        return self.own

    def receive(self, total):
        self.all = total.reshape(self.own.shape)


world = fb.environments.Linear(agents=10, dim=5, arms=20)
systems = [fb.system("thompson"), fb.system("feducb-nonprivate"), fb.system("feducb")]
experiment = fb.Experiment(rounds=2000, replicates=8, environment=world, systems=systems)
result = fb.run(experiment, out="runs/own_algorithm")
print(result.regret.isel(round=-1).sum("party").mean("replicate").to_series())
