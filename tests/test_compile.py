from __future__ import annotations

import ast
import copy
import functools
import importlib
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
import numpy as np
import pytest

from fedbandits import _compile
from fedbandits._compile import (
    LazyCFunction,
    cache,
    compiled,
    fma,
    inlined,
    laid_out,
    sources,
)
from fedbandits.errors import CacheWarning
from tests.forking import Forking

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


@pytest.mark.parametrize(
    ("module", "kernels", "results"),
    [
        ("learners/kernels/ridge.py", True, True),
        ("environments/kernels/linear.py", True, True),
        ("systems/kernels.py", True, True),
        ("random.py", True, True),
        ("_compile/vectors.py", True, True),
        ("privacy/gaussian.py", False, True),  # holds no kernel, but numbers that results rest on
        ("systems/pfcb/plan.py", False, True),
        ("experiments/run.py", False, False),
        ("client/calls.py", False, False),
        ("cli/main.py", False, False),
    ],
)
def test_an_edit_cools_kernels_only_where_kernels_live(package, module, kernels, results):
    before = sources.kernels_digest(package), sources.results_digest(package)
    with (package / module).open("a", encoding="utf-8") as file:
        file.write("# an edit\n")
    sources.kernels_digest.cache_clear()
    sources.digest_of.cache_clear()
    after = sources.kernels_digest(package), sources.results_digest(package)
    assert (before[0] != after[0], before[1] != after[1]) == (kernels, results)


def test_kernels_divide_by_zero_quietly():
    @compiled
    def divide(a, b):
        return a / b

    assert divide(1.0, 0.0) == math.inf


@pytest.fixture(scope="module")
def forking():
    process = Forking()
    yield process
    process.close()


@pytest.fixture
def run(forking):
    """Run a script in a process of its own, which finds Numba imported; what it printed."""

    def play(script, *folders, cache, check=True):
        settings = {"NUMBA_CACHE_DIR": str(cache)}
        well, printed, errors = forking.play(script, list(map(str, folders)), settings)
        assert well or not check, errors
        return printed.split() if check else errors

    return play


def run_by_itself(script, *folders, cache):
    """Run a script in a process of its own, which imports what it needs; what it printed."""
    own = os.environ | {
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit of the same length in the same second counts
    }
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(
        command, env=own, check=True, capture_output=True, text=True
    ).stdout.split()


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
    """A package of the same name with this one's way of compiling, and a tiny system."""
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
    for room in ("", "systems", "systems/one", "systems/one/kernels", "systems/two"):
        (package / room).mkdir(exist_ok=True)
        (package / room / "__init__.py").touch()
    write(
        package,
        systems__one__kernels__constants="""
            from typing import NamedTuple
            FACTOR = 2.0
            class Rules(NamedTuple):
                low: float
                high: float
            def offset(rounds):
                return rounds + 100.0
            """,
        systems__one__kernels__radius="""
            from fedbandits._compile import compiled
            from fedbandits.systems.one.kernels.constants import FACTOR, Rules, offset
            OFFSET = offset(1000.0)
            @compiled
            def radius(rules):
                return rules.high * FACTOR + OFFSET
            @compiled
            def apply(function, number):
                return function(number)
            @compiled
            def first(pair):
                return pair[0]
            """,
        systems__two__plan="WIDTH = 1.0\n",
    )
    return home


RADIUS = """
from fedbandits.systems.one.kernels.radius import Rules, radius
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
def test_what_a_kernel_bakes_in_from_another_module_is_noticed(
    run, small, tmp_path, old, new, expected
):
    cache = tmp_path / "cache"
    assert run(RADIUS, small, cache=cache) == ["1120.0", "0"]
    assert run(RADIUS, small, cache=cache) == ["1120.0", "1"]
    edit(small / "fedbandits/systems/one/kernels/constants.py", old, new)
    assert run(RADIUS, small, cache=cache) == [expected, "0"]


def test_an_edit_elsewhere_leaves_what_was_compiled(run, small, tmp_path):
    cache = tmp_path / "cache"
    run(RADIUS, small, cache=cache)
    with (small / "fedbandits/systems/two/plan.py").open("a", encoding="utf-8") as file:
        file.write("# an edit\n")
    assert run(RADIUS, small, cache=cache) == ["1120.0", "1"]


OWN = """
import sys
{given}
from fedbandits.systems.one.kernels.radius import {kernel}
print({kernel}({arguments}), sum({kernel}.stats.cache_hits.values()))
"""
FOREIGN = """
from typing import NamedTuple
from fedbandits._compile import compiled
class Pair(NamedTuple):
    one: int
    two: int
