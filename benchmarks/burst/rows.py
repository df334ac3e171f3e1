"""What a burst's runs come to beside each other: rows with ratios.

The runs of a burst differ in who is asked, in how many pods are pending, and in whether
TLS is spoken. Its plain runs have neither of the last two; the ratios of the others are
to the plain run of the same extender.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.burst.figures import Burst, Figures
from benchmarks.results import Limit, Row

PART: Final = "burst"
PROGRAMS: Final = {
    "extender": ("extender", "benchmarks.burst.binding_echo"),
    "api_server": ("kube-apiserver", "etcd"),
    "scheduler": ("kube-scheduler",),
    "plugins": ("benchmarks.burst.plugins",),
}
"""Whose processor time is told, and the programs that it is of."""

BASES: Final = ("echo", "echo-served", "none")
"""Whose rates those of ours are compared with."""

SERVED: Final = "echo-served"
"""Whose pods device plugins serve with the same writes as ours: until all pods run,
both did the same work but for the decision and the lock."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A run that was measured, and what its ratios must be, and are to be."""

    figures: Figures
    limits: Mapping[str, Limit]
    budgets: Mapping[str, Limit] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is pending, and no TLS is spoken."""
        return not self.figures.pending and not self.figures.is_secure


def rows(burst: Burst, measured: Sequence[Measured]) -> list[Row]:
    """Lay out all runs of one burst on one size of cluster.

    Args:
        burst: What they have in common.
        measured: Each run once.
    """
    plain = {each.figures.extender: each.figures for each in measured if each.is_plain}
    return [
        Row(
            part=PART,
            case=_case(burst, each.figures),
            figures=_told(each.figures),
            ratios=_ratios(each, plain),
            limits=each.limits,
            budgets=each.budgets,
        )
        for each in measured
    ]


def _case(burst: Burst, figures: Figures) -> dict[str, str | int]:
    """Name the run; what is as usual stays out."""
    case: dict[str, str | int] = {
        "nodes": figures.nodes,
        "pods": figures.pods,
        "extender": figures.extender,
        "policy": burst.policy,
        "shape": burst.shape,
    }
    if burst.allocate_seconds:
        case["allocate_ms"] = round(1e3 * burst.allocate_seconds)
    if figures.pending:
        case["pending"] = figures.pending
    if figures.is_secure:
        case["tls"] = "mutual"
    return case


def _told(figures: Figures) -> dict[str, float]:
    told = {
        "pods_per_second": figures.pods_per_second,
        "bound_p50_seconds": figures.bound_p50_seconds,
        "bound_p99_seconds": figures.bound_p99_seconds,
        "running_seconds": figures.running_seconds,
        "nodes_used": figures.nodes_used,
        "nodes_ideal": figures.nodes_ideal,
        "filters_per_pod": figures.attempts_per_pod,
        "choose_ms": figures.choose_ms,
        "bind_ms": figures.bind_ms,
        "reads_per_pod": figures.reads_per_pod,
        "others_processors": figures.others_processors,
        "load": figures.load,
    }
    if figures.refused_binds is not None:
        told["refused_binds"] = figures.refused_binds
    for name, programs in PROGRAMS.items():
        spent_ms = figures.processor_ms_per_pod
        told[f"{name}_ms_per_pod"] = sum(spent_ms.get(one, 0.0) for one in programs)
    return told


def _ratios(measured: Measured, plain: Mapping[str, Figures]) -> dict[str, float]:
    figures = measured.figures
    ratios = {"nodes_to_ideal": figures.nodes_used / figures.nodes_ideal}
    if figures.calls:
        ratios["writes_per_pod"] = figures.writes_per_pod
    if figures.refused_share is not None:
        ratios["refused_share"] = figures.refused_share
    rate = figures.pods_per_second
    if measured.is_plain:
        for base in BASES:
            if base in plain and base != figures.extender:
                to_base = rate / plain[base].pods_per_second
                ratios[f"rate_to_{base.replace('-', '_')}"] = to_base
        if SERVED in plain and figures.extender != SERVED:
            # As many pods, so the rates are as the times are.
            until_running = plain[SERVED].running_seconds / figures.running_seconds
            ratios["running_rate_to_echo_served"] = until_running
    elif figures.extender in plain:
        other = "no_pending" if figures.pending else "plain_http"
        ratios[f"rate_to_{other}"] = rate / plain[figures.extender].pods_per_second
    return ratios
