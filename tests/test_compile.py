from __future__ import annotations

import copy
import functools
import inspect
import math
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from typing import NamedTuple

import cloudpickle
import numba
import pytest

from fedbandits import _compile
from fedbandits._compile import compiled, fma, folder, implements, inlined
from fedbandits._compile.sources import shards
from fedbandits.errors import CacheWarning
from fedbandits.systems.registry import BUILT_IN

A = 1.0 + 2.0**-30


@numba.njit
def fused(a, b, c):
    return fma(a, b, c)


def test_fma_rounds_once():
    # A·A - 1 exactly is 2^-29 + 2^-60; rounding the product first loses the last term.
    assert fused(A, A, -1.0) == 2.0**-29 + 2.0**-60
    assert A * A - 1.0 == 2.0**-29


@pytest.fixture
def package(tmp_path):
    """A copy of the package's sources."""
    copy = tmp_path / "fedbandits"
    shutil.copytree(_compile.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


SYSTEMS = set(BUILT_IN)


@pytest.mark.parametrize(
    ("module", "cooled"),
    [
        ("learners/ridge.py", SYSTEMS),
        ("privacy/gaussian.py", SYSTEMS),  # holds no kernel, but numbers that kernels may bake in
        ("environments/linear.py", SYSTEMS),  # reached by the type of the world, not by an import
        ("systems/games.py", SYSTEMS),
        ("systems/pfcb/plan.py", {"pfcb"}),
        ("systems/fclub/plan.py", {"fclub"}),
        ("systems/feducb/loop.py", {"feducb"}),
        ("systems/agents/play.py", SYSTEMS),  # shared: what lies beside the systems counts for all
        ("experiments/report/page.py", set()),
        ("cli/main.py", set()),
    ],
)
def test_an_edit_cools_what_can_reach_it_and_nothing_else(package, module, cooled):
    before = shards(package)
    reachable = _compile.kernels_digest(package)
    with (package / module).open("a", encoding="utf-8") as file:
        file.write("# an edit\n")
    shards.cache_clear()
    after = shards(package)
    assert {name for name in SYSTEMS if differ(before, after, f"systems/{name}")} == cooled
    assert differ(before, after, "ground") is (cooled == SYSTEMS and "systems" not in module)
    assert (_compile.kernels_digest(package) != reachable) is bool(cooled)


def differ(before, after, room):
    return before.digest(room) != after.digest(room)


def test_kernels_divide_by_zero_quietly():
    @compiled
    def divide(a, b):
        return a / b

    assert divide(1.0, 0.0) == math.inf


SCRIPT = """
import sys
from typing import NamedTuple
from fedbandits._compile import compiled
sys.path.insert(0, {folder!r})
import kernel
{setup}
print(kernel.first(mine))
"""


def test_a_type_that_is_gone_does_not_spoil_the_cache(tmp_path):
    """A named tuple of one script must not keep the next one from running."""
    (tmp_path / "kernel.py").write_text(
        "from fedbandits._compile import compiled\n\n\n"
        "@compiled\ndef first(pair):\n    return pair[0]\n",
        encoding="utf-8",
    )
    (tmp_path / "gone.py").write_text(
        "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    a: int\n",
        encoding="utf-8",
    )
    cache = tmp_path / "cache"
    home = _compile.PACKAGE.parent
    for setup in ("import gone; mine = gone.Pair(7)", "mine = (7,)"):
        script = SCRIPT.format(folder=str(tmp_path), setup=setup)
        assert run(script, home, cache=cache) == ["7"]
        (tmp_path / "gone.py").unlink(missing_ok=True)
    assert any(cache.rglob("*.nbi"))


def run(script, *folders, cache, check=True, **settings):
    """Run a script in a process of its own; what it printed."""
    own = os.environ | {
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit of the same length in the same second counts
    }
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, env=own | settings, check=check, capture_output=True, text=True)
    return done.stdout.split() if check else done.stderr


