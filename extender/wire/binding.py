"""All that a Binding tells, besides the node."""

from collections.abc import Iterable, Mapping

from extender.core.allocation import Allocation
from extender.core.kinds import Kind
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device
from extender.core.pod import Pod
from extender.wire.allocation import allocation_annotations
from extender.wire.device_policies import exclusive_annotations
from extender.wire.pod_settings import release_annotations
from extender.wire.side_annotations import Bound, side_annotations

_NANOSECONDS = 1_000_000_000


def binding_annotations(
    pod: Pod,
    kinds: Mapping[str, Kind],
    *,
    node_name: NodeName,
    devices: Iterable[Device],
    allocation: Allocation,
    unix_seconds: float,
) -> dict[str, str]:
    """Write what device plugins and later readers need, in one.

    Args:
        pod: To be bound.
        kinds: By their words; at least those that it asks for.
        node_name: Where.
        devices: At least those that the allocation names.
        allocation: Rows of all kinds.
        unix_seconds: Now.
    """
    now = int(unix_seconds)
    asked = [kinds[request.kind] for request in pod.asking]
    by_uuid: dict[DeviceUUID, Device] = {each.device_uuid: each for each in devices}
    annotations = {
        # A Binding takes no annotation away: what is not the pod's own is emptied.
        **dict.fromkeys(pod.leftovers, ""),
        **allocation_annotations(
            asked,
            node_name,
            allocation,
            now,
            models={uuid: device.model for uuid, device in by_uuid.items()},
        ),
        **release_annotations(pod),
        **exclusive_annotations(pod),
    }
    for request in pod.asking:
        bound = Bound(
            kind=kinds[request.kind],
            node_name=node_name,
            allocation=tuple(
                tuple(share for share in row if share.kind == request.kind)
                for row in allocation
            ),
            devices=by_uuid,
            unix_seconds=now,
            unix_nanoseconds=int(unix_seconds * _NANOSECONDS),
            in_software=request.in_software,
            traits=request.selection.traits,
            container_names=tuple(one.name for one in pod.containers),
            device_ids=request.kubelet_slots,
        )
        annotations.update(side_annotations(bound))
    return annotations
