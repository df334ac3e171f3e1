"""An extender and its kube-scheduler as they are installed: TLS, webhook and all."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tests.builders import Json, pod
from tests.certificates import Authority
from tests.control_plane.client import Api, ApiError, pods_path
from tests.control_plane.component import HOST, free_port
from tests.control_plane.extender import GpuExtender, gpu_extender
from tests.control_plane.installing import documents
from tests.control_plane.plane import ControlPlane
from tests.control_plane.scheduler import ClientTls, kube_scheduler, scheduler_name

NAME: Final = "system:kube-scheduler"
_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_PLURALS: Final = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1


@asynccontextmanager
async def secured(plane: ControlPlane, folder: Path) -> AsyncIterator[GpuExtender]:
    """Serve kube-scheduler over mutual TLS, and the API server's admission over TLS.

    Args:
        plane: The cluster; everything but the webhooks is installed there.
        folder: Takes certificates and keys.
    """
    authority = Authority(folder, "authority")
    own, known = authority.server(), authority.client(NAME)
    webhook = f"{HOST}:{free_port()}"
    options = [
        *("--tls-cert", str(own.cert_file), "--tls-key", str(own.key_file)),
        *("--client-ca", str(authority.cert_file), "--client-name", NAME),
        *("--webhook-listen", webhook),
    ]
    probe = ssl.create_default_context(cafile=authority.cert_file)
    of_scheduler = ClientTls(authority.cert_file, known.cert_file, known.key_file)
    async with (
        Api.connected(plane) as api,
        gpu_extender(plane, options=options, tls=probe) as extender,
        kube_scheduler(plane, extender.url, tls=of_scheduler),
        registered(api, f"https://{webhook}", authority.cert_file.read_bytes()),
    ):
        yield extender


@asynccontextmanager
async def registered(api: Api, url: str, authority: bytes) -> AsyncIterator[None]:
    """Have the API server ask for admission as by `register`, until this is left."""
    try:
        await register(api, url, authority)
        yield
    finally:
        for configuration in documents("base/webhook.yaml"):
            name = configuration["metadata"]["name"]
            await api.delete(f"{_collection_of(configuration)}/{name}")
        await _until_asked(api, is_asked=False)


async def register(api: Api, url: str, authority: bytes) -> None:
    """Have the API server ask for admission, as ``manifests/base/webhook.yaml`` says.

    Args:
        api: As administrator.
        url: Of the webhook listener, in the place of the Service.
        authority: That signed its certificate, in PEM.

    Raises:
        TimeoutError: It does not, after a while.
    """
    for configuration in documents("base/webhook.yaml"):
        for one in configuration["webhooks"]:
            service = one["clientConfig"].pop("service")
            one["clientConfig"]["url"] = url + service["path"]
            one["clientConfig"]["caBundle"] = b64encode(authority).decode()
        await api.request("POST", _collection_of(configuration), body=configuration)
    await _until_asked(api, is_asked=True)


def _collection_of(configuration: Json) -> str:
    return f"{_ADMISSION}/{_PLURALS[configuration['kind']]}"


async def _until_asked(api: Api, *, is_asked: bool) -> None:
    """Wait until the API server asks, or does so no longer.

    Raises:
        TimeoutError: It does not, after a while.
    """
    probe = pod("probe").app("a", gpu=1).build()
    probe["spec"]["containers"][0]["image"] = "registry.example/work:1"
    async with asyncio.timeout(_SECONDS):
        while True:
            try:
                created = await api.request(
                    "POST", pods_path(), body=probe, parameters={"dryRun": "All"}
                )
            except ApiError:
                pass  # the configurations come and go one by one
            else:
                if (created["spec"]["schedulerName"] == scheduler_name()) == is_asked:
                    return
            await asyncio.sleep(_POLL_SECONDS)
