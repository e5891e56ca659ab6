"""What compiled loops tell an environment about the chosen arms."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from fedbandits._compile import implements_others


def note_choice(world: Any, agent: int, round_: int, arm: int) -> None:
    """Tell a world which arm was chosen, before the reward is drawn.

    Most worlds have no implementation: then nothing happens. A world that plays back a log keeps
    the choices, because estimates are made from them.

    Parameters
    ----------
    world : named tuple
    agent, round_, arm
        Number of the agent, the round, and the number of the arm.
    """
    raise NotImplementedError(f"no environment claims {type(world).__name__}")


@implements_others(note_choice)
def _note_nothing(world: Any, agent: Any, round_: Any, arm: Any) -> Any:
    return


def noted_in(world: Any) -> dict[str, NDArray[Any]]:
    """The arrays of ``world`` that change in a run, by name: checkpoints keep them.

    They are in a named tuple that is called ``noted``. Most worlds have none.
    """
    noted = getattr(world, "noted", None)
    return {} if noted is None else dict(noted._asdict())
