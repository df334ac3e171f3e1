"""Annotations that the extender and plugins own are theirs alone, on every way there.

No extender runs here: what passes, passes without it.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import pytest

from tests.builders import Json, pod
from tests.control_plane.client import (
    APPLY,
    MERGE,
    PLUGIN,
    STRATEGIC,
    Api,
    ApiError,
    node_path,
    path_of,
    pod_path,
    pods_path,
)
from tests.control_plane.forging import (
    FORGED,
    NODE,
    OWNED,
    PERSON,
    annotating,
    bound_pod,
    create_node,
    refusal,
)
from tests.control_plane.installing import documents
from tests.control_plane.plane import User
from tests.control_plane.plugin import (
    ALLOCATED,
    BIND_PHASE,
    LOCK,
    TO_ALLOCATE,
    VGPU_NODE,
)
from tests.shipped import SHIPPED

KUBELET: Final = f"system:node:{NODE}"
JSON_PATCH: Final = "application/json-patch+json"
PARAMETERS: Final[Json] = documents("guard/parameters.yaml")[0]["data"]

Write = Callable[[Api, Json], Awaitable[object]]
"""Changes a pod that was read."""


def owned_names() -> list[str]:
    """Name every annotation of pods that is guarded, of every kind."""
    of_kinds = [
        name
        for kind in SHIPPED.values()
        for name in (kind.allocated_annotation, kind.to_allocate_annotation)
        if name is not None
    ]
    return sorted({*PARAMETERS["podAnnotations"].split(), *of_kinds})


def patched(content_type: str, subresource: str = "") -> Write:
    """Change the rows by a patch."""

    async def write(by: Api, shown: Json) -> object:
        change: object = annotating({ALLOCATED: FORGED})
        if content_type == JSON_PATCH:
            path = f"/metadata/annotations/{ALLOCATED.replace('/', '~1')}"
            change = [{"op": "replace", "path": path, "value": FORGED}]
        return await by.request(
            "PATCH",
            f"{path_of(shown)}{subresource}",
            body=change,
            content_type=content_type,
        )

    return write


def put(subresource: str = "") -> Write:
    """Change the rows by an update."""

    async def write(by: Api, shown: Json) -> object:
        shown["metadata"]["annotations"][ALLOCATED] = FORGED
        return await by.request("PUT", f"{path_of(shown)}{subresource}", body=shown)

    return write


async def applied(by: Api, shown: Json) -> object:
    """Change the rows by server-side apply."""
    body = {"apiVersion": "v1", "kind": "Pod", **annotating({ALLOCATED: FORGED})}
    body["metadata"]["name"] = shown["metadata"]["name"]
    return await by.request(
        "PATCH",
        path_of(shown),
        body=body,
        content_type=APPLY,
        parameters={"fieldManager": "forger", "force": "true"},
    )


async def removed(by: Api, shown: Json) -> object:
    """Remove the rows."""
    return await by.patch(path_of(shown), annotating({ALLOCATED: None}))


async def relabelled(by: Api, shown: Json) -> object:
    """Change the label by which the monitor finds it."""
    return await by.patch(path_of(shown), {"metadata": {"labels": {VGPU_NODE: "n2"}}})


CHANGES: Final[dict[str, Write]] = {
    "update": put(),
    "merge patch": patched(MERGE),
    "strategic patch": patched(STRATEGIC),
    "JSON patch": patched(JSON_PATCH),
    "apply": applied,
    "status, update": put("/status"),
    "status, merge patch": patched(MERGE, "/status"),
    "status, strategic patch": patched(STRATEGIC, "/status"),
    "removal": removed,
    "label": relabelled,
}


@pytest.mark.parametrize("write", CHANGES.values(), ids=CHANGES)
async def test_change_is_refused(api: Api, write: Write) -> None:
    """Whatever way is taken, with all rights that RBAC can give; and by kubelets."""
    await create_node(api)
    shown = await bound_pod(api)
    for name in (PERSON, KUBELET, "system:kube-scheduler"):
        said = await refusal(write(api.acting_as(name), await api.get(path_of(shown))))
        assert f"and not by {name}; leave them as they are" in said
    assert await api.get(path_of(shown)) == shown


@pytest.mark.parametrize("subresource", ["/ephemeralcontainers", "/resize"])
async def test_ways_that_change_no_annotation(api: Api, subresource: str) -> None:
    """The API server leaves the annotations of these out, or the guard refuses."""
    await create_node(api)
    shown = await bound_pod(api)
    with suppress(ApiError):
        await patched(STRATEGIC, subresource)(api.acting_as(PERSON), shown)
    after = await api.get(path_of(shown))
    assert after["metadata"]["annotations"] == OWNED


async def test_ephemeral_container_is_added(api: Api) -> None:
    """`kubectl debug` works on a pod with a share."""
    await create_node(api)
    shown = await bound_pod(api)
    debugger = {"name": "debug", "image": "registry.example/debug:1"}
    await api.acting_as(PERSON).patch(
        f"{path_of(shown)}/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [debugger]}},
        STRATEGIC,
    )


async def test_every_owned_name(api: Api) -> None:
    """None can be created with a pod, or added, but by accounts of the ConfigMap."""
    person, plugin = api.acting_as(PERSON), api.acting_as(PLUGIN)
    created = await api.create_pod(pod("p").app("a", gpu=1).build())
    for name in owned_names():
        forged = pod("forged").app("a", gpu=1).annotations({name: "x"}).build()
        said = await refusal(person.create_pod(forged))
        assert f"annotations {name}: written at bind" in said
        assert "remove them from the manifest or the pod template" in said
        adding = annotating({name: "x"})
        said = await refusal(person.patch(path_of(created), adding))
        assert f"annotations {name}: written by the GPU extender" in said
        await plugin.patch(path_of(created), adding)


def binding(created: Json, metadata: Json) -> Json:
    """Make a Binding to n1."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": created["metadata"]["name"], **metadata},
        "target": {"kind": "Node", "name": NODE},
    }


