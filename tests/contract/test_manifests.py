"""The manifests name what the code reads and writes, and each other."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.core.model import Device, DeviceUUID, NodeName, Share, Usage
from extender.wire.allocation import NODE_LABEL, allocation_annotations
from extender.wire.device_policies import EXCLUSIVE_ANNOTATION
from extender.wire.lock import LOCK_ANNOTATION
from extender.wire.pod_settings import RELEASE_ANNOTATION
from extender.wire.side_annotations import Bound, side_annotations
from tests.shipped import SHIPPED

MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
BASE: Final = MANIFESTS / "base"
GUARD: Final = MANIFESTS / "guard"
ROWS: Final = re.compile(r"hami\.io/.*(-devices-to-allocate|-devices-allocated)")
"""What guard/pods.yaml guards without a line in the parameters."""

OF_NODES: Final = re.compile("hami.io/node-.*")
"""What guard/nodes.yaml guards without a line in the parameters."""


def documents(path: Path) -> list[dict[str, Any]]:
    """Read a file."""
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def listed(key: str) -> list[str]:
    """Read a list of the parameters, as the guards do."""
    (parameters,) = documents(GUARD / "parameters.yaml")
    lines = [line.strip() for line in parameters["data"][key].split("\n")]
    return [line for line in lines if line]


def written_at_bind(kind: Kind) -> set[str]:
    """Name every annotation that a Binding has for a pod with a card of a kind."""
    uuid = DeviceUUID("card")
    share = Share(uuid, 256, 10, kind=kind.type_word)
    names = {
        *allocation_annotations([kind], NodeName("n1"), ((share,),), 0),
        *Kinds([kind]).of_allocations,
    }
    bound = Bound(
        kind=kind,
        node_name=NodeName("n1"),
        allocation=((share,),),
        devices={uuid: Device(uuid, 0, Usage(1_024, 100, 4), "card")},
        unix_seconds=0,
        unix_nanoseconds=0,
        container_names=("a",),
    )
    return names | {*side_annotations(bound)}


def test_all_that_bind_writes_is_guarded() -> None:
    """Each annotation of a Binding, of every kind, and nothing else is listed."""
    written = {name for kind in SHIPPED.values() for name in written_at_bind(kind)}
    owned = {name for name in written if not ROWS.fullmatch(name)}
    assert {*listed("podAnnotations")} == owned | {EXCLUSIVE_ANNOTATION}
    assert listed("podAnnotationsFixedAtBind") == [RELEASE_ANNOTATION]
    assert listed("podLabels") == [NODE_LABEL]


def test_all_that_tells_cards_is_guarded() -> None:
    """Locks, registrations, links and handshakes of every kind are listed."""
    told = {
        name
        for kind in SHIPPED.values()
        for name in (
            kind.register_annotation,
            kind.handshake_annotation,
            kind.links_annotation,
            kind.own_lock_annotation,
        )
        if name is not None and not OF_NODES.fullmatch(name)
    }
    assert {*listed("nodeAnnotations")} == told | {LOCK_ANNOTATION}


def test_what_users_write_is_not_guarded() -> None:
    """No annotation by which a pod or an administrator asks for something is listed."""
    for kind in SHIPPED.values():
        asked = {
            kind.use_type_annotation,
            kind.avoid_type_annotation,
            kind.use_uuid_annotation,
            kind.avoid_uuid_annotation,
            kind.numa_bind_annotation,
            kind.mode_annotation,
            kind.software_annotation,
            kind.qos_annotation,
            kind.app_class_annotation,
            kind.topology_annotation,
        }
        assert asked.isdisjoint(listed("podAnnotations"))
        assert not [name for name in asked if name and ROWS.fullmatch(name)]


def test_all_counts_are_listed() -> None:
    """By them a pod is known to ask for devices."""
    counts = {kind.count_resource for kind in SHIPPED.values()}
    counts |= {
        name
        for kind in SHIPPED.values()
        if kind.amounts_alone
        for name in kind.resources
    }
    assert {*listed("countResources")} == counts


def test_guards_name_the_account_of_the_role() -> None:
    """The service account that has the rights may write, and bind."""
    account, *_ = documents(BASE / "rbac.yaml")
    metadata = account["metadata"]
    name = f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}"
    assert name in listed("accounts")
    assert name in listed("schedulers")


@pytest.mark.parametrize("name", ["pods", "nodes", "schedulers"])
def test_guard_stops_nothing_where_parameters_are_missing(name: str) -> None:
    """Each goes by the one ConfigMap; no write waits for anything else."""
    (parameters,) = documents(GUARD / "parameters.yaml")
    policy, binding = documents(GUARD / f"{name}.yaml")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert binding["spec"]["paramRef"] == {
        "name": parameters["metadata"]["name"],
        "namespace": parameters["metadata"]["namespace"],
        "parameterNotFoundAction": "Allow",
    }


def test_names_tell_whose_they_are() -> None:
    """All objects begin with gpu-extender, and are of its namespace or kube-system."""
    paths = [
        path
        for path in MANIFESTS.rglob("*.yaml")
        if "chart" not in path.parts and path.name != "kustomization.yaml"
    ]
    assert paths
    for path in paths:
        for document in documents(path):
            metadata = document["metadata"]
            assert metadata["name"].startswith("gpu-extender"), path
            namespace = metadata.get("namespace", "gpu-extender")
            assert namespace in {"gpu-extender", "kube-system"}, path
