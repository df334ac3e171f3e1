"""The port on an API server: reads, writes, and the feeds of events."""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final

from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.errors import Conflict, ExtenderError, Unanswered, WireError
from extender.kube.access import own_namespace
from extender.kube.backoff import Backoff
from extender.kube.client import METADATA_ONLY, METADATA_ONLY_LIST, ApiClient, path_of
from extender.kube.events import create_event, patch_series
from extender.kube.feed import (
    Feed,
    ListBegins,
    ListEnds,
    News,
    items_of,
)
from extender.kube.intake import Intake, NodeIntake, PodIntake, QuotaIntake
from extender.kube.labels import DueLabels
from extender.kube.leases import NamespaceLeases
from extender.observe.metrics import Metrics
from extender.observe.read import WATCH_SILENCE_SECONDS
from extender.service import Binding, Extender, NodeLock, Turn
from extender.settings import KubeSettings, QuotaSettings
from extender.wire.events import EventOnPod
from extender.wire.lock import LOCK_ANNOTATION, own_lock_value
from extender.wire.nodes import own_locks
from extender.wire.objects import (
    JsonObject,
    object_at,
    optional_text_at,
)
from extender.wire.pods import PodReader

_log = logging.getLogger(__name__)

NODES: Final = path_of("api", "v1", "nodes")
PODS: Final = path_of("api", "v1", "pods")
QUOTAS: Final = path_of("api", "v1", "resourcequotas")

WOKEN_ANNOTATION: Final = "gpu-extender/woken-at"

_LABEL_WRITES_AT_ONCE: Final = 8
"""A list may show thousands of pods without their label; binds come first."""

_MOST_RELEASE_TRIES: Final = 5
"""A node changes under a release about as often as its kubelet writes a status."""

_QUOTA: Final = QuotaSettings()

_LEASE_NAMESPACE: Final = "gpu-extender"
"""That of the manifests."""