BINDINGS: Final = {
    "of the pod": f"{pod_path('p')}/binding",
    "of the namespace": "/api/v1/namespaces/default/bindings",
}


@pytest.mark.parametrize("path", BINDINGS.values(), ids=BINDINGS)
@pytest.mark.parametrize(
    "metadata",
    [{"annotations": OWNED}, {"labels": {VGPU_NODE: NODE}}],
    ids=["annotations", "label"],
)
async def test_binding_carries_them_from_us_alone(
    api: Api, path: str, metadata: Json
) -> None:
    """A scheduler may bind, but not write what only the extender decides."""
    await create_node(api)
    created = await api.create_pod(pod("p").app("a", gpu=1).build())
    scheduler = api.acting_as(User.SCHEDULER)
    body = binding(created, metadata)
    said = await refusal(scheduler.request("POST", path, body=body))
    assert "a Binding may carry them only from the GPU extender" in said
    assert "nodeName" not in (await api.get(path_of(created)))["spec"]
    await api.acting_as(User.EXTENDER).request("POST", path, body=body)
    assert (await api.get(path_of(created)))["spec"]["nodeName"] == NODE


async def test_pod_of_somebody_elses_scheduler(api: Api) -> None:
    """A Binding without our annotations passes by any scheduler that is named."""
    await create_node(api)
    created = await api.create_pod(pod("p").app("a").build())
    scheduler = api.acting_as(User.SCHEDULER)
    await scheduler.request("POST", BINDINGS["of the pod"], body=binding(created, {}))


async def test_what_users_ask_for_is_theirs(api: Api) -> None:
    """Requests by annotation, and annotations of others, are free, bound or not."""
    asked = {
        "nvidia.com/use-gputype": "A10",
        "nvidia.com/nouse-gpuuuid": "GPU-z",
        "hami.io/gpu-scheduler-policy": "binpack",
        "hami.io/use-xpu-uuid": "XPU-a",
        "huawei.com/vnpu-mode": "hami-core",
        "gpu-extender/release": "never",
        "example.com/note": "mine",
    }
    await create_node(api)
    person = api.acting_as(PERSON)
    built = pod("p").app("a", gpu=1).annotations(asked).build()
    created = await person.create_pod(built)
    await person.patch(path_of(created), annotating({"gpu-extender/release": None}))
    await api.bind(created, NODE, OWNED)
    for name in asked:
        if name != "gpu-extender/release":
            await person.patch(path_of(created), annotating({name: "else"}))