def write(folder, **texts):
    for name, text in texts.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def small(tmp_path):
    """A package of the same name with this one's way of compiling and two tiny systems."""
    home = tmp_path / "home"
    package = home / "fedbandits"
    package.mkdir(parents=True)
    for name in ("_compile", "errors.py"):
        source = _compile.PACKAGE / name
        if source.is_dir():
            hidden = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, package / name, ignore=hidden)
        else:
            shutil.copy(source, package / name)
    for room in ("", "systems", "systems/one", "systems/two", "environments"):
        (package / room).mkdir(exist_ok=True)
        (package / room / "__init__.py").touch()
    write(
        package,
        environments__base="""
            def reward(world, arm):
                raise NotImplementedError
            """,
        systems__one__plan="""
            from typing import NamedTuple
            FACTOR = 2.0
            class Rules(NamedTuple):
                low: float
                high: float
            def offset(rounds):
                return rounds + 100.0
            """,
        systems__one__loop="""
            from fedbandits._compile import compiled
            from fedbandits.environments.base import reward
            from fedbandits.systems.one.plan import FACTOR, Rules, offset
            OFFSET = offset(1000.0)
            @compiled
            def radius(rules):
                return rules.high * FACTOR + OFFSET
            @compiled
            def play(world):
                return FACTOR * reward(world, 0)
            """,
        systems__two__loop="""
            from fedbandits._compile import compiled
            @compiled
            def nothing():
                return 0
            """,
    )
    return home


RADIUS = """
from fedbandits.systems.one.loop import Rules, radius
print(radius(Rules(1.0, 10.0)), sum(radius.stats.cache_hits.values()))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("FACTOR = 2.0", "FACTOR = 3.0", "1130.0"),
        ("rounds + 100.0", "rounds - 100.0", "920.0"),
        ("low: float\n    high: float", "high: float\n    low: float", "1102.0"),
    ],
    ids=["constant", "helper", "layout"],
)
def test_what_a_kernel_bakes_in_from_a_module_without_kernels_is_noticed(
    small, tmp_path, old, new, expected
):
    cache = tmp_path / "cache"
    assert run(RADIUS, small, cache=cache) == ["1120.0", "0"]
    assert run(RADIUS, small, cache=cache) == ["1120.0", "1"]
    edit(small / "fedbandits/systems/one/plan.py", old, new)
    assert run(RADIUS, small, cache=cache) == [expected, "0"]


def test_an_edit_in_one_system_leaves_what_the_others_compiled(small, tmp_path):
    cache = tmp_path / "cache"
    run(RADIUS, small, cache=cache)
    with (small / "fedbandits/systems/two/loop.py").open("a", encoding="utf-8") as file:
        file.write("# an edit\n")
    assert run(RADIUS, small, cache=cache) == ["1120.0", "1"]


COINS = """
from coins import Coins
from fedbandits.systems.one.loop import play
print(play(Coins(5.0)), sum(play.stats.cache_hits.values()))
"""


@pytest.fixture
def foreign(tmp_path):
    """Somebody's own environment, with two modules of its own."""
    folder = tmp_path / "own"
    write(
        folder,
        coins="""
            import os
            from typing import NamedTuple
            import rates
            from fedbandits._compile import compiled, implements
            from fedbandits.environments.base import reward
            UNIT = float(os.environ.get("UNIT", "1"))
            class Coins(NamedTuple):
                mean: float
            @compiled
            def scaled(mean):
                return mean * rates.RATE * UNIT
            @implements(reward, Coins)
            def _reward(world, arm):
                return scaled(world.mean) + 1.0
            """,
        rates="""
            from units import FULL
            RATE = FULL * 1.0
            """,
        units="FULL = 1.0\n",
    )
    return folder


@pytest.mark.parametrize(
    ("module", "old", "new", "expected"),
    [
        ("coins.py", "+ 1.0", "+ 2.0", "14.0"),
        ("rates.py", "FULL * 1.0", "FULL * 2.0", "22.0"),
        ("units.py", "FULL = 1.0", "FULL = 3.0", "32.0"),
    ],
)
def test_an_edit_of_somebody_elses_module_is_noticed(
    small, foreign, tmp_path, module, old, new, expected
):
    folders, cache = (small, foreign), tmp_path / "cache"
    assert run(COINS, *folders, cache=cache) == ["12.0", "0"]
    assert run(COINS, *folders, cache=cache) == ["12.0", "1"]
    edit(foreign / module, old, new)
    assert run(COINS, *folders, cache=cache) == [expected, "0"]


