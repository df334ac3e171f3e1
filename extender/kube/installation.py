"""The installation around the extender, as an API server has it. Nothing is written."""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from extender.errors import BadObject, ExtenderError, NotFound
from extender.kube.client import ApiClient, path_of
from extender.kube.feed import items_of
from extender.verbs.doctor.examination import Consulted
from extender.verbs.installation.documents import (
    Demand,
    Guards,
    Installation,
    SchedulerConfiguration,
    Served,
    ServiceSeen,
    Version,
    Webhook,
)
from extender.verbs.installation.guards import NODES, PARAMETERS, PODS, SCHEDULERS
from extender.wire.installation.certificates import read_certificate
from extender.wire.installation.deployment import DeploymentSeen, read_deployment
from extender.wire.installation.guards import read_guards
from extender.wire.installation.versions import image_version, read_version
from extender.wire.installation.webhooks import (
    MUTATING,
    VALIDATING,
    read_service,
    read_webhooks,
    ready_endpoints,
)
from extender.wire.objects import JsonObject, object_at, optional_text_at

_SECONDS: Final = 10.0
_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_CONFIGURATIONS: Final = {
    MUTATING: f"{_ADMISSION}/mutatingwebhookconfigurations",
    VALIDATING: f"{_ADMISSION}/validatingwebhookconfigurations",
}
_POLICIES: Final = f"{_ADMISSION}/validatingadmissionpolicies"
_BINDINGS: Final = f"{_ADMISSION}/validatingadmissionpolicybindings"

_Read = TypeVar("_Read")

ServedOf = Callable[[Sequence[str], str, str], Served]
"""Reads the arguments of ``gpu-extender``, for a namespace and an account."""

ConfigurationIn = Callable[[bytes, str], SchedulerConfiguration]
"""Reads the text of a KubeSchedulerConfiguration, from a source that errors name."""


