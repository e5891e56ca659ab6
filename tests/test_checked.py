"""A wrong value is refused where an object is made, with the words of an error from a file."""

from __future__ import annotations

import math
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

import fedbandits as fb
from fedbandits._checked import Checked
from fedbandits._schema import convert
from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError
from fedbandits.facts import Facts
from fedbandits.systems import systems
from fedbandits.systems.agents.config import AgentsConfig, Determinant, Every, Growing
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.pfcb import config as pfcb


def below(kind):
    """A class and all that are made from it."""
    return [kind, *(inner for each in kind.__subclasses__() for inner in below(each))]


def of_this_package(kind):
    return kind.__module__.startswith("fedbandits.")


CHECKED = [kind for kind in below(Checked) if of_this_package(kind) and kind is not Checked]
FIELDS = [(kind, field.name) for kind in CHECKED for field in msgspec.structs.fields(kind)]


def test_what_users_make_is_checked():
    kinds = [system.config_type for system in systems()]
    kinds += [kind for kind in below(Environment) if of_this_package(kind)]
    kinds += [kind for kind in below(Facts) if of_this_package(kind)]
    parts = [
        part.cls
        for kind in kinds
        for field in inspect.type_info(kind).fields
        for part in getattr(field.type, "types", (field.type,))
        if isinstance(part, inspect.StructType)
    ]
    assert len(parts) > 20
    assert [kind for kind in (*kinds, *parts) if not issubclass(kind, Checked)] == []


@pytest.mark.parametrize(
    ("kind", "name"), FIELDS, ids=lambda value: getattr(value, "__name__", value)
)
def test_every_field_refuses_what_is_none_of_its_values(kind, name):
    others = {f.name: None for f in msgspec.structs.fields(kind) if f.required and f.name != name}
    with pytest.raises(fb.ConfigError, match=rf"^{kind.__name__}\.\w+") as refusal:
        kind(**others, **{name: object()})
    if not others:
        assert f"{kind.__name__}.{name}: given <object object" in str(refusal.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: fb.environments.Linear(agents=-3),
            "Linear.agents: given -3, allowed: a whole number ≥ 1 and ≤ 1,000,000",
        ),
        (lambda: fb.environments.Linear(agents=1.5), "Linear.agents: given 1.5, allowed: a whole"),
        (lambda: fb.environments.Linear(agents=True), "Linear.agents: given True, allowed"),
        (lambda: fb.environments.Linear(agents=10**5000), "Linear.agents: given a whole number of"),
        (lambda: fb.environments.Linear(parameter="box"), "given 'box', allowed: 'ball', 'sphere'"),
        (lambda: fb.environments.Linear(dim=2, theta=[1, math.inf]), "Linear.theta[1]: given inf"),
        (lambda: fb.environments.Linear(dim=2, theta=[1, "a"]), "theta[1]: given 'a', allowed: a "),
        (lambda: fb.environments.Linear(dim=3, theta=[1, 0]), "Linear: theta has 2 entries, dim"),
        (
            lambda: fb.environments.Linear(parameter="ball", gap=0.3),
            "Linear.gap: given 0.3, allowed: up to 0.29",
        ),
        (lambda: fb.environments.Bernoulli(means=[0.5, 2]), "Bernoulli.means[1]: given 2, allowed"),
        (lambda: Growing(factor=0.5), "Growing.factor: given 0.5, allowed: a number > 1"),
        (lambda: AgentsConfig(epsilon=-1), "AgentsConfig.epsilon: given -1, allowed: a number > 0"),
        (
            lambda: FedUCB(schedule=pfcb.Never()),
            "FedUCB.schedule: given Never() of fedbandits.systems.pfcb.config, allowed: 'every'",
        ),
        (lambda: FedUCB(schedule=Growing), "FedUCB.schedule: given <class"),
        (lambda: FedUCB(schedule="growin"), "FedUCB.schedule: given 'growin', allowed: every, "),
        (lambda: FedUCB(schedule={"kind": "every", "round": 1}), "did you mean 'rounds'?"),
        (lambda: FedUCB(schedule=Determinant()), "FedUCB: the optimal privatizer needs"),
        (lambda: pfcb.PFCB(window=[1]), "PFCB.window: given [1], allowed: a list of 2 or 'auto'"),
        (lambda: pfcb.PFCB(window=[1, "b"]), "PFCB.window[1]: given 'b', allowed: a whole number"),
    ],
)  # fmt: skip
def test_an_error_names_the_field_what_was_given_and_what_is_allowed(make, message):
    with pytest.raises(fb.ConfigError) as refusal:
        make()
    assert message in str(refusal.value)
    assert isinstance(refusal.value, ValueError)