def test_a_value_that_came_from_elsewhere_is_noticed(small, foreign, tmp_path):
    cache = tmp_path / "cache"
    assert run(COINS, small, foreign, cache=cache, UNIT="1") == ["12.0", "0"]
    assert run(COINS, small, foreign, cache=cache, UNIT="3") == ["32.0", "0"]
    assert run(COINS, small, foreign, cache=cache, UNIT="1") == ["12.0", "1"]


@pytest.fixture
def worlds(small):
    """Two worlds of the package's own, and a kernel that makes one of them by itself."""
    for name, rate in (("coin", "1"), ("dice", "5")):
        module = f"""
            import os
            from typing import NamedTuple
            from fedbandits._compile import implements
            from fedbandits.environments.base import reward
            UNIT = float(os.environ.get("UNIT", "{rate}"))
            class {name.title()}(NamedTuple):
                mean: float
            @implements(reward, {name.title()})
            def _reward(world, arm):
                return world.mean * UNIT
            """
        write(small / "fedbandits", **{f"environments__{name}": module})
    inside = """
            from fedbandits._compile import compiled
            from fedbandits.environments.base import reward
            from fedbandits.environments.dice import Dice
            @compiled
            def cast():
                return reward(Dice(3.0), 0)
            """
    write(small / "fedbandits", systems__one__cast=inside)
    return small


def test_what_else_a_process_has_imported_does_not_matter(worlds, tmp_path):
    """A worker, a party or a command finds what a test or a notebook has compiled."""
    cache = tmp_path / "cache"
    play = """
from fedbandits.environments.coin import Coin
from fedbandits.systems.one.loop import play
print(play(Coin(5.0)), sum(play.stats.cache_hits.values()))
"""
    other = "import fedbandits.environments.dice\n"
    assert run(other + play, worlds, cache=cache) == ["10.0", "0"]
    assert run(play, worlds, cache=cache) == ["10.0", "1"]
    assert run(play + other + play, worlds, cache=cache) == ["10.0", "1"] * 2


def test_values_behind_a_type_that_a_kernel_makes_itself_are_noticed(worlds, tmp_path):
    cache = tmp_path / "cache"
    cast = """
from fedbandits.systems.one.cast import cast
print(cast(), sum(cast.stats.cache_hits.values()))
"""
    assert run(cast, worlds, cache=cache) == ["15.0", "0"]
    assert run(cast, worlds, cache=cache, UNIT="2") == ["6.0", "0"]
    assert run(cast, worlds, cache=cache) == ["15.0", "1"]


def test_what_has_no_file_is_never_kept(small, tmp_path):
    """A notebook's implementation for a type of a module: only the latter can be told apart."""
    cache = tmp_path / "cache"
    write(
        tmp_path / "own", coin="from typing import NamedTuple\nclass Coin(NamedTuple):\n    p: int"
    )
    script = """
from coin import Coin
from fedbandits._compile import implements
from fedbandits.environments.base import reward
from fedbandits.systems.one.loop import play
@implements(reward, Coin)
def _reward(world, arm):
    return world.p * {times}
print(play(Coin(1)))
"""
    for times in (1, 10):
        own = script.format(times=times)
        assert run(own, small, tmp_path / "own", cache=cache) == [str(2.0 * times)]


def test_an_edit_while_the_process_runs_does_not_spoil_the_cache(small, tmp_path):
    """What was imported is compiled, not what lies on the disk by then."""
    cache = tmp_path / "cache"
    plan = small / "fedbandits/systems/one/plan.py"
    replace = f"""
import pathlib
plan = pathlib.Path({str(plan)!r})
import fedbandits.systems.one.loop
plan.write_text(plan.read_text().replace("FACTOR = 2.0", "FACTOR = 3.0"))
"""
    assert run(replace + RADIUS, small, cache=cache) == ["1120.0", "0"]
    assert run(RADIUS, small, cache=cache)[0] == "1130.0"


