"""Stand-ins that are less strict than a real node, each in one respect."""

import asyncio
from collections.abc import Sequence

from tests.builders import Json
from tests.control_plane.client import node_path
from tests.control_plane.device_ids import DeviceIds
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.plugin import LOCK, TO_ALLOCATE, DevicePlugin, rows_of


class Unlimited(DeviceIds):
    """Gives ids that the node does not have."""

    def take(self, pod: Json, container: Json, offered: Sequence[str]) -> list[str]:
        """Offer a thousand."""
        return super().take(pod, container, [f"id-{n}" for n in range(1_000)])


class NeverReused(DeviceIds):
    """Gives new ids to every container."""

    def _reuse(
        self, pod: Json, container: Json, reusable: set[str], given: Sequence[str]
    ) -> None:
        reusable.clear()


class SidecarsReused(DeviceIds):
    """Gives a sidecar's ids to the next container."""

    def _reuse(
        self,
        pod: Json,
        container: Json,
        reusable: set[str],
        given: Sequence[str],
    ) -> None:
        reusable.update(given)


class InitsForgotten(DeviceIds):
    """Takes an init's ids back at once."""

    def _reuse(
        self, pod: Json, container: Json, reusable: set[str], given: Sequence[str]
    ) -> None:
        if container in pod["spec"].get("initContainers", []):
            self._held[pod["metadata"]["uid"]].clear()


class NoLockRead(DevicePlugin):
    """Serves the first pod that waits, whatever the lock says."""

    async def find_pod(self) -> tuple[Json, bool]:
        """Find it."""
        return await self._first_waiting(), True


class LastRow(DevicePlugin):
    """Serves rows from the end."""

    def next_row(self, pod: Json) -> tuple[int, str]:
        """Find the last one."""
        rows = rows_of(pod["metadata"]["annotations"][TO_ALLOCATE])
        return max((place, row) for place, row in enumerate(rows) if row)


class AnyLength(DevicePlugin):
    """Serves a row of any length."""

    def check_length(self, wanted: int, given: int) -> None:
        """Check nothing."""


class RowKept(DevicePlugin):
    """Leaves rows where they are."""

    async def empty_row(self, pod: Json, index: int) -> str:
        """Only say that nothing is left."""
        return ";"


class NothingWritten(DevicePlugin):
    """Says nothing of how it went."""

    async def end(self, pod: Json, bind_phase: str) -> None:
        """Only release."""
        await self.release(pod)


class LockKept(DevicePlugin):
    """Releases no lock."""

    async def release(self, pod: Json) -> None:
        """Do nothing."""


class LockTaken(DevicePlugin):
    """Releases any lock."""

    async def release(self, pod: Json) -> None:
        """Release it."""
        change = {"metadata": {"annotations": {LOCK: None}}}
        await self.api.patch(node_path(self.node_name), change)


class EndsAtOnce(DevicePlugin):
    """Takes the first row for all."""

    async def empty_row(self, pod: Json, index: int) -> str:
        """Say that nothing is left."""
        await super().empty_row(pod, index)
        return ";"


class AdmitsAnyway(Kubelet):
    """Runs pods though the plugin fails."""

    async def allocate(self, pod: Json, container: Json) -> None:
        """Hide the failure."""
        try:
            await super().allocate(pod, container)
        except Exception:  # noqa: BLE001  # whatever it is, it is to be hidden
            return


class AdmitsAtOnce(Kubelet):
    """Admits every pod at once."""

    async def admit_all(self) -> None:
        """Start each admission without waiting for the last."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self.admit(await self._queue.get()))
