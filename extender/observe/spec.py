"""What a metric is: name, type, labels, unit and meaning. One home for each fact."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final

PREFIX: Final = "gpu_extender_"


class MetricType(StrEnum):
    """As Prometheus has them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Label:
    """One label of a metric.

    Attributes:
        name: As it is scraped.
        values: All that it can have; empty where the cluster decides.
        meaning: What an open value is.
    """

    name: str
    values: tuple[str, ...] = ()
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricSpec:
    """One metric.

    Attributes:
        name: As it is scraped, without `PREFIX`.
        type: Of its samples.
        text: What it says; its ``HELP``.
        unit: Of its value, for people; empty for a count.
        labels: In the order of their values.
        label_sets: Which values of several labels come together; empty for all.
        buckets: Upper bounds of a histogram.
        look_when: What an operator should look at, and what it means.
        prefix: Of the scraped name.
    """

    name: str
    type: MetricType
    text: str
    unit: str = ""
    labels: tuple[Label, ...] = ()
    label_sets: tuple[tuple[str, ...], ...] = ()
    buckets: tuple[float, ...] = ()
    look_when: str = ""
    prefix: str = PREFIX

    @property
    def scraped_name(self) -> str:
        """The name with its prefix."""
        return self.prefix + self.name

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of its labels."""
        return tuple(label.name for label in self.labels)

    def known_label_sets(self) -> Iterator[tuple[str, ...]]:
        """List the sets of values that are known ahead; none where some are open."""
        if self.label_sets:
            yield from self.label_sets
        elif self.labels:
            yield from product(*(label.values for label in self.labels))


def counter(name: str, text: str, *labels: Label, look_when: str = "") -> MetricSpec:
    """Describe a counter; its name ends in ``_total``."""
    return MetricSpec(
        name=name,
        type=MetricType.COUNTER,
        text=text,
        labels=labels,
        look_when=look_when,
    )


def gauge(
    name: str, text: str, *labels: Label, unit: str = "", look_when: str = ""
) -> MetricSpec:
    """Describe a gauge."""
    return MetricSpec(
        name=name,
        type=MetricType.GAUGE,
        text=text,
        unit=unit,
        labels=labels,
        look_when=look_when,
    )


def seconds(
    name: str,
    text: str,
    buckets: tuple[float, ...],
    *labels: Label,
    label_sets: tuple[tuple[str, ...], ...] = (),
    look_when: str = "",
) -> MetricSpec:
    """Describe a histogram of times."""
    return MetricSpec(
        name=name,
        type=MetricType.HISTOGRAM,
        text=text,
        unit="seconds",
        labels=labels,
        label_sets=label_sets,
        buckets=buckets,
        look_when=look_when,
    )
