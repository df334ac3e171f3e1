"""Locks, and what a node's cards are, are written by the extender and plugins alone."""

from typing import Final

import pytest

from tests.builders import Json, node
from tests.control_plane.client import PLUGIN, STRATEGIC, Api, node_path
from tests.control_plane.forging import NODE, PERSON, annotating, create_node, refusal
from tests.control_plane.plane import User
from tests.control_plane.plugin import LOCK
from tests.shipped import SHIPPED

KUBELET: Final = f"system:node:{NODE}"
PATH: Final = node_path(NODE)
REGISTER: Final = "hami.io/node-nvidia-register"


def owned_names() -> list[str]:
    """Name every annotation of nodes that is guarded, of every kind."""
    of_kinds = {
        name
        for kind in SHIPPED.values()
        for name in (
            kind.register_annotation,
            kind.handshake_annotation,
            kind.links_annotation,
            kind.own_lock_annotation,
        )
        if name is not None
    }
    return sorted({LOCK, "hami.io/node-handshake", *of_kinds})


async def test_every_owned_name(api: Api) -> None:
    """None can be written to a node, or its status, but by accounts of ours."""
    await create_node(api)
    for name in owned_names():
        change = annotating({name: "x"})
        for by in (PERSON, KUBELET):
            other = api.acting_as(by)
            for path in (PATH, f"{PATH}/status"):
                said = await refusal(other.patch(path, change))
                assert f"annotations {name}: written by the GPU extender" in said
                assert said.endswith(f"and not by {by}")
        await api.acting_as(PLUGIN).patch(PATH, change)
        await api.acting_as(User.EXTENDER).patch(PATH, annotating({name: "y"}))


@pytest.mark.parametrize("name", [LOCK, REGISTER])
async def test_removal_is_refused(api: Api, name: str) -> None:
    """A lock that is taken away hands a pod's cards to another."""
    await create_node(api)
    await api.acting_as(PLUGIN).patch(PATH, annotating({LOCK: "x"}))
    change = annotating({name: None})
    assert name in await refusal(api.acting_as(PERSON).patch(PATH, change))


async def test_node_is_created_without_cards(api: Api) -> None:
    """A plugin registers them later; a copy of another node is refused."""
    built: Json = node("n2").gpu("GPU-a").build()
    person = api.acting_as(PERSON)
    assert REGISTER in await refusal(
        person.request("POST", "/api/v1/nodes", body=built)
    )
    built["metadata"].pop("annotations")
    await person.request("POST", "/api/v1/nodes", body=built)


async def test_kubelet_and_administrators_go_on(api: Api) -> None:
    """Heartbeats, cordons of nodes and of cards, taints and labels pass."""
    await create_node(api)
    kubelet, person = api.acting_as(KUBELET), api.acting_as(PERSON)
    heartbeat = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    change: Json = {"status": {"conditions": [heartbeat]}}
    await kubelet.patch(f"{PATH}/status", change, STRATEGIC)
    await kubelet.request("PUT", f"{PATH}/status", body=await api.get(PATH))
    attached = "volumes.kubernetes.io/controller-managed-attach-detach"
    await kubelet.patch(f"{PATH}/status", annotating({attached: "true"}))
    await person.patch(PATH, annotating({"hami.io/device-cordon": "GPU-a"}))
    await person.patch(PATH, {"spec": {"unschedulable": True}})
    await person.patch(PATH, {"metadata": {"labels": {"gpu": "on"}}})
