"""Worlds and learners that somebody outside the package could have written, for tests."""

from __future__ import annotations

import numpy as np

import fedbandits as fb

#: A module with a world and a learner, as a user writes it beside a TOML file.
COINS = '''
"""Coins to toss, and somebody who tosses them."""

import numpy as np

import fedbandits as fb


@fb.register
class Coins(fb.environments.PythonEnvironment, tag="coins"):
    """Coins to toss; the context of an arm is its unit vector."""

    coins: int = 5

    @property
    def dimension(self):
        return self.coins

    @property
    def arm_count(self):
        return self.coins

    def begin(self, draws):
        return draws.uniform(self.coins)

    def decision_set(self, world, agent, round_, draws):
        return np.eye(self.coins), world


@fb.register
class Tosser(fb.Learner):
    """Tosses the coin that has paid best, and any coin now and then."""

    explore: float = 0.1

    def begin(self):
        self.heads, self.tosses = np.zeros(self.facts.arms), np.zeros(self.facts.arms)

    def decide(self, contexts, draws):
        if draws.bernoulli(self.explore):
            return draws.integer(len(contexts))
        return np.argmax((self.heads + 1) / (self.tosses + 1))

    def observe(self, context, arm, reward):
        self.heads[arm] += reward
        self.tosses[arm] += 1
'''
CONFIG = """
name = "coins"
module = "coins.py"
rounds = 300
replicates = 2
[environment]
kind = "coins"
agents = 3
[[systems]]
preset = "tosser"
explore = 0.2
[[systems]]
preset = "feducb"
"""


class SharedRidge(fb.Learner):
    """Ridge regression on everybody's records, which agents share in clear."""

    explore: float = 0.05

    def begin(self):
        d = self.facts.dimension
        self.own, self.all = np.zeros((d, d + 1)), np.zeros((d, d + 1))

    def decide(self, contexts, draws):
        if draws.bernoulli(self.explore):
            return draws.integer(len(contexts))
        gram, sums = self.all[:, :-1], self.all[:, -1]
        return np.argmax(contexts @ np.linalg.solve(gram + np.eye(len(gram)), sums))

    def observe(self, context, arm, reward):
        record = np.outer(context, np.append(context, reward))
        self.own, self.all = self.own + record, self.all + record

    def release(self):
        return self.own

    def receive(self, total):
        self.all = total.reshape(self.own.shape)
