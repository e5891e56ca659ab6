"""Prometheus's alert rules, evaluated over pages of metrics that were recorded: what fires when.

It evaluates what the rules in ``examples/federation/alerts.yml`` use, and refuses all else. The
expressions are parsed by Prometheus's own grammar (``promql-parser``).
"""

from __future__ import annotations

import itertools
import math
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml
from prometheus_client.parser import text_string_to_metric_families as metrics_of

ALERTS = pathlib.Path(__file__).parents[2] / "examples" / "federation" / "alerts.yml"
#: Seconds between two scrapes, and for which a scraped number counts.
STEP, LOOKBACK = 60.0, 300.0
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
Labels = frozenset[tuple[str, str]]
#: A vector: values by labels, without the metric's name.
Vector = dict[Labels, float]


class Rule(NamedTuple):
    """One rule of the file."""

    name: str
    expr: str
    waits: float  # for so many seconds
    severity: str


def rules() -> list[Rule]:
    """Read the rules of the example."""
    (group,) = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [
        Rule(rule["alert"], rule["expr"], _seconds(rule.get("for", "0s")),
             rule["labels"]["severity"])
        for rule in group["rules"]
    ]  # fmt: skip


def _seconds(text: str) -> float:
    return float(text[:-1]) * _UNITS[text[-1]]


class Recorded:
    """Samples of all parties, as Prometheus keeps them."""

    def __init__(self) -> None:
        #: By name and labels: times and values, in order.
        self.series: dict[str, dict[Labels, list[tuple[float, float]]]] = {}

    def scrape(self, at: float, instance: str, page: str | None) -> None:
        """Take a page of metrics; None stands for a party that does not answer."""
        self._add(at, "up", {"instance": instance, "job": "fedbandits"}, float(page is not None))
        for family in metrics_of(page or ""):
            for sample in family.samples:
                self._add(at, sample.name, {**sample.labels, "instance": instance}, sample.value)

    def _add(self, at: float, name: str, labels: Mapping[str, str], value: float) -> None:
        known = self.series.setdefault(name, {})
        known.setdefault(frozenset(labels.items()), []).append((at, value))

    def at(self, time: float, name: str, matchers: list[Any], span: float = 0.0) -> Iterator[Any]:
        """Yield labels, and samples in a span until a time, or the newest one that still counts."""
        for labels, samples in self.series.get(name, {}).items():
            if not all(_matches(matcher, dict(labels)) for matcher in matchers):
                continue
            since = time - (span or LOOKBACK)
            found = [each for each in samples if since < each[0] <= time]
            if not span and found and found[-1][0] <= time - 1.5 * STEP:
                continue  # stale: its party was scraped again, or not at all, without it
            if found:
                yield labels, found if span else found[-1][1]


def _matches(matcher: Any, labels: Mapping[str, str]) -> bool:
    kind, value = str(matcher.op).rpartition(".")[2], labels.get(matcher.name, "")
    same = bool(re.fullmatch(matcher.value, value)) if "Re" in kind else value == matcher.value
    return same == (kind in ("Equal", "Re"))


def evaluate(node: Any, recorded: Recorded, time: float) -> Vector | float:
    """Evaluate a parsed expression at a time."""
    kind = type(node).__name__
    if kind == "NumberLiteral":
        return float(node.val)
    if kind == "ParenExpr":
        return evaluate(node.expr, recorded, time)
    if kind == "VectorSelector":
        return dict(recorded.at(time, node.name, node.matchers.matchers))
    if kind == "BinaryExpr":
        left, right = (evaluate(side, recorded, time) for side in (node.lhs, node.rhs))
        return _binary(str(node.op), left, right, node.modifier)
    if kind == "AggregateExpr":
        assert str(node.op) == "sum"
        summed: Vector = {}
        for labels, value in evaluate(node.expr, recorded, time).items():
            kept = frozenset(pair for pair in labels if pair[0] in node.modifier.labels)
            summed[kept] = summed.get(kept, 0.0) + value
        return summed
    assert kind == "Call", f"{kind} is not evaluated here"
    return _call(node, recorded, time)