@compiled
def twice(number):
    return 2 * number
"""


@pytest.mark.parametrize(
    ("kernel", "given", "arguments", "answer", "kept"),
    [
        ("first", "", "(7, 8)", "7", True),
        ("first", "from own import Pair", "Pair(7, 8)", "7", False),  # its layout may change
        ("apply", "from own import twice", "twice, 4", "8", False),  # so may what it does
    ],
)
def test_nothing_is_kept_that_rests_on_what_is_somebody_elses(
    run, small, tmp_path, kernel, given, arguments, answer, kept
):
    write(tmp_path / "own", own=FOREIGN)
    script = OWN.format(kernel=kernel, given=given, arguments=arguments)
    folders, cache = (small, tmp_path / "own"), tmp_path / "cache"
    assert run(script, *folders, cache=cache) == [answer, "0"]
    assert run(script, *folders, cache=cache) == [answer, str(int(kept))]


def test_somebody_elses_kernels_are_never_kept(run, small, tmp_path):
    write(tmp_path / "own", own=FOREIGN)
    script = "from own import twice\nprint(twice(4), sum(twice.stats.cache_hits.values()))"
    for _ in range(2):
        assert run(script, small, tmp_path / "own", cache=tmp_path / "cache") == ["8", "0"]
    assert not list((tmp_path / "cache").rglob("*.nbc"))


def test_a_file_that_is_cut_short_is_compiled_anew(run, small, tmp_path):
    cache = tmp_path / "cache"
    run(RADIUS, small, cache=cache)
    for kept in cache.rglob("*.nbc"):
        kept.write_bytes(kept.read_bytes()[:100])
    assert run(RADIUS, small, cache=cache) == ["1120.0", "0"]
    assert run(RADIUS, small, cache=cache) == ["1120.0", "1"]


def test_an_edit_while_the_process_runs_does_not_spoil_the_cache(run, small, tmp_path):
    """What was imported is compiled, not what lies on the disk by then."""
    cache = tmp_path / "cache"
    constants = small / "fedbandits/systems/one/kernels/constants.py"
    replace = f"""
import pathlib
constants = pathlib.Path({str(constants)!r})
import fedbandits.systems.one.kernels.radius
constants.write_text(constants.read_text().replace("FACTOR = 2.0", "FACTOR = 3.0"))
"""
    assert run(replace + RADIUS, small, cache=cache) == ["1120.0", "0"]
    assert run(RADIUS, small, cache=cache)[0] == "1130.0"


@pytest.mark.parametrize("shared", ["cache", "."])
def test_a_folder_that_others_can_write_to_is_refused(run, small, tmp_path, shared):
    cache = tmp_path / "top" / "cache"
    cache.mkdir(parents=True, mode=0o700)
    (tmp_path / "top" / shared if shared == "cache" else tmp_path / "top").chmod(0o777)
    said = run(RADIUS, small, cache=cache, check=False)
    assert "CacheWarning" in said
    assert "can be written by others (mode 0777" in said
    assert not any(cache.iterdir())


def test_a_relative_folder_is_refused(run, small, tmp_path):
    said = run(RADIUS, small, cache="somewhere", check=False)
    assert "'somewhere' is not an absolute path" in said


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    assert cache.private_folder(str(path)) == str(path.resolve())
    assert path.stat().st_mode & 0o777 == 0o700
    cache.private_folder.cache_clear()
    as_others = path.lstat

    def elses(*_):
        return os.stat_result([*as_others()[:4], os.getuid() + 1, *as_others()[5:]])

    monkeypatch.setattr(cache.os, "lstat", elses)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert cache.private_folder(str(path)) is None
    monkeypatch.undo()
    cache.private_folder.cache_clear()


#: As on a disk that is mounted read-only, for root too, whom modes of files do not hold back.
READ_ONLY = """
import builtins, errno, io, os
place, may, makes, opens = {place!r}, os.access, os.mkdir, io.open
def access(path, mode):
    return may(path, mode) and not (mode & os.W_OK and str(path).startswith(place))
