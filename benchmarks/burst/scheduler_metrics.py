"""What kube-scheduler counts, by its own metrics."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Self

_SAMPLE: Final = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


class SchedulerMetrics:
    """What kube-scheduler counted since it was started.

    Args:
        text: In Prometheus' format.
        before: What it had counted at a moment from which on to count instead.
    """

    def __init__(self, text: str, before: Self | None = None) -> None:
        read = {
            (name, labels): float(value)
            for name, labels, value in _SAMPLE.findall(text)
        }
        earlier: Mapping[tuple[str, str], float] = {}
        if before is not None:
            earlier = before._samples  # noqa: SLF001 - it is one of us
        self._text = text
        self._samples: Mapping[tuple[str, str], float] = {
            sample: value - earlier.get(sample, 0.0) for sample, value in read.items()
        }

    def since(self, before: Self) -> Self:
        """Give what it counted since an earlier look; levels make no sense there."""
        return type(self)(self._text, before)

    def waiting_pods(self) -> int:
        """Tell how many pods were refused, and wait until the cluster changes."""
        name = "scheduler_pending_pods"
        return round(sum(n for _, n in self._of(name, queue="unschedulable")))

    def attempts(self) -> dict[str, int]:
        """Count attempts to place a pod: scheduled, unschedulable, error."""
        counted: dict[str, int] = {}
        for labels, value in self._of("scheduler_schedule_attempts_total"):
            result = labels["result"]
            counted[result] = counted.get(result, 0) + round(value)
        return counted

    def choose_ms(self) -> float:
        """Give the mean time in which a node was chosen; pods wait for each other."""
        return self._mean_ms("scheduler_scheduling_algorithm_duration_seconds")

    def attempt_ms(self) -> float:
        """Give the mean time of successful attempts, from the choice until bound."""
        name = "scheduler_scheduling_attempt_duration_seconds"
        return self._mean_ms(name, result="scheduled")

    def _mean_ms(self, name: str, **wanted: str) -> float:
        total = sum(value for _, value in self._of(f"{name}_sum", **wanted))
        count = sum(value for _, value in self._of(f"{name}_count", **wanted))
        return 1e3 * total / count if count else 0.0

    def _of(
        self, name: str, **wanted: str
    ) -> Iterator[tuple[Mapping[str, str], float]]:
        for (sample, text), value in self._samples.items():
            if sample == name:
                labels = dict(_LABEL.findall(text))
                if wanted.items() <= labels.items():
                    yield labels, value
