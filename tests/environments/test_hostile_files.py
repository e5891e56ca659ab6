"""Whatever a file holds, a loader gives data that can be played, or an error of this package."""

from __future__ import annotations

import io
import json
import pathlib
import random
import typing
from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from sklearn import datasets

from fedbandits.environments import (
    Bernoulli,
    Classification,
    Clustered,
    Procurement,
    RatingData,
    Table,
    environments,
)
from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError, DataError
from fedbandits.federation import graphs
from fedbandits.federation.topology import topology
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import load

KEY = replicate_key(3, 0)
#: Cells, values and lines that have broken a parser before, or look as if they might.
NASTY = (
    "", " ", "nan", "inf", "-inf", "1e300", "-1e300", "1e999", "-1e6", "1e6", "-0", "0", "1", "-1",
    "99", "9" * 5_000, "0x" + "f" * 5_000, "1_0", "²", "𝟙", "0.5.5", "true", "null", "None", "é",
    '"', '"""', "'", '"a\nb"', "\x00", "\x0c", "\x1c", "\u2028", "\r", "\n", "\t", ",", ";", "::",
    "#", "=", "[", "]", "{", "}", "[" * 20_000, '{"a":' * 20_000, "x" * 140_000, "\ufeff",
    "1979-05-27T07:32:00Z", "1" + "0" * 400, "-" + "9" * 30, "[[systems]]", "a.b.c", "growing(",
    "a." * 5_000 + "a=1",
)  # fmt: skip


class Example(NamedTuple):
    """A good file, and what reads it."""

    kind: str  # of the environment, or what else reads files
    name: str
    text: str
    read: Callable[[str], object]
    mutants: int = 300


def plays(make: Callable[[str], Environment]) -> Callable[[str], object]:
    """Load as a run does before it begins, and hold the world to what everything rests on."""

    def read(path: str) -> None:
        environment = make(path)
        environment.prepare()
        assert environment.facts.parties > 0
        world = environment.world(KEY)
        for values in world:
            if isinstance(values, np.ndarray | float):
                assert np.isfinite(values).all()
        for name in ("rewards", "means", "quality"):
            found = getattr(world, name, np.zeros(1))
            assert found.min() >= 0.0
            assert found.max() <= 1.0

    return read


def ratings(path: str) -> Environment:
    return RatingData(path=path, agents=2, dim=2, arms=3)


def table(path: str) -> Environment:
    return Table(
        path=path, site="site", features=("age", "ward"), target="class", person="who",
        scaling="data", missing="drop",
    )  # fmt: skip


def visits(separator: str, decimal: str) -> str:
    rows = (
        separator.join(
            ("AB"[i % 2], f"{20 + i}{decimal}5", f'"w {i % 3}"', str(i % 2), f"p{i % 5}")
        )
        for i in range(24)
    )
    return lines(separator.join(("site", "age", "ward", "class", "who")), *rows)


def triples() -> list[tuple[int, int, int]]:
    rng = np.random.default_rng(0)
    return [(u, i, int(rng.integers(1, 6))) for u in range(1, 9) for i in range(1, 7) if u != i]


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def jester() -> str:
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((8, 24)) < 0.7, rng.uniform(-9, 9, (8, 24)).round(2), 99.0)
    return lines(*(",".join(["20", *map(str, row)]) for row in rows))


def yelp() -> str:
    reviews = ({"user_id": f"u{u}", "business_id": f"b{i}", "stars": v} for u, i, v in triples())
    return lines(*map(json.dumps, reviews))


def producers() -> str:
    rows = (f"{j},{i},0.{i + 2},0.{j + 1},{3 + i}" for j in range(4) for i in range(5))
    return lines("agent,producer,quality,cost,capacity", *rows)


def separated(separator: str, *header: str) -> str:
    return lines(*header, *(separator.join((*map(str, row), "0")) for row in triples()))


def as_configuration(path: str) -> None:
    experiment = load(path)
    if experiment.rounds <= 10_000:
        experiment.check()


def as_assignments(path: str) -> None:
    config = pathlib.Path(path).parent / "base.toml"
    config.write_text(CONFIGURATION, encoding="utf-8")
    for line in pathlib.Path(path).read_bytes().decode("utf-8", "replace").splitlines():
        load(config, [line])


def as_graph(path: str) -> None:
    topology(graphs.EdgeFile(path), 6)


CONFIGURATION = """
name = "small"
rounds = 50
replicates = 2

[environment]
kind = "linear"
agents = 4
dim = 2
theta = [0.6, 0.8]

[[systems]]
preset = "feducb"
epsilon = 1.5
schedule = "every(10)"

[[systems]]
preset = "feducb-p2p"
label = "peers"
graph = { kind = "ring" }
gamma = 1
"""

