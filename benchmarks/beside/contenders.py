"""The peers' learners, one decision and one update a step, as their documentation uses them.

Each gets contexts in its own format, which is made before the clock starts. Every class is imported
in a process of its own, so a missing package is missed there alone.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from beside.streams import Stream

#: Decisions that are made before their rewards are learned, where that is how a peer is used.
BATCH = 100


class Contender(Protocol):
    """Somebody who chooses arms of a stream, and learns from their rewards."""

    def decide(self, t: int) -> int:
        """The arm for round ``t``, from 0."""

    def learn(self, t: int, arm: int, reward: float) -> None:
        """Take up the reward of that arm."""


class MABWiser:
    """MABWiser: a policy with contexts, or without."""

    def __init__(self, stream: Stream, seed: int, policy: str) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        policies = {
            "LinUCB": lambda: LearningPolicy.LinUCB(alpha=1.0, l2_lambda=1.0),
            "LinTS": lambda: LearningPolicy.LinTS(alpha=1.0, l2_lambda=1.0),
            "UCB1": lambda: LearningPolicy.UCB1(alpha=1.0),
            "Thompson": LearningPolicy.ThompsonSampling,
        }
        self._arms = stream.arms
        self._mab = MAB(list(range(stream.arms)), policies[policy](), seed=seed)
        has_contexts = stream.contexts.shape[1] > 0
        rows = np.asarray(stream.contexts[:, :, 0], np.float64)
        self._rows = [row[None, :] if has_contexts else None for row in rows]
        #: Without contexts it knows no arm before its first record: each is tried once.
        self._tried = 1 if has_contexts else stream.arms

    def decide(self, t: int) -> int:
        return t if t < self._tried else int(self._mab.predict(self._rows[t]))

    def learn(self, t: int, arm: int, reward: float) -> None:
        take_up = self._mab.fit if t == 0 else self._mab.partial_fit
        take_up([arm], [reward], self._rows[t])


class ContextualBandits:
    """contextualbandits: the online policies LinUCB and LinTS.

    The context has a constant coordinate, so no other intercept is fitted.
    """

    def __init__(self, stream: Stream, seed: int, policy: str, **settings: Any) -> None:
        from contextualbandits import online

        self._policy = getattr(online, policy)(
            nchoices=stream.arms, fit_intercept=False, random_state=seed + 1, **settings
        )
        self._rows = [row[None, :] for row in np.asarray(stream.contexts[:, :, 0], np.float64)]

    def decide(self, t: int) -> int:
        return int(self._policy.predict(self._rows[t])[0])

    def learn(self, t: int, arm: int, reward: float) -> None:
        self._policy.partial_fit(self._rows[t], np.array([arm]), np.array([reward]))


class InBatches:
    """MABWiser's or contextualbandits' LinUCB as many use it: many decisions, then one update.

    The first batch is spread evenly over all arms, for there is nothing to decide by.
    """

    def __init__(self, stream: Stream, seed: int, package: str) -> None:
        kind = MABWiser if package == "mabwiser" else ContextualBandits
        made: Any = kind(stream, seed, "LinUCB")
        self._arms, self._rows = stream.arms, np.concatenate(made._rows)
        self._policy = made._mab if package == "mabwiser" else made._policy
        self._rows_last = package == "mabwiser"

    def decide_many(self, first: int, end: int) -> Any:
        """The arms for rounds ``first`` … ``end`` - 1."""
        if first == 0:
            return np.arange(end) % self._arms
        return np.atleast_1d(self._policy.predict(self._rows[first:end]))

    def learn_many(self, first: int, end: int, arms: Any, rewards: Any) -> None:
        """Take up the rewards of these rounds."""
        rows = self._rows[first:end]
        take_up = self._policy.fit if first == 0 else self._policy.partial_fit
        take_up(*((arms, rewards, rows) if self._rows_last else (rows, arms, rewards)))


class River:
    """river: a policy with contexts, which are dicts, or without."""

    def __init__(self, stream: Stream, seed: int, policy: str) -> None:
        from river import bandit, proba

        policies = {
            "LinUCBDisjoint": lambda: bandit.LinUCBDisjoint(alpha=1.0, beta=1.0, seed=seed),
            "UCB": lambda: bandit.UCB(delta=1.0, seed=seed),
            "ThompsonSampling": lambda: bandit.ThompsonSampling(proba.Beta(), seed=seed),
        }
        self._policy: Any = policies[policy]()
        self._arms = list(range(stream.arms))
        rows = np.asarray(stream.contexts[:, :, 0], np.float64).tolist()
        self._contexts = [dict(enumerate(row)) for row in rows] if rows[0] else None

    def decide(self, t: int) -> int:
        if self._contexts is None:
            return int(self._policy.pull(self._arms))
        return int(self._policy.pull(self._arms, context=self._contexts[t]))

    def learn(self, t: int, arm: int, reward: float) -> None:
        if self._contexts is None:
            self._policy.update(arm, reward)
        else:
            self._policy.update(arm, self._contexts[t], reward)


class Coba:
    """coba: its own LinUCB and LinTS, and UCB1-Tuned without contexts.

    With a model for each arm, an action is a unit vector that is crossed with the context.
    """

    def __init__(self, stream: Stream, seed: int, policy: str) -> None:
        from coba import learners

        features = ["a"] if stream.shared_model else ["ax"]
        policies = {
            "LinUCB": lambda: learners.LinUCBLearner(alpha=1, features=features, seed=seed),
            "LinTS": lambda: learners.LinTSLearner(v=1, features=features, seed=seed),
            "UCB1-Tuned": lambda: learners.BanditUCBLearner(seed=seed),
        }
        self._learner: Any = policies[policy]()
        steps = len(stream.rewards)
        if stream.shared_model:
            moved = np.asarray(stream.contexts, np.float64).transpose(0, 2, 1).tolist()
            self._actions: Any = [[tuple(row) for row in rows] for rows in moved]
            self._contexts: Any = [None] * steps
        else:
            units = [tuple(row) for row in np.eye(stream.arms).tolist()]
            self._actions = [units] * steps
            self._contexts = np.asarray(stream.contexts[:, :, 0], np.float64).tolist()
        self._chosen: Any = None

    def decide(self, t: int) -> int:
        actions = self._actions[t]
        self._chosen = self._learner.predict(self._contexts[t], actions)
        return int(actions.index(self._chosen[0]))

    def learn(self, t: int, arm: int, reward: float) -> None:
        action, probability = self._chosen[:2]
        self._learner.learn(self._contexts[t], action, reward, probability)


class VowpalWabbit:
    """Vowpal Wabbit: SquareCB over examples with features of actions; it descends gradients.

    It returns probabilities, and the arm is drawn here. Its costs are negative rewards.
    """

    def __init__(self, stream: Stream, seed: int) -> None:
        import vowpalwabbit

        cross = "" if stream.shared_model or not stream.contexts.shape[1] else " -q xa"
        self._vw = vowpalwabbit.Workspace(f"--cb_explore_adf --squarecb --quiet{cross}")
        self._random = np.random.default_rng(seed)
        arms = range(stream.arms)
        if stream.shared_model:
            self._shared = [""] * len(stream.rewards)
            self._lines = [
                [f"|a {_text(contexts[:, arm])}" for arm in arms] for contexts in stream.contexts
            ]
        else:
            self._shared = [f"shared |x {_text(seen[:, 0])}\n" for seen in stream.contexts]
            self._lines = [[f"|a arm{arm}" for arm in arms]] * len(stream.rewards)
        self._probability = 1.0

    def decide(self, t: int) -> int:
        chances = np.array(self._vw.predict(self._shared[t] + "\n".join(self._lines[t])))
        arm = int(self._random.choice(len(chances), p=chances / chances.sum()))
        self._probability = float(chances[arm])
        return arm

    def learn(self, t: int, arm: int, reward: float) -> None:
        lines = list(self._lines[t])
        lines[arm] = f"0:{-reward}:{self._probability} {lines[arm]}"
        self._vw.learn(self._shared[t] + "\n".join(lines))


def _text(numbers: Any) -> str:
    """Numbers as features of Vowpal Wabbit; 9 digits are all that 32 bits have."""
    return " ".join(f"{i}:{value:.9g}" for i, value in enumerate(numbers))
