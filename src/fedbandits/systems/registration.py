"""``fb.register``: one call makes a world, a learner or a system known."""

from __future__ import annotations

from typing import Any, TypeVar

from fedbandits.environments.base import Environment
from fedbandits.environments.registry import register_environment
from fedbandits.errors import ConfigError
from fedbandits.learners.learner import Learner, refuse_unfinished
from fedbandits.systems.base import System
from fedbandits.systems.registry import register_system

AnyThing = TypeVar("AnyThing", bound=System[Any] | type[Environment] | type[Learner])


def register(thing: AnyThing) -> AnyThing:
    """Register an environment, a learner or a system; also as a decorator of a class.

    The registration lasts as long as this process. In a TOML file, ``module = "coins.py"`` names a
    module that registers something. An installed package registers its own through the entry points
    ``fedbandits.environments``, ``fedbandits.learners`` and ``fedbandits.systems``.

    Parameters
    ----------
    thing
        A subclass of :class:`fb.environments.Environment <.Environment>`, a subclass of
        :class:`fb.Learner <.Learner>`, or an instance of :class:`fb.System <.System>`.

    Returns
    -------
    The same thing.

    Raises
    ------
    ConfigError
        If ``thing`` is none of these, or its name is taken.
    LearnerError
        If a learner's settings cannot be used.
    """
    if isinstance(thing, System):
        register_system(thing)
    elif isinstance(thing, type) and issubclass(thing, Environment):
        register_environment(thing)
    elif isinstance(thing, type) and issubclass(thing, Learner):
        from fedbandits.systems.python_learners import LearnerSystem

        learner = LearnerSystem(thing)
        refuse_unfinished(thing)
        learner.config_type()  # a default that its type does not allow is refused here
        register_system(learner)
    else:
        raise ConfigError(
            f"register: given {thing!r}, allowed: a subclass of fb.environments.Environment or of "
            "fb.Learner, or an instance of fb.System"
        )
    return thing
