"""Kubernetes objects as kubectl prints them, built in one line.

Every test that needs a Pod or a Node goes through the real wire, so these builders
write the names and texts of the wire themselves and import none of them from the
package. Each method returns a changed copy; ``build`` returns a fresh dict.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from uuid import NAMESPACE_URL, uuid5

Json = dict[str, Any]
Quantity = int | str
"""As YAML would have it; printed as a string, as the API server does."""

CREATED_AT = "2026-01-01T00:00:00Z"
_ALLOCATED = "hami.io/vgpu-devices-allocated"
_REGISTER = "hami.io/node-nvidia-register"
_CORDON = "hami.io/device-cordon"
_COUNT = "nvidia.com/gpu"


def pod(name: str, namespace: str = "default") -> "PodBuilder":
    """Start a pod without containers, unbound and Pending.

    Example:
        >>> shown = pod("p").sidecar("s", gpu=1).app("a", gpu=1, gpumem=3000).build()
        >>> shown["spec"]["initContainers"][0]["restartPolicy"]
        'Always'
        >>> shown["spec"]["containers"][0]["resources"]["limits"]
        {'nvidia.com/gpu': '1', 'nvidia.com/gpumem': '3000'}
    """
    return PodBuilder(name, namespace, str(uuid5(NAMESPACE_URL, f"{namespace}/{name}")))


def node(name: str) -> "NodeBuilder":
    """Start a node without cards.

    Example:
        >>> shown = node("n1").gpu("GPU-a").gpu("GPU-b", health=False).build()
        >>> shown["status"]["allocatable"]["nvidia.com/gpu"]
        '20'
        >>> [card.get("index") for card in node("n1").gpu("a").gpu("b").cards]
        [None, 1]
    """
    return NodeBuilder(name)


def resource_quota(
    name: str,
    namespace: str = "default",
    *,
    hard: Mapping[str, Quantity],
    **spec: Any,  # noqa: ANN401 - JSON
) -> Json:
    """Describe a quota; `spec` may have scopes.

    Example:
        >>> resource_quota("q", hard={"limits.nvidia.com/gpumem": 10})["spec"]
        {'hard': {'limits.nvidia.com/gpumem': '10'}}
    """
    texts = {key: str(value) for key, value in hard.items()}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": texts, **spec},
    }


@dataclass(frozen=True, slots=True)
class PodBuilder:
    """A pod in the making; start with `pod`."""

    name: str
    namespace: str
    pod_uid: str
    metadata: Json = field(default_factory=dict)
    annotation_texts: Mapping[str, str] = field(default_factory=dict)
    init_containers: tuple[Json, ...] = ()
    app_containers: tuple[Json, ...] = ()
    node_name: str | None = None
    priority_value: int | None = None
    nominated_node: str | None = None
    phase_text: str = "Pending"
    conditions: tuple[Json, ...] = ()
    statuses: Mapping[str, Json] = field(default_factory=dict)

    def init(self, name: str, **asks: Quantity) -> Self:
        """Declare an init; `asks` as for `resources`."""
        return self._declare_init({"name": name, "resources": resources(**asks)})

    def sidecar(self, name: str, **asks: Quantity) -> Self:
        """Declare an init container with ``restartPolicy: Always``."""
        return self._declare_init(
            {"name": name, "restartPolicy": "Always", "resources": resources(**asks)}
        )

    def app(self, name: str, **asks: Quantity) -> Self:
        """Declare a container of ``spec.containers``."""
        container = {"name": name, "resources": resources(**asks)}
        return replace(self, app_containers=(*self.app_containers, container))

    def uid(self, uid: str) -> Self:
        """Be another object of the same name."""
        return replace(self, pod_uid=uid)

    def annotations(self, texts: Mapping[str, str]) -> Self:
        """Add annotations; their keys are no Python names."""
        return replace(self, annotation_texts={**self.annotation_texts, **texts})

    def holding(self, rows: str) -> Self:
        """Hold these rows, such as ``GPU-a,NVIDIA,8000,30:;``, once allocated."""
        return self.annotations({_ALLOCATED: rows})

    def on(self, node_name: str) -> Self:
        """Be bound to a node."""
        return replace(self, node_name=node_name)

    def priority(self, value: int) -> Self:
        """Have a priority, as admission writes it from the class."""
        return replace(self, priority_value=value)

    def nominated(self, node_name: str) -> Self:
        """Be the one that others were evicted for, on a node."""
        return replace(self, nominated_node=node_name)

    def phase(self, text: str) -> Self:
        """Show ``status.phase``."""
        return replace(self, phase_text=text)

    def running(self, name: str, *, restarts: int = 0, at: str = CREATED_AT) -> Self:
        """Show a container as running since `at`."""
        return self._show(name, {"running": {"startedAt": at}}, restarts)

    def waiting(
        self, name: str, *, reason: str = "PodInitializing", restarts: int = 0
    ) -> Self:
        """Show a container as waiting."""
        return self._show(name, {"waiting": {"reason": reason}}, restarts)

    def exited(
        self,
        name: str,
        *,
        code: int = 0,
        at: str | None = CREATED_AT,
        restarts: int = 0,
    ) -> Self:
        """Show a container of any kind as terminated; `at` None leaves the time out."""
        terminated: Json = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": CREATED_AT,
        }
        if at is not None:
            terminated["finishedAt"] = at
        return self._show(name, {"terminated": terminated}, restarts)

    def condition(
        self,
        kind: str,
        *,
        status: bool | str,
        since: str | None = CREATED_AT,
        **more: str,
    ) -> Self:
        """Show a condition in place of an earlier one of its type."""
        shown: Json = {"type": kind, "status": str(status), "lastProbeTime": None}
        shown.update(more)
        if since is not None:
            shown["lastTransitionTime"] = since
        others = tuple(other for other in self.conditions if other["type"] != kind)
        return replace(self, conditions=(*others, shown))

    def sandbox(
        self, *, ready: bool | str = True, since: str | None = CREATED_AT
    ) -> Self:
        """Show whether the sandbox is up; `ready` may be any text."""
        return self.condition("PodReadyToStartContainers", status=ready, since=since)

    def restarting_all(
        self, *, status: bool | str = True, since: str | None = CREATED_AT
    ) -> Self:
        """Show whether every container is being restarted in place."""
        return self.condition("AllContainersRestarting", status=status, since=since)

    def terminating(self, *, at: str = "2026-01-02T00:00:00Z") -> Self:
        """Be deleted, with the containers still there."""
        added = {"deletionTimestamp": at, "deletionGracePeriodSeconds": 30}
        return replace(self, metadata={**self.metadata, **added})

    def build(self) -> Json:
        """Print the pod."""
        metadata: Json = {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.pod_uid,
            "creationTimestamp": CREATED_AT,
            **self.metadata,
        }
        if self.annotation_texts:
            metadata["annotations"] = dict(self.annotation_texts)
        spec: Json = {"containers": list(self.app_containers)}
        if self.init_containers:
            spec["initContainers"] = list(self.init_containers)
        if self.node_name is not None:
            spec["nodeName"] = self.node_name
        if self.priority_value is not None:
            spec["priority"] = self.priority_value
        shown = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": spec,
            "status": self._status(),
        }
        return _copied(shown)

    def _declare_init(self, container: Json) -> Self:
        return replace(self, init_containers=(*self.init_containers, container))

    def _show(self, name: str, state: Json, restarts: int) -> Self:
        known = {shown["name"] for shown in self.init_containers + self.app_containers}
        if name not in known:
            raise ValueError(
                f"{self.name}: no container {name!r} among {sorted(known)}"
            )
        shown = {
            "name": name,
            "ready": "running" in state,
            "started": "running" in state,
            "restartCount": restarts,
            "image": "registry.example/work:1",
            "imageID": "",
            "state": state,
            "lastState": _earlier_run() if restarts else {},
        }
        return replace(self, statuses={**self.statuses, name: shown})

    def _status(self) -> Json:
        status: Json = {"phase": self.phase_text}
        if self.nominated_node is not None:
            status["nominatedNodeName"] = self.nominated_node
        if self.conditions:
            status["conditions"] = list(self.conditions)
        if init_statuses := self._statuses_of(self.init_containers):
            status["initContainerStatuses"] = init_statuses
        if app_statuses := self._statuses_of(self.app_containers):
            status["containerStatuses"] = app_statuses
        return status

    def _statuses_of(self, containers: tuple[Json, ...]) -> list[Json]:
        names = [container["name"] for container in containers]
        return [self.statuses[name] for name in names if name in self.statuses]


def mig_profile(
    name: str, memory: int, cores: int, starts: Sequence[int], size: int
) -> Json:
    """Print what an instance of a card in MIG mode has, and where it may be."""
    return {
        "name": name,
        "memoryMB": memory,
        "core": cores,
        "sliceCount": int(name[0]),
        "placements": [{"start": start, "size": size} for start in starts],
    }


A100_PROFILES: tuple[Json, ...] = (
    mig_profile("1g.5gb", 5_120, 15, range(7), 1),
    mig_profile("2g.10gb", 10_240, 29, (0, 2, 4), 2),
    mig_profile("3g.20gb", 20_480, 43, (0, 4), 4),
    mig_profile("7g.40gb", 40_960, 100, (0,), 8),
)


@dataclass(frozen=True, slots=True)
class NodeBuilder:
    """A node in the making; start with `node`."""

    name: str
    cards: tuple[Json, ...] = ()
    annotation_texts: Mapping[str, str] = field(default_factory=dict)
    cordoned: tuple[str, ...] = ()
    allocatable_slots: Quantity | None = None
    label_texts: Mapping[str, str] = field(default_factory=dict)

    def gpu(
        self,
        uuid: str,
        *,
        memory: int = 24_000,
        count: int = 10,
        cores: int = 100,
        model: str = "NVIDIA A10",
        health: bool = True,
        mode: str = "hami-core",
        index: int | None = None,
        numa: int = 0,
    ) -> Self:
        """Register a card; `index` is its place in the list unless given."""
        card = {
            "id": uuid,
            "index": len(self.cards) if index is None else index,
            "count": count,
            "devmem": memory,
            "devcore": cores,
            "type": model,
            "numa": numa,
            "mode": mode,
            "health": health,
        }
        written = {key: value for key, value in card.items() if value}
        return replace(self, cards=(*self.cards, written))

    def mig(self, uuid: str, *, count: int = 7, profiles: object = None) -> Self:
        """Register an A100 of 40 GB in MIG mode, or one with other profiles."""
        a100 = self.gpu(
            uuid, memory=40_960, count=count, model="NVIDIA A100-SXM4-40GB", mode="mig"
        )
        written = A100_PROFILES if profiles is None else profiles
        *others, last = a100.cards
        return replace(a100, cards=(*others, {**last, "migProfiles": written}))

    def cordon(self, *uuids: str) -> Self:
        """Close cards to new work."""
        return replace(self, cordoned=(*self.cordoned, *uuids))

    def allocatable(self, slots: Quantity) -> Self:
        """Offer another number of slots than the cards' counts add up to."""
        return replace(self, allocatable_slots=slots)

    def annotations(self, texts: Mapping[str, str]) -> Self:
        """Add annotations, or replace those that the cards would write."""
        return replace(self, annotation_texts={**self.annotation_texts, **texts})

    def labels(self, **texts: str) -> Self:
        """Have these labels, and no others."""
        return replace(self, label_texts=texts)

    def build(self) -> Json:
        """Print the node; one that registers nothing has no register annotation."""
        slots = self.allocatable_slots
        if slots is None and self.cards:
            slots = sum(card.get("count", 0) for card in self.cards)
        offered = {"cpu": "64", "memory": "512Gi", "pods": "250"}
        if slots is not None:
            offered[_COUNT] = str(slots)
        metadata: Json = {
            "name": self.name,
            "uid": str(uuid5(NAMESPACE_URL, self.name)),
            "creationTimestamp": CREATED_AT,
        }
        if self.label_texts:
            metadata["labels"] = dict(self.label_texts)
        if texts := self._annotations():
            metadata["annotations"] = texts
        shown = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": metadata,
            "spec": {},
            "status": {"allocatable": offered, "capacity": dict(offered)},
        }
        return _copied(shown)

    def _annotations(self) -> dict[str, str]:
        texts: dict[str, str] = {}
        if self.cards:
            texts[_REGISTER] = json.dumps(self.cards, separators=(",", ":"))
        if self.cordoned:
            texts[_CORDON] = ",".join(self.cordoned)
        return {**texts, **self.annotation_texts}


def resources(
    *,
    gpu: Quantity | None = None,
    gpumem: Quantity | None = None,
    percentage: Quantity | None = None,
    cores: Quantity | None = None,
) -> Json:
    """Print a container's resources, requests defaulted from limits.

    Args:
        gpu: ``nvidia.com/gpu``, different cards.
        gpumem: ``nvidia.com/gpumem``, MiB per card.
        percentage: ``nvidia.com/gpumem-percentage``, per card.
        cores: ``nvidia.com/gpucores``, percent of one card, per card.
    """
    asked = {
        _COUNT: gpu,
        "nvidia.com/gpumem": gpumem,
        "nvidia.com/gpumem-percentage": percentage,
        "nvidia.com/gpucores": cores,
    }
    limits = {name: str(value) for name, value in asked.items() if value is not None}
    return {"limits": limits, "requests": dict(limits)} if limits else {}


def _earlier_run() -> Json:
    return {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": CREATED_AT}}


def _copied(shown: Json) -> Json:
    copy: Json = json.loads(json.dumps(shown))
    return copy
