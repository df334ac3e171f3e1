"""Webhook configurations, and the Services that they name."""

from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterator
from typing import Final

from extender.verbs.installation.documents import (
    CaBundle,
    ServiceReference,
    ServiceSeen,
    Webhook,
)
from extender.wire.installation.certificates import read_bundle
from extender.wire.objects import (
    JsonObject,
    as_object,
    list_at,
    name_at,
    object_at,
    optional_text_at,
    whole_at,
)

MUTATING: Final = "MutatingWebhookConfiguration"
VALIDATING: Final = "ValidatingWebhookConfiguration"

_HTTPS: Final = 443
_ANY: Final = "*"
_NARROWING: Final = ("In", "Exists")


def read_webhooks(obj: object, served: bytes | None) -> Iterator[Webhook]:
    """Read every webhook of one configuration that is asked about new pods.

    Args:
        obj: The JSON object, with its kind.
        served: The certificates that the extender serves, in PEM; None where they are
            not known.

    Raises:
        BadObject: Its structure is not a configuration's; the error names the field.
    """
    fields = as_object(obj, "webhook configuration")
    is_mutating = fields.get("kind") == MUTATING
    name = name_at(object_at(fields, "metadata", "configuration"), "name", "metadata")
    for index, value in enumerate(list_at(fields, "webhooks", name)):
        where = f"{name}: webhooks[{index}]"
        webhook = as_object(value, where)
        if _asks_about_pods(webhook, where):
            yield _read(webhook, where, name, served, is_mutating=is_mutating)


def _read(
    fields: JsonObject,
    where: str,
    configuration: str,
    served: bytes | None,
    *,
    is_mutating: bool,
) -> Webhook:
    client = object_at(fields, "clientConfig", where)
    return Webhook(
        configuration,
        name_at(fields, "name", where),
        is_mutating,
        _service(client, f"{where}.clientConfig"),
        optional_text_at(client, "url", f"{where}.clientConfig"),
        _bundle(optional_text_at(client, "caBundle", where), served),
        fails_closed=optional_text_at(fields, "failurePolicy", where) != "Ignore",
        conditions=tuple(_conditions(fields, where)),
        narrows_namespaces=tuple(_narrowing(fields, where)),
    )


def _service(client: JsonObject, where: str) -> ServiceReference | None:
    if client.get("service") is None:
        return None
    where = f"{where}.service"
    service = as_object(client["service"], where)
    return ServiceReference(
        name_at(service, "namespace", where),
        name_at(service, "name", where),
        whole_at(service, "port", where, default=_HTTPS),
        optional_text_at(service, "path", where) or "/",
    )


def _bundle(text: str, served: bytes | None) -> CaBundle | None:
    if not text:
        return None
    try:
        return read_bundle(b64decode(text, validate=True), served)
    except (BadBase64, ValueError) as error:
        return CaBundle(problem=f"no base64: {error}")


def _asks_about_pods(fields: JsonObject, where: str) -> bool:
    for index, value in enumerate(list_at(fields, "rules", where)):
        rule = as_object(value, f"{where}.rules[{index}]")
        operations = list_at(rule, "operations", where)
        resources = list_at(rule, "resources", where)
        groups = list_at(rule, "apiGroups", where)
        if (
            {"CREATE", _ANY} & _texts(operations)
            and {"pods", _ANY, "*/*"} & _texts(resources)
            and {"", _ANY} & _texts(groups)
        ):
            return True
    return False


def _texts(values: list[object]) -> set[str]:
    return {each for each in values if isinstance(each, str)}


def _conditions(fields: JsonObject, where: str) -> Iterator[str]:
    for index, value in enumerate(list_at(fields, "matchConditions", where)):
        one = f"{where}.matchConditions[{index}]"
        yield optional_text_at(as_object(value, one), "expression", one)


def _narrowing(fields: JsonObject, where: str) -> Iterator[str]:
    """Tell what namespaces must have; what they must not have is how some opt out."""
    selector = object_at(fields, "namespaceSelector", where)
    where = f"{where}.namespaceSelector"
    for key, value in object_at(selector, "matchLabels", where).items():
        yield f"{key}={value}"
    for index, value in enumerate(list_at(selector, "matchExpressions", where)):
        one = f"{where}.matchExpressions[{index}]"
        each = as_object(value, one)
        operator = optional_text_at(each, "operator", one)
        if operator in _NARROWING:
            values = ",".join(sorted(_texts(list_at(each, "values", one))))
            told = f" ({values})" if values else ""
            yield f"{optional_text_at(each, 'key', one)} {operator}{told}"


def read_service(obj: object, ready_endpoints: int | None) -> ServiceSeen:
    """Read a Service.

    Args:
        obj: The JSON object.
        ready_endpoints: How many addresses answer; None where that was not read.

    Raises:
        BadObject: Its structure is not a Service's.
    """
    fields = as_object(obj, "service")
    metadata = object_at(fields, "metadata", "service")
    spec = object_at(fields, "spec", "service")
    ports: list[tuple[int, int | str]] = []
    for index, value in enumerate(list_at(spec, "ports", "spec")):
        where = f"spec.ports[{index}]"
        port = as_object(value, where)
        number, target = whole_at(port, "port", where), port.get("targetPort")
        is_port = isinstance(target, str) or type(target) is int
        ports.append((number, target if is_port and target else number))  # type: ignore[arg-type]
    return ServiceSeen(
        name_at(metadata, "namespace", "metadata"),
        name_at(metadata, "name", "metadata"),
        tuple(ports),
        ready_endpoints,
    )


def ready_endpoints(slices: list[object]) -> int:
    """Count the addresses of a Service's EndpointSlices that are ready.

    Raises:
        BadObject: Their structure is not that of EndpointSlices.
    """
    count = 0
    for value in slices:
        for each in list_at(as_object(value, "endpointslice"), "endpoints", "slice"):
            endpoint = as_object(each, "endpoints[]")
            conditions = object_at(endpoint, "conditions", "endpoints[]")
            # Missing means unknown, which is to be taken for ready.
            if conditions.get("ready") is not False:
                count += len(list_at(endpoint, "addresses", "endpoints[]"))
    return count
