"""Metrics of a party for Prometheus. None is about a single person."""

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
    """Counts what passes through the door, and reads the party's own numbers when asked."""

    def __init__(self, served: Served) -> None:
        registry = self._registry = _Registry()
        #: Counts one more of what was done: decisions, rewards, pulls, orders.
        self.done = {
            name: Counter(f"fedbandits_{name}", text, registry=registry).inc
            for what in sorted(offered(served))
            for name, text in _DONE[what].items()
        }
        self._refused = Counter(
            "fedbandits_requests_refused",
            "Requests refused, by reason: the last word of the problem's type.",
            ["reason"],
            registry=registry,
        )
        for reason in _ALARMING:  # from 0 on: what appears as 1 has not increased for Prometheus
            self._refused.labels(reason)
        self._seconds = Histogram(
            "fedbandits_request_seconds",
            "Seconds from a request's last header to its answer, by route. "
            "Waiting for a pull is part of /v1/pulls/next.",
            ["route"],
            registry=registry,
            buckets=_SECONDS,
        )
        self._party = _OfTheParty()
        registry.register(self._party)

    def refused(self, reason: str) -> None:
        """Count a refusal."""
        self._refused.labels(reason).inc()

    def timer(self, route: str) -> Any:
        """Make a function that records the seconds of a request to a route."""
        return self._seconds.labels(route).observe

    def page(self, status: Mapping[str, Any], privacy: Mapping[str, Any]) -> bytes:
        """Write all numbers as Prometheus reads them, with the party's status and privacy."""
        self._party.status, self._party.privacy = status, privacy
        return generate_latest(self._registry)


