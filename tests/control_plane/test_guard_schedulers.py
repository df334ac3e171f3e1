"""Who may bind: told at first, and refused once an administrator says so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import pytest

from tests.builders import Json, pod
from tests.control_plane.client import Api, pod_path, pods_path
from tests.control_plane.forging import NODE, PERSON, create_node, refusal
from tests.control_plane.installing import apply, documents
from tests.control_plane.plane import User

KUBELET: Final = f"system:node:{NODE}"
WAYS: Final = {
    "of the pod": f"{pod_path('p')}/binding",
    "of the namespace": "/api/v1/namespaces/default/bindings",
}
BINDING: Final[Json] = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "p"},
    "target": {"kind": "Node", "name": NODE},
}
MAY_NOT_BIND: Final = f"{PERSON} is no named scheduler and may not bind pods"
NAMES_ITS_NODE: Final = "a pod that asks for devices may not name its node"


async def warnings(by: Api, path: str, body: Json) -> str:
    """Send what passes, and give what the API server warns of."""
    async with by.session.post(path, json=body, headers=[*by.acts_as]) as answer:
        assert answer.status == HTTPStatus.CREATED, await answer.text()
        return " ".join(answer.headers.getall("Warning", []))


def with_node(name: str, **asks: int) -> Json:
    """Make a pod that is created with its node."""
    built = pod(name).app("a", **asks).build()
    built.pop("status", None)
    built["spec"] |= {"nodeName": NODE}
    built["spec"]["containers"][0]["image"] = "registry.example/work:1"
    return built


@asynccontextmanager
async def denying(api: Api) -> AsyncIterator[None]:
    """Let the rule deny, which is one line, for the length of a block."""
    (shipped,) = [
        each
        for each in documents("guard/schedulers.yaml")
        if each["kind"].endswith("PolicyBinding")
    ]
    changed = {**shipped, "spec": {**shipped["spec"], "validationActions": ["Deny"]}}
    try:
        await apply(api, changed)
        await until(api, HTTPStatus.FORBIDDEN)
        yield
    finally:
        await apply(api, shipped)
        await until(api, HTTPStatus.CREATED)


async def until(api: Api, status: HTTPStatus) -> None:
    """Wait until the API server answers so to what the rule is about."""
    person = api.acting_as(PERSON)
    path, body = f"{pods_path()}?dryRun=All", with_node("probe", gpu=1)
    async with asyncio.timeout(30):
        while True:
            async with person.session.post(
                path, json=body, headers=[*person.acts_as]
            ) as answer:
                if answer.status == status:
                    return
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("path", WAYS.values(), ids=WAYS)
async def test_others_are_told_first(api: Api, path: str) -> None:
    """As shipped, a Binding by anybody else passes with a warning."""
    await create_node(api)
    await api.create_pod(pod("p").app("a", gpu=1).build())
    assert MAY_NOT_BIND in await warnings(api.acting_as(PERSON), path, BINDING)


@pytest.mark.parametrize("path", WAYS.values(), ids=WAYS)
async def test_others_are_denied_then(api: Api, path: str) -> None:
    """With one line changed, named schedulers bind, and nobody else."""
    await create_node(api)
    await api.create_pod(pod("p").app("a", gpu=1).build())
    async with denying(api):
        binding = api.acting_as(PERSON).request("POST", path, body=BINDING)
        assert MAY_NOT_BIND in await refusal(binding)
        assert await warnings(api.acting_as(User.SCHEDULER), path, BINDING) == ""


async def test_pod_with_devices_names_no_node(api: Api) -> None:
    """It would come to kubelet without a Binding; pods without devices may."""
    await create_node(api)
    person = api.acting_as(PERSON)
    said = await warnings(person, pods_path(), with_node("told", gpu=1))
    assert NAMES_ITS_NODE in said
    assert await warnings(person, pods_path(), with_node("plain")) == ""
    async with denying(api):
        creating = person.request("POST", pods_path(), body=with_node("p", gpu=1))
        assert NAMES_ITS_NODE in await refusal(creating)
        assert await warnings(person, pods_path(), with_node("also-plain")) == ""


async def test_static_pod_is_shown(api: Api) -> None:
    """The mirror of one that asks for devices passes without a word."""
    await create_node(api)
    mirror = with_node("static", gpu=1)
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert await warnings(api.acting_as(KUBELET), pods_path(), mirror) == ""
    mirror["metadata"]["name"] = "no-kubelet"
    said = await warnings(api.acting_as(PERSON), pods_path(), mirror)
    assert NAMES_ITS_NODE in said
