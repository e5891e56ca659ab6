"""A scikit-learn estimator as an agent's reward model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import LearnerError
from fedbandits.learners.learner import Learner

if TYPE_CHECKING:
    from fedbandits.draws import Draws


class SklearnLearner(Learner):
    """Fits an estimator to its own records, and plays the arm with the largest predicted reward.

    Made by :func:`from_sklearn`. Each agent learns alone: sharing records would send them in clear.
    The agent keeps its records; a restored agent fits its estimators anew, so the estimator must
    give the same fit for the same records (set its ``random_state``).

    Parameters
    ----------
    explore
        Probability of a random arm, from 0 to 1.
    first
        Decisions at random before the first fit of a model.
    growth
        A model is fitted anew when its records have grown by this factor since its last fit. 1
        fits after every record, which is slow.
    """

    explore: float = 0.05
    first: int = 20
    growth: float = 1.2

    def begin(self) -> None:
        """Refuse settings outside their ranges; make room for records."""
        name = type(self).__name__
        if not 0.0 <= self.explore <= 1.0:
            raise LearnerError(f"{name}.explore: given {self.explore:g}, allowed: 0 to 1")
        if self.first < 1 or self.growth < 1.0:
            raise LearnerError(f"{name}: first and growth must be at least 1")
        self.contexts: Floats = np.zeros((0, self.facts.dimension))
        self.rewards: Floats = np.zeros(0)
        self.models: Ints = np.zeros(0, np.int64)
        #: Number of each model's records at its last fit; 0 before the first fit.
        self.fitted = [0] * self.facts.models
        self._estimators: list[Any] = [None] * self.facts.models

    @classmethod
    def estimator(cls) -> Any:
        """Make a fresh estimator."""
        raise NotImplementedError(f"{cls.__name__}: make it with fb.learners.from_sklearn")

    def decide(self, contexts: Floats, draws: Draws) -> int:
        """Choose a random arm before the first fits, and now and then later; else the best arm."""
        if not all(self.fitted) or draws.bernoulli(self.explore):
            return draws.integer(len(contexts))
        if self.facts.models == 1:
            scores = _predicted(self._estimators[0], contexts)
        else:
            scores = np.array([_predicted(e, contexts[:1])[0] for e in self._estimators])
        return int(np.argmax(scores))

    def observe(self, context: Floats, arm: int, reward: float) -> None:
        """Keep the record; fit the arm's model anew if a fit is due."""
        model = 0 if self.facts.models == 1 else arm
        self.contexts = np.vstack([self.contexts, context])
        self.rewards = np.append(self.rewards, reward)
        self.models = np.append(self.models, model)
        count = int((self.models == model).sum())
        needed = math.ceil(self.first / self.facts.models)
        if count >= max(needed, self.fitted[model] * self.growth, self.fitted[model] + 1):
            self.fitted[model] = count
            self._fit(model)

    def _fit(self, model: int) -> None:
        """Fit a model to its first records, as many as at its last fit."""
        from sklearn.base import is_classifier
        from sklearn.dummy import DummyClassifier

        of_model = np.flatnonzero(self.models == model)[: self.fitted[model]]
        estimator, rewards = type(self).estimator(), self.rewards[of_model]
        if is_classifier(estimator) and (rewards == rewards[0]).all():
            estimator = DummyClassifier()  # a classifier needs rewards of two classes
        self._estimators[model] = estimator.fit(self.contexts[of_model], rewards)

    def dump(self) -> bytes:
        """Return the records as bytes, and the number of records at each model's last fit."""
        estimators, self._estimators = self._estimators, []
        try:
            return super().dump()
        finally:
            self._estimators = estimators

    def load(self, data: bytes) -> None:
        """Take over records, and fit the models that were fitted before."""
        super().load(data)
        self._estimators = [None] * self.facts.models
        for model, count in enumerate(self.fitted):
            if count:
                self._fit(model)


def _predicted(estimator: Any, contexts: Floats) -> Floats:
    """Predict expected rewards; for a classifier of 0 and 1, the probability of 1."""
    if hasattr(estimator, "predict_proba"):
        classes = np.asarray(estimator.classes_, np.float64)
        expected: Floats = np.asarray(estimator.predict_proba(contexts)) @ classes
        return expected
    return np.asarray(estimator.predict(contexts), np.float64).reshape(-1)


def from_sklearn(estimator: Any, name: str) -> type[SklearnLearner]:
    """Make a learner whose reward model is a scikit-learn estimator.

    Register it to use it::

        forest = RandomForestRegressor(n_estimators=20, random_state=0)
        fb.register(fb.learners.from_sklearn(forest, name="forest"))
        fb.system("forest", explore=0.1)

    Parameters
    ----------
    estimator
        A regressor, or a classifier whose classes are rewards. A clone of it is made for every fit;
        the estimator itself is never fitted. If each arm has its own model, each arm has its own
        clone.
    name : str
        Name of the preset.

    Returns
    -------
    type
        A subclass of :class:`.Learner`.

    Raises
    ------
    LearnerError
        If ``estimator`` is not an estimator.
    """
    from sklearn.base import BaseEstimator, clone

    if not (isinstance(estimator, BaseEstimator) and hasattr(estimator, "predict")):
        raise LearnerError(
            f"from_sklearn: given {estimator!r}, allowed: a regressor or classifier of "
            "scikit-learn, made with its parameters: Ridge(alpha=1.0)"
        )
    template = clone(estimator)

    def fresh(cls: type[SklearnLearner]) -> Any:
        del cls
        return clone(template)

    kind = type(estimator).__name__
    learner: type[SklearnLearner] = type(
        f"{kind}Learner",
        (SklearnLearner,),
        {
            "__qualname__": f"from_sklearn({name!r})",  # the same name again is the same learner
            "estimator": classmethod(fresh),
            "__doc__": f"Plays the arm with the largest reward that {kind} predicts.\n\n"
            + (SklearnLearner.__doc__ or "").partition("\n\n")[2],
        },
        name=name,
    )
    return learner
