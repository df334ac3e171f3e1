"""Nodes and pods in memory, with the API server's and the device plugin's part."""

import asyncio
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import orjson

from extender.core.names import NodeName, PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.quota_room import Quota
from extender.embedded.documents import objects_in
from extender.errors import (
    BadObject,
    Conflict,
    Described,
    NotFound,
    SettingsError,
    Unreachable,
)
from extender.service import Binding, NodeLock, Turn
from extender.state.events import Event, NodeSeen, PodSeen, QuotaSeen
from extender.wire.allocation import PHASE_ANNOTATION, PHASE_SERVED, served_rows
from extender.wire.events import EventOnPod, encode_event, encode_series
from extender.wire.label_selector import EVERYTHING, LabelSelector
from extender.wire.nodes import decode_node
from extender.wire.objects import JsonObject, object_at, shown
from extender.wire.pods import PodReader
from extender.wire.resource_quota import read_quota

_UID_SPACE: Final = uuid.UUID("6f6c1f0e-6d0b-5a0e-9a57-2f0c7d0b7f10")

_PodKey = tuple[str, str]

_EVENTS_KEPT: Final = 1_000
"""An API server keeps them for an hour."""


@dataclass(slots=True)
class _Kept:
    """A pod as an object, and as it was last read from it."""

    obj: JsonObject
    pod: Pod


