"""A world in plain Python: contexts and expected rewards come from numpy code.

Compiled loops call Python for every decision set. So such a world is slower than a compiled one.
All systems can play in it, and all get the same random draws.
"""

from __future__ import annotations

from typing import Any, ClassVar

from fedbandits._typing import Floats
from fedbandits.draws import Draws
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.environments.python_worlds import WorldInPython, begun
from fedbandits.errors import DataError
from fedbandits.random import Key


class PythonEnvironment(ContextualEnvironment, frozen=True, kw_only=True):
    """Base class of contextual environments in plain Python.

    In a subclass, settings are fields. :attr:`dimension` and :attr:`arm_count` give the size of a
    decision set, and :meth:`decision_set` makes one::

        @fb.register
        class Coins(fb.environments.PythonEnvironment, tag="coins"):
            "Coins to toss; the context of an arm is its unit vector."

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

    A method may use only its arguments and its settings. Different systems ask in different orders,
    and each must get the same world.

    Parameters
    ----------
    agents
        Number of agents, M.
    """

    DRIFT_REMEDY: ClassVar[str] = (
        "its method decision_set gets the round, so let it return other expected rewards from some "
        "round on"
    )

    def begin(self, draws: Draws) -> Any:
        """Draw what stays the same in one replicate; other methods get it as ``world``.

        All that is random in it comes from ``draws``.
        """
        del draws

    def decision_set(
        self, world: Any, agent: int, round_: int, draws: Draws
    ) -> tuple[Floats, Floats]:
        """Return contexts and expected rewards of the arms that an agent can choose in a round.

        Parameters
        ----------
        world
            What :meth:`begin` returned.
        agent, round_ : int
            Number of the agent (the first is 0), and of the round (the first is 1).
        draws : Draws
            The source of all that is random in it.

        Returns
        -------
        contexts : (arms, d) float
            One row for each arm, of norm at most ``facts.context_norm``. If each arm has its own
            model (:attr:`models`), the shape is (1, d).
        expected : (arms,) float
            Expected reward of each arm, within ``facts.reward_range``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no decision_set")

    def draw_reward(self, world: Any, expected: float, draws: Draws) -> float | None:
        """Draw the reward of an arm with the expected reward ``expected``; by default 1 or 0.

        Parameters
        ----------
        world
            What :meth:`begin` returned.
        expected : float
            The expected reward of the arm, from :meth:`decision_set`.
        draws : Draws
            The source of randomness. It gives all systems the same draws for the same agent and
            round.

        Returns
        -------
        float or None
            The reward, within ``facts.reward_range``. None if it is never observed: then nothing is
            learned from the decision.
        """
        del world
        return float(draws.bernoulli(expected))

    def person(self, world: Any, agent: int, round_: int, draws: Draws) -> int:
        """Return the number of the person who comes, from 0; a guarantee for persons needs it.

        ``facts.persons`` says how many persons there are. By default it is not known who comes.

        Parameters
        ----------
        world
            What :meth:`begin` returned.
        agent, round_ : int
            Number of the agent (the first is 0), and of the round (the first is 1).
        draws : Draws
            The source of randomness; it gives the same draws as in :meth:`decision_set`.
        """
        raise DataError(
            f"{type(self).__name__}.person: not defined, so persons cannot be protected here; "
            'define it, or set unit = "record"'
        )

    def world(self, key: Key) -> Any:
        return begun(self, key)

    def open(self, key: Key, world: Any = None, asks_persons: bool = False) -> WorldInPython:
        del world
        return WorldInPython(self, key, asks_persons and self.facts.persons is not None)
