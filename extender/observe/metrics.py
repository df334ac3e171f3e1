"""The metrics of one process.

Names follow Prometheus' conventions: the unit at the end, ``_total`` for counters.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4

_PREFIX: Final = "gpu_extender"
_LAG_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Counters and histograms; each has its registry, so that tests do not share it."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.audits = Counter(
            f"{_PREFIX}_audits",
            "Times that all totals were recomputed from the pods.",
            registry=self._registry,
        )
        self.audit_differences = Counter(
            f"{_PREFIX}_audit_differences",
            "Pods and nodes whose totals were not what the pods add up to.",
            registry=self._registry,
        )
        self.lists = Counter(
            f"{_PREFIX}_lists",
            "Whole lists read from the API server.",
            ["collection"],
            registry=self._registry,
        )
        self.watch_events = Counter(
            f"{_PREFIX}_watch_events",
            "Events that watches told, bookmarks apart.",
            ["collection"],
            registry=self._registry,
        )
        self.watch_lag_seconds = Histogram(
            f"{_PREFIX}_watch_lag_seconds",
            "From the API server's answer to a Binding until the watch shows the pod "
            "bound.",
            buckets=_LAG_SECONDS,
            registry=self._registry,
        )
        self.binds = Counter(
            f"{_PREFIX}_binds",
            "Binds by outcome.",
            ["outcome"],
            registry=self._registry,
        )
        self.admissions = Counter(
            f"{_PREFIX}_admissions",
            "Answers to the API server about new pods, by outcome.",
            ["outcome"],
            registry=self._registry,
        )
        self.woken_pods = Counter(
            f"{_PREFIX}_woken_pods",
            "Refused pods that were touched so that kube-scheduler tries them again.",
            registry=self._registry,
        )

        self.device_config_reads = Counter(
            f"{_PREFIX}_device_config_reads",
            "Changes of the device-config file, by whether they were taken.",
            ["outcome"],
            registry=self._registry,
        )

    def show(
        self,
        name: str,
        text: str,
        read: "Read",
        label: str = "",
        family: "Family" = GaugeMetricFamily,
    ) -> None:
        """Add a figure that is read when it is asked for.

        Args:
            name: Without the prefix, with its unit.
            text: What it says.
            read: Gives the value for each value of the label; the label's value is
                ignored where there is no label.
            label: The label's name, if any.
            family: Whether it is a gauge or a counter.
        """
        self._registry.register(_Read(f"{_PREFIX}_{name}", text, read, label, family))

    def exposition(self) -> bytes:
        """Write everything in Prometheus' text format."""
        return generate_latest(self._registry)


Read = Callable[[], Mapping[str, float]]
Family = type[GaugeMetricFamily] | type[CounterMetricFamily]


class _Read(Collector):
    """A figure that is read at each scrape."""

    def __init__(
        self, name: str, text: str, read: Read, label: str, family: Family
    ) -> None:
        self._name, self._text, self._read = name, text, read
        self._labels = [label] if label else []
        self._family = family

    def collect(self) -> Iterable[Metric]:
        """Read it."""
        family = self._family(self._name, self._text, labels=self._labels)
        for value_of_label, value in self._read().items():
            family.add_metric([value_of_label] if self._labels else [], value)
        yield family
