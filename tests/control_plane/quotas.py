"""ResourceQuotas on a real API server."""

from collections.abc import Callable
from typing import Final

from tests.builders import Json
from tests.control_plane.client import Api

LIMIT: Final = "limits.nvidia.com/gpumem"


def quotas_path(namespace: str) -> str:
    """Give the path of a namespace's quotas."""
    return f"/api/v1/namespaces/{namespace}/resourcequotas"


async def create_quota(api: Api, quota: Json) -> Json:
    """Create one."""
    path = quotas_path(quota["metadata"]["namespace"])
    return await api.request("POST", path, body=quota)


async def when_quota(
    api: Api, quota: Json, claim: Callable[[Json], bool], *, wanted: str
) -> Json:
    """Wait until a quota is as claimed."""
    metadata = quota["metadata"]
    path = f"{quotas_path(metadata['namespace'])}/{metadata['name']}"
    return await api.when(path, claim, wanted=wanted)
