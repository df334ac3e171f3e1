"""A KubeSchedulerConfiguration, as kube-scheduler reads it."""

from collections.abc import Iterator
from typing import Final

from extender.errors import BadObject
from extender.verbs.installation.documents import (
    ExtenderStanza,
    ManagedResource,
    SchedulerConfiguration,
)
from extender.wire.installation.go_duration import duration_seconds
from extender.wire.objects import (
    JsonObject,
    as_object,
    flag_at,
    list_at,
    name_at,
    object_at,
    optional_text_at,
    shown,
    whole_at,
)

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"

_VERBS: Final = ("filterVerb", "prioritizeVerb", "bindVerb", "preemptVerb")
_DEFAULT_PROFILE: Final = "default-scheduler"
_DEFAULT_LEASE: Final = ("kube-system", "kube-scheduler")
_DEFAULT_TIMEOUT_SECONDS: Final = 5.0


def read_scheduler_configuration(obj: object, source: str) -> SchedulerConfiguration:
    """Read what concerns the extender; what is not written has its default.

    Args:
        obj: The JSON object.
        source: Where it was read, for people.

    Raises:
        BadObject: kube-scheduler could not read it either; the error names the field.

    Source: k8s.io/kube-scheduler/config/v1 and its defaults.
    """
    fields = as_object(obj, source)
    kind, version = fields.get("kind"), fields.get("apiVersion")
    if kind != KIND:
        raise BadObject(f"{source}: kind", shown(kind), KIND)
    if version != API_VERSION:
        raise BadObject(f"{source}: apiVersion", shown(version), API_VERSION)
    return SchedulerConfiguration(
        source,
        tuple(_profiles(fields)) or (_DEFAULT_PROFILE,),
        tuple(_extenders(fields)),
        whole_at(fields, "percentageOfNodesToScore", KIND),
        _lease(fields),
    )


def _profiles(fields: JsonObject) -> Iterator[str]:
    for index, value in enumerate(list_at(fields, "profiles", KIND)):
        where = f"profiles[{index}]"
        name = optional_text_at(as_object(value, where), "schedulerName", where)
        yield name or _DEFAULT_PROFILE


def _lease(fields: JsonObject) -> tuple[str, str] | None:
    where = "leaderElection"
    election = object_at(fields, where, KIND)
    if not flag_at(election, "leaderElect", where, default=True):
        return None
    namespace, name = _DEFAULT_LEASE
    return (
        optional_text_at(election, "resourceNamespace", where) or namespace,
        optional_text_at(election, "resourceName", where) or name,
    )


def _extenders(fields: JsonObject) -> Iterator[ExtenderStanza]:
    for index, value in enumerate(list_at(fields, "extenders", KIND)):
        where = f"extenders[{index}]"
        yield _stanza(as_object(value, where), where)


def _stanza(fields: JsonObject, where: str) -> ExtenderStanza:
    tls = object_at(fields, "tlsConfig", where)
    enables_https = flag_at(fields, "enableHTTPS", where)
    verbs = {each: optional_text_at(fields, each, where) for each in _VERBS}
    timeout = fields.get("httpTimeout")
    seconds = 0.0
    if timeout is not None:
        seconds = duration_seconds(timeout, f"{where}.httpTimeout")
    in_tls = f"{where}.tlsConfig"
    # As kube-scheduler does: with enableHTTPS and no CA, it takes any certificate.
    takes_any = enables_https and not _has(tls, in_tls, "caFile", "caData")
    return ExtenderStanza(
        optional_text_at(fields, "urlPrefix", where),
        {field: verb for field, verb in verbs.items() if verb},
        tuple(_managed(fields, where)),
        flag_at(fields, "ignorable", where),
        flag_at(fields, "nodeCacheCapable", where),
        seconds or _DEFAULT_TIMEOUT_SECONDS,
        enables_https,
        takes_any or flag_at(tls, "insecure", in_tls),
        _has(tls, in_tls, "certFile", "certData"),
        optional_text_at(tls, "serverName", in_tls),
    )


def _has(fields: JsonObject, where: str, *keys: str) -> bool:
    return any(optional_text_at(fields, key, where) for key in keys)


def _managed(fields: JsonObject, where: str) -> Iterator[ManagedResource]:
    for index, value in enumerate(list_at(fields, "managedResources", where)):
        one = f"{where}.managedResources[{index}]"
        each = as_object(value, one)
        yield ManagedResource(
            name_at(each, "name", one), flag_at(each, "ignoredByScheduler", one)
        )
