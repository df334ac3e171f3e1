"""Which device ids kubelet gives to which container, and for how long.

Source: `Allocate` and `devicesToAllocate` of kubelet's device manager
(pkg/kubelet/cm/devicemanager/manager.go, v1.36).
"""

from collections.abc import Sequence

from tests.builders import Json
from tests.control_plane.playing import is_sidecar


class DevicesUnavailable(Exception):
    """Kubelet has too few ids left, and fails the pod without asking the plugin."""


class DeviceIds:
    """The ids of one node; a pod keeps its own until it ends.

    What an init was given serves the containers after it. What a sidecar was given,
    or an app, stays its own.
    """

    def __init__(self) -> None:
        self._held: dict[str, set[str]] = {}
        self._reusable: dict[str, set[str]] = {}

    def take(self, pod: Json, container: Json, offered: Sequence[str]) -> list[str]:
        """Give a container its ids.

        Containers must be taken as kubelet admits them: inits first, as declared.

        Args:
            pod: Keeps what its containers get.
            container: Says in its limits how many.
            offered: All ids of the node, as many as are allocatable.

        Raises:
            DevicesUnavailable: Fewer are left.
        """
        pod_uid: str = pod["metadata"]["uid"]
        wanted = devices_wanted(container)
        held = self._held.setdefault(pod_uid, set())
        reusable = self._reusable.setdefault(pod_uid, set())
        given = sorted(reusable)[:wanted]
        in_use = set[str]().union(*self._held.values())
        free = [one for one in offered if one not in in_use]
        missing = wanted - len(given)
        if missing > len(free):
            raise DevicesUnavailable(
                f"requested number of devices unavailable for nvidia.com/gpu. "
                f"Requested: {missing}, Available: {len(free)}"
            )
        given += free[:missing]
        held.update(given)
        self._reuse(pod, container, reusable, given)
        return given

    def free(self, pod_uid: str) -> None:
        """Take back what a pod has; it ended, or is gone."""
        self._held.pop(pod_uid, None)
        self._reusable.pop(pod_uid, None)

    def _reuse(
        self, pod: Json, container: Json, reusable: set[str], given: Sequence[str]
    ) -> None:
        inits = pod["spec"].get("initContainers", [])
        if container in inits and not is_sidecar(container):
            reusable.update(given)
        else:
            reusable.difference_update(given)


def devices_wanted(container: Json) -> int:
    """Count the devices that a container asks for."""
    limits = container.get("resources", {}).get("limits", {})
    return int(limits.get("nvidia.com/gpu", 0))