def refuse(path):
    if str(path).startswith(place) and not os.path.isdir(path):
        raise OSError(errno.EROFS, "Read-only file system", path)
def mkdir(path, *more):
    refuse(path)
    return makes(path, *more)
def opened(path, mode="r", *more, **named):
    if "r" not in mode:
        refuse(path)
    return opens(path, mode, *more, **named)
os.access, os.mkdir, builtins.open = access, mkdir, opened
"""


def test_kernels_are_read_from_a_folder_that_cannot_be_written_to(run, small, tmp_path):
    """An image that was warmed is mounted read-only."""
    place = tmp_path / "cache"
    read_only = READ_ONLY.replace("{place!r}", repr(str(place)))
    told = "from fedbandits._compile.cache import are_kept\n"
    assert run(RADIUS, small, cache=place) == ["1120.0", "0"]
    assert run(read_only + RADIUS, small, cache=place) == ["1120.0", "1"]
    edit(small / "fedbandits/systems/one/kernels/constants.py", "FACTOR = 2.0", "FACTOR = 3.0")
    anew = "import warnings\nwarnings.simplefilter('ignore')\n" + read_only + RADIUS
    assert run(anew + told + "print(are_kept())", small, cache=place) == ["1130.0", "0", "False"]
    assert "cannot be made (Read-only file system)" in run(
        read_only + RADIUS, small, cache=place, check=False
    )


LAZY = """
import importlib, pkgutil, sys
import fedbandits
rooms = ("random", "environments", "learners", "privacy", "crypto", "federation", "systems")
for found in pkgutil.walk_packages(fedbandits.__path__, "fedbandits."):
    if found.name.split(".")[1] in rooms:
        importlib.import_module(found.name)
print("numba" in sys.modules, "llvmlite" in sys.modules)
"""


def test_defining_kernels_does_not_bring_in_numba(tmp_path):
    assert run_by_itself(LAZY, _compile.PACKAGE.parent, cache=tmp_path) == ["False", "False"]


LIGHT = """
import sys
import numpy as np
from fedbandits._compile.lazy import numba_side
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.shares import deviations_of
if HOW == "compiled":
    numba_side()
pattern = np.array([1.0, 2.0 ** 0.5, 0.3])
for mechanism, releases, decay in (
    ("none", 3, 1.0), ("tree", 70, 1.0), ("toeplitz", 300, 1.0), ("optimal", 19, 0.8)
):
    plan = ContinualPlan(mechanism, releases, 0.0 if mechanism == "none" else 1.7, decay)
    print(mechanism, plan.largest_deviation().hex())
    for k in range(1, releases + 1):
        print(plan.deviation(k).hex(), *deviations_of(plan, 2.0**-20, pattern, k).tolist())
print("numba" in sys.modules)
"""


def test_light_kernels_are_plain_python_first_and_give_the_same_bits():
    """Whoever makes a plan loads no Numba; whoever has loaded it compiles."""

    def said(how):
        script = f"HOW = {how!r}\n{LIGHT}"
        return subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.splitlines()

    plain, compiled = said("plain"), said("compiled")
    assert (plain.pop(), compiled.pop()) == ("False", "True")
    assert plain == compiled


TOLD = """
from fedbandits._compile import compilations
with compilations(lambda name: print(name)):
    from fedbandits.systems.one.kernels.radius import Rules, radius
    radius(Rules(1.0, 5.0))
    radius(Rules(1.0, 6.0))
"""


def test_who_wants_to_know_is_told_what_is_compiled_and_not_what_is_found(run, small, tmp_path):
    told = ["fedbandits.systems.one.kernels.radius.radius"]
    assert run(TOLD, small, cache=tmp_path / "cache") == told
    assert run(TOLD, small, cache=tmp_path / "cache") == []


ASKED_AGAIN = """
from numba import njit, types
from fedbandits._compile import compiled
usual, asked = types.BaseFunction.get_call_type, []
def asking(function, *arguments):
    asked.append(function)
    return usual(function, *arguments)