@given(st.integers(1, 1000), st.floats(0.0, 0.28))
def test_numbers_of_numpy_and_lists_become_pythons_own(agents, gap):
    plain = fb.environments.Linear(agents=agents, gap=gap, dim=2, theta=(1.0, 0.0))
    arrays = fb.environments.Linear(
        agents=np.int64(agents), gap=np.float64(gap), dim=np.uint8(2), theta=np.array([1, 0])
    )
    assert arrays == plain == fb.environments.Linear(agents=agents, gap=gap, dim=2, theta=[1, 0])
    assert [type(value) for value in msgspec.structs.astuple(arrays)] == [
        type(value) for value in msgspec.structs.astuple(plain)
    ]
    assert all(type(entry) is float for entry in arrays.theta)


def test_a_part_may_be_given_short_or_as_a_table():
    by_hand = FedUCB(schedule=Every(100))
    assert FedUCB(schedule="every(100)") == FedUCB(schedule={"kind": "every", "rounds": 100})
    assert FedUCB(schedule="every(100)") == by_hand


def test_a_changed_copy_is_checked_too():
    with pytest.raises(fb.ConfigError, match=r"Linear\.agents: given -1"):
        msgspec.structs.replace(fb.environments.Linear(), agents=-1)


def test_from_a_file_the_key_is_named_and_not_the_class():
    with pytest.raises(fb.ConfigError) as refusal:
        convert(
            {"kind": "linear", "dim": 3, "theta": [1, 0]}, fb.environments.Linear, "environment"
        )
    assert str(refusal.value) == "environment: theta has 2 entries, dim is 3"
    with pytest.raises(fb.ConfigError) as refusal:
        convert({"schedule": "determinant"}, FedUCB, "systems[0]")
    assert str(refusal.value).startswith("systems[0]: the optimal privatizer needs")


def test_what_a_class_cannot_name_stays_a_sentence():
    class Pair(Checked, frozen=True):
        low: int
        high: int

        def validate(self) -> None:
            if self.low > self.high:
                raise ValueError("low: must not be above high" if self.low > 9 else "odd: order")

    with pytest.raises(fb.ConfigError, match=r"^Pair\.low: must not be above high$"):
        Pair(10, 9)
    with pytest.raises(fb.ConfigError, match=r"^Pair: odd: order$"):
        Pair(2, 1)
    assert Pair(1, 2).high == 2


def test_a_name_that_is_no_utf_8_is_refused_where_it_is_given():
    """No configuration and no digest could hold it."""
    with pytest.raises(ConfigError, match=r"Table\.path: given .*allowed: a name in UTF-8"):
        fb.environments.table(
            "B\udce4.csv", agents=1, features=["x"], target="y", classes=["a", "b"]
        )


FIRST_USE = """
import sys, threading, msgspec
from fedbandits._schema import prepared

sys.setswitchinterval(1e-6)  # threads take turns as often as they can
part = [(f"f{n}", int | None, None) for n in range(20)]
kinds = [
    msgspec.defstruct("Whole", [(f"p{n}", msgspec.defstruct("Part", part) | None, None)
                                for n in range(10)])
    for _ in range(60)
]
start = threading.Barrier(8)

def use():
    for kind in kinds:
        start.wait()
        msgspec.convert({"p0": {"f1": 1}}, prepared(kind))

threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_may_use_a_type_for_the_first_time_together():
    """Without a lock the process ends by a segmentation fault."""
    subprocess.run([sys.executable, "-c", FIRST_USE], check=True)
