"""What the scopes of a ResourceQuota look at in a Pod."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from extender.core.quota_scopes import QuotaTraits
from extender.wire.objects import JsonObject
from extender.wire.pod_resources import DeclaredContainer

_OF_QOS: Final = ("cpu", "memory")
"""The resources that make a QoS class."""

_ABOVE_ZERO: Final = re.compile(r"[+]?[0-9.]*[1-9]")
"""Of a quantity; whatever exponent or suffix follows."""


def read_quota_traits(
    pod: JsonObject, spec: JsonObject, declared: Sequence[DeclaredContainer]
) -> QuotaTraits:
    """Read them; what is missing or odd is as good as not there.

    The class that the API server writes into the status counts, since it never changes;
    without it, as in a file, containers and the pod itself tell.

    Source: GetPodQOS in k8s.io/kubernetes/pkg/apis/core/v1/helper/qos.
    """
    deadline = spec.get("activeDeadlineSeconds")
    has_deadline = (
        isinstance(deadline, int) and not isinstance(deadline, bool) and deadline >= 0
    )
    status = pod.get("status")
    qos = status.get("qosClass") if isinstance(status, dict) else None
    if isinstance(qos, str) and qos:
        is_best_effort = qos == "BestEffort"
    else:
        is_best_effort = not (
            _names_any(spec) or any(_names_any(one.fields) for one in declared)
        )
    name = spec.get("priorityClassName")
    return QuotaTraits(
        has_deadline, is_best_effort, name if isinstance(name, str) else ""
    )


def _names_any(fields: Mapping[str, object]) -> bool:
    """Tell whether CPU or memory is named, above 0, in limits or requests."""
    resources = fields.get("resources")
    if not isinstance(resources, dict):
        return False
    for where in ("requests", "limits"):
        amounts = resources.get(where)
        if isinstance(amounts, dict):
            named = [str(amounts[name]) for name in _OF_QOS if name in amounts]
            if any(map(_ABOVE_ZERO.match, named)):
                return True
    return False
