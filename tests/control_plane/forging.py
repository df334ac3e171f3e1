"""Writes that a guard should refuse, and what it says of them."""

from collections.abc import Awaitable
from http import HTTPStatus
from typing import Final

import orjson
import pytest

from tests.builders import Json, node, pod
from tests.control_plane.client import Api, ApiError
from tests.control_plane.plugin import (
    ALLOCATED,
    BIND_PHASE,
    BIND_TIME,
    TO_ALLOCATE,
    VGPU_NODE,
)

PERSON: Final = "jane"
"""Who may do everything by RBAC, and is no account of ours."""

NODE: Final = "n1"
ROWS: Final = "GPU-a,NVIDIA,1000,0:;"
OWNED: Final = {
    VGPU_NODE: NODE,
    ALLOCATED: ROWS,
    TO_ALLOCATE: ROWS,
    BIND_PHASE: "allocating",
    BIND_TIME: "1767225600",
}
FORGED: Final = ROWS.replace("GPU-a", "GPU-b")
POLICY: Final = "ValidatingAdmissionPolicy"


async def refusal(write: Awaitable[object]) -> str:
    """Give what a guard says of a write.

    Raises:
        AssertionError: It passed, or something else refused it.
    """
    with pytest.raises(ApiError) as refused:
        await write
    said: Json = orjson.loads(refused.value.body)
    assert refused.value.status == HTTPStatus.FORBIDDEN, said
    assert POLICY in said["message"], said
    return str(said["message"])


async def bound_pod(api: Api, name: str = "p") -> Json:
    """Create a pod with a share, bound to the node as the extender would."""
    asking = pod(name).app("a", gpu=1, gpumem=1_000)
    created = await api.create_pod(asking.build())
    await api.bind(created, NODE, OWNED, {VGPU_NODE: NODE})
    return await api.get(f"/api/v1/namespaces/default/pods/{name}")


async def create_node(api: Api) -> Json:
    """Create a node with two cards."""
    return await api.create_node(node(NODE).gpu("GPU-a").gpu("GPU-b").build())


def annotating(texts: dict[str, str | None]) -> Json:
    """Make a patch of annotations; None removes one."""
    return {"metadata": {"annotations": texts}}
