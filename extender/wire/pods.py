"""Kubernetes Pod objects, reduced to what decides."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.device_policy import SPREAD_CARDS, DevicePolicy
from extender.core.kinds import Kind
from extender.core.model import (
    Allocation,
    Container,
    Lifetime,
    NodeName,
    Pod,
    PodPhase,
    PodRequest,
    PodStatus,
    PodUID,
    Policy,
    Release,
    SandboxReadiness,
    UnreadableAllocation,
)
from extender.core.requests import kubelet_slots
from extender.errors import BadAnnotation, BadObject
from extender.wire.allocation import is_served, named_devices, read_allocation
from extender.wire.device_policies import read_device_policy, weighed
from extender.wire.mig import with_instances
from extender.wire.objects import (
    JsonObject,
    as_object,
    list_at,
    name_at,
    object_at,
    optional_text_at,
    shown,
)
from extender.wire.pod_resources import DeclaredContainer, ReadRequests, read_requests
from extender.wire.pod_settings import (
    read_node_policy,
    read_release,
    read_selection,
)
from extender.wire.pod_status import read_status

_DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class PodReader:
    """Reads pods for one kind of device.

    Attributes:
        kind: Gives names and defaults.
        device_policy: For pods that name none.
        node_policy: For pods that name none.
        release: For pods that name none.
    """

    kind: Kind
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
        annotations = _annotations(metadata)
        declared = list(_declared(spec))
        requests = read_requests(self.kind, declared)
        lifetimes = tuple([one.container.lifetime for one in declared])
        warnings: list[str] = []
        node_name = NodeName(optional_text_at(spec, "nodeName", "spec")) or None
        device_policy = read_device_policy(
            annotations,
            self.kind,
            self.device_policy,
            warnings,
            is_bound=node_name is not None,
        )
        try:
            device_policy = weighed(device_policy, annotations)
        except BadAnnotation as error:
            if any(requests.counts):
                requests = requests.refused(str(error))
        request = PodRequest(
            lifetimes=lifetimes,
            containers=requests.asked,
            selection=read_selection(annotations, self.kind),
            device_policy=device_policy,
            node_policy=read_node_policy(annotations, self.node_policy, warnings),
            kubelet_slots=kubelet_slots(lifetimes, requests.counts),
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
            request=request,
            request_problem=requests.problem,
            allocation=self._allocation(annotations, requests),
            status=status,
            release=release,
            warnings=tuple(warnings),
            priority=_priority(spec),
            nominated_node=_nominated_node(pod),
            is_unserved=_phase_text(pod) == PodPhase.PENDING
            and not is_served(annotations)
            and not _is_admitted(status),
        )

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
        named = named_devices(texts.get(self.kind.allocated_annotation, ""))
        return Pod(
            uid=PodUID(uid),
            namespace=str(metadata.get("namespace") or _DEFAULT_NAMESPACE),
            name=str(metadata.get("name")),
            node_name=NodeName(node_name),
            containers=(),
            request=PodRequest((), ()),
            request_problem=problem,
            allocation=UnreadableAllocation(problem, named),
            status=PodStatus(PodPhase.FAILED if is_finished else PodPhase.UNKNOWN),
            is_unserved=_phase_text(pod) == PodPhase.PENDING and not is_served(texts),
        )

    def _allocation(
        self, annotations: Mapping[str, str], requests: ReadRequests
    ) -> Allocation | UnreadableAllocation | None:
        name = self.kind.allocated_annotation
        text = annotations.get(name)
        read = None if text is None else read_allocation(text, requests.counts, name)
        mig_name = self.kind.mig_annotation
        mig_text = annotations.get(mig_name) if mig_name else None
        if mig_name is None or mig_text is None:
            return read
        return with_instances(read, mig_text, mig_name)


def _annotations(metadata: JsonObject) -> Mapping[str, str]:
    annotations = object_at(metadata, "annotations", "metadata")
    texts: dict[str, str] = {}
    for name, text in annotations.items():
        if not isinstance(text, str):
            raise BadObject(
                f"metadata.annotations[{name}]", shown(text), "a string (quote it)"
            )
        texts[name] = text
    return texts


def _declared(spec: JsonObject) -> Iterator[DeclaredContainer]:
    """List the containers in start order: ``initContainers``, then ``containers``."""
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
