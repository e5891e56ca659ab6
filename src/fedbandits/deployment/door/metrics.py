"""Numbers of a party for Prometheus. None is about anybody in particular."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from fedbandits.deployment.door.served import Served, offered

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0)
KIND = CONTENT_TYPE_LATEST.encode()


class Metrics:
    """Counts what passes through the door, and reads the party's own numbers when asked.

    Parameters
    ----------
    served
        The party.
    """

    def __init__(self, served: Served) -> None:
        registry = self._registry = _Registry()
        #: Counts one more of what was done: decisions, rewards, pulls, orders.
        self.done = {
            name: Counter(f"fedbandits_{name}", text, registry=registry).inc
            for what in sorted(offered(served))
            for name, text in _DONE[what].items()
        }
        self._refused = Counter(
            "fedbandits_refused",
            "Requests refused, by reason: the last word of the problem's type.",
            ["reason"],
            registry=registry,
        )
        self._seconds = Histogram(
            "fedbandits_request_seconds",
            "Seconds from a request's last header to its answer, by route. "
            "Waiting for a pull is part of /v1/pulls/next.",
            ["route"],
            registry=registry,
            buckets=_SECONDS,
        )
        registry.register(_OfTheParty(served))

    def refused(self, reason: str) -> None:
        """Count a refusal."""
        self._refused.labels(reason).inc()

    def timer(self, route: str) -> Any:
        """Takes the seconds of each request to a route."""
        return self._seconds.labels(route).observe

    def page(self) -> bytes:
        """All numbers, as Prometheus reads them."""
        return generate_latest(self._registry)


class _Registry(CollectorRegistry):
    """A registry that does not tell when each of its numbers began."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric


#: By what a party does.
_DONE = {
    "decisions": {
        "decisions": "Decisions made for applications since the door was opened.",
        "rewards": "Rewards taken from applications since the door was opened.",
    },
    "pulls": {"pulls": "Pulls told of by the application since the door was opened."},
    "orders": {"orders": "Runs ordered since the door was opened."},
}
#: Plain numbers of the party's status.
_GAUGES = {
    "rounds": "Rounds that are over, by the federation's clock.",
    "releases": "Releases that have left the party, noise included.",
    "outbox": "Messages that peers have not acknowledged yet. It should come back to 0.",
    "held": "Messages that came early, and wait for one before them.",
    "connected": "1 while the party can reach its peers. It decides all the same while it is 0.",
    "exhausted": "1 once the privacy budget is used up: the party decides, and releases no more.",
}


class _OfTheParty(Collector):
    """The party's own numbers, as it has them when they are asked for."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def describe(self) -> Iterator[Metric]:
        """Nothing is known of it before it is asked."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All that the party tells."""
        status, privacy = self._served.status(), self._served.privacy()
        yield GaugeMetricFamily(
            "fedbandits_ready",
            "1 while the party answers applications.",
            value=float(self._served.ready),
        )
        for name, text in _GAUGES.items():
            if _is_number(status.get(name)):
                yield GaugeMetricFamily(f"fedbandits_{name}", text, value=float(status[name]))
        outcomes = status.get("messages")
        if isinstance(outcomes, Mapping):
            yield _messages(outcomes)
        for part, text in _EPSILON.items():
            found = privacy.get(part)
            epsilon = found.get("epsilon") if isinstance(found, Mapping) else None
            if _is_number(epsilon):
                yield GaugeMetricFamily(f"fedbandits_epsilon_{part}", text, value=float(epsilon))


_EPSILON = {
    "spent": "Privacy spent so far: ε at the claim's δ, of what has left the party.",
    "left": "Privacy left: ε at the claim's δ. At 0 nothing is released any more.",
}


def _messages(outcomes: Mapping[str, Any]) -> Metric:
    family = CounterMetricFamily(
        "fedbandits_messages",
        "Messages of peers by what became of them: taken, duplicate, early, or refused.",
        labels=["outcome"],
    )
    for outcome, count in outcomes.items():
        if _is_number(count):
            family.add_metric([str(outcome)], float(count))
    return family


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not math.isnan(value)