EXAMPLES = (
    Example("ratings", "u.data", separated("\t"), plays(ratings)),
    Example("ratings", "ratings.dat", separated("::"), plays(ratings)),
    Example(
        "ratings",
        "ratings.csv",
        separated(",", "userId,movieId,rating,timestamp"),
        plays(ratings),
    ),
    Example("ratings", "generic.csv", separated(",", "User,Item,Value,note"), plays(ratings)),
    Example("ratings", "weights.csv", separated(",", "user,item,weight,note"), plays(ratings)),
    Example("ratings", "generic.tsv", separated("\t"), plays(ratings)),
    Example("ratings", "user_artists.dat", separated("\t", "user\tartist\tw\tn"), plays(ratings)),
    Example("ratings", "jester.csv", jester(), plays(ratings)),
    Example("ratings", "reviews.json", yelp(), plays(ratings)),
    Example(
        "bernoulli", "means.txt", lines("4", "0.1", "0.5", "1", "0"),
        plays(lambda path: Bernoulli(means=path, arms=3)),
    ),
    Example(
        "bernoulli", "generic.csv", separated(",", "user,item,rating,note"),
        plays(lambda path: Bernoulli(ratings=path, arms=3, share_of="users")),
        mutants=60,  # how ratings are read is tried above
    ),
    Example(
        "clustered", "generic.csv", separated(",", "user,item,rating,note"),
        plays(lambda path: Clustered(ratings=path, users=6, clusters=3, servers=2, dim=3)),
        mutants=30,  # of a k-means each
    ),
    Example("table", "visits.csv", visits(",", "."), plays(table)),
    Example("table", "besuche.csv", visits(";", ","), plays(table)),
    Example(
        "procurement", "suppliers.csv", producers(), plays(lambda path: Procurement(case=path))
    ),
    Example(
        "a graph", "edges.txt",
        lines("# ring", "0 1", "1,2", "2;3", "03 4", "4 5", "5 0"),
        as_graph,
    ),
    Example("a configuration", "small.toml", CONFIGURATION, as_configuration),
    Example(
        "assignments", "set.txt",
        lines("rounds=9", "systems.0.epsilon=2", "systems.1.gamma=3", "environment.theta=[1, 0]"),
        as_assignments,
    ),
)  # fmt: skip


def mutant(text: str, rng: random.Random) -> bytes:
    """A file that differs in one or two places, along its own structure or across it."""
    rows = text.split("\n")[:-1]
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(rows))
        match rng.randrange(9):
            case 0 | 1 | 2 | 3:
                rows[at] = with_other_cell(rows[at], rng)
            case 4:
                rows[at] = rng.choice(NASTY)
            case 5:
                rows.insert(at, rng.choice((rng.choice(rows), rng.choice(NASTY))))
            case 6:
                rows = rows[: at + 1] if rng.random() < 0.5 else rows[at:]
            case 7:
                place = rng.randrange(len(rows[at]) + 1)
                rows[at] = rows[at][:place] + rng.choice(NASTY) + rows[at][place:]
            case 8:
                column = rng.randrange(4)  # the same in every row
                word = rng.choice(NASTY)
                rows = [with_cell(row, column, word) for row in rows]
    data = ("\n".join(rows) + "\n").encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        place = rng.randrange(len(data))
        data = data[:place] + bytes(rng.randrange(256) for _ in range(3)) + data[place + 1 :]
    return data


SEPARATORS = ("::", "\t", ", ", ",", " = ", "=", ": ", ";", " ")


def with_other_cell(row: str, rng: random.Random) -> str:
    return with_cell(row, rng.randrange(5), rng.choice(NASTY))


def with_cell(row: str, column: int, word: str) -> str:
    separator = next((s for s in SEPARATORS if s in row), ",")
    cells = row.split(separator)
    cells[column % len(cells)] = word
    return separator.join(cells)


def outcomes(example: Example, tmp_path, contents) -> list[str]:
    """What each file came to: read, refused, or the foreign error that came out."""
    found = []
    for index, content in enumerate(contents):
        folder = tmp_path / str(index)
        folder.mkdir()
        path = folder / example.name
        path.write_bytes(content)
        try:
            example.read(str(path))
        except (DataError, ConfigError) as error:
            found.append("refused" if len(str(error)) > 10 else f"says {str(error)[:99]}")
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}"[:200] + f" from {content[:80]!r}")
        else:
            found.append("read")
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.kind}-{e.name}")
def test_only_errors_of_this_package_come_out(example, tmp_path):
    rng = random.Random(f"{example.kind} {example.name}")  # noqa: S311
    contents = [example.text.encode()] + [mutant(example.text, rng) for _ in range(example.mutants)]
    found = outcomes(example, tmp_path, contents)
    assert found[0] == "read"
    assert [outcome for outcome in found if outcome not in ("read", "refused")] == []
    assert found.count("refused") > example.mutants / 10  # they are worth something


