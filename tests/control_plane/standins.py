"""Stand-ins for definitions of others: cert-manager's and the Prometheus operator's.

They take any object of the right kind. Whether fields are right, only those who read
them can tell.
"""

from typing import Final

from tests.builders import Json
from tests.control_plane.client import APPLY, Api

_KINDS: Final = (
    ("cert-manager.io", "v1", "Issuer", "issuers"),
    ("cert-manager.io", "v1", "Certificate", "certificates"),
    ("monitoring.coreos.com", "v1", "PodMonitor", "podmonitors"),
    ("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"),
)
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _definition(group: str, version: str, kind: str, plural: str) -> Json:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    served = {"name": version, "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [served],
        },
    }


async def define(api: Api) -> None:
    """Define the kinds, and wait until they are served.

    Raises:
        AssertionError: They are not, after a while.
    """
    for group, version, kind, plural in _KINDS:
        path = f"{_DEFINITIONS}/{plural}.{group}"
        await api.request(
            "PATCH",
            path,
            body=_definition(group, version, kind, plural),
            content_type=APPLY,
            parameters={"fieldManager": "tests", "force": "true"},
        )
        await api.when(path, _is_established, wanted="served")


def _is_established(definition: Json) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []
    return any(
        each["type"] == "Established" and each["status"] == "True"
        for each in conditions
    )
