"""Who plays in which world, and how each is made.

What a contender is made of is imported when it is made, or when its memory is counted.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from beside import contenders
from beside.streams import Stream

#: What a process needs that only reads a stream; the memory of others is counted from there.
NOBODY = "nobody"


#: Steps of those whom the whole stream would take minutes. Their regret is after as many.
FEWER = {("digits", "coba: LinTS"): 300}


def steps_of(world: str, name: str, steps: int) -> int:
    """How many of ``steps`` somebody plays in a world."""
    return min(steps, FEWER.get((world, name), steps))


class Entry(NamedTuple):
    """A contender: the package, the algorithm, and what makes it of a stream and a replicate."""

    package: str
    algorithm: str
    make: Any

    @property
    def name(self) -> str:
        """Unique in its world."""
        return f"{self.package}: {self.algorithm}"


def _mabwiser(policy: str) -> Entry:
    return Entry("mabwiser", policy, partial(contenders.MABWiser, policy=policy))


def _contextualbandits(policy: str, name: str = "", **settings: str) -> Entry:
    make = partial(contenders.ContextualBandits, policy=policy, **settings)
    return Entry("contextualbandits", name or policy, make)


def _in_batches(package: str) -> Entry:
    make = partial(contenders.InBatches, package=package)
    return Entry(package, f"LinUCB, batches of {contenders.BATCH}", make)


def _river(policy: str) -> Entry:
    return Entry("river", policy, partial(contenders.River, policy=policy))


def _coba(policy: str) -> Entry:
    return Entry("coba", policy, partial(contenders.Coba, policy=policy))


def _stepped(stream: Stream, seed: int, world: str) -> Any:
    from beside import ours, worlds

    return ours.Stepped(stream, seed, worlds.WORLDS[world])


def _batches(stream: Stream, seed: int) -> Any:
    from beside import ours

    return ours.InBatches(stream, seed)


def _in_numpy(stream: Stream, seed: int, world: str, kind: str) -> Any:
    from beside import ours, worlds

    return ours.InNumpy(stream, seed, worlds.WORLDS[world], getattr(ours, kind))


def _compiled(stream: Stream, seed: int, world: str, preset: str, equal: bool) -> Any:
    from beside import ours, worlds

    return ours.Compiled(worlds.WORLDS[world], preset, ours.LINUCB if equal else {})


def _ours(world: str) -> list[Entry]:
    """Ours, the one first that ratios are to: it is used as peers are, if there is one."""
    compiled = partial(_compiled, world=world)
    if world == "bernoulli":
        plain = {
            "UCB1, compiled": "plain-ucb",
            "UCB1-Tuned, compiled": "plain-ucb-tuned",
            "KL-UCB, compiled": "plain-kl-ucb",
            "Thompson, compiled": "plain-thompson",
        }
        return [
            Entry("fedbandits", name, partial(compiled, preset=preset, equal=False))
            for name, preset in plain.items()
        ]
    alone, drawn = (partial(compiled, preset=name) for name in ("linucb-alone", "lints-alone"))
    numpy = partial(_in_numpy, world=world)
    batches = Entry("fedbandits", f"LinUCB, batches of {contenders.BATCH}", _batches)
    return [
        Entry("fedbandits", "LinUCB, stepped", partial(_stepped, world=world)),
        Entry("fedbandits", "LinUCB, compiled", partial(alone, equal=True)),
        Entry("fedbandits", "linucb-alone as shipped, compiled", partial(alone, equal=False)),
        Entry("fedbandits", "lints-alone as shipped, compiled", partial(drawn, equal=False)),
        Entry("fedbandits", "LinUCB in numpy", partial(numpy, kind="LinUCB")),
        Entry("fedbandits", "LinTS in numpy", partial(numpy, kind="LinTS")),
        *([batches] if world != "linear" else []),
    ]


def entries(world: str) -> list[Entry]:
    """All who can play in a world.

    With a context for each arm, only coba and Vowpal Wabbit can share one model among arms.
    """
    vowpal = Entry("vowpalwabbit", "SquareCB", contenders.VowpalWabbit)
    if world == "linear":
        return [*_ours(world), _coba("LinUCB"), _coba("LinTS"), vowpal]
    if world == "bernoulli":
        peers = [
            _mabwiser("UCB1"), _mabwiser("Thompson"), _river("UCB"), _river("ThompsonSampling"),
            _coba("UCB1-Tuned"),
        ]  # fmt: skip
        return [*_ours(world), *peers, vowpal]
    peers = [
        _mabwiser("LinUCB"), _mabwiser("LinTS"), _in_batches("mabwiser"),
        _contextualbandits("LinUCB"), _contextualbandits("LinTS"),
        _contextualbandits("LinTS", "LinTS, of intervals", sample_from="ci"),
        _in_batches("contextualbandits"), _river("LinUCBDisjoint"), _coba("LinUCB"), _coba("LinTS"),
    ]  # fmt: skip
    return [*_ours(world), *peers, vowpal]
