"""Pods come through the real API server to the webhook, as its manifest says."""

import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.builders import Json, PodBuilder, pod
from tests.certificates import HOST, Authority
from tests.control_plane.client import MERGE, Api, ApiError, pods_path
from tests.control_plane.extender import GpuExtender, gpu_extender
from tests.control_plane.plane import ControlPlane

MANIFEST: Final = Path(__file__).parents[2] / "manifests" / "base" / "webhook.yaml"
CONFIGURATIONS: Final = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
)
_EFFECTIVE_TRIES: Final = 200
"""Each is a request. The API server hears of a configuration within a second."""

ALL_CORES: Final = {"nvidia.com/gpu": "1", "nvidia.com/gpucores": "100"}


@dataclass(frozen=True)
class Webhook:
    """The extender behind the API server's admission."""

    api: Api
    extender: GpuExtender
    name: str

    async def create(
        self, shown: PodBuilder | Json, **spec: object
    ) -> tuple[Json, list[str]]:
        """Create a pod without writing it; give it and the warnings.

        Raises:
            ApiError: It is refused.
        """
        body = shown if isinstance(shown, dict) else shown.build()
        body = {**body, "spec": {**body["spec"], **spec}}
        body.pop("status", None)
        for kind in ("initContainers", "containers"):
            for one in body["spec"].get(kind, ()):
                one.setdefault("image", "registry.example/work:1")
        namespace = body["metadata"].get("namespace", "default")
        async with self.api.session.post(
            pods_path(namespace), params={"dryRun": "All"}, json=body
        ) as answer:
            read = await answer.read()
            warnings = answer.headers.getall("Warning", [])
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiError(answer.status, "create", read)
        created: Json = json.loads(read)
        return created, warnings

    async def refusal(self, shown: PodBuilder | Json, **spec: object) -> Json:
        """Create a pod that must be refused; give the Status."""
        with pytest.raises(ApiError) as caught:
            await self.create(shown, **spec)
        status: Json = json.loads(caught.value.body)
        return status

    async def change(self, webhook: Json) -> None:
        """Change the one webhook of the configuration."""
        path = f"{CONFIGURATIONS}/{self.name}"
        configuration = await self.api.get(path)
        (before,) = configuration["webhooks"]
        await self.api.patch(path, {"webhooks": [{**before, **webhook}]}, MERGE)

    async def when_effective(self, *, is_asked: bool = True) -> None:
        """Wait until the API server asks the webhook, or does no longer."""
        for _ in range(_EFFECTIVE_TRIES):
            created, _warnings = await self.create(pod("probe").app("a", gpu=1))
            if (created["spec"]["schedulerName"] == "gpu-scheduler") == is_asked:
                return
        raise AssertionError("the configuration has no effect")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def serving(
    shared_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[GpuExtender, bytes]]:
    """Serve over TLS, for the tests of this file; give the CA, too."""
    authority = Authority(tmp_path_factory.mktemp("webhook"), "authority")
    own = authority.server()
    options = ["--tls-cert", str(own.cert_file), "--tls-key", str(own.key_file)]
    trust = ssl.create_default_context(cafile=authority.cert_file)
    async with gpu_extender(
        shared_control_plane, options=options, tls=trust
    ) as running:
        yield running, authority.cert_file.read_bytes()


@pytest_asyncio.fixture
async def webhook(
    api: Api, serving: tuple[GpuExtender, bytes]
) -> AsyncIterator[Webhook]:
    """Register it for the length of a test."""
    async with _registered(api, *serving) as registered:
        await registered.when_effective()
        yield registered


@asynccontextmanager
async def _registered(
    api: Api, extender: GpuExtender, authority: bytes
) -> AsyncIterator[Webhook]:
    configuration = configuration_of("MutatingWebhookConfiguration")
    (one,) = configuration["webhooks"]
    service = one["clientConfig"].pop("service")
    one["clientConfig"]["url"] = extender.url + service["path"]
    one["clientConfig"]["caBundle"] = b64encode(authority).decode()
    registered = Webhook(api, extender, configuration["metadata"]["name"])
    await api.request("POST", CONFIGURATIONS, body=configuration)
    try:
        yield registered
    finally:
        await api.delete(f"{CONFIGURATIONS}/{registered.name}")
        await registered.when_effective(is_asked=False)


def configuration_of(kind: str) -> Json:
    """Read one of the two configurations that are shipped."""
    for each in yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")):
        if each["kind"] == kind:
            found: Json = each
            return found
    raise AssertionError(kind)


def opted_out(shown: PodBuilder) -> PodBuilder:
    """Label a pod."""
    return replace(shown, metadata={"labels": {"hami.io/webhook": "ignore"}})


async def test_manifest_can_be_applied(api: Api) -> None:
    """As it is shipped, with a Service and no CA yet."""
    configuration = configuration_of("MutatingWebhookConfiguration")
    created = await api.request(
        "POST", CONFIGURATIONS, body=configuration, parameters={"dryRun": "All"}
    )
    (one,) = created["webhooks"]
    assert one["failurePolicy"] == "Fail"


