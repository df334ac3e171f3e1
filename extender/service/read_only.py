"""A cluster that is read and never written."""

from collections.abc import Callable, Collection, Mapping
from typing import NoReturn

from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.errors import ReadOnly
from extender.service.cluster import Binding, Cluster, NodeLock, Turn
from extender.wire.events import EventOnPod
from extender.wire.pods import PodReader


class ReadOnlyCluster:
    """Passes reads on; every write is an error that names it.

    See `extender.service.Cluster`. Shadow mode has it so that no way leads to a write,
    not even by a mistake of ours; it never comes to that error.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def read_pod(self, namespace: str, name: str) -> Pod:
        """Read a pod."""
        return await self._cluster.read_pod(namespace, name)

    async def pods_on(
        self, node_name: NodeName, since: str, most_seconds: float
    ) -> list[Pod] | None:
        """List a node's pods."""
        return await self._cluster.pods_on(node_name, since, most_seconds)

    async def tell_bound_in(self, namespace: str) -> None:
        """Tell which pods of a namespace are bound."""
        await self._cluster.tell_bound_in(namespace)

    async def read_turn(self, namespace: str) -> Turn | None:
        """Read a lease."""
        return await self._cluster.read_turn(namespace)

    async def turns(self) -> Mapping[str, Turn]:
        """Read all leases."""
        return await self._cluster.turns()

    async def read_lock(self, node_name: NodeName) -> NodeLock:
        """Read a node's lock."""
        return await self._cluster.read_lock(node_name)

    def read_with(self, reader: PodReader) -> None:
        """Read nodes and pods by this from now on."""
        self._cluster.read_with(reader)

    def list_again(self) -> None:
        """Ask for all that there is."""
        self._cluster.list_again()

    async def write_turn(self, namespace: str, turn: Turn, seen: Turn | None) -> Turn:
        """Refuse."""
        del turn, seen
        _refuse(f"the lease of namespace {namespace}")

    async def bind(
        self, binding: Binding, may_send: Callable[[], bool] = lambda: True
    ) -> None:
        """Refuse."""
        del may_send
        _refuse(f"the Binding of pod {binding.namespace}/{binding.name}")

    async def touch(self, pod: Pod) -> None:
        """Refuse."""
        _refuse(f"a touch of pod {pod.full_name}")

    async def create_event(self, event: EventOnPod) -> None:
        """Refuse."""
        _refuse(f"an Event on pod {event.namespace}/{event.pod_name}")

    async def count_event(self, event: EventOnPod) -> None:
        """Refuse."""
        _refuse(f"an Event on pod {event.namespace}/{event.pod_name}")

    async def annotate_node(
        self, node_name: NodeName, annotations: Mapping[str, str]
    ) -> None:
        """Refuse."""
        _refuse(f"annotations {', '.join(annotations)} of node {node_name}")

    async def take_lock(
        self,
        node_name: NodeName,
        value: str,
        seen: NodeLock,
        own: Collection[str] = (),
    ) -> NodeLock:
        """Refuse."""
        del value, seen, own
        _refuse(f"the lock of node {node_name}")

    async def release_lock(self, node_name: NodeName, value: str) -> None:
        """Refuse."""
        del value
        _refuse(f"the release of the lock of node {node_name}")


def _refuse(what: str) -> NoReturn:
    raise ReadOnly(f"{what} is not written: shadow mode writes nothing")
