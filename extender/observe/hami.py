"""HAMi's names, for dashboards that exist: `serve --hami-metrics`.

A charge is a pod's, not a container's, as in HAMi 2.10; so ``container_index`` is
always 0.

Not shown: ``hami_build_info``, since this is another program; and
``hami_node_gpu_mig_instance_info``, since only the device plugin knows the UUID of an
instance.

Source: HAMi 2.10's scheduler metrics, by name, labels and units.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from extender.observe.devices import MIB, ShownDevice, devices_in_steps
from extender.observe.exposition import Steps, family_steps, label_text
from extender.observe.read import MOST_QUOTA_KEYS
from extender.observe.spec import Label, MetricSpec, gauge
from extender.state.ledger_view import LedgerView

_PODS_AT_A_TIME: Final = 1_000
_ALL_CORES: Final = 100

_ZONE: Final = Label("zone", ("vGPU",))
_NODE: Final = Label("node", meaning="its node")
_UUID: Final = Label("device_uuid", meaning="the device")
_INDEX: Final = Label("device_index", meaning="its position on the node")
_CORES: Final = Label("device_cores", meaning="cores that it registers")
_MEMORY: Final = Label("device_memory_limit", meaning="MiB that it registers")
_TYPE: Final = Label("device_type", meaning="its model")
_DEVICE: Final = (_ZONE, _NODE, _UUID, _INDEX, _TYPE)
_POD: Final = (
    _ZONE,
    Label("namespace", meaning="of the pod"),
    _NODE,
    Label("pod", meaning="its name"),
    Label("container_index", ("0",)),
    _UUID,
)
_QUOTA: Final = (
    _ZONE,
    Label("namespace", meaning="of the quota"),
    Label("quota_name", meaning="the resource, such as `nvidia.com/gpumem`"),
)


def _hami(name: str, text: str, *labels: Label, unit: str = "") -> MetricSpec:
    return replace(gauge(name, text, *labels, unit=unit), prefix="hami_")


MEMORY_LIMIT: Final = _hami(
    "gpu_memory_limit_bytes", "Memory of a device.", *_DEVICE, unit="bytes"
)
CORE_LIMIT: Final = _hami(
    "gpu_core_limit_ratio", "Compute of a device.", *_DEVICE, unit="percent"
)
MEMORY_ALLOCATED: Final = _hami(
    "gpu_memory_allocated_bytes",
    "Memory of a device that pods are charged.",
    _ZONE,
    _NODE,
    _UUID,
    _INDEX,
    _CORES,
    _TYPE,
    unit="bytes",
)
SHARED: Final = _hami(
    "gpu_shared_count", "Slots of a device that pods are charged.", *_DEVICE
)
CORE_ALLOCATED: Final = _hami(
    "gpu_core_allocated_ratio",
    "Compute of a device that pods are charged, rounded up.",
    *_DEVICE,
    unit="percent",
)
OVERVIEW: Final = _hami(
    "node_gpu_overview",
    "Memory of a device that pods are charged.",
    _ZONE,
    _NODE,
    _UUID,
    _INDEX,
    _CORES,
    _MEMORY,
    _TYPE,
    unit="bytes",
)
MEMORY_RATIO: Final = _hami(
    "node_gpu_memory_allocated_ratio",
    "Part of a device's memory that pods are charged.",
    *_DEVICE,
    unit="ratio",
)
POD_MEMORY: Final = _hami(
    "vgpu_memory_allocated_bytes",
    "Memory of a device that a pod is charged.",
    *_POD,
    unit="bytes",
)
POD_CORES: Final = _hami(
    "vgpu_core_allocated_ratio",
    "Compute of a device that a pod is charged, rounded up.",
    *_POD,
    unit="percent",
)
QUOTA_USED: Final = _hami(
    "resource_quota_used",
    "What pods are charged of a resource that quotas of their namespace limit.",
    *_QUOTA,
    Label("limit", meaning="the lowest limit"),
    unit="of the resource",
)
QUOTA_LIMIT: Final = _hami(
    "resource_quota_limit",
    "The lowest limit of a resource in a namespace.",
    *_QUOTA,
    unit="of the resource",
)
LEFT_OUT: Final = gauge(
    "hami_rows_left_out",
    "Devices and shares of pods beyond `--metrics-device-rows`, which HAMi's names "
    "do not show.",
    look_when="not 0: existing dashboards show a part only",
)

HAMI_METRICS: Final[tuple[MetricSpec, ...]] = (
    MEMORY_LIMIT,
    CORE_LIMIT,
    MEMORY_ALLOCATED,
    SHARED,
    CORE_ALLOCATED,
    OVERVIEW,
    MEMORY_RATIO,
    POD_MEMORY,
    POD_CORES,
    QUOTA_USED,
    QUOTA_LIMIT,
    LEFT_OUT,
)

Samples = dict[MetricSpec, list[tuple[str, object]]]


def hami_steps(ledger: LedgerView, most_rows: int) -> Callable[[], Steps]:
    """Give what writes HAMi's names.

    Args:
        ledger: Tells nodes, pods and quotas.
        most_rows: Devices at most, and shares of pods at most.
    """

    def steps() -> Steps:
        samples: Samples = {spec: [] for spec in HAMI_METRICS}
        capacity: dict[tuple[str, str], int] = {}
        left_out = 0
        for shown in devices_in_steps(ledger):
            for each in shown:
                cores = each.device.capacity.core_percent
                capacity[each.node_name, each.device.device_uuid] = cores
                if not each.is_node_usable:
                    continue
                if len(samples[MEMORY_LIMIT]) < most_rows:
                    _add_device(samples, each)
                else:
                    left_out += 1
            yield b""
        for pods in _shares_in_steps(ledger):
            for labels, memory_mib, cores, key in pods:
                if len(samples[POD_MEMORY]) < most_rows:
                    text = label_text(POD_MEMORY.label_names, labels)
                    percent = _percent(cores, capacity.get(key, _ALL_CORES))
                    samples[POD_MEMORY].append((text, memory_mib * MIB))
                    samples[POD_CORES].append((text, percent))
                else:
                    left_out += 1
            yield b""
        _add_quotas(samples, ledger)
        samples[LEFT_OUT].append(("", left_out))
        for spec, found in samples.items():
            yield from family_steps(spec, found)

    return steps


def _add_device(samples: Samples, shown: ShownDevice) -> None:
    device, capacity = shown.device, shown.device.capacity
    values = {
        "zone": "vGPU",
        "node": shown.node_name,
        "device_uuid": device.device_uuid,
        "device_index": str(device.index),
        "device_cores": str(capacity.core_percent),
        "device_memory_limit": str(capacity.memory_mib),
        "device_type": device.model,
    }
    charged_bytes = shown.memory_mib * MIB
    figures: dict[MetricSpec, object] = {
        MEMORY_LIMIT: capacity.memory_mib * MIB,
        CORE_LIMIT: _ALL_CORES if capacity.core_percent else 0,
        MEMORY_ALLOCATED: charged_bytes,
        SHARED: shown.slots,
        CORE_ALLOCATED: _percent(shown.cores, capacity.core_percent),
        OVERVIEW: charged_bytes,
    }
    if capacity.memory_mib:
        figures[MEMORY_RATIO] = shown.memory_mib / capacity.memory_mib
    for spec, figure in figures.items():
        names = spec.label_names
        text = label_text(names, [values[name] for name in names])
        samples[spec].append((text, figure))


def _percent(cores: int, capacity: int) -> int:
    return math.ceil(cores * _ALL_CORES / capacity) if capacity else 0


Share = tuple[tuple[str, ...], int, int, tuple[str, str]]
"""Labels, MiB, cores, and node and UUID of the device."""


def _shares_in_steps(ledger: LedgerView) -> Iterator[list[Share]]:
    """Give what bound pods are charged, of some pods at a time."""
    uids = list(ledger.pods)
    for start in range(0, len(uids), _PODS_AT_A_TIME):
        found: list[Share] = []
        for uid in uids[start : start + _PODS_AT_A_TIME]:
            pod, holding = ledger.pods.get(uid), ledger.holding(uid)
            if pod is None or holding is None or pod.node_name is None:
                continue
            for device_uuid, usage in holding.charge.items():
                labels = (
                    "vGPU",
                    pod.namespace,
                    holding.node_name,
                    pod.name,
                    "0",
                    device_uuid,
                )
                key = holding.node_name, device_uuid
                found.append((labels, usage.memory_mib, usage.core_percent, key))
        yield found


def _add_quotas(samples: Samples, ledger: LedgerView) -> None:
    """Add each limited resource of a namespace once, by its lowest limit."""
    quotas = ledger.quotas
    lowest: dict[tuple[str, str], tuple[int, int]] = {}
    uses = ((quota, quotas.uses(quota)) for quota in quotas)
    rows = chain.from_iterable(
        ((quota.namespace, use) for use in of_quota) for quota, of_quota in uses
    )
    for namespace, use in islice(rows, MOST_QUOTA_KEYS):
        if use.limit.most is not None:
            row = namespace, use.limit.key.removeprefix("limits.")
            found = use.limit.most, use.used
            lowest[row] = min(lowest.get(row, found), found)
    for (namespace, resource), (most, used) in lowest.items():
        values = ["vGPU", namespace, resource]
        text = label_text(QUOTA_LIMIT.label_names, values)
        samples[QUOTA_LIMIT].append((text, most))
        text = label_text(QUOTA_USED.label_names, [*values, str(most)])
        samples[QUOTA_USED].append((text, used))