@pytest.mark.parametrize("shared", ["cache", "."])
def test_a_folder_that_others_can_write_to_is_refused(small, tmp_path, shared):
    cache = tmp_path / "top" / "cache"
    cache.mkdir(parents=True, mode=0o700)
    (tmp_path / "top" / shared if shared == "cache" else tmp_path / "top").chmod(0o777)
    said = run(RADIUS, small, cache=cache, check=False)
    assert "CacheWarning" in said
    assert "can be written by others (mode 0777" in said
    assert not any(cache.iterdir())


def test_a_relative_folder_is_refused(small, tmp_path):
    said = run(RADIUS, small, cache="somewhere", check=False)
    assert "'somewhere' is not an absolute path" in said


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    assert folder.private(str(path)) == str(path.resolve())
    assert path.stat().st_mode & 0o777 == 0o700
    folder.private.cache_clear()
    owner = path.stat().st_uid
    monkeypatch.setattr(folder.os, "getuid", lambda: owner + 1)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert folder.private(str(path)) is None
    monkeypatch.undo()
    folder.private.cache_clear()


LAZY = """
import importlib, pkgutil, sys
import fedbandits
rooms = ("random", "environments", "learners", "privacy", "crypto", "federation", "systems")
for found in pkgutil.walk_packages(fedbandits.__path__, "fedbandits."):
    # That one is how compiled code calls a world in plain Python: compiled loops import it.
    if found.name.split(".")[1] in rooms and not found.name.endswith(".python_calls"):
        importlib.import_module(found.name)
print("numba" in sys.modules, "llvmlite" in sys.modules)
"""


def test_defining_kernels_does_not_bring_in_numba(tmp_path):
    assert run(LAZY, _compile.PACKAGE.parent, cache=tmp_path) == ["False", "False"]


TOLD = """
from fedbandits._compile import compilations
with compilations(lambda name: print(name)):
    from coins import Coins
    from fedbandits.systems.one.loop import play
    play(Coins(5.0))
    play(Coins(6.0))
"""


def test_who_wants_to_know_is_told_what_is_compiled_and_not_what_is_found(small, foreign, tmp_path):
    told = ["fedbandits.systems.one.loop.play", "coins.scaled"]
    assert run(TOLD, small, foreign, cache=tmp_path / "cache") == told
    assert run(TOLD, small, foreign, cache=tmp_path / "cache") == []


AT_ONCE = """
import threading
from fedbandits.systems.one.loop import Rules, radius
start, found = threading.Barrier(8), []
def first():
    start.wait()
    found.append((radius(Rules(1.0, 10.0)), id(radius.overloads)))
threads = [threading.Thread(target=first) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found), len(set(found)), len(radius.signatures))
"""


def test_threads_may_call_a_kernel_for_the_first_time_at_once(small, tmp_path):
    assert run(AT_ONCE, small, cache=tmp_path / "cache") == ["8", "1", "1"]


class Pair(NamedTuple):
    first: int
    second: int


def chosen(pair):
    raise NotImplementedError


@inlined
def doubled(number):
    return 2 * number


@compiled
def doubled_sum(pair):
    return doubled(pair.first) + doubled(pair.second)


implements(chosen, Pair)(doubled_sum)


@compiled
def choose(pair):
    return chosen(pair)


@compiled
def apply(function, number):
    return function(number)


@compiled
def factorial(number):
    if number < 2:
        return 1
    return number * factorial(number - 1)


def with_default(number, function=factorial):
    return function(number)


def test_kernels_call_kernels_however_they_reach_them():
    assert choose(Pair(3, 4)) == 14
    assert apply(factorial, 5) == 120
    assert apply(doubled, 5) == 10
    assert factorial(4) == 24
    assert with_default(5) == 120
    assert functools.partial(apply, factorial)(6) == 720

    @compiled
    def closing(number):
        return doubled(number) + factorial(number)

    @compiled
    def closing_over_it(number):
        return closing(number) + 1

    assert closing_over_it(3) == 13
    assert closing.py_func(3) == 12


