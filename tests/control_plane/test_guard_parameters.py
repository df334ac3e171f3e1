"""What the guards go by is one ConfigMap, and no mistake in it stops pods."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import pytest

from tests.builders import Json, pod
from tests.control_plane.client import STRATEGIC, Api, ApiError, path_of, pod_path
from tests.control_plane.forging import (
    NODE,
    PERSON,
    annotating,
    bound_pod,
    create_node,
    refusal,
)
from tests.control_plane.installing import (
    FILES,
    apply,
    documents,
    guarded,
    path_of_document,
)
from tests.control_plane.plugin import VGPU_NODE

SHIPPED: Final[Json] = documents("guard/parameters.yaml")[0]
KUBELET: Final = f"system:node:{NODE}"
ANOTHER: Final = "system:serviceaccount:vendor:device-plugin"
WITHOUT_POD: Final = frozenset(
    ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "pods/eviction"]
)
"""Ways to a pod by which no annotation of it can be written."""


@asynccontextmanager
async def parameters(api: Api, data: Mapping[str, str] | None) -> AsyncIterator[None]:
    """Put other parameters in place, or none, for the length of a block."""
    path = path_of_document(SHIPPED)
    try:
        await api.delete(path)
        await guarded(api, is_on=False)
        if data is not None:
            await apply(api, {**SHIPPED, "data": {**data}})
            await rows_are_guarded(api)
        yield
    finally:
        await apply(api, SHIPPED)
        await guarded(api)


async def rows_are_guarded(api: Api) -> None:
    """Wait until the API server has read parameters: these need no line in them."""
    forged = pod("forged").app("a").annotations({"hami.io/x-devices-allocated": ";"})
    async with asyncio.timeout(30):
        while True:
            try:
                created = await api.create_pod(forged.build())
            except ApiError:
                return
            await api.delete(path_of(created))


async def cluster_goes_on(api: Api) -> None:
    """Hold that pods without devices are created, and statuses written."""
    built = pod("plain").app("a").build()
    await api.acting_as(PERSON).create_pod(built)
    for name in ("plain", "p"):
        path = f"{pod_path(name)}/status"
        change = {"status": {"phase": "Running"}}
        await api.acting_as(KUBELET).patch(path, change, STRATEGIC)


@pytest.mark.parametrize(
    "data", [None, {}, {"accounts": ""}, {"podAnnotations": "\n\n  \n"}]
)
async def test_mistakes_stop_no_pod(api: Api, data: Mapping[str, str] | None) -> None:
    """Without the ConfigMap, or keys of it, pods without devices are as ever."""
    await create_node(api)
    await bound_pod(api)
    async with parameters(api, data):
        await cluster_goes_on(api)


async def test_account_is_added(api: Api) -> None:
    """A plugin of another vendor writes once its account has a line."""
    await create_node(api)
    await bound_pod(api)
    plugin = api.acting_as(ANOTHER)
    change = annotating({"hami.io/bind-phase": "success"})
    await refusal(plugin.patch(pod_path("p"), change))
    accounts = f"{SHIPPED['data']['accounts']}\n  {ANOTHER}  \n"
    async with parameters(api, {**SHIPPED["data"], "accounts": accounts}):
        await guarded(api)
        await plugin.patch(pod_path("p"), change)
        await refusal(
            api.acting_as(PERSON).patch(pod_path("p"), annotating({VGPU_NODE: "x"}))
        )


async def test_every_way_to_a_pod_is_guarded(api: Api) -> None:
    """Kubernetes has no way to write a pod that the guard does not know of."""
    listed = await api.get("/api/v1")
    ways = {
        each["name"]
        for each in listed["resources"]
        if each["name"].partition("/")[0] in {"pods", "bindings"}
        and {"create", "update", "patch"} & {*each["verbs"]}
    }
    policy = documents("guard/pods.yaml")[0]
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert {*rule["resources"]} == ways - WITHOUT_POD


async def test_expressions_have_the_right_types(api: Api) -> None:
    """Kubernetes' own check of what they read finds nothing wrong."""
    for name in FILES:
        for document in documents(name):
            if document["kind"] == "ValidatingAdmissionPolicy":
                path = path_of_document(document)
                shown = await api.when(
                    path, lambda each: "typeChecking" in each.get("status", {})
                )
                assert shown["status"]["typeChecking"] == {}