from fedbandits._compile import lazy
lazy.numba_side()
from fedbandits._compile import thrift
thrift._usual = asking
@compiled
def once(a, b):
    return a + b * a
@compiled
def again(a, b):
    return b + a * b + a * a
print(once(1.0, 2.0), len(asked), again(1.0, 2.0), len(asked), once(1, 2), len(asked) > 2)
print(types.BaseFunction.get_call_type is usual)
"""


def test_signatures_of_operators_are_chosen_once_and_other_compilers_choose_as_they_did(
    run, small, tmp_path
):
    said = run(ASKED_AGAIN, small, cache=tmp_path / "cache")
    assert said == ["3.0", "2", "5.0", "2", "3", "True", "True"]


AT_ONCE = """
import threading
from fedbandits.systems.one.kernels.radius import Rules, radius
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
    assert run_by_itself(AT_ONCE, small, cache=tmp_path / "cache") == ["8", "1", "1"]


class Pair(NamedTuple):
    first: int
    second: int


@inlined
def doubled(number):
    return 2 * number


@compiled
def doubled_sum(pair):
    return doubled(pair.first) + doubled(pair.second)


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


@compiled
def power(number, exponent):
    return number**exponent


@compiled
def powers(number):
    return power(number, 1) + power(number, 2) + power(number, exponent=3)


def test_a_kernel_is_compiled_once_for_all_constants():
    assert powers(2.0) == 14.0
    assert len(power.overloads) == 1


OWN_NUMBA = """
{imports}
@numba.njit
def own(number):
    return fma(radius(Rules(1.0, number)), 2.0, 1.0)
print(own(10.0))
"""


@pytest.mark.parametrize("first", ["numba", "fedbandits"])
def test_somebody_elses_numba_code_may_call_a_kernel(small, tmp_path, first):
    """Whichever of the two is imported first."""
    ours = (
        "from fedbandits._compile import fma\n"
        "from fedbandits.systems.one.kernels.radius import Rules, radius"
    )
    imports = ["import numba", ours] if first == "numba" else [ours, "import numba"]
    script = OWN_NUMBA.format(imports="\n".join(imports))
    assert run_by_itself(script, small, cache=tmp_path / "cache") == ["2241.0"]


def test_kernels_call_kernels_however_they_reach_them():
    assert doubled_sum(Pair(3, 4)) == 14
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
import numpy as np
from fedbandits.systems.one.kernels import nest
from fedbandits._compile.nested import is_for_python

def callable_from_python():
    return [is_for_python(one) for one in nest.inner.overloads.values()]

{calls}
"""


def test_machine_code_of_a_nested_kernel_waits_for_python(run, small, tmp_path):
    """It is in the caller's code; in a later process Python gets it from what was kept."""
    write(small / "fedbandits", systems__one__kernels__nest=NESTED)

    def played(calls):
        return run(PLAYED.format(calls=calls), small, cache=tmp_path / "cache")

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
    # The other way round, the caller's copy comes first: it was made for compiled code alone.
    assert played(outer + "\n" + inner) == ["6.0", "6.0", "True"]
    both = inner + "\n" + refused.replace("outer", "inner")
    assert played(both) == ["6.0", "True", "a_scale_below_zero"]


NESTED_COUNT = """
from typing import NamedTuple
from fedbandits._compile import compiled

class Pair(NamedTuple):
    first: int
    scale: float

@compiled
def inner(pair, k):
    return float(pair.scale * (pair.first + k))

@compiled
def outer(pair, k):
    return inner(pair, k) + 1.0
"""


def test_python_calls_a_nested_kernel_first_in_a_later_process(run, small, tmp_path):
    """Nothing is compiled then: what makes its machine code must ask for all that it needs."""
    write(small / "fedbandits", systems__one__kernels__counted=NESTED_COUNT)
    script = (
        "from fedbandits.systems.one.kernels.counted import Pair, inner, outer\n"
        "print({}(Pair(2, 0.5), 4))"
    )
    played = [
        run(script.format(name), small, cache=tmp_path / "cache")
        for name in ("outer", "inner", "inner")
    ]
    assert played == [["4.0"], ["3.0"], ["3.0"]]


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


