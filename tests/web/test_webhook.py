"""POST /webhook: what the API server sends, and what cannot be used."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.settings import HttpSettings
from tests.admission import OURS, V1BETA1, new_pod, read_answer, review
from tests.builders import Json, pod
from tests.shipped import SHIPPED
from tests.web.conftest import Serve

ASKING = new_pod(pod("p").app("a", gpu=1, gpumem=3000))


async def test_pod_is_admitted(serve: Serve) -> None:
    """200 with a patch, also before nodes and pods are known."""
    scheduler = await serve(synced=False)
    asked = review(ASKING, version=V1BETA1)
    answer = await scheduler.send("POST", "/webhook", json.dumps(asked))
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    shown = read_answer(asked, answer.body)
    assert shown.pod["spec"]["schedulerName"] == OURS


@pytest.mark.parametrize("path", ["/webhook", "/validate"])
async def test_a_review_is_larger_than_its_limit(serve: Serve, path: str) -> None:
    """No API server sends such a one; to read it would take long."""
    scheduler = await serve()
    limit = HttpSettings().review_limit_bytes
    for size, status in ((limit, 400), (limit + 1, 413)):
        answer = await scheduler.send("POST", path, BytesIO(b" " * size))
        assert answer.status == status


def _set(*path: str | int, to: object) -> Callable[[Json], None]:
    def change(asked: Json) -> None:
        part = asked
        for step in path[:-1]:
            part = part[step]  # type: ignore[index] # lists among them
        part[path[-1]] = to  # type: ignore[index]

    return change


UNUSABLE: dict[str, tuple[Callable[[Json], None], str]] = {
    "another version": (
        _set("apiVersion", to="admission.k8s.io/v2"),
        "apiVersion: 'admission.k8s.io/v2' is not one of",
    ),
    "no version": (
        _set("apiVersion", to=None),
        "apiVersion: missing or null, expected one of",
    ),
    "another kind": (_set("kind", to="Pod"), "kind: 'Pod' is not AdmissionReview"),
    "no request": (
        _set("request", to=None),
        "request: missing or null, expected an object",
    ),
    "a request that is a text": (_set("request", to="x"), "request: 'x' is not an"),
    "no uid": (_set("request", "uid", to=""), "request.uid: '' is not a non-empty"),
    "no operation": (
        _set("request", "operation", to=None),
        "request.operation: missing",
    ),
    "no namespace": (_set("request", "namespace", to=""), "request.namespace: '' is"),
    "a namespace that is a number": (
        _set("request", "namespace", to=7),
        "request.namespace: 7 is not a string",
    ),
    "no object": (
        _set("request", "object", to=None),
        "request.object: missing or null",
    ),
    "other objects": (
        _set("request", "kind", to={"group": "apps", "version": "v1", "kind": "X"}),
        "request.kind.group: 'apps' is not '': this webhook is for pods",
    ),
}


@pytest.mark.parametrize(("change", "text"), UNUSABLE.values(), ids=UNUSABLE)
async def test_review_that_cannot_be_used(
    serve: Serve, change: Callable[[Json], None], text: str
) -> None:
    """400, with the field; the API server then goes by its failurePolicy."""
    scheduler = await serve()
    asked = review(ASKING)
    change(asked)
    answer = await scheduler.send("POST", "/webhook", json.dumps(asked))
    assert answer.status == 400
    assert answer.json["error"].startswith(text)


BODIES = {"empty": b"", "no JSON": b"{", "a list": b"[]", "not UTF-8": b'"\xff"'}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_body_that_cannot_be_read(serve: Serve, body: bytes) -> None:
    """400, as for every verb."""
    scheduler = await serve()
    answer = await scheduler.send("POST", "/webhook", body)
    assert answer.status == 400
    assert answer.json["error"].startswith("body: ")


NO_PODS: dict[str, tuple[Callable[[Json], None], str]] = {
    "containers are a text": (
        _set("request", "object", "spec", "containers", to="x"),
        "spec.containers: 'x' is not a list",
    ),
    "a container is a text": (
        _set("request", "object", "spec", "containers", to=["x"]),
        "spec.containers[0]: 'x' is not an object",
    ),
    "limits are a text": (
        _set(
            *("request", "object", "spec", "containers", 0, "resources", "limits"),
            to="x",
        ),
        "spec.containers[0].resources.limits: 'x' is not an object",
    ),
    "a variable is a text": (
        _set("request", "object", "spec", "containers", 0, "env", to=["x"]),
        "spec.containers[0].env[0]: 'x' is not an object",
    ),
    "privileged is a text": (
        _set(
            *("request", "object", "spec", "containers", 0, "securityContext"),
            to={"privileged": "yes"},
        ),
        "spec.containers[0].securityContext.privileged: 'yes' is not true or false",
    ),
    "an annotation is a number": (
        _set("request", "object", "metadata", "annotations", to={"a": 1}),
        "metadata.annotations[a]: 1 is not a string (quote it)",
    ),
    "a name is a number": (
        _set("request", "object", "metadata", "name", to=1),
        "metadata.name: 1 is not a string",
    ),
}


@pytest.mark.parametrize(("change", "text"), NO_PODS.values(), ids=NO_PODS)
async def test_object_that_is_no_pod(
    serve: Serve, change: Callable[[Json], None], text: str
) -> None:
    """It is refused whatever the failurePolicy is: the review itself is all right."""
    scheduler = await serve()
    asked = review(ASKING)
    asked = json.loads(json.dumps(asked))
    change(asked)
    answer = await scheduler.send("POST", "/webhook", json.dumps(asked))
    assert answer.status == 200
    shown = read_answer(asked, answer.body)
    assert not shown.allowed
    assert shown.code == 400
    assert shown.text == text


OTHER_WRITES: dict[str, Callable[[Json], None]] = {
    "an update": _set("request", "operation", to="UPDATE"),
    "a deletion": _set("request", "operation", to="DELETE"),
    "a part of a pod": _set("request", "subResource", to="ephemeralcontainers"),
}


@pytest.mark.parametrize("change", OTHER_WRITES.values(), ids=OTHER_WRITES)
async def test_only_creation_is_looked_at(
    serve: Serve, change: Callable[[Json], None]
) -> None:
    """A pod's requests cannot change later; ephemeral containers have none."""
    scheduler = await serve()
    asked = review(ASKING)
    change(asked)
    answer = await scheduler.send("POST", "/webhook", json.dumps(asked))
    shown = read_answer(asked, answer.body)
    assert shown.allowed
    assert shown.patch == []


