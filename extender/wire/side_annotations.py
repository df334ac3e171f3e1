"""What some vendors' device plugins read at bind, besides the rows of an allocation.

Source: PatchAnnotations of each vendor in HAMi v2.10.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from extender.core.company import NO_TRAITS, QOS_POLICIES, Traits
from extender.core.kinds import Kind, SideAnnotations
from extender.core.model import Allocation, Device, DeviceUUID, NodeName, Row, Share

_MLU_UNIT_MIB: Final = 256


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


def _cambricon(bound: Bound) -> dict[str, str]:
    """Name the card, the percent and the units of the first share."""
    first = bound.shares[0]
    index = bound.devices[first.device_uuid].index
    units = first.memory_mib // _MLU_UNIT_MIB
    return {
        **dict.fromkeys(bound.kind.assigned_annotations, "false"),
        "CAMBRICON_DSMLU_PROFILE": f"{index}_{first.core_percent}_{units}",
    }


def _ascend(bound: Bound) -> dict[str, str]:
    """List all shares: by the template that is cut, or by amounts where none is."""
    listed = [_ascend_share(share, bound) for share in bound.shares]
    return {
        f"huawei.com/{bound.kind.type_word}": orjson.dumps(listed).decode(),
        "predicate-time": str(bound.unix_seconds),
    }


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
        "mthreads.com/gpu-index": bound.indices(row),
        "mthreads.com/predicate-node": bound.node_name,
        "mthreads.com/predicate-time": str(bound.unix_nanoseconds),
    }


def _kunlun(bound: Bound) -> dict[str, str]:
    """Name the cards of the container; one container of a pod has some."""
    (row,) = [row for row in bound.allocation if row]
    return {"BAIDU_COM_DEVICE_IDX": bound.indices(row)}


def _metax_sgpu(bound: Bound) -> dict[str, str]:
    """Write the rows as JSON, one list per container; 0 is left out.

    And the policy, which a pod may have without naming it.
    """
    rows = [[_metax_share(share) for share in row] for row in bound.allocation]
    name = bound.kind.qos_annotation
    policy = [each.value for each in QOS_POLICIES if each in bound.traits]
    return {
        **({name: policy[0]} if name is not None and policy else {}),
        "metax-tech.com/gpu-devices-allocated": orjson.dumps(rows).decode(),
        "metax-tech.com/predicate-time": str(bound.unix_nanoseconds),
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
        "AWS_NEURON_IDS": ",".join(map(str, numbers)),
        "NEURON_ALLOC_TIME": str(bound.unix_nanoseconds),
        "NEURON_ALLOCATED": "false",
        "aws.amazon.com/predicate-node": bound.node_name,
    }
    if not bound.device_ids and bound.kind.core_resource is not None:
        written["NEURON_RESOURCE_TYPE"] = bound.kind.core_resource
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
        "enflame.com/gcu-assigned": "false",
        "enflame.com/gcu-assigned-time": str(bound.unix_nanoseconds),
        "enflame.com/gcu-assigned-index": str(card.index),
        "enflame.com/gcu-assigned-id": str(card.index),
        "enflame.com/gcu-assigned-minor": card.minor,
        "enflame.com/gcu-request-size": str(share.slots),
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
