"""What loops over rounds do with a joint view, and what they do without one.

They are given the :class:`~fedbandits.learners.joint.Joint` of an agent, or None. Which one it is
decides what they are compiled to: where nobody has a joint view, nothing of one is compiled.
"""

from __future__ import annotations

from typing import Any

from fedbandits._compile import borrowing, implements, implements_others, inlined
from fedbandits._typing import Bools, Floats, Floats32
from fedbandits.learners.joint import Joint, observe_joint, one_joint
from fedbandits.learners.joint_release import JointTerms
from fedbandits.learners.linucb import best_of_smaller


def joint_of(joints: Joint | None, agent: int) -> Joint | None:
    """What one agent knows; None if ``joints`` is.

    Parameters
    ----------
    joints : Joint or None
        What all agents know.
    agent : int
        Number of the agent.
    """
    raise NotImplementedError(_only_compiled(joints))


@implements(joint_of, Joint)
def _one(joints: Any, agent: Any) -> Any:
    return one_joint(joints, agent)


@implements_others(joint_of)
def _none(joints: Any, agent: Any) -> Any:
    return None


def acted_on(
    joint: Joint | None, theta: Floats32, width: Floats32
) -> tuple[Floats32, Floats32]:  # fmt: skip
    """The estimate and the width that arms are scored with: of the joint view, if there is one.

    Parameters
    ----------
    joint : Joint or None
        What the agent knows, with a joint view.
    theta, width : float32
        What it acts on otherwise.
    """
    raise NotImplementedError(_only_compiled(joint))


@implements(acted_on, Joint)
@inlined
def _joint_one(joint: Any, theta: Any, width: Any) -> Any:
    return joint.theta, joint.width


@implements_others(acted_on)
@inlined
def _other_one(joint: Any, theta: Any, width: Any) -> Any:
    return theta, width


def best_cut(
    joint: Joint | None, theta: Floats32, width: Floats32, features: Floats32, first: int,
    arm: int, scores: Floats32,
) -> int:  # fmt: skip
    """The arm that wins once a second bound cuts scores down; without a joint view none does.

    Parameters
    ----------
    joint : Joint or None
        What the agent knows, with a joint view.
    theta, width, features, first, arm, scores
        See :func:`best_where_cut`.
    """
    raise NotImplementedError(_only_compiled(joint))


@implements(best_cut, Joint)
def _of_two(
    joint: Any, theta: Any, width: Any, features: Any, first: Any, arm: Any, scores: Any
) -> Any:
    return best_where_cut(joint.cuts, theta, width, features, first, arm, scores)


@implements_others(best_cut)
def _of_one(
    joint: Any, theta: Any, width: Any, features: Any, first: Any, arm: Any, scores: Any
) -> Any:
    return arm


@borrowing
def best_where_cut(
    cuts: Bools, theta: Floats32, width: Floats32, features: Floats32, first: int, arm: int,
    scores: Floats32,
) -> int:  # fmt: skip
    """The arm of the highest score of two, if the second one counts anywhere.

    Parameters
    ----------
    cuts : (models,) bool
        Where it counts.
    theta, width, features, first, arm, scores
        See :func:`~fedbandits.learners.linucb.best_of_smaller`.
    """
    some = False
    for m in range(cuts.size):
        some |= cuts[m]
    return best_of_smaller(features, theta, width, cuts, first, arm, scores) if some else arm


def learn_jointly(
    joint: Joint | None, terms: JointTerms, m: int, context: Floats, reward: float,
    rounding: float, gain: Floats, moved: Floats,
) -> None:  # fmt: skip
    """Let an own record count at once in a joint view; without one, nothing happens.

    Parameters
    ----------
    joint : Joint or None
        What the agent knows.
    terms, m, context, reward, rounding, gain, moved
        See :func:`~fedbandits.learners.joint.observe_joint`.
    """
    raise NotImplementedError(_only_compiled(joint))


@implements(learn_jointly, Joint)
def _learn(
    joint: Any, terms: Any, m: Any, context: Any, reward: Any, rounding: Any, gain: Any, moved: Any
) -> Any:
    observe_joint(terms, joint, m, context, reward, rounding, gain, moved)


@implements_others(learn_jointly)
def _learn_not(
    joint: Any, terms: Any, m: Any, context: Any, reward: Any, rounding: Any, gain: Any, moved: Any
) -> Any:
    return None


def _only_compiled(joint: Joint | None) -> str:
    return f"compiled code alone asks what to do with {type(joint).__name__}"