async def test_kinds_that_change(serve: Serve) -> None:
    """Pods are read by the kinds of device that count now."""
    scheduler = await serve()
    limits = {"hygon.com/dcunum": "1"}
    shown = new_pod(pod("p"))
    shown["spec"]["containers"] = [{"name": "a", "resources": {"limits": limits}}]
    asked = review(shown)
    names = []
    for kinds in ([NVIDIA], SHIPPED.values()):
        reader = replace(scheduler.extender.reader, kinds=Kinds(kinds))
        scheduler.extender.read_with(reader)
        answer = await scheduler.send("POST", "/webhook", json.dumps(asked))
        names.append(read_answer(asked, answer.body).pod["spec"]["schedulerName"])
    assert names == ["default-scheduler", OURS]


async def test_answers_are_counted(serve: Serve) -> None:
    """By outcome, in the metrics."""
    scheduler = await serve()
    node_named = {**ASKING, "spec": {**ASKING["spec"], "nodeName": "n1"}}
    reviews = [
        review(ASKING),
        review(ASKING),
        review(new_pod(pod("p").app("a"))),
        review(new_pod(pod("p").app("a", gpu=1, gpumem="8Gi"))),
        review(node_named),
        {**review(ASKING), "kind": "x"},
        review({**ASKING, "spec": {**ASKING["spec"], "schedulerName": "x"}}),
    ]
    for asked in reviews:
        await scheduler.send("POST", "/webhook", json.dumps(asked))
    metrics = (await scheduler.send("GET", "/metrics")).body.decode()
    counts = {
        line.split('"')[1]: float(line.split()[-1])
        for line in metrics.splitlines()
        if line.startswith("gpu_extender_admissions_total{")
    }
    assert counts == {
        "changed": 2,
        "unchanged": 1,
        "refused": 1,
        "forbidden": 1,
        "unreadable": 1,
        "passed-over": 1,
        "within-quota": 0,
        "over-quota": 0,
    }