def test_every_kind_of_environment_that_reads_files_is_here():
    """It has a key of free text. OpenML's answers are held to their own test."""
    reading = {
        kind
        for kind, environment in environments().items()
        for field in msgspec.structs.fields(environment)
        if field.type is str or str in typing.get_args(field.type)
    }
    assert reading == {example.kind for example in EXAMPLES} & set(environments()) | {
        "classification"
    }


@pytest.mark.parametrize("value", ["1e300", "-1e6", "nan", "-inf", "1e999"])
@pytest.mark.parametrize("name", [e.name for e in EXAMPLES if e.kind == "ratings"])
def test_a_value_off_its_scale_is_named_with_its_line(name, value, tmp_path):
    """One absurd value would be the only one that counts: rewards are scaled by the extremes."""
    example = next(e for e in EXAMPLES if e.kind == "ratings" and e.name == name)
    rows = example.text.split("\n")
    if name.endswith(".json"):
        rows[4] = rows[4].replace(rows[4].rpartition(" ")[2], value + "}")
    else:
        rows[4] = with_cell(rows[4], 2, value)
    (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(DataError, match=f"{name}, line 5(: exp|, column )"):
        example.read(str(tmp_path / name))


def npy(shape: tuple[int, ...], dtype: str = "<f8", data: bytes = b"") -> bytes:
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape})
    padded = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + data


def vectors() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.full((6, 3), 0.5))
    return stream.getvalue()


CLUSTERED = Example(
    "clustered", "vectors.npy", "",
    plays(lambda path: Clustered(preferences=path, servers=2)),
)  # fmt: skip


def test_files_of_vectors_raise_nothing_else_either(tmp_path):
    rng, good = random.Random("vectors"), vectors()  # noqa: S311
    contents = [good, npy((6, 3), data=bytes(144))]
    for _ in range(300):
        changed = bytearray(good)
        header = len(good) - 6 * 3 * 8
        for _ in range(rng.choice((1, 3, 9))):
            changed[rng.randrange(header)] = rng.randrange(32, 127)
        if rng.random() < 0.3:  # a number among the vectors
            place = header + 8 * rng.randrange(18)
            changed[place : place + 8] = rng.choice(
                (b"\xff" * 8, b"\x7f" * 8, b"\0" * 6 + b"\xf0\x7f")
            )
        contents.append(bytes(changed)[: rng.choice((len(good), rng.randrange(len(good))))])
    found = outcomes(CLUSTERED, tmp_path, contents)
    assert found[:2] == ["read", "read"]
    assert [outcome for outcome in found if outcome not in ("read", "refused")] == []


@pytest.mark.parametrize(
    "content",
    [
        npy((10**9, 2_000)),  # 16 TB, it says
        npy((2**62, 2**62)),
        npy((-1, 3)),
        npy((6, 3), "<f16", b"\xff" * 288),
        npy((6, 3), "O", b"\x80" * 144),
        npy((6, 3), "[" * 90),
        npy((6, 3), "<f8", np.full(18, 1e300).tobytes()),
    ],
    ids=range(7),
)  # fmt: skip
def test_headers_that_promise_too_much_are_refused(content, tmp_path):
    assert outcomes(CLUSTERED, tmp_path, [content]) == ["refused"]


def test_a_table_of_all_pairs_is_made_of_pairs_that_are_there(tmp_path):
    """20,000 lines that name 20,000 buyers and producers: 3 GB, of which nearly all is missing."""
    rows = (f"a{i},p{i},0.5,0.5,1" for i in range(20_000))
    path = tmp_path / "suppliers.csv"
    path.write_text(lines("agent,producer,quality,cost,capacity", *rows), encoding="utf-8")
    with pytest.raises(DataError, match="399980000 pairs are missing, the first is agent 'a0'"):
        Procurement(case=str(path)).prepare()


STEPS = np.column_stack([np.arange(6.0), np.arange(6.0)[::-1]])
OPENML = {
    "huge": (STEPS * [1.0, 1e308 / 5], ["a", "b"] * 3, "column 1 has values that are too large"),
    "tiny": (STEPS * [1.0, 5e-324], ["a", "b"] * 3, None),
    "empty": (STEPS[:0], [], "expected a table and one class for each row"),
    "several targets": (STEPS, [["a", "b"]] * 6, "expected a table and one class for each row"),
    "gaps": (STEPS, ["a", None] * 3, "classes have different types"),
}


@pytest.mark.parametrize("name", OPENML)
def test_openml_s_answers_may_be_anything(name, monkeypatch):
    table, target, message = OPENML[name]
    answer = SimpleNamespace(data=table, target=np.array(target, dtype=object))
    monkeypatch.setattr(datasets, "fetch_openml", lambda **_: answer)
    read = plays(lambda _: Classification(dataset=f"hostile {name}", agents=2))
    if message is None:
        read("")
    else:
        with pytest.raises(DataError, match=message):
            read("")
