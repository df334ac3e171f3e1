"""Quota at admission on a real API server, as the second manifest says."""

import asyncio
import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from tests.builders import Json, PodBuilder, node, pod, resource_quota
from tests.certificates import Authority
from tests.control_plane.caller import Caller, calling
from tests.control_plane.client import Api, ApiError, path_of, pods_path
from tests.control_plane.cluster import clustered
from tests.control_plane.extender import GpuExtender, gpu_extender
from tests.control_plane.plane import ControlPlane
from tests.control_plane.quotas import LIMIT, create_quota, quotas_path
from tests.control_plane.test_webhook import configuration_of

CONFIGURATIONS: Final = (
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
)
_TRIES: Final = 400
_PAUSE_SECONDS: Final = 0.05
LARGE: Final = node("n1").gpu("GPU-a", memory=80_000)
PAIR: Final = node("n2").gpu("GPU-b", memory=80_000).gpu("GPU-c", memory=80_000)


@dataclass(frozen=True)
class Validated:
    """The extender behind the API server's validating admission."""

    api: Api
    extender: GpuExtender
    caller: Caller
    name: str

    async def create(self, shown: PodBuilder, *, dry: bool = False) -> Json:
        """Create a pod for our scheduler, which does not run.

        Raises:
            ApiError: It is refused.
        """
        body = shown.build()
        metadata = {
            key: value for key, value in body["metadata"].items() if key != "uid"
        }
        spec = {**body["spec"], "schedulerName": "gpu-scheduler"}
        for one in (*spec.get("initContainers", ()), *spec["containers"]):
            one.setdefault("image", "registry.example/work:1")
        return await self.api.request(
            "POST",
            pods_path(),
            body={"metadata": metadata, "spec": spec},
            parameters={"dryRun": "All"} if dry else None,
        )

    async def refusal(self, shown: PodBuilder, *, dry: bool = False) -> str:
        """Create a pod that must be refused; give the text."""
        with pytest.raises(ApiError) as caught:
            await self.create(shown, dry=dry)
        assert caught.value.status == HTTPStatus.FORBIDDEN
        text: str = json.loads(caught.value.body)["message"]
        return text

    async def figure(self, name: str, **labels: str) -> float:
        """Read a metric."""
        async with self.caller.session.get("/metrics") as answer:
            text = await answer.text()
        return next(
            (
                sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if sample.name == f"gpu_extender_{name}" and sample.labels == labels
            ),
            0.0,
        )

    async def knows(self, limit: int) -> None:
        """Wait until the extender goes by a limit of 1 to 79,999 MiB."""
        found = 0.0
        for _ in range(_TRIES):
            found = await self.figure(
                "quota_limit", namespace="default", resource_quota="q", key=LIMIT
            )
            if found == limit:
                return
            await asyncio.sleep(_PAUSE_SECONDS)
        raise AssertionError(f"the limit is {found}")

    async def when_effective(self, *, is_asked: bool = True) -> None:
        """Wait until the API server asks the webhook, or does no longer."""
        for number in range(_TRIES):
            before = await self.admissions()
            await self.create(pod(f"probe{number}").app("a", gpu=1), dry=True)
            if (await self.admissions() > before) == is_asked:
                return
            await asyncio.sleep(_PAUSE_SECONDS)
        raise AssertionError("the configuration has no effect")

    async def admissions(self) -> float:
        """Count the answers that let a pod in."""
        return await self.figure("admissions_total", outcome="within-quota")


@pytest_asyncio.fixture
async def validated(
    control_plane: ControlPlane, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Validated]:
    """Serve over TLS, register the shipped configuration; one large card."""
    authority = Authority(tmp_path_factory.mktemp("validate"), "authority")
    own = authority.server()
    options = ["--tls-cert", str(own.cert_file), "--tls-key", str(own.key_file)]
    trust = ssl.create_default_context(cafile=authority.cert_file)
    configuration = configuration_of("ValidatingWebhookConfiguration")
    (one,) = configuration["webhooks"]
    async with (
        gpu_extender(control_plane, options=options, tls=trust) as extender,
        calling(extender.url, trust) as caller,
        clustered(api) as cluster,
    ):
        await cluster.add(LARGE)
        await cluster.add(PAIR)
        await caller.fits(pod("x").app("a", gpu=2), ["n2"])
        path = one["clientConfig"].pop("service")["path"]
        one["clientConfig"]["url"] = extender.url + path
        one["clientConfig"]["caBundle"] = b64encode(
            authority.cert_file.read_bytes()
        ).decode()
        name = configuration["metadata"]["name"]
        each = Validated(api, extender, caller, name)
        await api.request("POST", CONFIGURATIONS, body=configuration)
        try:
            await each.when_effective()
            yield each
        finally:
            await api.delete(f"{CONFIGURATIONS}/{name}")


def asking(name: str, memory: int = 1_000) -> PodBuilder:
    """Give a pod of one container on one card."""
    return pod(name).app("a", gpu=1, gpumem=memory)


async def test_manifest_can_be_applied(api: Api) -> None:
    """As it is shipped, with a Service and no CA yet."""
    created = await api.request(
        "POST",
        CONFIGURATIONS,
        body=configuration_of("ValidatingWebhookConfiguration"),
        parameters={"dryRun": "All"},
    )
    (one,) = created["webhooks"]
    assert one["failurePolicy"] == "Ignore"
    assert one["sideEffects"] == "NoneOnDryRun"