async def test_pod_is_given_what_it_lacks(webhook: Webhook) -> None:
    """Limits, scheduler and requests: the API server takes those from the limits."""
    shown = pod("p").sidecar("s", gpumem=1500).app("a")
    shown_spec = shown.build()["spec"]
    created, warnings = await webhook.create(
        shown,
        containers=[{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
        initContainers=[
            {**shown_spec["initContainers"][0], "resources": {"limits": MEMORY}}
        ],
    )
    spec = created["spec"]
    assert spec["schedulerName"] == "gpu-scheduler"
    assert spec["containers"][0]["resources"] == {
        "limits": ALL_CORES,
        "requests": ALL_CORES,
    }
    with_count = {**MEMORY, "nvidia.com/gpu": "1"}
    assert spec["initContainers"][0]["resources"] == {
        "limits": with_count,
        "requests": with_count,
    }
    assert warnings == []


MEMORY: Final = {"nvidia.com/gpumem": "1500"}


async def test_requests_that_are_there_follow(webhook: Webhook) -> None:
    """A limit that is added to a container with requests has its request."""
    created, _ = await webhook.create(pod("p").app("a", gpu=1))
    (one,) = created["spec"]["containers"]
    assert one["resources"] == {"limits": ALL_CORES, "requests": ALL_CORES}


REFUSED: dict[str, tuple[PodBuilder, Json, int, str]] = {
    "bytes": (
        pod("p").app("a", gpu=1, gpumem="8Gi"),
        {},
        422,
        (
            "pod default/p: container 'a': nvidia.com/gpumem: 8589934592 is not in the "
            "range 0 to 2147483647; the unit is MiB, so 8 GiB is written 8192"
        ),
    ),
    "a node": (
        pod("p").app("a", gpu=1),
        {"nodeName": "n1"},
        403,
        (
            "pod default/p: pod has node assigned: spec.nodeName 'n1' leaves nobody to "
            "choose its cards; use nodeSelector or nodeAffinity instead"
        ),
    ),
    "privileged": (
        pod("p").app("a", gpu=1),
        {
            "initContainers": [
                {"name": "i", "securityContext": {"privileged": True}},
            ]
        },
        403,
        (
            "pod default/p: container 'i' is privileged: it would see every card of "
            "its node; run it without securityContext.privileged, or in a pod that "
            "asks for no cards"
        ),
    ),
}


@pytest.mark.parametrize(
    ("shown", "spec", "code", "text"), REFUSED.values(), ids=REFUSED
)
async def test_refused(
    webhook: Webhook, shown: PodBuilder, spec: Json, code: int, text: str
) -> None:
    """Whoever creates the pod reads what to do."""
    status = await webhook.refusal(shown, **spec)
    name = "pods.gpu-extender.hami.io"
    assert status["message"] == f'admission webhook "{name}" denied the request: {text}'
    assert status["code"] == code


async def test_unequal_requests_are_explained(webhook: Webhook) -> None:
    """Before the API server refuses them in its own words."""
    resources = {
        "limits": {"nvidia.com/gpu": "2"},
        "requests": {"nvidia.com/gpu": "1"},
    }
    status = await webhook.refusal(
        pod("p").app("a"), containers=[{"name": "a", "resources": resources}]
    )
    assert (
        "requests[nvidia.com/gpu]: 1 is not its limit, 2; name it in limits alone"
        in (status["message"])
    )


async def test_warnings_are_shown(webhook: Webhook) -> None:
    """Whoever creates the pod sees them; kubectl prints them."""
    shown = pod("p").app("a", gpu=1).annotations({"nvidia.com/use-gputypes": "A10"})
    _, (warning,) = await webhook.create(shown)
    assert "do you mean nvidia.com/use-gputype?" in warning
    other = {"schedulerName": "volcano"}
    created, (warning,) = await webhook.create(pod("p").app("a", gpu=1), **other)
    assert created["spec"]["schedulerName"] == "volcano"
    assert "schedulerName 'volcano' is not gpu-scheduler" in warning


async def test_pod_that_is_made_from_a_template(webhook: Webhook) -> None:
    """Its name comes later; the text shows what there is of it."""
    shown = pod("p").app("a", gpu=1, gpumem="8Gi").build()
    shown["metadata"] = {"generateName": "trainer-"}
    status = await webhook.refusal(shown)
    assert "pod default/trainer-*: container 'a'" in status["message"]


async def test_opting_out(webhook: Webhook) -> None:
    """By a label of the pod or of its namespace."""
    asking = pod("p").app("a", gpu=1)
    created, _ = await webhook.create(opted_out(asking))
    assert created["spec"]["schedulerName"] == "default-scheduler"
    body = {"metadata": {"name": "left-out", "labels": {"hami.io/webhook": "ignore"}}}
    await webhook.api.request("POST", "/api/v1/namespaces", body=body)
    created, _ = await webhook.create(replace(asking, namespace="left-out"))
    assert created["spec"]["schedulerName"] == "default-scheduler"
    created, _ = await webhook.create(replace(asking, namespace="kube-system"))
    assert created["spec"]["schedulerName"] == "default-scheduler"


async def test_namespace_of_the_request_counts(webhook: Webhook) -> None:
    """The object may lack it."""
    await webhook.api.create_namespace("research")
    shown = pod("p", "research").app("a", gpu=1, gpumem="8Gi")
    status = await webhook.refusal(shown)
    assert "pod research/p: " in status["message"]


async def test_older_version_is_spoken(webhook: Webhook) -> None:
    """HAMi's chart registers v1beta1 alone."""
    await webhook.change(
        {
            "admissionReviewVersions": ["v1beta1"],
            # Tells when the API server knows of both changes.
            "objectSelector": {"matchLabels": {"from": "now-on"}},
        }
    )
    await webhook.when_effective(is_asked=False)
    asking = pod("p").app("a", gpu=1)
    labelled = replace(asking, metadata={"labels": {"from": "now-on"}})
    created, _ = await webhook.create(labelled)
    assert created["spec"]["schedulerName"] == "gpu-scheduler"
    refused = replace(labelled, node_name="n1")
    assert "pod has node assigned" in (await webhook.refusal(refused))["message"]


async def test_only_pods_with_cards_depend_on_it(webhook: Webhook) -> None:
    """While the extender is down, they are refused, and all others created."""
    await webhook.extender.stop()
    try:
        status = await webhook.refusal(pod("p").app("a", gpu=1))
        assert "failed calling webhook" in status["message"]
        for shown in (
            pod("p").app("a"),
            pod("p").sidecar("s").app("a"),
            opted_out(pod("p").app("a", gpu=1)),
        ):
            created, _ = await webhook.create(shown)
            assert created["spec"]["schedulerName"] == "default-scheduler"
    finally:
        await webhook.extender.start()


async def test_what_a_later_webhook_adds_is_looked_at(
    webhook: Webhook, tmp_path: Path
) -> None:
    """The API server asks once more; a sidecar that is injected is no way around."""
    asking = pod("p").app("a", gpu=1)
    async with _injecting(webhook.api, tmp_path, {"image": "registry.example/x:1"}):
        created, _ = await webhook.create(asking)
        assert [one["name"] for one in created["spec"]["initContainers"]] == ["late"]
        (one,) = created["spec"]["containers"]
        assert one["resources"]["limits"] == ALL_CORES
    privileged = {"securityContext": {"privileged": True}}
    async with _injecting(webhook.api, tmp_path, privileged):
        status = await webhook.refusal(asking)
    assert "container 'late' is privileged" in status["message"]


@asynccontextmanager
async def _injecting(api: Api, folder: Path, container: Json) -> AsyncIterator[None]:
    """Register a webhook that is asked after ours, and adds an init to every pod."""
    authority = Authority(folder, "later")
    own = authority.server()
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(own.cert_file, own.key_file)
    added = {"name": "late", "image": "registry.example/late:1", **container}
    operation = {"op": "add", "path": "/spec/initContainers", "value": [added]}
    patch = b64encode(json.dumps([operation]).encode()).decode()

    async def answer(request: web.Request) -> web.Response:
        asked = await request.json()
        response = {"uid": asked["request"]["uid"], "allowed": True}
        if not asked["request"]["object"]["spec"].get("initContainers"):
            response |= {"patchType": "JSONPatch", "patch": patch}
        return web.json_response({**asked, "request": None, "response": response})

    app = web.Application()
    app.router.add_post("/", answer)
    name = "zz-later"
    server = TestServer(app, host=HOST)
    await server.start_server(ssl=serving)
    try:
        configuration = configuration_of("MutatingWebhookConfiguration")
        (one,) = configuration["webhooks"]
        configuration["metadata"]["name"] = name
        one["name"] = f"later.{one['name']}"
        one["clientConfig"] = {
            "url": str(server.make_url("/")),
            "caBundle": b64encode(authority.cert_file.read_bytes()).decode(),
        }
        await api.request("POST", CONFIGURATIONS, body=configuration)
        await _when_injected(api)
        yield
    finally:
        await api.delete(f"{CONFIGURATIONS}/{name}")
        await _when_injected(api, is_asked=False)
        await server.close()


async def _when_injected(api: Api, *, is_asked: bool = True) -> None:
    """Wait until the later webhook is asked, by pods that ours does not look at."""
    shown = pod("probe").app("a", gpu=0).build()
    shown["spec"]["containers"][0]["image"] = "registry.example/work:1"
    for _ in range(_EFFECTIVE_TRIES):
        created = await api.request(
            "POST", pods_path(), body=shown, parameters={"dryRun": "All"}
        )
        if ("initContainers" in created["spec"]) == is_asked:
            return
    raise AssertionError("the later configuration has no effect")
