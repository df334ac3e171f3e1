"""What one load of one shape came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.churn.plan import Load, Plan
from benchmarks.quantiles import quantile
from benchmarks.results import Row


@dataclass(slots=True)
class Taken:
    """Everything that was noted while it ran.

    Attributes:
        shape: Which pods were asked about.
        calm: Nanoseconds of each answer while no event flowed.
        churn: The same while events flowed.
        sent: Events that flowed while filter was asked.
        absorbed: How many of them were taken in by the end of their turn.
        event_seconds: How long they flowed.
        lag_events: At the end of each turn, sent and not yet taken in.
        drain_seconds: How long it took to take these in.
        processor_us_per_event: Of the extender, while nothing else happened.
        resident_mib: Of the extender, at the end.
    """

    shape: str
    calm: list[int] = field(default_factory=list)
    churn: list[int] = field(default_factory=list)
    sent: int = 0
    absorbed: int = 0
    event_seconds: float = 0.0
    lag_events: list[int] = field(default_factory=list)
    drain_seconds: list[float] = field(default_factory=list)
    processor_us_per_event: float = 0.0
    resident_mib: float = 0.0

    def note_events(
        self,
        before: Mapping[str, int],
        sent: Mapping[str, int],
        absorbed: Mapping[str, int],
        seconds: float,
    ) -> None:
        """Note one turn.

        Args:
            before: Events that had flowed and been taken in when it began.
            sent: Events that had flowed at its end.
            absorbed: Events that had been taken in at its end.
            seconds: How long it was.
        """
        begun = sum(before.values())
        all_sent, all_absorbed = sum(sent.values()), sum(absorbed.values())
        self.sent += all_sent - begun
        self.absorbed += all_absorbed - begun
        self.event_seconds += seconds
        self.lag_events.append(all_sent - all_absorbed)

    def row(self, plan: Plan, load: Load) -> Row:
        """Put it as reports take it."""
        figures = {
            f"{turn}_{name}_ms": quantile(took, share) / 1e6
            for turn, took in (("calm", self.calm), ("churn", self.churn))
            for name, share in (("p50", 0.5), ("p99", 0.99), ("longest", 1.0))
        }
        figures |= {
            "calm_requests": float(len(self.calm)),
            "churn_requests": float(len(self.churn)),
            "sent_per_second": self.sent / self.event_seconds,
            "absorbed_per_second": self.absorbed / self.event_seconds,
            "lag_events": float(max(self.lag_events)),
            "drain_seconds": max(self.drain_seconds),
            "processor_us_per_event": self.processor_us_per_event,
            "resident_mib": self.resident_mib,
        }
        return Row(
            part="churn",
            case={
                "load": load.name,
                "shape": self.shape,
                "nodes": plan.nodes,
                "gpu_pods": plan.nodes * plan.gpu_pods_per_node,
            },
            figures=figures,
            ratios={
                "p50_to_calm": figures["churn_p50_ms"] / figures["calm_p50_ms"],
                "p99_to_calm": figures["churn_p99_ms"] / figures["calm_p99_ms"],
                "absorbed_to_sent": self.absorbed / self.sent,
            },
            limits=plan.limits,
            budgets=plan.budgets,
        )
