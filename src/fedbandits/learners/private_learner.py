"""A learner in plain Python whose agents share under differential privacy.

The author defines the numbers that one interaction adds to the shared sum. fedbandits adds up, adds
noise and states the claim, so the author cannot get these wrong.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from fedbandits._typing import Floats
from fedbandits.errors import LearnerError
from fedbandits.facts import ContextualFacts
from fedbandits.learners.learner import Learner


class PrivateLearner(Learner):
    """Base class of learners that share noisy sums of their records.

    A subclass overrides :meth:`record`, :meth:`receive` and :meth:`decide`. In rounds that are
    fixed in advance, fedbandits adds up the records of each agent, and adds noise to the sum. Every
    agent then receives the total of all agents::

        @fb.register
        class PrivateMeans(fb.PrivateLearner):
            "Plays the arm with the largest noisy mean, and a random one now and then."

            explore: float = 0.1
            record_bound = 2**0.5  # one 1, and a reward of at most 1

            def begin(self):
                self.counts, self.sums = np.zeros((2, self.facts.arms))

            def record(self, context, arm, reward):
                added = np.zeros((2, self.facts.arms))
                added[:, arm] = 1.0, reward
                return added.ravel()

            def receive(self, total):
                self.counts, self.sums = total.reshape(2, -1)

            def decide(self, contexts, draws):
                if draws.bernoulli(self.explore):
                    return draws.integer(len(contexts))
                means = self.sums / np.maximum(self.counts, 1.0 + self.noise_deviation)
                return np.argmax(means[: len(contexts)])

    Such an agent acts only on releases. A learner that also overrides :meth:`observe` can act on
    its own records at once. Its privacy claim is weaker, because it holds only for a fixed log of
    interactions.

    Parameters
    ----------
    facts, rounds, agent, **settings
        See :class:`.Learner`. All private learners have these settings:

        ``record_bound``
            A bound on the Euclidean norm of every record. A larger bound needs more noise. If a
            subclass can compute the bound, ``record_bound`` is a property there, and not a setting.
        ``out_of_bounds``
            The treatment of a record with a larger norm. ``refuse`` stops the run. ``clip`` scales
            the record down.
        ``epsilon``, ``delta``
            The budget of an agent, for everything that it sends.
        ``schedule``
            The rounds of releases, see :class:`.SharingConfig`.
    """

    record_bound: Annotated[float, Meta(ge=1e-6, le=1e6)] = 1.0
    out_of_bounds: Literal["refuse", "clip"] = "refuse"
    epsilon: Annotated[float, Meta(gt=0.0, le=1e6)] = 1.0
    delta: Annotated[float, Meta(gt=0.0, lt=1.0)] = 1e-5

    def __init__(
        self, facts: ContextualFacts, rounds: int = 1, agent: int = 0, **settings: Any
    ) -> None:
        self._noise_deviation = 0.0
        super().__init__(facts, rounds, agent, **settings)

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise in each number of the newest total; 0 before the first.

        The noise is Gaussian and independent, and has this deviation in every number. The value is
        set before :meth:`receive` is called.
        """
        return self._noise_deviation

    def record(self, context: Floats, arm: int, reward: float) -> Floats:
        """Return the numbers that one interaction adds to the sum that this agent releases.

        The result may depend only on the arguments, the settings, ``facts`` and ``agent``. The
        privacy guarantee needs this. The method is called on a learner that has learned nothing,
        and must not change the learner.

        Parameters
        ----------
        context : (d,) float64
            The context of the chosen arm.
        arm : int
            Number of the chosen arm.
        reward : float
            Reward of the chosen arm.

        Returns
        -------
        (size,) float64
            The record. Its size is always the same, and its Euclidean norm is at most
            ``record_bound``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no record")

    def receive(self, total: Floats) -> None:
        """Use the sum of the releases of all agents, including this one.

        Parameters
        ----------
        total : (size,) float64
            The sum of the newest releases of all agents. It contains all their records until then,
            and noise of standard deviation :attr:`noise_deviation` in every number.
        """
        raise NotImplementedError(f"{type(self).__name__} receives nothing")

    def receive_under_noise(self, total: Floats, deviation: float) -> None:
        """Store ``deviation``, the noise of ``total``, and call :meth:`receive`."""
        self._noise_deviation = deviation
        self.receive(total)

    @classmethod
    def shares(cls) -> bool:
        """Tell whether agents share; for private learners always true.

        Raises
        ------
        LearnerError
            If ``record`` or ``receive`` is missing, or the class has a ``release``.
        """
        for name in ("record", "receive"):
            if getattr(cls, name) is getattr(PrivateLearner, name):
                raise LearnerError(
                    f"{cls.__name__}: a private learner needs {name}, but it is missing"
                )
        if cls.release is not Learner.release:
            raise LearnerError(
                f"{cls.__name__}.release: a private learner overrides record instead; fedbandits "
                "releases the sum of records with noise"
            )
        return True
