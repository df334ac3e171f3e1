"""Our wire against golden files, and those against Kubernetes' own Go types.

To write the files anew, from the project's root: ``go -C tests/go run ./golden
../golden``.
"""

import json
import subprocess
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from extender.core.container import Container, Lifetime
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.node import Device, Inventory, Node
from extender.core.pod import Placing, Pod
from extender.core.pod_request import ContainerRequest, PodRequest, Policy, Selection
from extender.core.pod_status import PodStatus
from extender.core.usage import Usage
from extender.errors import BadQuantity
from extender.wire.extender_v1 import (
    BindingArgs,
    ExtenderArgs,
    decode_binding_args,
    decode_extender_args,
    encode_binding_result,
    encode_filter_result,
    encode_host_priorities,
)
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from extender.wire.quantity import parse_whole

GOLDEN: Final = Path(__file__).parents[1] / "golden"
NAMES: Final = sorted(file.name for file in GOLDEN.iterdir())
QUANTITIES: Final[dict[str, int | str | None]] = json.loads(
    (GOLDEN / "quantities.json").read_bytes()
)

pytestmark = pytest.mark.timeout(900)  # a first build, on a busy machine


@pytest.fixture(scope="module")
def written_today(
    golden_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What the Go program writes now."""
    directory = tmp_path_factory.mktemp("golden")
    subprocess.run([golden_binary, directory], check=True)
    return directory


def test_no_golden_file_is_missing_or_left_over(written_today: Path) -> None:
    """The committed names are those that the Go program writes."""
    assert sorted(file.name for file in written_today.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_golden_file_is_what_go_writes(written_today: Path, name: str) -> None:
    """No golden file was edited by hand or outlived a new Kubernetes version."""
    assert (written_today / name).read_bytes() == (GOLDEN / name).read_bytes()


def test_args_with_names_are_read() -> None:
    """With nodeCacheCapable, filter and prioritize get the pod and names."""
    args = decode_golden_args("args_node_names.json")
    assert args == ExtenderArgs(EXPECTED_POD, (N1, N2), None)


def test_args_with_nodes_are_read() -> None:
    """Without nodeCacheCapable, they get the pod and the node objects."""
    args = decode_golden_args("args_nodes.json")
    assert args.pod == EXPECTED_POD
    assert args.node_names is None
    nodes = [decode_node(node, [NVIDIA]) for node in (args.nodes or {}).values()]
    assert nodes == EXPECTED_NODES


def test_binding_args_are_read() -> None:
    """Bind gets names and the UID."""
    assert decode_binding_args(golden("binding_args.json")) == BindingArgs(
        name=EXPECTED_POD.name,
        namespace=EXPECTED_POD.namespace,
        uid=EXPECTED_POD.uid,
        node_name=N1,
    )


def test_filter_result_with_names_is_written_as_go_would() -> None:
    """Names that fit, and both maps of reasons."""
    assert encode_filter_result(
        node_names=[N1, N2],
        failed={
            NodeName("gpu-node-3"): "CardInsufficientCore",
            NodeName("gpu-node-4"): "CardInsufficientMemory, CardTimeSlicingExhausted",
        },
        unresolvable={
            NodeName("gpu-node-5"): "NodeUnregistered",
            NodeName("gpu-node-6"): "CardTypeMismatch",
        },
    ) == golden("filter_node_names.json")


def test_filter_result_with_nodes_is_written_as_go_would() -> None:
    """Node objects go back as they came, byte for byte."""
    assert encode_filter_result(
        nodes=list((decode_golden_args("args_nodes.json").nodes or {}).values()),
        failed={NodeName("gpu-node-3"): "CardInsufficientCore"},
    ) == golden("filter_nodes.json")


def test_filter_result_without_a_fit_is_written_as_go_would() -> None:
    """Empty is not absent: no names and no map are null, empty ones are not."""
    assert encode_filter_result(
        node_names=[],
        failed={},
        unresolvable={NodeName("gpu-node-5"): "NodeUnregistered"},
    ) == golden("filter_none_fits.json")


def test_filter_error_is_written_as_go_would() -> None:
    """An error alone; every other key is there and null."""
    error = "nodes and pods are not synced yet"
    assert encode_filter_result(error=error) == golden("filter_error.json")


def test_empty_filter_result_is_written_as_go_would() -> None:
    """No key is ever left out."""
    assert encode_filter_result() == golden("filter_nothing.json")


def test_priorities_are_written_as_go_would() -> None:
    """A bare list, in the order given."""
    scores = np.array([10, 0])
    assert encode_host_priorities([N2, N1], scores) == golden("priorities.json")
    assert encode_host_priorities([], np.array([], np.int64)) == golden(
        "priorities_empty.json"
    )


def test_binding_results_are_written_as_go_would() -> None:
    """An empty error is success."""
    error = "the lock of gpu-node-1 is held"
    assert encode_binding_result("") == golden("binding_done.json")
    assert encode_binding_result(error) == golden("binding_error.json")


@pytest.mark.parametrize(
    ("text", "whole"), QUANTITIES.items(), ids=map(ascii, QUANTITIES)
)
def test_quantity_is_read_as_kubernetes_does(
    text: str, whole: int | str | None
) -> None:
    """The same whole number; a refusal where Kubernetes has a fraction or an error."""
    if isinstance(whole, int):
        assert parse_whole(text, "gpumem") == whole
    else:
        with pytest.raises(BadQuantity, match="gpumem"):
            parse_whole(text, "gpumem")


def golden(name: str) -> bytes:
    """Read a golden file."""
    return (GOLDEN / name).read_bytes()


def decode_golden_args(name: str) -> ExtenderArgs:
    """Read a golden file with our decoder."""
    return decode_extender_args(golden(name), PodReader(Kinds([NVIDIA])))


N1: Final = NodeName("gpu-node-1")
N2: Final = NodeName("gpu-node-2")

EXPECTED_POD: Final = Pod(
    uid=PodUID("3a1f4a86-6c0a-4bb7-9f10-6a3f0f2d8f11"),
    namespace="research",
    name="trainer-0",
    node_name=None,
    containers=(
        Container("cache", Lifetime.SIDECAR),
        Container("warm-up", Lifetime.INIT),
        Container("train", Lifetime.APP),
    ),
    requests=(
        PodRequest(
            kind="NVIDIA",
            lifetimes=(Lifetime.SIDECAR, Lifetime.INIT, Lifetime.APP),
            containers=(
                ContainerRequest(count=1, memory_mib=2_000),
                ContainerRequest(count=1, memory_mib=20_000),
                ContainerRequest(count=2, memory_mib=10_000, core_percent=30),
            ),
            selection=Selection(use_types=("A10", "A100")),
            node_policy=Policy.SPREAD,
            kubelet_slots=3,
        ),
    ),
    status=PodStatus(),
    scheduler_name="gpu-scheduler",
    placing=Placing(refusal="0/2 nodes are available: 2 CardInsufficientMemory."),
)

EXPECTED_NODES: Final = [
    Node(
        name=N1,
        inventories={
            "NVIDIA": Inventory(
                devices=(
                    Device(
                        device_uuid=DeviceUUID("GPU-1a"),
                        index=0,
                        capacity=Usage(slots=10, memory_mib=24_564, core_percent=100),
                        model="NVIDIA A10",
                        mode="hami-core",
                    ),
                    Device(
                        device_uuid=DeviceUUID("GPU-1b"),
                        index=1,
                        capacity=Usage(slots=10, memory_mib=24_564, core_percent=100),
                        model="NVIDIA A10",
                        is_healthy=False,
                        is_cordoned=True,
                        mode="hami-core",
                    ),
                ),
                allocatable_slots=20,
            )
        },
        version="4242",
    ),
    Node(
        name=N2,
        inventories={
            "NVIDIA": Inventory(
                devices=(
                    Device(
                        device_uuid=DeviceUUID("GPU-2a"),
                        index=0,
                        capacity=Usage(slots=4, memory_mib=81_920, core_percent=100),
                        model="NVIDIA A100-SXM4-80GB",
                        mode="hami-core",
                        numa_node=1,
                    ),
                ),
                allocatable_slots=0,
            )
        },
        version="4242",
    ),
]