class _Registry(CollectorRegistry):
    """A registry that does not tell when each of its numbers began."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric


#: Counters of each service that a party may offer.
_DONE = {
    "decisions": {
        "decisions": "Decisions made for applications since the door was opened.",
        "rewards": "Rewards taken from applications since the door was opened.",
    },
    "pulls": {"pulls": "Pulls told of by the application since the door was opened."},
    "orders": {"orders": "Runs ordered since the door was opened."},
}
#: Plain numbers of the party's status.
_STATUS = {
    "ready": "1 while the party can do its work, with or without a broker.",
    "connected": "1 while the party reaches the broker. It decides all the same while it is 0.",
    "exhausted": "1 once the privacy budget is used up: the party decides, and releases no more.",
    "open_decisions": "Decisions whose rewards have not come.",
    "records_waiting": "Records that are in no release up to the next: more were decided on "
    "than a release is about. They count later.",
    "records_never": "Decisions that no release will be about, as more were made than is planned.",
    "ticks": "Rounds of the federation's clock that are over.",
    "peers": "Peers of the party in the federation.",
    "outbox": "Messages that peers have not acknowledged yet. It should come back to 0.",
}
#: Durations and times of the status: their key in it, and their unit in it, in seconds.
_TIMES = {
    "clock_offset_seconds": (
        "clock_offset", 1.0, "By how much the peer's clock is ahead that differs most from this.",
    ),
    "certificate_left_seconds": (
        "certificate_days", 86_400.0, "Time until the party's certificate ends, in whole days.",
    ),
    "broker_certificate_left_seconds": (
        "broker_certificate_days", 86_400.0,
        "Time until the broker's certificate ends, as it was shown last, in whole days.",
    ),
    "outbox_stuck_seconds": (
        "outbox_stuck", 1.0,
        "For how long some peer has acknowledged nothing of what waits for it; 0 if nothing waits.",
    ),
    "last_sum_age_seconds": (
        "last_sum_age", 1.0, "Time without a secure sum: since the last one, or since the start.",
    ),
    "next_round_timestamp_seconds": (
        "next_tick", 1.0, "When the round ends that ends next, in seconds since 1970.",
    ),
    "round_seconds": ("round", 1.0, "Length of a round, by the terms."),
    "message_time_seconds": ("message_time", 1.0, "How long a message may take, by the terms."),
}  # fmt: skip
#: Reasons of refusals that alerts ask for.
_ALARMING = ("internal", "unavailable", "store-full")
#: Plain numbers in the reports of a party to secure sums.
_SUMS = {
    "sums": "Secure sums that are over, those with nobody in them included.",
    "members_of_last_sum": "Agents whose releases are in the last secure sum; 0 if nobody's are.",
    "unused_sums": "Secure sums that made no estimate: their noise was too large.",
    "missed_sums": "Secure sums with members of which this agent was not told.",
    "other_total": "The newest total that the controller gave this agent otherwise than most "
    "agents; 0 if none.",
    "disputed_total": "The newest total of which more agents had different ones than may lie; 0 if "
    "none.",
    "retired": "1 once the agent has retired: it decides, and sends nothing more.",
}
_PRIVACY = {
    "releases": "Releases that were charged for, and have left the party with their noise.",
    "releases_planned": "Releases that the terms plan, all of which the budget pays for.",
    "epsilon_spent": "Privacy spent so far: ε at the claim's δ, of what has left the party.",
    "epsilon_left": "Privacy left: ε at the claim's δ. At 0 nothing is released any more.",
}
_WAITS_FOR = (
    "1 for each peer that must say what it has seen before anything leaves the party. No peer is "
    "here once most have, since the start."
)
_LAST_RELEASE = "When the newest release was charged for, in seconds since 1970."
_SILENT = "Peers of which nothing has come for minutes, though each is asked every minute."
_GREETED = "Peers that have answered since the party started: fedbandits_peers if all have."
_PROBLEMS = "1 for each problem of the status, by what it is about: a peer, or a part of the party."
_HELPERS = "1 for each helper whose answer the secure sum that is under way waits for."
#: Counts by some name: their key in the party's status, what the names are called, and names that
#: are there from 0 on.
_BY_NAME = {
    "messages": (
        "messages", "outcome", "Messages, by what became of them.",
        ("sent", "taken", "duplicate", "early", "refused", "given_up"),
    ),
    "messages_refused": (
        "refusals", "reason", "Messages of peers that were refused, by error.", (),
    ),
    "frames_refused": (
        "refused_frames", "reason", "Frames that were not taken, by error.", ("SealError",),
    ),
}  # fmt: skip


class _OfTheParty(Collector):
    """The party's own numbers, as it has told them."""

    def __init__(self) -> None:
        self.status: Mapping[str, Any] = {}
        self.privacy: Mapping[str, Any] = {}

    def describe(self) -> Iterator[Metric]:
        """Describe no metric before it is asked for."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Collect all numbers that the party tells."""
        sums = self.status.get("sums", {})
        for told, texts in ((self.status, _STATUS), (sums, _SUMS), (self.privacy, _PRIVACY)):
            for name, text in texts.items():
                if _is_number(value := told.get(name)):
                    yield GaugeMetricFamily(f"fedbandits_{name}", text, value=float(value))
        yield from self._times()
        yield from self._by_label(sums)

    def _times(self) -> Iterator[Metric]:
        """Collect durations and times."""
        for name, (key, unit, text) in _TIMES.items():
            if _is_number(value := self.status.get(key)):
                yield GaugeMetricFamily(f"fedbandits_{name}", text, value=unit * float(value))
        if _is_number(last := self.privacy.get("last_release")):
            name = "fedbandits_last_release_timestamp_seconds"
            yield GaugeMetricFamily(name, _LAST_RELEASE, value=float(last))

    def _by_label(self, sums: Mapping[str, Any]) -> Iterator[Metric]:
        """Collect numbers of peers, of problems and of helpers, and counts by name."""
        if "silent" in self.status:
            silent = float(len(self.status["silent"]))
            yield GaugeMetricFamily("fedbandits_silent_peers", _SILENT, value=silent)
        waits = GaugeMetricFamily("fedbandits_waits_for", _WAITS_FOR, labels=["peer"])
        for peer in self.status.get("waits_for", ()):
            waits.add_metric([str(peer)], 1.0)
        yield waits
        if "greeted" in self.status:
            greeted = float(len(self.status["greeted"]))
            yield GaugeMetricFamily("fedbandits_greeted_peers", _GREETED, value=greeted)
        problems = GaugeMetricFamily("fedbandits_problems", _PROBLEMS, labels=["about"])
        for about in self.status.get("problems", ()):
            problems.add_metric([str(about)], 1.0)
        yield problems
        if "helpers_awaited" in sums:
            helpers = GaugeMetricFamily("fedbandits_helpers_awaited", _HELPERS, labels=["helper"])
            for helper in sums["helpers_awaited"]:
                helpers.add_metric([str(helper)], 1.0)
            yield helpers
        for name, (key, label, text, always) in _BY_NAME.items():
            family = CounterMetricFamily(f"fedbandits_{name}", text, labels=[label])
            counts = dict.fromkeys(always, 0) | self.status.get(key, {})
            for value, count in counts.items():
                family.add_metric([str(value)], float(count))
            yield family


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not math.isnan(value)
