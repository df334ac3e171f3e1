"""What is measured, as the workload's file says it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from benchmarks.results import Limit
from benchmarks.workloads import Section, budgets_of, limits_of


@dataclass(frozen=True, slots=True)
class Size:
    """One size of cluster.

    Attributes:
        nodes: How many, with 8 cards each.
        gpu_pods_per_node: Bound and running.
        plain_pods: Pods without GPU, over all nodes.
        budgets: Of some of its figures.
    """

    nodes: int
    gpu_pods_per_node: int
    plain_pods: int
    budgets: Mapping[str, Limit]

    @property
    def gpu_pods(self) -> int:
        """In all."""
        return self.nodes * self.gpu_pods_per_node

    @property
    def without_plain_pods(self) -> tuple[int, int]:
        """What a size with plain pods shares with the one it is compared with."""
        return self.nodes, self.gpu_pods_per_node


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that ``workloads/start.yaml`` says; the file tells what it means."""

    sizes: Sequence[Size]
    runs: int
    limits: Mapping[str, Limit]

    @classmethod
    def of(cls, workload: Mapping[str, object], *, full: bool) -> Self:
        """Read a workload.

        Args:
            workload: Content of the file.
            full: Whether what stands under ``full`` replaces what stands above.

        Raises:
            WorkloadUnusable: A value is missing or of another kind.
        """
        file = "start.yaml"
        said = Section(workload, file)
        if full:
            said = Section({**workload, **said.section("full")}, file)
        said.only("cases", "runs", "limits", "full")
        return cls(
            sizes=[
                Size(
                    case.whole("nodes", least=1),
                    case.whole("gpu_pods_per_node"),
                    case.whole("plain_pods"),
                    budgets_of(case),
                )
                for case in said.sections("cases")
            ],
            runs=said.whole("runs", least=2),
            limits=limits_of(said),
        )
