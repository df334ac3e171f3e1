"""What some vendors' device plugins read at bind, besides the rows of an allocation.

Source: PatchAnnotations of each vendor in HAMi v2.10.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from extender.core.allocation import Allocation, Row, Share
from extender.core.company import NO_TRAITS, QOS_POLICIES, Traits
from extender.core.kinds import Kind, SideAnnotations
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device

_MLU_UNIT_MIB: Final = 256

_MLU_PROFILE: Final = "CAMBRICON_DSMLU_PROFILE"
_ASCEND_TIME: Final = "predicate-time"
_MTHREADS_INDEX: Final = "mthreads.com/gpu-index"
_MTHREADS_NODE: Final = "mthreads.com/predicate-node"
_MTHREADS_TIME: Final = "mthreads.com/predicate-time"
_KUNLUN_INDEX: Final = "BAIDU_COM_DEVICE_IDX"
_METAX_ROWS: Final = "metax-tech.com/gpu-devices-allocated"
_METAX_TIME: Final = "metax-tech.com/predicate-time"
_NEURON_IDS: Final = "AWS_NEURON_IDS"
_NEURON_TIME: Final = "NEURON_ALLOC_TIME"
_NEURON_SERVED: Final = "NEURON_ALLOCATED"
_NEURON_NODE: Final = "aws.amazon.com/predicate-node"
_NEURON_RESOURCE: Final = "NEURON_RESOURCE_TYPE"
_GCU_SERVED: Final = "enflame.com/gcu-assigned"
_GCU_TIME: Final = "enflame.com/gcu-assigned-time"
_GCU_INDEX: Final = "enflame.com/gcu-assigned-index"
_GCU_ID: Final = "enflame.com/gcu-assigned-id"
_GCU_MINOR: Final = "enflame.com/gcu-assigned-minor"
_GCU_SIZE: Final = "enflame.com/gcu-request-size"

_NAMES: Final[Mapping[SideAnnotations, tuple[str, ...]]] = {
    SideAnnotations.CAMBRICON: (_MLU_PROFILE,),
    SideAnnotations.ASCEND: (_ASCEND_TIME,),
    SideAnnotations.MTHREADS: (_MTHREADS_INDEX, _MTHREADS_NODE, _MTHREADS_TIME),
    SideAnnotations.METAX_SGPU: (_METAX_ROWS, _METAX_TIME),
    SideAnnotations.KUNLUN: (_KUNLUN_INDEX,),
    SideAnnotations.AWS_NEURON: (
        _NEURON_IDS,
        _NEURON_TIME,
        _NEURON_SERVED,
        _NEURON_NODE,
        _NEURON_RESOURCE,
    ),
    SideAnnotations.ENFLAME_DRS: (
        _GCU_SERVED,
        _GCU_TIME,
        _GCU_INDEX,
        _GCU_ID,
        _GCU_MINOR,
        _GCU_SIZE,
    ),
}
"""Whatever the kind is called; besides, there is `_ascend_devices`."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An allocation at the moment of its Binding.

    Attributes:
        kind: Of device.
        node_name: Where it is bound.
        allocation: One row per container; at least one names a device.
        devices: At least those that the allocation names.
        unix_seconds: When.
        unix_nanoseconds: When, for plugins that tell pods apart by it.
        in_software: The pod asks for sharing in software, of a kind that can do both.
        traits: What the pod is to others on its cards.
        container_names: One per row.
        device_ids: Of the kind's count, that kubelet sets aside for the pod; 0 where
            its containers name cores alone.
    """

    kind: Kind
    node_name: NodeName
    allocation: Allocation
    devices: Mapping[DeviceUUID, Device]
    unix_seconds: int
    unix_nanoseconds: int
    in_software: bool = False
    traits: Traits = NO_TRAITS
    container_names: tuple[str, ...] = ()
    device_ids: int = 0

    @property
    def shares(self) -> tuple[Share, ...]:
        """All shares, in the order of the containers."""
        return tuple(share for row in self.allocation for share in row)

    def indices(self, row: Row) -> str:
        """Write the indices of a row's cards, comma-separated."""
        return ",".join(str(self.devices[each.device_uuid].index) for each in row)


def side_annotations(bound: Bound) -> dict[str, str]:
    """Write what the kind's device plugin reads besides rows.

    Returns:
        Annotations for the pod; none where the allocation holds nothing, or the plugin
        reads rows alone.

    Raises:
        KeyError: `Bound.devices` lacks a card that the allocation names.
    """
    written = bound.kind.side_annotations
    if written is None or not bound.shares:
        return {}
    return _WRITERS[written](bound)


def side_annotation_names(kind: Kind) -> tuple[str, ...]:
    """Name what `side_annotations` may write of its own for a kind.

    Besides, it writes what the `Kind` itself names: `Kind.assigned_annotations`,
    `Kind.slots_annotation`, and `Kind.qos_annotation`, which users write, too.
    """
    written = kind.side_annotations
    if written is None:
        return ()
    if written is SideAnnotations.ASCEND:
        return (*_NAMES[written], _ascend_devices(kind))
    return _NAMES[written]