# --------------------------------------------------------------------------------- C functions


class Told(NamedTuple):
    numbers: np.ndarray
    grid: np.ndarray
    scale: float
    step: int
    whole: bool
    pair: Pair


@compiled
def weighed(told, place):
    total = told.scale * told.grid[told.step, place] + told.pair.second
    return total if told.whole else total + told.numbers[place]


def entry(kernel):
    def make(read):
        def call(address, place, unused):
            return np.int64(kernel(read(address), place))

        return call

    return make


@pytest.mark.parametrize("whole", [True, False])
def test_a_c_function_reads_what_was_laid_out(whole):
    """Numbers of every width, arrays of every shape and order, tuples in tuples."""
    grid = np.arange(12, dtype=np.float32).reshape(3, 4)
    entry_of = LazyCFunction(entry(weighed), (weighed,), int, 3)
    for given in (grid, np.asfortranarray(grid), grid[::-1, ::2]):
        told = Told(np.arange(10.0), given, 2.0, 1, whole, Pair(3, 40))
        there = laid_out(told)
        found = entry_of.of(there).call(there.address, 1, 0)
        assert found == weighed(told, 1)


def test_a_c_function_changes_the_arrays_themselves():
    @compiled
    def counts_up(told, place):
        told.numbers[place] += 1.0
        return told.numbers[place]

    told = Told(np.zeros(3), np.zeros((1, 1), np.float32), 1.0, 0, True, Pair(0, 0))
    there = laid_out(told)
    call = LazyCFunction(entry(counts_up), (counts_up,), int, 3).of(there).call
    assert [call(there.address, 2, 0) for _ in range(3)] == [1, 2, 3]
    assert told.numbers.tolist() == [0.0, 0.0, 3.0]


#: What ``_compile`` uses of Numba's that is no public interface: another version may not have it.
PRIVATE = {
    "numba.core.caching": ("NullCache",),
    "numba.core.ccallback": ("CFunc",),
    "numba.core.codegen": (
        "CPUCodeLibrary._finalize_dynamic_globals", "CPUCodeLibrary._finalize_final_module",
        "CPUCodeLibrary._get_module_for_linking", "CPUCodeLibrary._optimize_final_module",
        "CPUCodeLibrary._optimize_functions", "CPUCodeLibrary._verify_declare_only_symbols",
        "CPUCodegen._module_pass_manager",
    ),
    "numba.core.compiler": (
        "CompileResult._find_referenced_environments", "CompileResult._rebuild",
        "CompileResult._reduce", "CompilerBase", "DefaultPassBuilder", "Flags", "_make_subtarget",
    ),
    "numba.core.compiler_lock": ("global_compiler_lock",),
    "numba.core.compiler_machinery": ("PassManager", "register_pass"),
    "numba.core.datamodel": ("default_manager", "models.TupleModel", "models.UniTupleModel"),
    "numba.core.environment": ("_rebuild_env",),
    "numba.core.ir": ("Arg", "Assign", "Expr", "Var"),
    "numba.core.lowering": (
        "Lower._alloca_var", "Lower.delvar", "Lower.init", "Lower.loadvar", "Lower.lower_expr",
        "Lower.lower_inst", "Lower.setup_function", "Lower.storevar",
    ),
    "numba.core.serialize": ("dumps",),
    "numba.core.sigutils": ("normalize_signature",),
    "numba.core.targetconfig": ("ConfigStack",),
    "numba.core.typed_passes": ("NativeLowering",),
}  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in PRIVATE.items() for name in names]
)
def test_numba_still_has_what_is_used_of_its_inside(module, name):
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)


def test_no_other_part_of_numbas_inside_is_used():
    """A module below ``numba.core`` that is imported is named above."""
    folder, public = _compile.PACKAGE / "_compile", {"numba.core.registry", "numba.core.cgutils"}
    public |= {"numba.core.imputils", "numba.core.typing"}
    used = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba.core"):
                inner = node.module.count(".") > 1
                used |= {node.module} if inner else {f"{node.module}.{n.name}" for n in node.names}
    assert used - public == PRIVATE.keys() - {"numba.core.codegen"}
