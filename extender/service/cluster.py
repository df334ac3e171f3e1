"""The port: what the extender needs of a cluster besides its events."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.wire.events import EventOnPod
from extender.wire.pods import PodReader


@dataclass(frozen=True, slots=True)
class Binding:
    """One write that binds a pod and tells the device plugin its cards.

    The cluster applies it as one: node, annotations and labels together, and only to
    an unbound pod of this UID.
    """

    namespace: str
    name: str
    uid: PodUID
    node_name: NodeName
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeLock:
    """A node's lock as it was read, and those that some kinds have besides.

    Attributes:
        value: None while nobody holds it.
        version: Of the node; a write that names it fails once the node has changed.
        own: Values of kinds' own locks that are held, by annotation.
    """

    value: str | None
    version: str
    own: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """The lease of a namespace whose quota limits devices, as it was read or written.

    Attributes:
        holder: The extender that binds its pods; empty while nobody does.
        wanted_by: Another that asks for it; empty where none does.
        renewed: When it was written last, by its holder's clock: only ever compared
            with itself.
        version: A write that names it fails once the lease has changed.
    """

    holder: str = ""
    wanted_by: str = ""
    renewed: str = ""
    version: str = ""


class Cluster(Protocol):
    """Reads and writes. Every method may raise `ClusterError`.

    `Unanswered` from a write leaves open whether it was carried out; any other error of
    ours means that it was not.
    """

    async def read_pod(self, namespace: str, name: str) -> Pod:
        """Read a pod as the API has it now.

        Raises:
            NotFound: There is none of this name.
            BadObject: It cannot be read, and holds nothing.
        """

    async def pods_on(
        self, node_name: NodeName, since: str, most_seconds: float
    ) -> list[Pod] | None:
        """List all pods that were bound to a node before a write, or since.

        Args:
            node_name: The node.
            since: Version of the node by that write.
            most_seconds: How long to wait for events that tell of it.

        Returns:
            None where events have told all of that.
        """

    async def tell_bound_in(self, namespace: str) -> None:
        """Tell, as events, which pods of a namespace are bound now.

        Those that events have told already are left out; each event is applied once
        this returns.
        """

    async def read_turn(self, namespace: str) -> Turn | None:
        """Read a namespace's lease; None where there is none yet."""

    async def turns(self) -> Mapping[str, Turn]:
        """Read the leases of all namespaces."""

    async def write_turn(self, namespace: str, turn: Turn, seen: Turn | None) -> Turn:
        """Write a namespace's lease, unless it changed since `seen` was read.

        Args:
            namespace: Whose.
            turn: Who holds it and who asks for it. Where `renewed` is empty, it is
                written as renewed now.
            seen: What was read before; None to create it.

        Returns:
            The lease as it is now.

        Raises:
            Conflict: It changed, or is there already.
        """

    async def bind(
        self, binding: Binding, may_send: Callable[[], bool] = lambda: True
    ) -> None:
        """Write a Binding. The pod is shown bound by an event, not by this call.

        Labels that the server drops, as those before Kubernetes 1.35 do, are written
        once the pod is shown bound.

        Raises:
            NotFound: There is no such pod.
            Conflict: It has another UID, is bound already, or is being deleted.
            Unreachable: `may_send`, which is asked directly before, said no.
        """

    def read_with(self, reader: PodReader) -> None:
        """Read nodes and pods by this from now on; what is told stays as it was."""

    def list_again(self) -> None:
        """Ask for all that there is, told as events, soon."""

    async def touch(self, pod: Pod) -> None:
        """Change a pod so that kube-scheduler tries it again; nothing else changes.

        Raises:
            NotFound: There is no such pod.
            Conflict: The pod of this name has another UID.
        """

    async def create_event(self, event: EventOnPod) -> None:
        """Write an Event.

        Raises:
            Conflict: There is one of this name.
        """

    async def count_event(self, event: EventOnPod) -> None:
        """Write into an Event how often, and when last, it has happened.

        Raises:
            NotFound: It has expired.
        """

    async def annotate_node(
        self, node_name: NodeName, annotations: Mapping[str, str]
    ) -> None:
        """Write annotations of a node, whatever it has there.

        Raises:
            NotFound: There is no such node.
        """

    async def read_lock(self, node_name: NodeName) -> NodeLock:
        """Read a node's lock as the API has it now.

        Raises:
            NotFound: There is no such node.
        """

    async def take_lock(
        self,
        node_name: NodeName,
        value: str,
        seen: NodeLock,
        own: Collection[str] = (),
    ) -> NodeLock:
        """Write a node's lock, unless the node changed since `seen` was read.

        Kinds' own locks that are named in `own` are written with it, by
        `own_lock_value`.

        Returns:
            The lock as it is now.

        Raises:
            Conflict: It changed.
        """

    async def release_lock(self, node_name: NodeName, value: str) -> None:
        """Remove a node's lock if it has exactly this value, else leave it.

        The same of kinds' own locks: what was taken with it is given back with it.
        """
