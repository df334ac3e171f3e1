"""The manifests name what the code reads and writes, and each other."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from extender.core.allocation import Share
from extender.core.kind_set import Kinds
from extender.core.kinds import Kind, SideAnnotations
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device
from extender.core.usage import Usage
from extender.wire.allocation import allocation_annotations, has_rows
from extender.wire.device_policies import EXCLUSIVE_ANNOTATION
from extender.wire.lock import LOCK_ANNOTATION
from extender.wire.owned_annotations import OWNED_LABELS, owned_annotations
from extender.wire.pod_settings import RELEASE_ANNOTATION
from extender.wire.side_annotations import Bound, side_annotations
from tests.admission import admitted, new_pod
from tests.builders import pod
from tests.shipped import SHIPPED

MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
BASE: Final = MANIFESTS / "base"
GUARD: Final = MANIFESTS / "guard"
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


@pytest.mark.parametrize("word", SHIPPED)
def test_all_that_bind_writes_is_owned(word: str) -> None:
    """Each annotation of a Binding, of every kind, and nothing else."""
    kind = SHIPPED[word]
    written = written_at_bind(kind) | {EXCLUSIVE_ANNOTATION}
    if kind.side_annotations is SideAnnotations.AWS_NEURON:
        assert written <= owned_annotations(kind)  # by the side of cores, there is more
    else:
        assert owned_annotations(kind) == written


def test_all_that_is_owned_is_guarded() -> None:
    """And nothing else is listed."""
    owned = {name for kind in SHIPPED.values() for name in owned_annotations(kind)}
    assert {*listed("podAnnotations")} == {name for name in owned if not has_rows(name)}
    assert listed("podAnnotationsFixedAtBind") == [RELEASE_ANNOTATION]
    assert listed("podLabels") == [*OWNED_LABELS]


def test_rows_have_the_form_that_is_guarded() -> None:
    """The guards' expressions, and ours, name the same ends."""
    ends = ["-devices-to-allocate", "-devices-allocated"]
    policy, _ = documents(GUARD / "pods.yaml")
    variables = {one["name"]: one["expression"] for one in policy["spec"]["variables"]}
    for name in ("rowsNow", "rowsBefore"):
        assert re.findall(r"endsWith\('([^']+)'\)", variables[name]) == ends
        assert re.findall(r"startsWith\('([^']+)'\)", variables[name]) == ["hami.io/"]
    assert all(has_rows(f"hami.io/tpu{end}") for end in ends)
    assert not has_rows("example.com/tpu-devices-allocated")


def test_webhook_refuses_what_guards_refuse() -> None:
    """Each name that is listed, and rows of any kind, for a pod with cards."""
    names = [*listed("podAnnotations"), "hami.io/tpu-devices-to-allocate"]
    for name in names:
        shown = pod("p").app("a", gpu=1).annotations({name: "x"})
        answer = admitted(shown, SHIPPED.values())
        assert (answer.code, answer.allowed) == (403, False), name
        assert f"annotations {name} are written at bind" in answer.text
    for name in listed("podLabels"):
        labelled = new_pod(pod("p").app("a", gpu=1))
        labelled["metadata"]["labels"] = {name: "n1"}
        answer = admitted(labelled, SHIPPED.values())
        assert f"labels {name} are written at bind" in answer.text


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
        assert not [name for name in asked if name and has_rows(name)]


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
