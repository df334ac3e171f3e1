"""What Cambricon's device plugin does when kubelet asks it for a part of an MLU.

Source: Cambricon's k8s device plugin in mode dynamic-smlu: ``allocateDynamicSmlu``,
``getDynamicSmluCandidatePod`` and ``releaseNodeLock``. It looks for the only pod that
waits, and not at whom a lock names.
"""

from dataclasses import dataclass
from typing import Final

from tests.builders import Json
from tests.control_plane.client import PLUGIN, Api, node_path, path_of
from tests.control_plane.plugin import AllocateError

OWN_LOCK: Final = "cambricon.com/dsmlu.lock"
ASSIGNED: Final = "CAMBRICON_DSMLU_ASSIGHED"
PROFILE: Final = "CAMBRICON_DSMLU_PROFILE"
JSON_PATCH: Final = "application/json-patch+json"


@dataclass(frozen=True, slots=True)
class MluPlugin:
    """The device plugin of one node."""

    api: Api
    node_name: str

    async def serve(self) -> Json:
        """Serve the pod that waits, mark it, and release the node's own lock.

        Raises:
            AllocateError: No pod waits, or more than one does; kubelet then fails the
                pod that it was admitting.
            ApiError: The lock was there and then was not: the plugin goes down.
        """
        pod = await self._only_one()
        assert pod["metadata"]["annotations"][PROFILE]
        plugin = self.api.acting_as(PLUGIN)
        await plugin.patch(
            path_of(pod), {"metadata": {"annotations": {ASSIGNED: "true"}}}
        )
        node = await self.api.get(node_path(self.node_name))
        if OWN_LOCK in node["metadata"].get("annotations", {}):
            name = OWN_LOCK.replace("/", "~1")
            await plugin.request(
                "PATCH",
                node_path(self.node_name),
                body=[{"op": "remove", "path": f"/metadata/annotations/{name}"}],
                content_type=JSON_PATCH,
            )
        return pod

    async def _only_one(self) -> Json:
        selector = f"spec.nodeName={self.node_name},status.phase=Pending"
        waiting = [
            pod
            for pod in await self.api.items("/api/v1/pods", fieldSelector=selector)
            if pod["metadata"].get("annotations", {}).get(ASSIGNED) == "false"
        ]
        if len(waiting) != 1:
            raise AllocateError(f"{len(waiting)} pods wait, and not one")
        return waiting[0]
