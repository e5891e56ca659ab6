"""A learner in plain Python whose agents share under differential privacy.

Its author says what one interaction adds to what is shared. The sums, the noise and the price are
not the author's to get right: fedbandits adds up, adds noise and states the claim.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from fedbandits._typing import Floats
from fedbandits.environments.facts import ContextualFacts
from fedbandits.errors import LearnerError
from fedbandits.learners.learner import Learner


class PrivateLearner(Learner):
    """One agent's algorithm, which shares sums of records under noise.

    A subclass overrides :meth:`record`, :meth:`receive` and :meth:`decide`. fedbandits adds up an
    agent's records, adds noise to the sum and tells it the others, at rounds that are fixed in
    advance. Every agent then receives the total of all agents::

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
                return np.argmax(self.sums / np.maximum(self.counts, self.noise_deviation + 1.0))

    An agent so acts on what is released, and on nothing else. A learner that overrides
    :meth:`observe` too acts on its own records at once. Its claim is weaker: it holds for a fixed
    log of interactions (:doc:`privacy <privacy>`).

    Parameters
    ----------
    facts, rounds, agent, **settings
        See :class:`.Learner`. All private learners have these settings:

        ``record_bound``
            A bound on the Euclidean norm of every record. The noise grows with it. A subclass that
            can work it out makes it a property; then it is no setting.
        ``out_of_bounds``
            What happens to a record that is longer: ``refuse`` stops the run, ``clip`` scales the
            record down.
        ``epsilon``, ``delta``
            The budget of an agent, for all that it ever tells.
        ``schedule``
            When agents release, see :class:`.SharingConfig`.
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

        All numbers have the same, and their noise is independent and Gaussian. It is there when
        :meth:`receive` is called.
        """
        return self._noise_deviation

    def record(self, context: Floats, arm: int, reward: float) -> Floats:
        """What one interaction adds to the sum that this agent releases.

        It must follow from its arguments, the settings, ``facts`` and ``agent``, and from nothing
        else: the guarantee rests on it. It is called on a learner that has learned nothing, and
        that must stay so.

        Parameters
        ----------
        context : (d,) float64
            The context of the arm that was chosen.
        arm : int
            Its number.
        reward : float
            Its reward.

        Returns
        -------
        (size,) float64
            Always of the same size, and of a Euclidean norm of at most ``record_bound``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no record")

    def receive(self, total: Floats) -> None:
        """Take over what all agents have released, this one included.

        Parameters
        ----------
        total : (size,) float64
            The sum of every agent's newest release: of all their records until then, plus noise of
            deviation :attr:`noise_deviation` in every number.
        """
        raise NotImplementedError(f"{type(self).__name__} receives nothing")

    def receive_under_noise(self, total: Floats, deviation: float) -> None:
        """Note the noise of a total, then :meth:`receive` it; the agent calls this."""
        self._noise_deviation = deviation
        self.receive(total)

    @classmethod
    def shares(cls) -> bool:
        """Whether agents exchange anything: they do.

        Raises
        ------
        LearnerError
            If ``record`` or ``receive`` is missing, or there is a ``release``.
        """
        for name in ("record", "receive"):
            if getattr(cls, name) is getattr(PrivateLearner, name):
                raise LearnerError(f"{cls.__name__}: a private learner has {name}; it is missing")
        if cls.release is not Learner.release:
            raise LearnerError(
                f"{cls.__name__}.release: a private learner has record in its place; what is "
                "released is the sum of records, under noise"
            )
        return True