@dataclass(slots=True)
class InstallationReader:
    """Reads one installation, part by part; what cannot be read is told, and left out.

    Attributes:
        client: Of the API server.
        served_of: Reads arguments as the command line does.
        configuration_in: Reads JSON and YAML.
        namespace: Of the extender.
        name: Of its Deployment.
        consulted: What was looked at so far.
    """

    client: ApiClient
    served_of: ServedOf
    configuration_in: ConfigurationIn
    namespace: str = "gpu-extender"
    name: str = "gpu-extender"
    consulted: list[Consulted] = field(default_factory=list)

    async def read(
        self,
        demand: Demand,
        unix_seconds: float,
        scheduler: SchedulerConfiguration | None = None,
    ) -> Installation:
        """Read all there is.

        Args:
            demand: What the cluster is about.
            unix_seconds: Now.
            scheduler: kube-scheduler's configuration, where it was given; else it is
                looked for in the Deployment's ConfigMap.
        """
        found = Installation(unix_seconds, demand, scheduler=scheduler)
        version = await self._try("version of the API server", self._api_version())
        found = replace(found, api_server=version)
        deployment = await self._try(
            f"deployment {self.namespace}/{self.name}", self._deployment()
        )
        pem: bytes | None = None
        if deployment is not None:
            found, pem = await self._of_deployment(found, deployment)
        webhooks = await self._try("webhooks", self._webhooks(pem))
        guards = await self._try("guards", self._guards())
        found = replace(found, webhooks=webhooks, guards=guards)
        if webhooks is not None:
            services = await self._try("services of webhooks", self._services(webhooks))
            found = replace(found, services=services)
        return found

    async def _of_deployment(
        self, found: Installation, deployment: DeploymentSeen
    ) -> tuple[Installation, bytes | None]:
        served = await self._try("arguments of the extender", self._served(deployment))
        found = replace(found, served=served)
        if deployment.scheduler is not None:
            version = image_version(deployment.scheduler.image)
            found = replace(found, kube_scheduler=version)
        if found.scheduler is None:
            read = await self._try(
                "configuration of kube-scheduler", self._scheduler(deployment)
            )
            found = replace(found, scheduler=read)
        if served is None or not served.certificate_file:
            return found, None
        return await self._with_certificate(found, deployment, served)

    async def _with_certificate(
        self, found: Installation, deployment: DeploymentSeen, served: Served
    ) -> tuple[Installation, bytes | None]:
        pair = await self._try("certificate", self._pair(deployment, served))
        if pair is None:
            return found, None
        where, pem, key = pair
        try:
            seen = read_certificate(pem, where, key)
        except BadObject as error:
            self.consulted.append(Consulted(where, str(error)))
            return found, pem
        of_verbs = seen if served.has_tls else None
        changed = replace(found, webhook_certificate=seen, verbs_certificate=of_verbs)
        return changed, pem

    async def _try(self, what: str, reading: Awaitable[_Read]) -> _Read | None:
        try:
            read = await reading
        except ExtenderError as error:
            self.consulted.append(Consulted(what, str(error)))
            return None
        self.consulted.append(Consulted(what))
        return read

    async def _get(self, path: str) -> JsonObject:
        return await self.client.get(path, seconds=_SECONDS)

    async def _get_or_none(self, path: str) -> JsonObject | None:
        try:
            return await self._get(path)
        except NotFound:
            return None

    def _in_namespace(self, *segments: str, namespace: str = "") -> str:
        return path_of("namespaces", namespace or self.namespace, *segments)

    async def _api_version(self) -> Version:
        answer = await self._get("/version")
        return read_version(answer.get("gitVersion"), "gitVersion")

    async def _deployment(self) -> DeploymentSeen:
        path = "/apis/apps/v1" + self._in_namespace("deployments", self.name)
        return read_deployment(await self._get(path))

    async def _served(self, deployment: DeploymentSeen) -> Served:
        container = deployment.extender
        if container is None:
            raise NotFound("the Deployment has no container named extender")
        return self.served_of(
            container.arguments, deployment.namespace, deployment.account
        )

    async def _scheduler(self, deployment: DeploymentSeen) -> SchedulerConfiguration:
        file = deployment.scheduler_file()
        if file is None:
            raise NotFound(
                "kube-scheduler has no --config from a ConfigMap in the Deployment; "
                "give the file by --scheduler-config"
            )
        name, key = file
        source = f"configmap {self.namespace}/{name}"
        obj = await self._get("/api/v1" + self._in_namespace("configmaps", name))
        text = optional_text_at(object_at(obj, "data", source), key, f"{source}: data")
        return self.configuration_in(text.encode(), f"{source} ({key})")

    async def _pair(
        self, deployment: DeploymentSeen, served: Served
    ) -> tuple[str, bytes, bytes | None]:
        file = deployment.secret_file(served.certificate_file)
        if file is None:
            raise NotFound(f"{served.certificate_file} is in no Secret")
        name, key = file
        where = f"secret {self.namespace}/{name}"
        obj = await self._get("/api/v1" + self._in_namespace("secrets", name))
        pem = _secret(obj, key, where)
        of_key = deployment.secret_file(served.key_file)
        is_beside = of_key is not None and of_key[0] == name
        private = _secret(obj, of_key[1], where) if of_key and is_beside else None
        return where, pem, private

    async def _webhooks(self, served_pem: bytes | None) -> tuple[Webhook, ...]:
        found: list[Webhook] = []
        for kind, path in _CONFIGURATIONS.items():
            for obj in items_of(await self._get(path)):
                if isinstance(obj, dict):  # items of a list have no kind
                    found += read_webhooks({**obj, "kind": kind}, served_pem)
        return tuple(found)

    async def _services(self, webhooks: Sequence[Webhook]) -> tuple[ServiceSeen, ...]:
        found = []
        named = {
            (each.service.namespace, each.service.name)
            for each in webhooks
            if each.service is not None and each.service.namespace == self.namespace
        }
        for namespace, name in sorted(named):
            path = self._in_namespace("services", name, namespace=namespace)
            obj = await self._get_or_none("/api/v1" + path)
            if obj is not None:
                ready = await self._ready_endpoints(namespace, name)
                found.append(read_service(obj, ready))
        return tuple(found)

    async def _ready_endpoints(self, namespace: str, name: str) -> int:
        path = "/apis/discovery.k8s.io/v1" + self._in_namespace(
            "endpointslices", namespace=namespace
        )
        query = {"labelSelector": f"kubernetes.io/service-name={name}"}
        listed = await self.client.get(path, query=query, seconds=_SECONDS)
        return ready_endpoints([*items_of(listed)])

    async def _guards(self) -> Guards:
        names = (PODS, NODES, SCHEDULERS)
        policies = [await self._get_or_none(_POLICIES + path_of(n)) for n in names]
        bindings = items_of(await self._get(_BINDINGS))
        lists = await self._get_or_none(
            "/api/v1" + self._in_namespace("configmaps", PARAMETERS)
        )
        there = [each for each in policies if each is not None]
        return read_guards(there, bindings, lists, names)


def _secret(obj: JsonObject, key: str, where: str) -> bytes:
    text = optional_text_at(object_at(obj, "data", where), key, f"{where}: data")
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise BadObject(f"{where}: data.{key}", None, "base64") from error
