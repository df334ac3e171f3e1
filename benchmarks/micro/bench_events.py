"""To take in one event."""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.micro.measuring import Against, Measured
from benchmarks.micro.stage import Stage
from extender.core.pod_status import ContainerStatus, RunState
from extender.state.events import Event, NodeSeen, PodSeen


def bench_pod_unchanged(measured: Measured, stage: Stage, node_count: int) -> None:
    """Show a pod again whose charge is what it was; it was read anew."""
    views = [PodSeen(replace(stage.pod)), PodSeen(replace(stage.pod))]
    _measure(measured, stage, "pod unchanged", node_count, views)


def bench_pod_changed(measured: Measured, stage: Stage, node_count: int) -> None:
    """Have an init run again, and be over again."""
    status = stage.pod.status
    again = ContainerStatus(RunState.RUNNING, has_started=True)
    waiting = ContainerStatus(RunState.WAITING)
    running = replace(status, containers=(again, waiting))
    views = [
        PodSeen(replace(stage.pod, status=running)),
        PodSeen(stage.pod),
    ]
    _measure(measured, stage, "pod changed", node_count, views)


def bench_node_unchanged(measured: Measured, stage: Stage, node_count: int) -> None:
    """Show a node again as it is, with another version."""
    node = stage.nodes[0]
    views = [NodeSeen(replace(node, version="2")), NodeSeen(node)]
    _measure(measured, stage, "node unchanged", node_count, views)


def bench_node_locked(measured: Measured, stage: Stage, node_count: int) -> None:
    """Lock a node, and unlock it."""
    node = stage.nodes[0]
    lock = "2026-01-01T00:00:00Z,default,p"
    views = [NodeSeen(replace(node, lock=lock)), NodeSeen(node)]
    _measure(measured, stage, "node locked", node_count, views)


def bench_node_changed(measured: Measured, stage: Stage, node_count: int) -> None:
    """Have a card fail, and recover."""
    node = stage.nodes[0]
    ((kind, inventory),) = node.inventories.items()
    first, *others = inventory.devices or ()
    cards = (replace(first, is_healthy=False), *others)
    failed = replace(node, inventories={kind: replace(inventory, devices=cards)})
    views = [NodeSeen(failed), NodeSeen(node)]
    _measure(measured, stage, "node changed", node_count, views)


def _measure(
    measured: Measured, stage: Stage, name: str, node_count: int, views: Sequence[Event]
) -> None:
    """Apply views in turn, so that each changes something, or none does."""

    def apply_all() -> None:
        for view in views:
            stage.ledger.apply(view)

    measured(
        _case(name, node_count),
        apply_all,
        Against("to_unchanged", _case("pod unchanged", node_count)),
        steps_per_call=len(views),
    )


def _case(name: str, node_count: int) -> dict[str, str | int]:
    return {"step": "event", "event": name, "nodes": node_count}