def _call(node: Any, recorded: Recorded, time: float) -> Vector | float:
    name = node.func.name
    if name == "time":
        return time
    if name == "abs":
        return {on: abs(value) for on, value in evaluate(node.args[0], recorded, time).items()}
    if name == "histogram_quantile":
        return _quantile(*(evaluate(argument, recorded, time) for argument in node.args))
    assert name in ("increase", "rate"), f"{name} is not evaluated here"
    (matrix,) = node.args
    span, vector = matrix.range.total_seconds(), matrix.vector_selector
    found = recorded.at(time, vector.name, vector.matchers.matchers, span)
    grown = {labels: _grown(samples) for labels, samples in found if len(samples) > 1}
    return grown if name == "increase" else {on: value / span for on, value in grown.items()}


def _grown(samples: list[tuple[float, float]]) -> float:
    """Return by how much a counter has grown, over resets, without extrapolation."""
    values = [value for _, value in samples]
    return sum(new - old if new >= old else new for old, new in itertools.pairwise(values))


def _quantile(share: float, buckets: Vector) -> Vector:
    """Return the least bound that so large a share of what was measured is not above."""
    by: dict[Labels, dict[float, float]] = {}
    for labels, count in buckets.items():
        (bound,) = (float(value) for name, value in labels if name == "le")
        rest = frozenset(pair for pair in labels if pair[0] != "le")
        by.setdefault(rest, {})[bound] = count
    found: Vector = {}
    for rest, counts in by.items():
        most = max(counts.values())
        enough = (bound for bound in sorted(counts) if counts[bound] >= share * most)
        found[rest] = next(enough) if most else math.nan
    return found


_NUMBERS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}  # fmt: skip
_TESTS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, ">": lambda a, b: a > b,
    "<": lambda a, b: a < b, ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b,
}  # fmt: skip


def _binary(op: str, left: Any, right: Any, modifier: Any) -> Vector | float:
    on = None if modifier is None or modifier.matching is None else set(modifier.matching.labels)

    def key(labels: Labels) -> Labels:
        return labels if on is None else frozenset(pair for pair in labels if pair[0] in on)

    if op in ("and", "unless"):
        there = {key(labels) for labels in right}
        return {at: value for at, value in left.items() if (key(at) in there) == (op == "and")}
    if op == "or":
        there = {key(labels) for labels in left}
        return left | {at: value for at, value in right.items() if key(at) not in there}
    if isinstance(left, float) and isinstance(right, float):
        return float(_NUMBERS[op](left, right))
    labels = left if isinstance(right, float) else right if isinstance(left, float) else {
        at: None for at in left if at in right
    }  # fmt: skip
    pairs = {
        at: (left if isinstance(left, float) else left[at],
             right if isinstance(right, float) else right[at])
        for at in labels
    }  # fmt: skip
    if op in _TESTS:  # keeps the left numbers for which it holds
        return {at: a if isinstance(right, float) or not isinstance(left, float) else b
                for at, (a, b) in pairs.items() if _TESTS[op](a, b)}  # fmt: skip
    return {at: float(_NUMBERS[op](a, b)) for at, (a, b) in pairs.items()}


def fired(recorded: Recorded, since: float, until: float) -> dict[str, set[tuple[str, float]]]:
    """Say which alerts fire, of which instance, at which times."""
    import promql_parser

    found: dict[str, set[tuple[str, float]]] = {}
    for rule in rules():
        parsed, pending = promql_parser.parse(rule.expr), dict[Labels, float]()
        time = since
        while time <= until:
            vector = evaluate(parsed, recorded, time)
            pending = {labels: pending.get(labels, time) for labels in vector}
            for labels, began in pending.items():
                if time - began >= rule.waits:
                    found.setdefault(rule.name, set()).add((dict(labels)["instance"], time))
            time += STEP
    return found