class KubeCluster:
    """Reads and writes of a bind; see `extender.service.Cluster`.

    Every write carries what it must find: a Binding and a label the pod's UID, a lock
    the node's resourceVersion.
    """

    def __init__(
        self,
        client: ApiClient,
        reader: PodReader,
        settings: KubeSettings,
        metrics: Metrics,
        quota: QuotaSettings = _QUOTA,
    ) -> None:
        self._client = client
        self._metrics = metrics
        client.count_in(metrics)
        self._again: list[asyncio.Event] = []
        self._labels = DueLabels()
        self._label_writes = asyncio.Semaphore(_LABEL_WRITES_AT_ONCE)
        self._listing: set[str] = set()
        self._reader = reader
        self._settings = settings
        self._seconds = settings.request_seconds
        self._feeds = {
            "nodes": Feed(client, NODES, settings),
            "pods": Feed(client, PODS, settings),
            "resourcequotas": Feed(client, QUOTAS, settings),
        }
        # To find a counter by its label takes longer than to count.
        self._event_counters = {
            name: metrics.watch_events.labels(name) for name in self._feeds
        }
        self._share_versions = False
        self._pod_intake: PodIntake | None = None
        self._leases = NamespaceLeases(
            client,
            quota.lease_namespace or own_namespace() or _LEASE_NAMESPACE,
            quota.lease_seconds,
            self._seconds,
        )

    async def follow(self, extender: Extender, on_synced: Callable[[], None]) -> None:
        """Tell an extender of nodes, pods and quotas, until cancelled.

        Args:
            extender: Is told; and is synced once all were listed and applied.
            on_synced: Called once, right after that.
        """
        nodes, pods = NodeIntake(extender), PodIntake(extender)
        quotas = QuotaIntake(extender)
        self._pod_intake = pods
        feeds = self._feeds
        self._metrics.show(
            WATCH_SILENCE_SECONDS,
            lambda: {name: feed.silence_seconds for name, feed in feeds.items()},
        )

        async def pass_on(name: str, intake: Intake) -> None:
            async with aclosing(feeds[name].follow()) as stream:
                async for news in stream:
                    self._count(name, news)
                    intake.take(news)
                    if intake is pods and (due := self._labels.found(news)):
                        group.create_task(self._write_labels(due))
                    is_complete = all(each.is_listed for each in (nodes, pods, quotas))
                    if is_complete and not extender.is_synced:
                        extender.mark_synced()
                        on_synced()
                        group.create_task(self._compare_versions())

        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeated(lambda: pass_on("nodes", nodes)))
            group.create_task(self._repeated(lambda: pass_on("pods", pods)))
            group.create_task(self._repeated(lambda: pass_on("resourcequotas", quotas)))

    def _count(self, name: str, news: News) -> None:
        if isinstance(news, ListBegins):
            self._listing.add(name)
        elif isinstance(news, ListEnds):
            self._listing.discard(name)
            self._metrics.lists.labels(name).inc()
        elif name not in self._listing:
            self._event_counters[name].inc()

    async def _compare_versions(self) -> None:
        """Find out whether the versions of nodes and pods can be compared.

        They can where both are kept in one etcd: then they are numbers of one
        sequence, and one that is read between two others is between them. Two sequences
        would have to meet by chance, within a few writes.
        """
        backoff = Backoff(
            self._settings.first_backoff_seconds, self._settings.longest_backoff_seconds
        )
        read: list[int] = []
        while not read:
            try:
                read = [await self._newest(path) for path in (NODES, PODS, NODES)]
            except ExtenderError as error:
                _log.warning("until this is read, bind lists a node's pods: %s", error)
                await backoff.pause()
        first, between, last = read
        self._share_versions = first <= between <= last
        if not self._share_versions:
            _log.info(
                "nodes and pods are kept apart: bind lists a node's pods each time"
            )

    async def _newest(self, path: str) -> int:
        """Read a collection's version, with no resourceVersion asked for."""
        listed = await self._client.get(
            path, query={"limit": "1"}, seconds=self._seconds, accept=METADATA_ONLY_LIST
        )
        metadata = object_at(listed, "metadata", "list")
        version = optional_text_at(metadata, "resourceVersion", "metadata")
        if not version.isdigit():
            raise Unanswered(f"{path}: resourceVersion {version!r} is no number")
        return int(version)

    async def _repeated(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Do what never ends, and begin it anew whenever all is to be listed again."""
        again = asyncio.Event()
        self._again.append(again)
        while True:
            again.clear()
            async with asyncio.TaskGroup() as group:
                going = group.create_task(work())
                asked = group.create_task(again.wait())
                await asyncio.wait({going, asked}, return_when=asyncio.FIRST_COMPLETED)
                going.cancel()
                asked.cancel()

    def read_with(self, reader: PodReader) -> None:
        """Read pods by this from now on."""
        self._reader = reader

    def list_again(self) -> None:
        """End all watches, and begin with a list each."""
        for again in self._again:
            again.set()

    async def read_pod(self, namespace: str, name: str) -> Pod:
        """Read a pod; one that is bound but cannot be read holds its node."""
        obj = await self._client.get(_pod_path(namespace, name), seconds=self._seconds)
        try:
            return self._reader.read(obj)
        except WireError as error:
            remains = self._reader.read_bound_remains(obj, str(error))
            if remains is None:
                raise
            return remains

    async def pods_on(
        self, node_name: NodeName, since: str, most_seconds: float
    ) -> list[Pod] | None:
        """Wait for a busy watch to show all, or list a node's pods.

        The list is without a resourceVersion: the newest. It takes the API server
        longer than all else of a bind, and in a burst the watch is as new in moments.
        """
        if self._share_versions and since.isdigit():
            is_told = await self._feeds["pods"].wait_until_told(
                int(since), most_seconds=most_seconds
            )
            if is_told:
                return None
        query = {"fieldSelector": f"spec.nodeName={node_name}"}
        listed = await self._client.get(PODS, query=query, seconds=self._seconds)
        pods = (self._listed(obj) for obj in items_of(listed))
        return [pod for pod in pods if pod is not None]

    async def tell_bound_in(self, namespace: str) -> None:
        """List a namespace's pods, with no resourceVersion asked for: the newest."""
        path = path_of("api", "v1", "namespaces", namespace, "pods")
        listed = await self._client.get(path, seconds=self._settings.page_seconds)
        if self._pod_intake is None:
            raise Unanswered("pods are not followed")
        for obj in items_of(listed):
            self._pod_intake.see_if_newly_bound(obj)

    async def read_turn(self, namespace: str) -> Turn | None:
        """Read a namespace's lease."""
        return await self._leases.read(namespace)

    async def turns(self) -> Mapping[str, Turn]:
        """Read the leases of all namespaces."""
        return await self._leases.read_all()

    async def write_turn(self, namespace: str, turn: Turn, seen: Turn | None) -> Turn:
        """Write a namespace's lease, guarded by the resourceVersion that was seen."""
        return await self._leases.write(namespace, turn, seen)

    def _listed(self, obj: object) -> Pod | None:
        try:
            return self._reader.read(obj)
        except WireError as error:
            return self._reader.read_bound_remains(obj, str(error))

    async def bind(
        self, binding: Binding, may_send: Callable[[], bool] = lambda: True
    ) -> None:
        """Write a Binding: node, annotations and labels in one, for this UID only."""
        metadata: JsonObject = {
            "name": binding.name,
            "namespace": binding.namespace,
            "uid": binding.uid,
        }
        if binding.annotations:
            metadata["annotations"] = dict(binding.annotations)
        if binding.labels:
            metadata["labels"] = dict(binding.labels)
        body: JsonObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": binding.node_name},
        }
        path = _pod_path(binding.namespace, binding.name) + "/binding"
        self._labels.expect(binding)
        try:
            await self._client.post(
                path, body, seconds=self._seconds, may_send=may_send
            )
        except (Unanswered, Conflict):
            raise  # it may have been carried out, by this request or one before
        except ExtenderError:
            self._labels.forget(binding)
            raise

    async def _write_labels(self, binding: Binding) -> None:
        patch = {"metadata": {"uid": binding.uid, "labels": dict(binding.labels)}}
        path = _pod_path(binding.namespace, binding.name)
        try:
            async with self._label_writes:
                await self._client.patch(path, {**patch}, seconds=self._seconds)
        except ExtenderError as error:
            pod = f"{binding.namespace}/{binding.name}"
            _log.warning("pod %s stays without its label: %s", pod, error)

    async def touch(self, pod: Pod) -> None:
        """Write the time into an annotation of ours."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        metadata = {"uid": pod.uid, "annotations": {WOKEN_ANNOTATION: now}}
        path = _pod_path(pod.namespace, pod.name)
        await self._client.patch(path, {"metadata": metadata}, seconds=self._seconds)

    async def create_event(self, event: EventOnPod) -> None:
        """Create an Event."""
        await create_event(self._client, event, seconds=self._seconds)

    async def count_event(self, event: EventOnPod) -> None:
        """Patch the series of an Event."""
        await patch_series(self._client, event, seconds=self._seconds)

    async def annotate_node(
        self, node_name: NodeName, annotations: Mapping[str, str]
    ) -> None:
        """Patch a node's annotations, unguarded."""
        path = path_of("api", "v1", "nodes", node_name)
        patch: JsonObject = {"metadata": {"annotations": dict(annotations)}}
        await self._client.patch(path, patch, seconds=self._seconds)

    async def read_lock(self, node_name: NodeName) -> NodeLock:
        """Read a node's lock and resourceVersion."""
        node = await self._client.get(
            path_of("api", "v1", "nodes", node_name),
            seconds=self._seconds,
            accept=METADATA_ONLY,
        )
        return self._lock_of(node)

    async def take_lock(
        self,
        node_name: NodeName,
        value: str,
        seen: NodeLock,
        own: Collection[str] = (),
    ) -> NodeLock:
        """Write a node's locks, guarded by the resourceVersion that was seen."""
        locks = {LOCK_ANNOTATION: value, **dict.fromkeys(own, own_lock_value(value))}
        return await self._write_locks(node_name, locks, seen.version)

    async def release_lock(self, node_name: NodeName, value: str) -> None:
        """Remove a node's locks of this value, guarded by resourceVersion."""
        for tries_left in reversed(range(_MOST_RELEASE_TRIES)):
            lock = await self.read_lock(node_name)
            own = own_lock_value(value)
            ours = [name for name, held in lock.own.items() if held == own]
            if lock.value == value:
                ours.append(LOCK_ANNOTATION)
            if not ours:
                return
            try:
                await self._write_locks(node_name, dict.fromkeys(ours), lock.version)
            except Conflict:
                if not tries_left:
                    raise
            else:
                return

    async def _write_locks(
        self, node_name: NodeName, locks: Mapping[str, str | None], version: str
    ) -> NodeLock:
        metadata: JsonObject = {
            "resourceVersion": version,
            "annotations": dict(locks),
        }
        node = await self._client.patch(
            path_of("api", "v1", "nodes", node_name),
            {"metadata": metadata},
            seconds=self._seconds,
        )
        return self._lock_of(node)

    def _lock_of(self, node: JsonObject) -> NodeLock:
        metadata = object_at(node, "metadata", "node")
        annotations = object_at(metadata, "annotations", "metadata")
        value = optional_text_at(annotations, LOCK_ANNOTATION, "annotations")
        version = optional_text_at(metadata, "resourceVersion", "metadata")
        own = dict(own_locks(metadata, self._reader.kinds))
        return NodeLock(value or None, version, own)


def _pod_path(namespace: str, name: str) -> str:
    return path_of("api", "v1", "namespaces", namespace, "pods", name)
