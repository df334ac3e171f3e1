"""A stand-in for HAMi's scheduler: it writes what HAMi v2.10 writes, as told by a test.

First node and rows into the unbound pod, as its filter does; then phase and time, and
the Binding, as its bind does.
"""

from typing import Final

from tests.builders import Json
from tests.control_plane.client import STRATEGIC, Api, path_of
from tests.control_plane.plane import User

_TO_ALLOCATE: Final = "hami.io/vgpu-devices-to-allocate"
_ALLOCATED: Final = "hami.io/vgpu-devices-allocated"


async def assign(api: Api, pod: Json, node_name: str, rows: str) -> None:
    """Write what filter chose."""
    texts = {
        "hami.io/vgpu-node": node_name,
        "hami.io/vgpu-time": "1767225600",
        _TO_ALLOCATE: rows,
        _ALLOCATED: rows,
    }
    metadata = {"annotations": texts, "labels": {"hami.io/vgpu-node": node_name}}
    await _writer(api).patch(path_of(pod), {"metadata": metadata})


async def bind(api: Api, pod: Json, node_name: str) -> None:
    """Write phase and time, and then the Binding."""
    texts = {"hami.io/bind-phase": "allocating", "hami.io/bind-time": "1767225601"}
    await _writer(api).patch(path_of(pod), {"metadata": {"annotations": texts}})
    await api.bind(pod, node_name)


async def place(api: Api, pod: Json, node_name: str, rows: str) -> None:
    """Assign, and bind."""
    await assign(api, pod, node_name, rows)
    await bind(api, pod, node_name)


async def leave_pending(api: Api, pod: Json, message: str) -> None:
    """Write the condition of a pod for which no node is left."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
    }
    change: Json = {"status": {"conditions": [condition]}}
    await api.patch(f"{path_of(pod)}/status", change, STRATEGIC)


def _writer(api: Api) -> Api:
    """Write as somebody whom the guards let write allocations."""
    return api.acting_as(User.EXTENDER)