class EmbeddedCluster:
    """A cluster without an API server.

    Every change is told to `listener` as an event before the change's method returns,
    so whoever listens is never behind.
    """

    def __init__(
        self,
        reader: PodReader,
        node_selector: LabelSelector = EVERYTHING,
        *,
        plays_plugin: bool = True,
    ) -> None:
        """Start empty.

        Args:
            reader: Reads pods and nodes.
            node_selector: Which nodes are scheduled.
            plays_plugin: Whether pods are bound here, and served at once. Else locks,
                and pods that wait for their devices, are shown as the files have them.
        """
        self._plays_plugin = plays_plugin
        self._reader = reader
        self._node_selector = node_selector
        self._node_objects: dict[str, JsonObject] = {}
        self._nodes: dict[str, Node] = {}
        self._pods: dict[_PodKey, _Kept] = {}
        self._uids: set[PodUID] = set()
        self._quota_objects: list[JsonObject] = []
        self._turns: dict[str, Turn] = {}
        self._quotas: dict[tuple[str, str], Quota] = {}
        self._listener: Callable[[Event], None] = _ignore
        self._events: dict[tuple[str, str], JsonObject] = {}

    def load(self, files: Iterable[Path]) -> None:
        """Add nodes, pods and quotas of dumps; other kinds of object are passed over.

        Raises:
            SettingsError: A file cannot be read, holds something that is no node, pod
                or quota where one should be, or names one twice.
        """
        for file in files:
            try:
                content = file.read_bytes()
            except OSError as error:
                raise SettingsError(f"{file}: {error.strerror}") from error
            try:
                for obj in objects_in(content, str(file)):
                    self._load_object(obj)
            except (BadObject, Conflict) as error:
                raise SettingsError(f"{file}: {error}") from error

    def _load_object(self, obj: JsonObject) -> None:
        match obj.get("kind"):
            case "Node":
                node = decode_node(obj, self._reader.kinds, self._node_selector)
                if node.name in self._nodes:
                    raise Conflict(f"node {node.name} is there twice")
                # A lock is between a live scheduler and a live plugin; here is neither.
                self._nodes[node.name] = (
                    replace(node, lock=None, own_locks=())
                    if self._plays_plugin
                    else node
                )
                self._node_objects[node.name] = obj
            case "Pod":
                self._add(obj)
            case "ResourceQuota":
                quota = read_quota(obj, self._reader.kinds)
                key = (quota.namespace, quota.name)
                if key in self._quotas:
                    raise Conflict(f"resourcequota {'/'.join(key)} is there twice")
                self._quotas[key] = quota
                self._quota_objects.append(obj)
            case _:
                pass

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Tell `listener` of all there is, then of every change."""
        for node in self._nodes.values():
            listener(NodeSeen(node))
        for kept in self._pods.values():
            listener(PodSeen(kept.pod))
        for quota in self._quotas.values():
            listener(QuotaSeen(quota))
        self._listener = listener

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Every node, by name."""
        return self._nodes

    def pod_objects(self) -> Iterator[JsonObject]:
        """List every pod as a JSON object."""
        for kept in self._pods.values():
            yield kept.obj

    async def add_pod(self, content: bytes) -> Pod:
        """Create a pod from its JSON or YAML text.

        It is parsed in a thread: YAML takes seconds per MiB.

        Raises:
            BadObject: The text is not one pod.
            Conflict: There is a pod of this name or UID already.
        """
        objects = await asyncio.to_thread(lambda: list(objects_in(content, "body")))
        if len(objects) != 1:
            raise BadObject("body", Described(f"{len(objects)} objects"), "one pod")
        return self.add_pod_object(objects[0])

    def add_pod_object(self, obj: JsonObject) -> Pod:
        """Create a pod; the object is the cluster's from then on.

        Raises:
            BadObject: It is not a pod.
            Conflict: There is a pod of this name or UID already.
        """
        if obj.get("kind") != "Pod":
            raise BadObject(
                "kind", shown(obj.get("kind")), "Pod, all that is taken here"
            )
        pod = self._add(obj)
        self._listener(PodSeen(pod))
        return pod

    def _add(self, obj: JsonObject) -> Pod:
        pod = self._read(obj)
        key = (pod.namespace, pod.name)
        if key in self._pods:
            raise Conflict(f"pod {pod.full_name} exists already")
        if not pod.uid:
            made_up = PodUID(str(uuid.uuid5(_UID_SPACE, pod.full_name)))
            pod = replace(pod, uid=made_up)
        if pod.uid in self._uids:
            raise Conflict(f"pod {pod.full_name}: uid {pod.uid} is taken")
        metadata = object_at(obj, "metadata", "pod")
        object_at(metadata, "labels", "metadata")
        _check_writable(obj)
        metadata["namespace"] = pod.namespace
        metadata["uid"] = pod.uid
        self._uids.add(pod.uid)
        self._pods[key] = _Kept(obj, pod)
        return pod

    async def read_pod(self, namespace: str, name: str) -> Pod:
        """Read a pod; see `extender.service.Cluster`."""
        return self._kept(namespace, name).pod

    async def bind(
        self, binding: Binding, may_send: Callable[[], bool] = lambda: True
    ) -> None:
        """Bind a pod, and serve its rows as the node's device plugin would.

        See `extender.service.Cluster`.
        """
        if not may_send():
            raise Unreachable("not sent, it would come too late")
        kept = self._kept(binding.namespace, binding.name)
        obj, pod = kept.obj, kept.pod
        if pod.uid != binding.uid:
            raise Conflict(f"pod {pod.full_name} has uid {pod.uid}, not {binding.uid}")
        if pod.node_name is not None:
            raise Conflict(f"pod {pod.full_name} is already bound to {pod.node_name}")
        if object_at(obj, "spec", "pod").get("schedulingGates"):
            raise Conflict(f"pod {pod.full_name} has scheduling gates")
        if pod.status.is_terminating:
            raise Conflict(f"pod {pod.full_name} is being deleted")
        if binding.node_name not in self._nodes:
            raise NotFound(f"node {binding.node_name} does not exist")
        metadata = object_at(obj, "metadata", "pod")
        annotations = object_at(metadata, "annotations", "metadata")
        labels = object_at(metadata, "labels", "metadata")
        metadata["annotations"] = {
            **annotations,
            **binding.annotations,
            **self._served(binding),
        }
        metadata["labels"] = {**labels, **binding.labels}
        object_at(obj, "spec", "pod")["nodeName"] = binding.node_name
        kept.pod = self._read(obj)
        self._listener(PodSeen(kept.pod))
        self._set_lock(binding.node_name, None)

    def _read(self, obj: JsonObject) -> Pod:
        """Read a pod; the device plugin that is played here is never behind."""
        pod = self._reader.read(obj)
        return replace(pod, is_unserved=False) if self._plays_plugin else pod

    async def pods_on(
        self, node_name: NodeName, since: str, most_seconds: float
    ) -> None:
        """Have nothing to add to events; see `extender.service.Cluster`."""

    async def tell_bound_in(self, namespace: str) -> None:
        """Have nothing to add to events; see `extender.service.Cluster`."""

    async def read_turn(self, namespace: str) -> Turn | None:
        """Have no other extender beside; see `extender.service.Cluster`."""
        return self._turns.get(namespace)

    async def turns(self) -> Mapping[str, Turn]:
        """Read all leases; see `extender.service.Cluster`."""
        return self._turns

    async def write_turn(self, namespace: str, turn: Turn, seen: Turn | None) -> Turn:
        """Write a lease; see `extender.service.Cluster`."""
        if self._turns.get(namespace) != seen:
            raise Conflict(f"the lease of namespace {namespace} has changed")
        self._turns[namespace] = turn
        return turn

    def read_with(self, reader: PodReader) -> None:
        """Read all there is anew; see `extender.service.Cluster`."""
        self._reader = reader
        for name, obj in self._node_objects.items():
            node = decode_node(obj, reader.kinds, self._node_selector)
            lock = self._nodes[name].lock
            self._nodes[name] = replace(node, lock=lock, own_locks=())
        for kept in self._pods.values():
            kept.pod = self._read(kept.obj)
        for obj in self._quota_objects:
            quota = read_quota(obj, reader.kinds)
            self._quotas[quota.namespace, quota.name] = quota

    @property
    def quotas(self) -> Iterable[Quota]:
        """Every quota."""
        return self._quotas.values()

    def list_again(self) -> None:
        """Tell of all there is once more; see `extender.service.Cluster`."""
        self.listen(self._listener)

    async def touch(self, pod: Pod) -> None:
        """Do nothing: nobody waits to try again; see `extender.service.Cluster`."""

    async def create_event(self, event: EventOnPod) -> None:
        """Keep an Event, instead of the oldest; see `extender.service.Cluster`."""
        key = (event.namespace, event.name)
        if key in self._events:
            raise Conflict(f"event {'/'.join(key)} exists already")
        if len(self._events) >= _EVENTS_KEPT:
            del self._events[next(iter(self._events))]
        self._events[key] = encode_event(event)

    async def count_event(self, event: EventOnPod) -> None:
        """Write an Event's series; see `extender.service.Cluster`."""
        kept = self._events.get((event.namespace, event.name))
        if kept is None:
            raise NotFound(f"event {event.namespace}/{event.name} does not exist")
        kept.update(encode_series(event))

    @property
    def event_objects(self) -> Iterable[JsonObject]:
        """Every Event, the oldest first."""
        return self._events.values()

    async def annotate_node(
        self, node_name: NodeName, annotations: Mapping[str, str]
    ) -> None:
        """Do nothing: no plugin waits to be asked; see `extender.service.Cluster`."""

    async def read_lock(self, node_name: NodeName) -> NodeLock:
        """Read a node's lock; see `extender.service.Cluster`."""
        value = self._node(node_name).lock
        return NodeLock(value, version=value or "")

    async def take_lock(
        self,
        node_name: NodeName,
        value: str,
        seen: NodeLock,
        own: Collection[str] = (),
    ) -> NodeLock:
        """Write a node's lock; see `extender.service.Cluster`."""
        del own  # nobody looks at those here
        if self._node(node_name).lock != seen.value:
            raise Conflict(f"the lock of node {node_name} has changed")
        self._set_lock(node_name, value)
        return NodeLock(value, version=value)

    async def release_lock(self, node_name: NodeName, value: str) -> None:
        """Remove a node's lock; see `extender.service.Cluster`."""
        if self._node(node_name).lock == value:
            self._set_lock(node_name, None)

    def _set_lock(self, node_name: NodeName, value: str | None) -> None:
        node = replace(self._node(node_name), lock=value)
        self._nodes[node_name] = node
        self._listener(NodeSeen(node))

    def _node(self, node_name: NodeName) -> Node:
        node = self._nodes.get(node_name)
        if node is None:
            raise NotFound(f"node {node_name} does not exist")
        return node

    def _served(self, binding: Binding) -> dict[str, str]:
        """Give what device plugins change once all containers have their cards."""
        served = {
            name: served_rows(binding.annotations[name])
            for kind in self._reader.kinds
            if (name := kind.to_allocate_annotation) is not None
            and name in binding.annotations
        }
        marked = {
            name: "true"
            for kind in self._reader.kinds
            for name in kind.assigned_annotations
            if name in binding.annotations
        }
        return {**served, **marked, PHASE_ANNOTATION: PHASE_SERVED} if served else {}

    def _kept(self, namespace: str, name: str) -> _Kept:
        kept = self._pods.get((namespace, name))
        if kept is None:
            raise NotFound(f"pod {namespace}/{name} does not exist")
        return kept


def _check_writable(obj: JsonObject) -> None:
    """Refuse what could not be listed: it may nest deeper than can be written."""
    try:
        orjson.dumps(obj)
    except orjson.JSONEncodeError as error:
        raise BadObject("pod", Described("an object"), f"JSON: {error}") from error


def _ignore(_event: Event) -> None:
    """Stand in until somebody listens."""
