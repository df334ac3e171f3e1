"""What is measured, as the workload's file says it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import orjson

from benchmarks.layout import ClusterPlan
from benchmarks.results import Limit
from benchmarks.shapes import SHAPE_BY_NAME, Shape
from benchmarks.workloads import Section, budgets_of, limits_of

_SPARE: Final = 1.3
"""Times the events that are expected: whenever the driver pauses, more flow."""

_SECONDS_TO_STOP: Final = 2.0


@dataclass(frozen=True, slots=True)
class Load:
    """Events that flow together.

    Attributes:
        name: As the report shows it.
        rates: Events a second, by collection.
        is_seen: Whether all pods that are asked about ask for the same.
    """

    name: str
    rates: Mapping[str, float]
    is_seen: bool = False

    @classmethod
    def of(cls, section: Section) -> Self:
        """Read one.

        Raises:
            WorkloadUnusable: A value is missing or of another kind.
        """
        section.only("name", "rates", "asked")
        asked = section.text("asked", default="never", choices=("never", "seen"))
        return cls(section.text("name"), section.numbers("rates"), asked == "seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that ``workloads/churn.yaml`` says; the file tells what it means."""

    nodes: int
    gpu_pods_per_node: int
    plain_pods: int
    rounds: int
    calm_seconds: float
    churn_seconds: float
    alone_seconds: float
    shapes: Sequence[Shape]
    loads: Sequence[Load]
    mix: Mapping[str, float]
    limits: Mapping[str, Limit]
    budgets: Mapping[str, Limit]

    @classmethod
    def of(cls, workload: Mapping[str, object], *, full: bool) -> Self:
        """Read a workload.

        Args:
            workload: Content of the file.
            full: Whether what stands under ``full`` replaces what stands above.

        Raises:
            WorkloadUnusable: A value is missing or of another kind.
        """
        file = "churn.yaml"
        said = Section(workload, file)
        if full:
            said = Section({**workload, **said.section("full")}, file)
        said.only(*cls.__slots__, "full")
        names = said.texts("shapes")
        if not set(names) <= SHAPE_BY_NAME.keys():
            raise said.unusable("shapes", f"some of {', '.join(SHAPE_BY_NAME)}")
        return cls(
            nodes=said.whole("nodes", least=1),
            gpu_pods_per_node=said.whole("gpu_pods_per_node"),
            plain_pods=said.whole("plain_pods"),
            rounds=said.whole("rounds", least=1),
            calm_seconds=said.number("calm_seconds"),
            churn_seconds=said.number("churn_seconds"),
            alone_seconds=said.number("alone_seconds"),
            shapes=[SHAPE_BY_NAME[name] for name in names],
            loads=[Load.of(load) for load in said.sections("loads")],
            mix=said.numbers("mix"),
            limits=limits_of(said),
            budgets=budgets_of(said),
        )

    @property
    def cluster(self) -> ClusterPlan:
        """The cluster as it is when it is listed."""
        return ClusterPlan(self.nodes, self.gpu_pods_per_node)

    def stand_in_arguments(self, load: Load) -> dict[str, object]:
        """Tell the stand-in for the API server what to serve."""
        return {
            "nodes": self.nodes,
            "pods-per-node": self.gpu_pods_per_node,
            "plain-pods": self.plain_pods,
            "pod-events": self._event_count(load.rates.get("pods", 0.0)),
            "node-events": self._event_count(load.rates.get("nodes", 0.0)),
            "mix": orjson.dumps(dict(self.mix)).decode(),
        }

    def _event_count(self, rate: float) -> int:
        """Tell how many events have to be there."""
        turns = self.rounds * (self.churn_seconds + _SECONDS_TO_STOP)
        turns += self.alone_seconds + _SECONDS_TO_STOP
        return int(rate * len(self.shapes) * turns * _SPARE)
