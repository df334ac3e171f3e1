"""The shipped installation as documents, to be changed by tests one thing at a time."""

import copy
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import KindWord
from extender.embedded.documents import objects_in
from extender.kube.certificate import Certificate
from extender.verbs.diagnosis import Diagnosis
from extender.verbs.installation.documents import Demand, Installation, Served
from extender.verbs.installation.examination import check_installation
from extender.verbs.installation.guards import NODES, PODS, SCHEDULERS
from extender.wire.installation.certificates import read_certificate
from extender.wire.installation.guards import read_guards
from extender.wire.installation.scheduler_configuration import (
    read_scheduler_configuration,
)
from extender.wire.installation.versions import read_version
from extender.wire.installation.webhooks import read_service, read_webhooks

ROOT: Final = Path(__file__).parents[1]
CONFIGURATION: Final = ROOT / "config" / "kube-scheduler.yaml"
BASE: Final = ROOT / "manifests" / "base"
GUARD: Final = ROOT / "manifests" / "guard"

NAME: Final = "gpu-extender.gpu-extender.svc"
NOW: Final = datetime(2026, 6, 1, tzinfo=UTC)
MADE: Final = Certificate.made([NAME], NOW)

Json = dict[str, Any]
Change = Callable[[Json], object]
"""Changes a document in place."""


def unchanged(document: Json) -> None:
    """Leave a document as it is shipped."""


def scheduler_document() -> Json:
    """Read the shipped KubeSchedulerConfiguration."""
    (found,) = objects_in(CONFIGURATION.read_bytes(), CONFIGURATION.name)
    return found


def manifests(*files: Path) -> list[Json]:
    """Read every object of shipped manifests."""
    texts = [file.read_text(encoding="utf-8") for file in files]
    return [each for text in texts for each in yaml.safe_load_all(text) if each]


def with_bundle(configuration: Json, authority: bytes) -> Json:
    """Write what ``gpu-extender certificate`` writes."""
    changed = copy.deepcopy(configuration)
    for each in changed["webhooks"]:
        each["clientConfig"]["caBundle"] = b64encode(authority).decode()
    return changed


AS_SHIPPED: Final = Served()


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different from what is shipped."""

    scheduler: Change = unchanged
    changing: Change = unchanged
    asking: Change = unchanged
    service: Change = unchanged
    guards: Change = unchanged
    certificate: Certificate = MADE
    key: bytes | None = None
    api_server: str = "v1.36.3"
    kube_scheduler: str = "v1.36.3"
    served: Served = AS_SHIPPED
    node_count: int = 200
    present: frozenset[KindWord] = frozenset({KindWord("NVIDIA")})
    kinds: tuple[Any, ...] = (NVIDIA,)
    endpoints: int | None = 1
    at: datetime = NOW


def installation(changes: Changes) -> Installation:
    """Read the shipped documents, changed."""
    read = scheduler_document()
    changes.scheduler(read)
    changing, asking = (
        with_bundle(each, MADE.authority) for each in manifests(BASE / "webhook.yaml")
    )
    changes.changing(changing)
    changes.asking(asking)
    (service,) = manifests(BASE / "service.yaml")
    changes.service(service)
    served = changes.certificate
    webhooks = [
        webhook
        for each in (changing, asking)
        if each
        for webhook in read_webhooks(each, served.cert)
    ]
    return Installation(
        changes.at.timestamp(),
        Demand(Kinds(changes.kinds), changes.present, frozenset(), changes.node_count),
        changes.served,
        read_scheduler_configuration(read, CONFIGURATION.name),
        read_version(changes.api_server, "gitVersion"),
        read_version(changes.kube_scheduler, "image"),
        tuple(webhooks),
        (read_service(service, changes.endpoints),) if service else (),
        read_guards(*guards_of(changes.guards), (PODS, NODES, SCHEDULERS)),
        read_certificate(served.cert, "secret gpu-extender-tls", changes.key),
    )


def guards_of(change: Change) -> tuple[list[Json], list[Json], Json | None]:
    """Sort the shipped guards; `change` gets them by kind and name."""
    files = ("pods.yaml", "nodes.yaml", "schedulers.yaml", "parameters.yaml")
    shipped = manifests(*[GUARD / name for name in files])
    objects = {f"{each['kind']}/{each['metadata']['name']}": each for each in shipped}
    change(objects)
    return (
        of_kind(objects, "ValidatingAdmissionPolicy"),
        of_kind(objects, "ValidatingAdmissionPolicyBinding"),
        next(iter(of_kind(objects, "ConfigMap")), None),
    )


def of_kind(objects: Mapping[str, Json], kind: str) -> list[Json]:
    """Take the objects of one kind."""
    return [each for each in objects.values() if each["kind"] == kind]


def codes(found: Iterable[Diagnosis]) -> list[str]:
    """Give the codes of diagnoses, sorted."""
    return sorted(each.code for each in found)


def examined(**changes: Any) -> list[Diagnosis]:  # noqa: ANN401 - fields of Changes
    """Check the shipped installation with some changes."""
    return list(check_installation(installation(replace(Changes(), **changes))))