def test_a_kernel_has_what_its_function_and_its_dispatcher_have():
    assert doubled_sum.__name__ == "doubled_sum"
    assert doubled_sum.__doc__ is None
    assert list(inspect.signature(doubled_sum).parameters) == ["pair"]
    assert doubled_sum.py_func(Pair(1, 2)) == 6
    doubled_sum(Pair(1, 2))
    assert len(doubled_sum.signatures) == len(doubled_sum.nopython_signatures) >= 1
    assert not hasattr(doubled_sum, "nothing_of_that_name")


def test_a_kernel_travels_by_its_name():
    assert pickle.loads(pickle.dumps(factorial)) is factorial
    assert pickle.loads(pickle.dumps(functools.partial(apply, factorial)))(5) == 120
    assert copy.deepcopy([factorial])[0] is factorial
    assert pickle.loads(pickle.dumps(fma)) is not None


def test_a_kernel_without_a_name_travels_as_what_it_is_made_of():
    @compiled
    def tripled(number):
        return 3 * number

    assert cloudpickle.loads(cloudpickle.dumps(tripled))(4) == 12


def test_a_helper_edited_between_its_import_and_ours_is_not_mistaken_for_its_file(tmp_path):
    """What is compiled of a loaded function is filed under what it does, not under its file."""
    write(
        tmp_path,
        helper="import numba\n\n\n@numba.njit\ndef f(x):\n    return x + 1\n",
        kernel="""
            import helper

            from fedbandits._compile import compiled


            @compiled
            def kernel(x):
                return helper.f(x)
        """,
    )
    edited = (
        "import pathlib, helper\n"
        f"file = pathlib.Path({str(tmp_path / 'helper.py')!r})\n"
        "file.write_text(file.read_text().replace('x + 1', 'x + 2'))\n"
        "from kernel import kernel\nprint(kernel(0))\n"
    )
    home, cache = _compile.PACKAGE.parent, tmp_path / "cache"
    assert run(edited, tmp_path, home, cache=cache) == ["1"]
    assert run("from kernel import kernel\nprint(kernel(0))", tmp_path, home, cache=cache) == ["2"]


NESTED = """
import numpy as np
from fedbandits._compile import compiled

@compiled
def inner(values, scale):
    if scale < 0.0:
        raise ValueError("a scale below zero")
    return values * scale

@compiled
def outer(values, scale):
    return inner(values, scale).sum()
"""
PLAYED = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
import nest
from fedbandits._compile.nested import is_for_python

def callable_from_python():
    return [is_for_python(one) for one in nest.inner.overloads.values()]

{calls}
"""


def test_machine_code_of_a_nested_kernel_waits_for_python(tmp_path):
    """It is in the caller's code; in a later process Python gets it from what was kept."""
    (tmp_path / "nest.py").write_text(NESTED, encoding="utf-8")

    def played(calls):
        script = PLAYED.format(folder=str(tmp_path), calls=calls)
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False,
            env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    outer = "print(nest.outer(np.ones(3), 2.0), *callable_from_python())"
    inner = "print(nest.inner(np.ones(2), 3.0).sum(), *callable_from_python())"
    refused = """
try:
    nest.outer(np.ones(3), -1.0)
except ValueError as error:
    print(str(error).replace(" ", "_"))
"""
    assert played(outer + "\n" + refused) == ["6.0", "False", "a_scale_below_zero"]
    assert played(inner) == ["6.0", "True"]
    # It was kept again, with its machine code: callers take that one from now on.
    kept = 'nest.outer.compile("float64(float64[::1], float64)")\n' + inner
    assert played(kept) == ["6.0", "True"]
    assert played(inner + "\n" + outer) == ["6.0", "True", "6.0", "True"]
    both = inner + "\n" + refused.replace("outer", "inner")
    assert played(both) == ["6.0", "True", "a_scale_below_zero"]


def test_python_may_call_a_nested_kernel_in_the_process_that_compiled_it():
    @compiled
    def half(number):
        return 0.5 * number

    @compiled
    def quarter(number):
        return half(half(number))

    assert quarter(8.0) == 2.0
    assert half(8.0) == 4.0
    assert quarter(4.0) == 1.0

    @compiled
    def eighth(number):
        return 0.5 * quarter(number)

    assert eighth(8.0) == 1.0
