"""The metrics of one process.

Names follow Prometheus' conventions: the unit at the end, ``_total`` for counters. What
each is stands in `extender.observe.counted`, `read`, `devices` and `hami`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from extender.observe import counted
from extender.observe.exposition import Steps
from extender.observe.spec import MetricSpec, MetricType
from extender.observe.timing import Timing, VerbCounts
from extender.observe.words import Verb

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4

# A second series beside each counter and histogram, which nobody looks at.
disable_created_metrics()  # type: ignore[no-untyped-call]

Read = Callable[[], Mapping[str, float] | Mapping[tuple[str, ...], float]]
"""Gives the value for each value of the label, or of several; the label's value is
ignored where there is no label."""


class Metrics:
    """Counters and histograms; each has its registry, so that tests do not share it.

    Each set of labels that is known ahead is shown from the start, as 0: what was not
    there before has no increase.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._steps: list[Callable[[], Steps]] = []
        ProcessCollector(registry=self._registry)
        self._verbs = VerbCounts(
            self._counter(counted.VERB_REQUESTS),
            self._histogram(counted.VERB_SECONDS),
            self._histogram(counted.STAGE_SECONDS),
        )
        self.fit_nodes = self._counter(counted.FIT_NODES)
        self.fit_refusals = self._counter(counted.FIT_REFUSALS)
        self.binds = self._counter(counted.BINDS)
        self.bind_refusals = self._counter(counted.BIND_REFUSALS)
        self.lock_wait_seconds = self._histogram(counted.LOCK_WAIT_SECONDS)
        self.turn_wait_seconds = self._histogram(counted.TURN_WAIT_SECONDS)
        self.audits = self._counter(counted.AUDITS)
        self.audit_differences = self._counter(counted.AUDIT_DIFFERENCES)
        self.lists = self._counter(counted.LISTS)
        self.watch_events = self._counter(counted.WATCH_EVENTS)
        self.watch_lag_seconds = self._histogram(counted.WATCH_LAG_SECONDS)
        self.admissions = self._counter(counted.ADMISSIONS)
        self.woken_pods = self._counter(counted.WOKEN_PODS)
        self.device_config_reads = self._counter(counted.DEVICE_CONFIG_READS)
        self.api_requests = self._counter(counted.API_REQUESTS)
        self.loop_lag_seconds = self._histogram(counted.LOOP_LAG_SECONDS)
        self.certificate_end = Gauge(
            counted.CERTIFICATE_END.scraped_name,
            counted.CERTIFICATE_END.text,
            counted.CERTIFICATE_END.label_names,
            registry=self._registry,
        )

    def time(self, verb: Verb) -> Timing:
        """Begin to time a request; use it as a context manager."""
        return Timing(self._verbs, verb)

    def show(self, spec: MetricSpec, read: Read) -> None:
        """Add a figure that is read when it is asked for."""
        self._registry.register(_Read(spec, read))

    def show_in_steps(self, steps: Callable[[], Steps]) -> None:
        """Add families of many samples, which are written a few at a time."""
        self._steps.append(steps)

    def steps(self) -> Steps:
        """Write everything in Prometheus' text format, a few milliseconds at a time.

        What is read in different steps may be of different moments.
        """
        yield generate_latest(self._registry)
        for steps in self._steps:
            yield from steps()

    def exposition(self) -> bytes:
        """Write the same in one piece."""
        return b"".join(self.steps())

    def _counter(self, spec: MetricSpec) -> Counter:
        made = Counter(
            spec.scraped_name, spec.text, spec.label_names, registry=self._registry
        )
        for values in spec.known_label_sets():
            made.labels(*values)
        return made

    def _histogram(self, spec: MetricSpec) -> Histogram:
        made = Histogram(
            spec.scraped_name,
            spec.text,
            spec.label_names,
            registry=self._registry,
            buckets=spec.buckets,
        )
        for values in spec.known_label_sets():
            made.labels(*values)
        return made


class _Read(Collector):
    """A figure that is read at each scrape."""

    def __init__(self, spec: MetricSpec, read: Read) -> None:
        self._spec, self._read = spec, read

    def describe(self) -> Iterable[Metric]:
        """Give its name without reading it: the state may not be there yet."""
        return [self._family()]

    def collect(self) -> Iterable[Metric]:
        """Read it."""
        family = self._family()
        for of_labels, value in self._read().items():
            values = [of_labels] if isinstance(of_labels, str) else list(of_labels)
            family.add_metric(values if self._spec.labels else [], value)
        yield family

    def _family(self) -> CounterMetricFamily | GaugeMetricFamily:
        spec, labels = self._spec, self._spec.label_names
        if spec.type is MetricType.COUNTER:
            return CounterMetricFamily(spec.scraped_name, spec.text, labels=labels)
        return GaugeMetricFamily(spec.scraped_name, spec.text, labels=labels)
