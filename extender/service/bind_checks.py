"""What can be said of a bind before any node is looked at, and its one write."""

from collections.abc import Mapping

from extender.core.names import NodeName
from extender.core.pod import Pod
from extender.observe.words import BindRefusal
from extender.service.cluster import Binding
from extender.service.refused import Refused
from extender.wire.extender_v1 import BindingArgs


def why_another(pod: Pod, args: BindingArgs) -> str | None:
    """Tell why this is not the pod that is meant; None where it is."""
    if pod.uid != args.uid:
        return Refused(BindRefusal.OTHER_POD, f"the pod of this name has uid {pod.uid}")
    if (pod.namespace, pod.name) != (args.namespace, args.name):
        return Refused(BindRefusal.OTHER_POD, f"the pod of this uid is {pod.full_name}")
    return None


def why_unbindable(pod: Pod) -> str | None:
    """Tell why no node at all will do; None where one may."""
    if pod.status.is_finished or pod.status.is_terminating:
        return Refused(
            BindRefusal.DELETED, f"pod {pod.full_name} has ended, or is being deleted"
        )
    if pod.request_problem is not None:
        return Refused(BindRefusal.REQUEST_UNUSABLE, pod.request_problem)
    return None


def why_not_again(bound_to: NodeName, args: BindingArgs) -> str:
    """Answer a bind of a pod that is bound: a success where it is to that node."""
    if bound_to == args.node_name:
        return ""
    return Refused(
        BindRefusal.BOUND_ELSEWHERE, f"the pod is already bound to {bound_to}"
    )


def binding_of(
    args: BindingArgs,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Binding:
    """Put the one write of a bind together."""
    return Binding(
        args.namespace,
        args.name,
        args.uid,
        args.node_name,
        annotations or {},
        labels or {},
    )