def _cambricon(bound: Bound) -> dict[str, str]:
    """Name the card, the percent and the units of the first share."""
    first = bound.shares[0]
    index = bound.devices[first.device_uuid].index
    units = first.memory_mib // _MLU_UNIT_MIB
    return {
        **dict.fromkeys(bound.kind.assigned_annotations, "false"),
        _MLU_PROFILE: f"{index}_{first.core_percent}_{units}",
    }


def _ascend(bound: Bound) -> dict[str, str]:
    """List all shares: by the template that is cut, or by amounts where none is."""
    listed = [_ascend_share(share, bound) for share in bound.shares]
    return {
        _ascend_devices(bound.kind): orjson.dumps(listed).decode(),
        _ASCEND_TIME: str(bound.unix_seconds),
    }


def _ascend_devices(kind: Kind) -> str:
    return f"huawei.com/{kind.type_word}"


def _ascend_share(share: Share, bound: Bound) -> dict[str, str | int]:
    """Write one share; what is empty or 0 is left out, and a whole card has no name."""
    described: dict[str, str | int] = {"UUID": share.device_uuid}
    if bound.in_software:
        amounts = {"memory": share.memory_mib, "core": share.core_percent}
        return {**described, **{key: each for key, each in amounts.items() if each}}
    sizes = bound.kind.memory_sizes
    names = [size.name for size in sizes if share.memory_mib <= size.memory_mib]
    return {**described, "temp": names[0]} if names else described


def _mthreads(bound: Bound) -> dict[str, str]:
    """Name the cards of the container; one container of a pod has some."""
    (row,) = [row for row in bound.allocation if row]
    return {
        _MTHREADS_INDEX: bound.indices(row),
        _MTHREADS_NODE: bound.node_name,
        _MTHREADS_TIME: str(bound.unix_nanoseconds),
    }


def _kunlun(bound: Bound) -> dict[str, str]:
    """Name the cards of the container; one container of a pod has some."""
    (row,) = [row for row in bound.allocation if row]
    return {_KUNLUN_INDEX: bound.indices(row)}


def _metax_sgpu(bound: Bound) -> dict[str, str]:
    """Write the rows as JSON, one list per container; 0 is left out.

    And the policy, which a pod may have without naming it.
    """
    rows = [[_metax_share(share) for share in row] for row in bound.allocation]
    name = bound.kind.qos_annotation
    policy = [each.value for each in QOS_POLICIES if each in bound.traits]
    return {
        **({name: policy[0]} if name is not None and policy else {}),
        _METAX_ROWS: orjson.dumps(rows).decode(),
        _METAX_TIME: str(bound.unix_nanoseconds),
    }


def _metax_share(share: Share) -> dict[str, str | int]:
    amounts = {"compute": share.core_percent, "vRam": share.memory_mib}
    filled = {key: each for key, each in amounts.items() if each}
    return {"uuid": share.device_uuid, **filled}


def _aws_neuron(bound: Bound) -> dict[str, str]:
    """List the devices by index, or the cores, counted through all devices.

    In the order of the containers. A core that an init has, and an app after it, is
    listed for both.
    """
    numbers: list[int] = []
    per_device = bound.kind.whole_card_cores
    for share in bound.shares:
        index = bound.devices[share.device_uuid].index
        if not bound.device_ids:
            cores = [core for core in range(per_device) if share.cores >> core & 1]
            numbers += [index * per_device + core for core in cores]
        else:
            numbers.append(index)
    written = {
        _NEURON_IDS: ",".join(map(str, numbers)),
        _NEURON_TIME: str(bound.unix_nanoseconds),
        _NEURON_SERVED: "false",
        _NEURON_NODE: bound.node_name,
    }
    if not bound.device_ids and bound.kind.core_resource is not None:
        written[_NEURON_RESOURCE] = bound.kind.core_resource
    return written


def _enflame_drs(bound: Bound) -> dict[str, str]:
    """Name the card and the profile of the container; one of a pod has some."""
    ((name, share),) = [
        (name, row[0])
        for name, row in zip(bound.container_names, bound.allocation, strict=True)
        if row
    ]
    card = bound.devices[share.device_uuid]
    described: dict[str, object] = {"allocated": False, "request": share.slots}
    for each in card.profiles:
        if (each.slots, each.memory_mib) == (share.slots, share.memory_mib):
            described |= {"profileID": each.number, "profileName": each.name}
            break
    return {
        _GCU_SERVED: "false",
        _GCU_TIME: str(bound.unix_nanoseconds),
        _GCU_INDEX: str(card.index),
        _GCU_ID: str(card.index),
        _GCU_MINOR: card.minor,
        _GCU_SIZE: str(share.slots),
        str(bound.kind.slots_annotation): orjson.dumps({name: described}).decode(),
    }


_WRITERS: Final[Mapping[SideAnnotations, Callable[[Bound], dict[str, str]]]] = {
    SideAnnotations.CAMBRICON: _cambricon,
    SideAnnotations.ASCEND: _ascend,
    SideAnnotations.MTHREADS: _mthreads,
    SideAnnotations.METAX_SGPU: _metax_sgpu,
    SideAnnotations.KUNLUN: _kunlun,
    SideAnnotations.AWS_NEURON: _aws_neuron,
    SideAnnotations.ENFLAME_DRS: _enflame_drs,
}
