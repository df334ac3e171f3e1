"""The Deployment of the extender and its kube-scheduler: arguments, files, account."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from extender.errors import BadObject
from extender.wire.objects import (
    JsonObject,
    as_object,
    list_at,
    name_at,
    object_at,
    optional_text_at,
    shown,
)

EXTENDER: Final = "extender"
SCHEDULER: Final = "kube-scheduler"

_CONFIG_FLAG: Final = "--config"


@dataclass(frozen=True, slots=True)
class ContainerSeen:
    """A container, as far as it says how it runs.

    Attributes:
        image: Of it.
        arguments: After the program's name.
        mounts: Names of volumes, by the folder where they are mounted.
    """

    image: str
    arguments: tuple[str, ...]
    mounts: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class DeploymentSeen:
    """The Deployment.

    Attributes:
        namespace: Where it runs.
        account: Of its pods, as the API server knows it.
        extender: Its container; None without one.
        scheduler: The container of kube-scheduler; None where it runs elsewhere.
        config_maps: Names of ConfigMaps, by volume.
        secrets: Names of Secrets, by volume.
    """

    namespace: str
    account: str
    extender: ContainerSeen | None
    scheduler: ContainerSeen | None
    config_maps: Mapping[str, str] = field(default_factory=dict, hash=False)
    secrets: Mapping[str, str] = field(default_factory=dict, hash=False)

    def scheduler_file(self) -> tuple[str, str] | None:
        """Tell in which ConfigMap, and by which key, kube-scheduler's file stands."""
        if self.scheduler is None:
            return None
        file = argument_of(self.scheduler.arguments, _CONFIG_FLAG)
        if file is None:
            return None
        return _stored(file, self.scheduler, self.config_maps)

    def secret_file(self, path: str) -> tuple[str, str] | None:
        """Tell in which Secret, and by which key, a file of the extender stands."""
        if self.extender is None:
            return None
        return _stored(path, self.extender, self.secrets)


def _stored(
    file: str, container: ContainerSeen, volumes: Mapping[str, str]
) -> tuple[str, str] | None:
    folder, _, key = file.rpartition("/")
    name = volumes.get(container.mounts.get(folder, ""))
    return (name, key) if name and key else None


def argument_of(arguments: tuple[str, ...], flag: str) -> str | None:
    """Give the last value of a flag, written either way; None without one.

    Example:
        >>> argument_of(("--v=2", "--config", "a.yaml"), "--config")
        'a.yaml'
    """
    found = None
    for index, each in enumerate(arguments):
        if each.startswith(f"{flag}="):
            found = each.removeprefix(f"{flag}=")
        elif each == flag and index + 1 < len(arguments):
            found = arguments[index + 1]
    return found


def read_deployment(obj: object) -> DeploymentSeen:
    """Read a Deployment.

    Raises:
        BadObject: Its structure is not a Deployment's; the error names the field.
    """
    fields = as_object(obj, "deployment")
    metadata = object_at(fields, "metadata", "deployment")
    namespace = name_at(metadata, "namespace", "metadata")
    template = object_at(object_at(fields, "spec", "deployment"), "template", "spec")
    spec = object_at(template, "spec", "template")
    containers = dict(_containers(spec))
    account = optional_text_at(spec, "serviceAccountName", "spec") or "default"
    return DeploymentSeen(
        namespace,
        f"system:serviceaccount:{namespace}:{account}",
        containers.get(EXTENDER),
        containers.get(SCHEDULER),
        dict(_volumes(spec, "configMap", "name")),
        dict(_volumes(spec, "secret", "secretName")),
    )


def _containers(spec: JsonObject) -> Iterator[tuple[str, ContainerSeen]]:
    for index, value in enumerate(list_at(spec, "containers", "spec")):
        where = f"containers[{index}]"
        container = as_object(value, where)
        command = _texts(container, "command", where)
        mounts = {}
        for mount in list_at(container, "volumeMounts", where):
            each = as_object(mount, f"{where}.volumeMounts[]")
            folder = optional_text_at(each, "mountPath", where).rstrip("/")
            mounts[folder] = optional_text_at(each, "name", where)
        yield (
            name_at(container, "name", where),
            ContainerSeen(
                optional_text_at(container, "image", where),
                (*command[1:], *_texts(container, "args", where)),
                mounts,
            ),
        )


def _texts(fields: JsonObject, key: str, where: str) -> list[str]:
    texts = []
    for value in list_at(fields, key, where):
        if not isinstance(value, str):
            raise BadObject(f"{where}.{key}[]", shown(value), "a string")
        texts.append(value)
    return texts


def _volumes(spec: JsonObject, kind: str, name: str) -> Iterator[tuple[str, str]]:
    for index, value in enumerate(list_at(spec, "volumes", "spec")):
        where = f"volumes[{index}]"
        volume = as_object(value, where)
        source = object_at(volume, kind, where)
        if named := optional_text_at(source, name, where):
            yield optional_text_at(volume, "name", where), named