async def test_release_is_fixed_at_bind(api: Api) -> None:
    """What a pod gives back once its inits are over is settled when it is bound."""
    await create_node(api)
    shown = await bound_pod(api)
    change = annotating({"gpu-extender/release": "never"})
    said = await refusal(api.acting_as(PERSON).patch(path_of(shown), change))
    assert "annotations gpu-extender/release: " in said


async def test_kubelet_goes_on(api: Api) -> None:
    """Status patches, of pods with and without shares; and deletions."""
    await create_node(api)
    kubelet = api.acting_as(KUBELET)
    plain = await api.create_pod(pod("plain").app("a").build())
    for shown in (await bound_pod(api), plain):
        running = {"metadata": {"uid": shown["metadata"]["uid"]}}
        path = path_of(shown)
        running["status"] = {"phase": "Running"}
        await kubelet.patch(f"{path}/status", running, STRATEGIC)
        await kubelet.request("PUT", f"{path}/status", body=await api.get(path))
        await kubelet.delete(path)
    assert await api.items(pods_path()) == []


async def test_controllers_go_on(api: Api) -> None:
    """Finalizers and owners come and go on a pod with shares."""
    await create_node(api)
    shown = await bound_pod(api)
    controller = api.acting_as("system:serviceaccount:kube-system:job-controller")
    for finalizers in (["batch.kubernetes.io/job-tracking"], None):
        change = {"metadata": {"finalizers": finalizers}}
        await controller.patch(path_of(shown), change)


async def test_plugin_serves(api: Api) -> None:
    """It empties rows and tells how it went."""
    await create_node(api)
    shown = await bound_pod(api)
    plugin = api.acting_as(PLUGIN)
    await plugin.patch(path_of(shown), annotating({TO_ALLOCATE: ";"}))
    await plugin.patch(path_of(shown), annotating({BIND_PHASE: "success"}))


async def test_manifest_of_a_running_pod(api: Api) -> None:
    """Applied as it is, it passes; under another name, it is told what to remove."""
    await create_node(api)
    exported = await bound_pod(api)
    person = api.acting_as(PERSON)
    await person.request("PUT", path_of(exported), body=exported)
    for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        exported["metadata"].pop(key, None)
    exported["metadata"]["name"] = "copy"
    said = await refusal(person.request("POST", pods_path(), body=exported))
    for name in [*OWNED, f"labels {VGPU_NODE}"]:
        assert name in said


async def test_template_with_old_annotations(api: Api) -> None:
    """Its owner hears of it, as `kubectl describe replicaset` shows."""
    labels = {"app": "copied"}
    template = {
        "metadata": {"labels": labels, "annotations": {VGPU_NODE: NODE}},
        "spec": {"containers": [{"name": "a", "image": "registry.example/work:1"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    sets = "/apis/apps/v1/namespaces/default/replicasets"
    made = await api.request(
        "POST", sets, body={"metadata": {"name": "copied"}, "spec": spec}
    )
    path = f"{sets}/copied"
    try:
        shown = await api.when(path, lambda each: "conditions" in each["status"])
    finally:
        await api.delete(path)
    (condition,) = shown["status"]["conditions"]
    assert made["metadata"]["name"] == "copied"
    assert condition["reason"] == "FailedCreate"
    assert f"annotations {VGPU_NODE}: written at bind" in condition["message"]
    assert "remove them from the manifest or the pod template" in condition["message"]


async def test_many_annotations_cost_too_little_to_refuse(api: Api) -> None:
    """As many as fit into a pod, of those that cost the most: its status is written."""
    await create_node(api)
    texts = {f"hami.io/{number:x}": "" for number in range(20_000)}
    created = await api.create_pod(pod("p").app("a").annotations(texts).build())
    change = {"status": {"phase": "Running"}}
    await api.acting_as(KUBELET).patch(f"{path_of(created)}/status", change, STRATEGIC)


async def test_administrator_edits_by_hand(api: Api) -> None:
    """Acting as the extender's account, with no more rights than it has."""
    await create_node(api)
    shown = await bound_pod(api)
    extender = replace(api, acts_as=(("Impersonate-User", str(User.EXTENDER)),))
    await extender.patch(path_of(shown), annotating({ALLOCATED: FORGED}))
    await extender.patch(node_path(NODE), annotating({LOCK: None}))
