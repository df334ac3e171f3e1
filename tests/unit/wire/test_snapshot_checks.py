"""Files that no extender wrote: each of these is named, whoever wrote it."""

from collections.abc import Callable
from typing import Any, Final

import orjson
import pytest

from extender.errors import MalformedBody
from extender.wire.snapshots import decode_snapshot
from tests.builders import node, pod, resource_quota
from tests.replays.made import content_of

CONTENT: Final = content_of(
    [
        node("a").mig("GPU-m"),
        node("b").gpu("GPU-b", memory=24_000),
        resource_quota("q", hard={"limits.nvidia.com/gpumem": 90_000}),
        pod("held")
        .app("x", gpu=1, gpumem=1_000)
        .holding("GPU-b,NVIDIA,1000,0:;")
        .on("b")
        .phase("Running"),
        pod("asks").init("i", gpu=1, gpumem=500).app("main", gpu=1, gpumem=1_000),
    ]
)

Step = str | int


def damaged(path: tuple[Step, ...], change: Callable[[Any], Any]) -> bytes:
    """Change one value of a file."""
    read = orjson.loads(CONTENT)
    parent = read
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = change(parent[path[-1]])
    return orjson.dumps(read)


def put(value: object) -> Callable[[Any], Any]:
    """Put this instead."""
    return lambda _: value


def without_last(listed: list[Any]) -> list[Any]:
    """Leave the last one out."""
    return listed[:-1]


def with_last_twice(listed: list[Any]) -> list[Any]:
    """Have the last one twice."""
    return [*listed, listed[-1]]


NVIDIA: Final = ("inventories", "NVIDIA")
REQUEST: Final = ("snapshot", "pod", "requests", 0)


@pytest.mark.parametrize(
    ("path", "change", "problem"),
    [
        (("nodes",), with_last_twice, "nodes: node-1 twice is not each of them once"),
        (("pods",), with_last_twice, "pods: uid-"),
        (("quotas",), with_last_twice, "quotas: namespace-0/quota-0 twice"),
        (
            ("nodes", 1, *NVIDIA, "devices", 0, "capacity", "memory_mib"),
            put(-1),
            "nodes[1].inventories.NVIDIA.devices[0].capacity.memory_mib: -1 is",
        ),
        (
            ("nodes", 1, *NVIDIA, "devices", 0, "capacity", "slots"),
            put(2**31),
            "capacity.slots: 2147483648 is not 0 to 2147483647",
        ),
        (
            ("nodes", 1, *NVIDIA, "devices"),
            with_last_twice,
            "nodes[1].inventories.NVIDIA.devices: device-",
        ),
        (
            ("nodes", 1, *NVIDIA, "allocatable_slots"),
            put(-2),
            "nodes[1].inventories.NVIDIA.allocatable_slots: -2",
        ),
        (
            ("nodes", 0, *NVIDIA, "devices", 0, "mig_profiles", 0, "placements", 0),
            put({"start": 2**40, "size": 1}),
            "1 slices from 1099511627776 on is not within 16 slices",
        ),
        (
            (*REQUEST, "lifetimes"),
            without_last,
            "requests[0].lifetimes: 1 entries is not one for each of 2 containers",
        ),
        ((*REQUEST, "containers"), without_last, "requests[0].containers: 1 entries"),
        (
            (*REQUEST, "containers", 0, "count"),
            put(-3),
            "requests[0].containers[0].count: -3 is not 0 to",
        ),
        (
            ("snapshot", "pod", "requests"),
            with_last_twice,
            "snapshot.pod.requests: NVIDIA twice",
        ),
        (
            ("snapshot", "decision", "allocation"),
            without_last,
            "snapshot.decision.allocation: 1 entries is not one for each of 2",
        ),
        (
            ("snapshot", "decision", "chosen"),
            put("elsewhere"),
            "snapshot.decision.chosen: 'elsewhere' is not one of snapshot.node_names",
        ),
        (("snapshot", "decision", "scores"), put({"z": 1}), "decision.scores.z"),
        (("quotas", 0, "limits", 0, "most"), put(-1), "gpumem: -1 is not 0 or more"),
    ],
)
def test_nonsense_is_named(
    path: tuple[Step, ...], change: Callable[[Any], Any], problem: str
) -> None:
    """The field, what stands there, and what should."""
    with pytest.raises(MalformedBody) as error:
        decode_snapshot(damaged(path, change))
    assert problem in str(error.value)


def test_what_is_not_damaged_is_read() -> None:
    """The test above can pass for no other reason."""
    assert len(decode_snapshot(CONTENT).nodes) == 2


def test_weights_that_are_all_zero() -> None:
    """No order of cards could be made of them."""
    read = orjson.loads(CONTENT)
    request = read["snapshot"]["pod"]["requests"][0]
    weights = {"slots": 0, "memory": 0, "cores": 0}
    request["device_policy"] = {"keys": ["least used"], "weights": weights}
    with pytest.raises(MalformedBody, match="0 and 0 and 0 is not 0 to 2147483647"):
        decode_snapshot(orjson.dumps(read))
    request["device_policy"] = {"keys": []}
    with pytest.raises(MalformedBody, match=r"policy\.keys: missing or null"):
        decode_snapshot(orjson.dumps(read))