async def test_burst_is_admitted_up_to_the_limit(validated: Validated) -> None:
    """Of 20 at once, the 5 that there is room for; and after one is deleted, one more.

    The dry runs between them take nothing.
    """
    await create_quota(validated.api, resource_quota("q", hard={LIMIT: 5_999}))
    await validated.knows(5_999)
    dry = await asyncio.gather(
        *(validated.create(asking(f"d{number}"), dry=True) for number in range(20))
    )
    assert len(dry) == 20
    assert await validated.figure("expected_pods") == 0
    answers = await asyncio.gather(
        *(validated.create(asking(f"p{number}")) for number in range(20)),
        return_exceptions=True,
    )
    created = [each for each in answers if isinstance(each, dict)]
    refused = [each for each in answers if isinstance(each, ApiError)]
    assert (len(created), len(refused)) == (5, 15)
    assert {each.status for each in refused} == {HTTPStatus.FORBIDDEN}
    text = await validated.refusal(asking("late"))
    assert text == (
        'admission webhook "quota.gpu-extender.hami.io" denied the request: pod '
        "default/late: exceeding resource quota: quota q: limits.nvidia.com/gpumem: "
        "needs 1000, 5000 of 5999 MiB used, 5000 of these by pods that wait for a node."
        " Ask for less, delete pods of the namespace, or have the quota raised"
    )
    assert await validated.refusal(asking("late"), dry=True) == text
    # Those that wait keep nobody from a node: filter goes by what is bound.
    await validated.caller.fits(asking("x", 5_999), ["n1"])
    await validated.api.delete(path_of(created[0]))
    await _until_admitted(validated, asking("next"))
    assert "needs 1000, 5000 of 5999" in await validated.refusal(asking("last"))


async def _until_admitted(validated: Validated, shown: PodBuilder) -> Json:
    for _ in range(_TRIES):
        try:
            return await validated.create(shown)
        except ApiError:
            await asyncio.sleep(_PAUSE_SECONDS)
    raise AssertionError("no room")


CHARGED: Final = {
    "one app": (asking("p", 4_000), 4_000),
    "two cards": (pod("p").app("a", gpu=2, gpumem=3_000), 6_000),
    "a percentage": (pod("p").app("a", gpu=1, percentage=10), 8_000),
    "a whole card": (pod("p").app("a", gpu=1), 80_000),
    "sidecar, init, app": (
        pod("p")
        .sidecar("s", gpu=1, gpumem=2_000)
        .init("i", gpu=1, gpumem=20_000)
        .app("a", gpu=1, gpumem=10_000),
        22_000,
    ),
}


@pytest.mark.parametrize(("shown", "charge"), CHARGED.values(), ids=CHARGED)
async def test_charge_is_that_of_filter_and_bind(
    validated: Validated, shown: PodBuilder, charge: int
) -> None:
    """One MiB less, and each refuses it; with so much each takes it, and is charged."""
    api, caller = validated.api, validated.caller
    await create_quota(api, resource_quota("q", hard={LIMIT: charge - 1}))
    await validated.knows(charge - 1)
    needed = f"needs {charge}, 0 of {charge - 1} MiB used"
    assert needed in await validated.refusal(shown)
    await caller.refuses(shown, {"n2": "ResourceQuotaNotFit"})
    change = {"spec": {"hard": {LIMIT: str(charge)}}}
    await api.patch(f"{quotas_path('default')}/q", change)
    await validated.knows(charge)
    created = await validated.create(shown)
    await caller.fits(shown, ["n2"])
    assert "of these by pods that wait" in await validated.refusal(asking("x", 1))
    assert await caller.bind(created, "n2") == ""
    used = await validated.figure(
        "quota_used", namespace="default", resource_quota="q", key=LIMIT
    )
    assert used == charge
    text = await validated.refusal(asking("x", 1))
    assert f"needs 1, {charge} of {charge} MiB used. Ask" in text


async def test_a_restarted_extender_counts_pods_that_wait(
    validated: Validated,
) -> None:
    """It admitted none of them itself; and while it is down, pods are created."""
    await create_quota(validated.api, resource_quota("q", hard={LIMIT: 3_000}))
    await validated.knows(3_000)
    for number in range(2):
        await validated.create(asking(f"p{number}"))
    await validated.extender.stop()
    await validated.create(asking("meanwhile"))
    await validated.extender.start()
    text = await validated.refusal(asking("late"))
    assert "needs 1000, 3000 of 3000 MiB used, 3000 of these" in text


async def test_a_long_pod_costs_too_little_to_refuse(validated: Validated) -> None:
    """A thousand containers with all that a plain pod names; no card among them."""
    wanted = pod("long")
    for number in range(1_000):
        wanted = wanted.app(f"a{number}")
    body = wanted.build()
    amounts = {"cpu": "1m", "memory": "1Mi", "ephemeral-storage": "1Mi"}
    for one in body["spec"]["containers"]:
        one |= {"image": "x", "resources": {"limits": amounts, "requests": amounts}}
    changing = configuration_of("MutatingWebhookConfiguration")
    (one,) = changing["webhooks"]
    one["clientConfig"] = {"url": "https://127.0.0.1:9/nobody"}
    path = CONFIGURATIONS.replace("validating", "mutating")
    await validated.api.request("POST", path, body=changing)
    try:
        for _ in range(_TRIES):
            try:
                await validated.create(asking("probe"), dry=True)
            except ApiError:
                break  # it is in effect: who names a card is refused
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            raise AssertionError("the configuration has no effect")
        await validated.api.request(
            "POST",
            pods_path(),
            body={"metadata": {"name": "long"}, "spec": body["spec"]},
            parameters={"dryRun": "All"},
        )
    finally:
        await validated.api.delete(f"{path}/{changing['metadata']['name']}")
