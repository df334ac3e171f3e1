"""Kubernetes Pod objects, reduced to what decides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from extender.core.allocation import Allocation, UnreadableAllocation
from extender.core.container import Container, Lifetime
from extender.core.device_policy import SPREAD_CARDS, DevicePolicy
from extender.core.kind_set import Kinds
from extender.core.kinds import Kind, ServedBy
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.pod import NOT_PLACED, Pod, Release
from extender.core.pod_request import NO_REQUEST, PodRequest, Policy
from extender.core.pod_status import PodPhase, PodStatus, SandboxReadiness
from extender.core.requests import kubelet_slots
from extender.errors import BadAnnotation, BadObject
from extender.wire.allocation import is_served, named_devices, read_allocation
from extender.wire.device_policies import read_device_policy, weighed
from extender.wire.kind_annotations import shares_in_software, waits_for_plugin
from extender.wire.mig import devices_of_instances, with_instances
from extender.wire.objects import (
    JsonObject,
    as_object,
    list_at,
    name_at,
    object_at,
    optional_text_at,
    shown,
)
from extender.wire.owned_annotations import owned_in
from extender.wire.placing import read_placing
from extender.wire.pod_resources import (
    DeclaredContainer,
    ReadRequests,
    named_resources,
    read_requests,
)
from extender.wire.pod_scopes import read_quota_traits
from extender.wire.pod_settings import (
    read_node_policy,
    read_release,
    read_selection,
)
from extender.wire.pod_status import read_status
from extender.wire.share_slots import with_slots

_DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class PodReader:
    """Reads pods, for some kinds of device.

    Attributes:
        kinds: Give names and defaults.
        device_policy: For pods that name none.
        node_policy: For pods that name none.
        release: For pods that name none.
    """

    kinds: Kinds
    device_policy: DevicePolicy = SPREAD_CARDS
    node_policy: Policy = Policy.BINPACK
    release: Release = Release.AFTER_INIT

    def read(self, obj: object) -> Pod:
        """Read one pod, bound or not.

        A quantity that cannot be honoured becomes the pod's `request_problem`, an
        allocation that cannot be read an `UnreadableAllocation`, a status that cannot
        be read is unknown.

        Args:
            obj: The JSON object.

        Raises:
            BadObject: Its structure is not a pod's; the error names the field.
        """
        pod = as_object(obj, "pod")
        metadata = object_at(pod, "metadata", "pod")
        spec = object_at(pod, "spec", "pod")
        name = name_at(metadata, "name", "metadata")
        annotations = annotation_texts(metadata)
        declared = list(declared_containers(spec))
        kinds = self.kinds.concerned(named_resources(declared), annotations)
        warnings: list[str] = []
        node_name = NodeName(optional_text_at(spec, "nodeName", "spec")) or None
        is_bound = node_name is not None
        read = [
            (kind, read_requests(kind, declared, annotations, is_bound=is_bound))
            for kind in kinds
        ]
        requests, problem = self._requests(
            read,
            tuple([one.container.lifetime for one in declared]),
            annotations,
            warnings,
            is_bound=is_bound,
        )
        release = read_release(annotations, self.release, warnings)
        status = _status(pod, metadata, declared)
        return Pod(
            uid=PodUID(optional_text_at(metadata, "uid", "metadata")),
            namespace=optional_text_at(metadata, "namespace", "metadata")
            or _DEFAULT_NAMESPACE,
            name=name,
            node_name=node_name,
            containers=tuple([one.container for one in declared]),
            requests=requests,
            request_problem=problem,
            allocation=_allocation(annotations, read, declared),
            status=status,
            release=release,
            warnings=tuple(dict.fromkeys(warnings)),
            priority=_priority(spec),
            nominated_node=_nominated_node(pod),
            is_unserved=_is_unserved(pod, annotations, read, status),
            leftovers=() if is_bound else owned_in(annotations, self.kinds),
            quota_traits=read_quota_traits(pod, spec, declared),
            scheduler_name=optional_text_at(spec, "schedulerName", "spec"),
            placing=NOT_PLACED if node_name else read_placing(pod, annotations),
        )

    def _requests(
        self,
        read: Sequence[tuple[Kind, ReadRequests]],
        lifetimes: tuple[Lifetime, ...],
        annotations: Mapping[str, str],
        warnings: list[str],
        *,
        is_bound: bool,
    ) -> tuple[tuple[PodRequest, ...], str | None]:
        """Put requests and settings together.

        Returns:
            One request for each kind; and why the pod must be refused. Then it asks
            for nothing, of any kind.
        """
        node_policy = read_node_policy(annotations, self.node_policy, warnings)
        problems = [requests.problem for _, requests in read if requests.problem]
        found = []
        for kind, requests in read:
            policy = read_device_policy(
                annotations, kind, self.device_policy, warnings, is_bound=is_bound
            )
            try:
                policy = weighed(policy, annotations)
            except BadAnnotation as error:
                if any(requests.counts):
                    problems.append(str(error))
            found.append(
                PodRequest(
                    kind=kind.type_word,
                    lifetimes=lifetimes if kind.inits_return else to_the_end(lifetimes),
                    containers=requests.asked,
                    selection=read_selection(annotations, kind),
                    device_policy=policy,
                    node_policy=node_policy,
                    kubelet_slots=kubelet_slots(lifetimes, requests.ids),
                    in_software=shares_in_software(annotations, kind),
                    inits_return=kind.inits_return,
                    tells_cores_apart=kind.tells_cores_apart,
                    gets_neighbours=kind.gives_neighbours,
                )
            )
        if not problems:
            return tuple(found), None
        nothing = (NO_REQUEST,) * len(lifetimes)
        return tuple([replace(each, containers=nothing) for each in found]), problems[0]

    def read_bound_remains(self, obj: object, problem: str) -> Pod | None:
        """Read what must be known of a pod that cannot be read otherwise.

        Such a pod may hold devices on its node, so it stands in the books with an
        allocation that cannot be read.

        Args:
            obj: The JSON object.
            problem: Why it cannot be read.

        Returns:
            None where it holds nothing: it is unbound, or is no pod.
        """
        pod = obj if isinstance(obj, dict) else {}
        metadata, spec = _fields_of(pod, "metadata"), _fields_of(pod, "spec")
        uid, node_name = metadata.get("uid"), spec.get("nodeName")
        if not (isinstance(uid, str) and uid):
            return None
        if not (isinstance(node_name, str) and node_name):
            return None
        is_finished = _phase_text(pod) in (PodPhase.SUCCEEDED, PodPhase.FAILED)
        annotations = _fields_of(metadata, "annotations")
        texts = {
            name: text for name, text in annotations.items() if isinstance(text, str)
        }
        named = [
            device_uuid
            for name in self.kinds.by_allocation
            for device_uuid in named_devices(texts.get(name, ""))
        ]
        for kind in self.kinds:
            if kind.mig_annotation is not None:
                named += devices_of_instances(texts.get(kind.mig_annotation, ""))
        return Pod(
            uid=PodUID(uid),
            namespace=str(metadata.get("namespace") or _DEFAULT_NAMESPACE),
            name=str(metadata.get("name")),
            node_name=NodeName(node_name),
            containers=(),
            request_problem=problem,
            allocation=UnreadableAllocation(
                problem,
                tuple(dict.fromkeys(named)),
                frozenset(self.kinds.by_word),
            ),
            status=PodStatus(PodPhase.FAILED if is_finished else PodPhase.UNKNOWN),
            is_unserved=_phase_text(pod) == PodPhase.PENDING and not is_served(texts),
        )


def _is_unserved(
    pod: JsonObject,
    annotations: Mapping[str, str],
    read: Sequence[tuple[Kind, ReadRequests]],
    status: PodStatus,
) -> bool:
    """Tell whether a plugin that serves one pod at a time still has to act."""
    if _phase_text(pod) != PodPhase.PENDING or _is_admitted(status):
        return False
    asked = [kind for kind, requests in read if any(requests.counts)]
    if any(waits_for_plugin(annotations, kind) for kind in asked):
        return True
    if is_served(annotations):
        return False
    return not asked or any(kind.served_by is ServedBy.NODE_LOCK for kind in asked)


def _allocation(
    annotations: Mapping[str, str],
    read: Sequence[tuple[Kind, ReadRequests]],
    declared: Sequence[DeclaredContainer],
) -> Allocation | UnreadableAllocation | None:
    """Read the rows of every kind, and put each container's together.

    Where those of one kind cannot be read, none of them are: what the others name
    counts as full as well.
    """
    allocations: list[Allocation] = []
    unreadable: list[UnreadableAllocation] = []
    named: list[DeviceUUID] = []
    for kind, requests in read:
        text = annotations.get(kind.allocated_annotation)
        named += [] if text is None else named_devices(text)
        match _of_kind(text, annotations, requests, declared, kind):
            case None:
                pass
            case UnreadableAllocation() as problem:
                unreadable.append(problem)
                named += problem.named
            case allocation:
                allocations.append(allocation)
    if unreadable:
        return UnreadableAllocation(
            "; ".join([each.problem for each in unreadable]),
            tuple(dict.fromkeys(named)),
            frozenset().union(*[each.kinds for each in unreadable]),
        )
    if not allocations:
        return None
    if len(allocations) == 1:
        return allocations[0]
    return tuple(
        tuple(chain.from_iterable(each[index] for each in allocations))
        for index in range(len(declared))
    )


def _of_kind(
    text: str | None,
    annotations: Mapping[str, str],
    requests: ReadRequests,
    declared: Sequence[DeclaredContainer],
    kind: Kind,
) -> Allocation | UnreadableAllocation | None:
    read = None if text is None else read_allocation(text, requests.counts, kind)
    if kind.slots_annotation is not None and read is not None:
        names = [one.container.name for one in declared]
        read = with_slots(read, annotations, requests.asked, names, kind)
    instances = annotations.get(kind.mig_annotation) if kind.mig_annotation else None
    return read if instances is None else with_instances(read, instances, kind)


def to_the_end(lifetimes: Sequence[Lifetime]) -> tuple[Lifetime, ...]:
    """Let inits hold what they hold until the pod ends, as sidecars do."""
    return tuple(
        [Lifetime.SIDECAR if each is Lifetime.INIT else each for each in lifetimes]
    )


def annotation_texts(metadata: JsonObject) -> Mapping[str, str]:
    """Give the annotations of a pod.

    Raises:
        BadObject: One is no string.
    """
    annotations = object_at(metadata, "annotations", "metadata")
    texts: dict[str, str] = {}
    for name, text in annotations.items():
        if not isinstance(text, str):
            raise BadObject(
                f"metadata.annotations[{name}]", shown(text), "a string (quote it)"
            )
        texts[name] = text
    return texts


def declared_containers(spec: JsonObject) -> Iterator[DeclaredContainer]:
    """List the containers in start order: ``initContainers``, then ``containers``.

    Raises:
        BadObject: One is no object, or has no name; or there is no app.
    """
    for index, value in enumerate(list_at(spec, "initContainers", "spec")):
        field = f"spec.initContainers[{index}]"
        fields = as_object(value, field)
        is_sidecar = fields.get("restartPolicy") == "Always"
        lifetime = Lifetime.SIDECAR if is_sidecar else Lifetime.INIT
        name = name_at(fields, "name", field)
        yield DeclaredContainer(Container(name, lifetime), field, fields)
    apps = list_at(spec, "containers", "spec")
    if not apps:
        raise BadObject("spec.containers", None, "at least one container")
    for index, value in enumerate(apps):
        field = f"spec.containers[{index}]"
        fields = as_object(value, field)
        name = name_at(fields, "name", field)
        yield DeclaredContainer(Container(name, Lifetime.APP), field, fields)


def _priority(spec: JsonObject) -> int:
    """Give the priority; the API server fills it in, so a missing one is 0."""
    value = spec.get("priority")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_admitted(status: PodStatus) -> bool:
    """Whether kubelet has admitted the pod, and so asked for all of its devices.

    The plugin serves static MIG instances without a change of the annotations; then
    nothing else tells, and inits may run for long while the pod is still Pending.
    """
    return status.sandbox is SandboxReadiness.READY or any(
        one.has_started for one in status.containers
    )


def _phase_text(pod: JsonObject) -> object:
    return _fields_of(pod, "status").get("phase")


def _fields_of(parent: JsonObject, key: str) -> JsonObject:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _nominated_node(pod: JsonObject) -> NodeName | None:
    status = pod.get("status")
    name = status.get("nominatedNodeName") if isinstance(status, dict) else None
    return NodeName(name) if isinstance(name, str) and name else None


def _status(
    pod: JsonObject, metadata: JsonObject, declared: list[DeclaredContainer]
) -> PodStatus:
    containers = [one.container for one in declared]
    return read_status(
        pod.get("status"),
        is_terminating=metadata.get("deletionTimestamp") is not None,
        init_names=[one.name for one in containers if one.lifetime is not Lifetime.APP],
        app_names=[one.name for one in containers if one.lifetime is Lifetime.APP],
    )
