"""Pods that are about to be created, reduced to what admission goes by."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from extender.core.claims import ResourceClaim
from extender.core.container import Lifetime
from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.core.names import KindWord
from extender.core.requests import too_many_containers
from extender.errors import BadObject, BadQuantity, cut
from extender.verbs.admission import ContainerPlace, ContainerToAdmit, PodToAdmit
from extender.wire.annotation_names import misnamed_annotations
from extender.wire.objects import (
    JsonObject,
    as_object,
    list_at,
    name_at,
    object_at,
    optional_text_at,
    shown,
)
from extender.wire.owned_annotations import owned_in, owned_labels_in
from extender.wire.pod_resources import Amounts, DeclaredContainer, named_resources
from extender.wire.pods import annotation_texts, declared_containers
from extender.wire.quantity import parse_whole

OPT_OUT_LABEL: Final = "hami.io/webhook"
OPT_OUT_VALUE: Final = "ignore"
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
"""Of pods that kubelet creates to show what it runs from a file."""

_LONGEST_NAME: Final = 253


def read_pod_to_admit(pod: JsonObject, namespace: str, kinds: Kinds) -> PodToAdmit:
    """Read a pod as the API server sends it for admission.

    Args:
        pod: The JSON object; it may have no name yet, and no namespace.
        namespace: Where it is created.
        kinds: Of device.

    Raises:
        BadObject: Its structure is not a pod's; the error names the field.
    """
    metadata = object_at(pod, "metadata", "object")
    spec = object_at(pod, "spec", "object")
    full_name = f"{namespace}/{shown_name(metadata)}"
    if not list_at(spec, "containers", "spec"):
        return PodToAdmit(full_name=full_name, containers=())
    annotations = annotation_texts(metadata)
    labels = object_at(metadata, "labels", "metadata")
    placed = list(_placed(spec))
    too_many = too_many_containers(len(placed))
    asks = too_many is not None and _names_any(placed, kinds)
    containers = () if too_many is not None else placed
    return PodToAdmit(
        full_name=full_name,
        containers=tuple(_container(one, annotations, kinds) for one in containers),
        too_many_containers=too_many or "",
        too_many_ask=asks,
        scheduler_name=optional_text_at(spec, "schedulerName", "spec"),
        node_name=optional_text_at(spec, "nodeName", "spec"),
        runtime_class_name=optional_text_at(spec, "runtimeClassName", "spec"),
        annotations=annotations,
        annotations_of_bind=owned_in(annotations, kinds),
        labels_of_bind=owned_labels_in(labels),
        opts_out=labels.get(OPT_OUT_LABEL) == OPT_OUT_VALUE,
        is_mirror=MIRROR_ANNOTATION in annotations,
        warnings=tuple(misnamed_annotations(annotations, kinds)),
    )


def shown_name(metadata: JsonObject) -> str:
    """Give a pod's name; the start of it and ``*`` where it is not made yet.

    Raises:
        BadObject: It is no string.

    Example:
        >>> shown_name({"generateName": "trainer-"})
        'trainer-*'
    """
    name = optional_text_at(metadata, "name", "metadata")
    if not name:
        name = f"{optional_text_at(metadata, 'generateName', 'metadata')}*"
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def _names_any(
    placed: Iterable[tuple[DeclaredContainer, ContainerPlace]], kinds: Kinds
) -> bool:
    named = named_resources(one for one, _ in placed)
    return not named.isdisjoint(kinds.by_resource)


def _placed(spec: JsonObject) -> Iterator[tuple[DeclaredContainer, ContainerPlace]]:
    counts = {"initContainers": 0, "containers": 0}
    for one in declared_containers(spec):
        is_app = one.container.lifetime is Lifetime.APP
        field = "containers" if is_app else "initContainers"
        yield one, ContainerPlace(field, counts[field])
        counts[field] += 1


def _container(
    placed: tuple[DeclaredContainer, ContainerPlace],
    annotations: Mapping[str, str],
    kinds: Kinds,
) -> ContainerToAdmit:
    one, place = placed
    amounts = Amounts(one)
    claims = dict[KindWord, ResourceClaim]()
    unreadable: set[KindWord] = set()
    priorities: dict[KindWord, int] = {}
    problems: list[str] = []
    for kind in _named(amounts, kinds):
        claim, unread = amounts.claim(kind, annotations)
        if claim.names_any or unread is not None:
            claims[kind.type_word] = claim
        if unread is not None:
            unreadable.add(kind.type_word)
        try:
            priority = amounts.of(kind.admission.priority_resource)
        except BadQuantity as error:
            problems.append(str(error))
        else:
            if priority is not None:
                priorities[kind.type_word] = priority
        problems += _unequal(one, amounts, kind)
    return ContainerToAdmit(
        name=one.container.name,
        place=place,
        is_privileged=_is_privileged(one),
        claims=claims,
        unreadable=frozenset(unreadable),
        priorities=priorities,
        env=_environment(one),
        problems=tuple(problems),
    )


def _named(amounts: Amounts, kinds: Iterable[Kind]) -> Iterator[Kind]:
    """List the kinds of which a container names anything.

    To read what is not named of every kind takes seconds where there are thousands of
    containers.
    """
    named = frozenset(amounts.names)
    for kind in kinds if named else ():
        if not named.isdisjoint(_names_of(kind)):
            yield kind


def _names_of(kind: Kind) -> tuple[str, ...]:
    """Give every resource of a kind that is looked at here."""
    priority = kind.admission.priority_resource
    return kind.resources if priority is None else (*kind.resources, priority)


def _unequal(one: DeclaredContainer, amounts: Amounts, kind: Kind) -> Iterator[str]:
    """Tell of requests that are not equal to their limit: none may be overcommitted.

    Source: ValidateContainerResourceRequirements in k8s.io/kubernetes.
    """
    for resource in _names_of(kind):
        if resource not in amounts.requests:
            continue
        asked = amounts.requests[resource]
        where = f"container {one.container.name!r}: requests[{resource}]"
        fix = "name it in limits alone, the request follows from it"
        if resource not in amounts.limits:
            yield f"{where}: {_plain(asked)} has no limit; {fix}"
        elif not _are_equal(asked, amounts.limits[resource], resource):
            limit = _plain(amounts.limits[resource])
            yield f"{where}: {_plain(asked)} is not its limit, {limit}; {fix}"


def _plain(amount: object) -> str:
    """Give an amount as it was written, on one line and not too long."""
    return ascii(cut(str(shown(amount))))[1:-1]


def _are_equal(one: object, other: object, resource: str) -> bool:
    """Compare two quantities; those that cannot be read are told of elsewhere."""
    try:
        return parse_whole(one, resource) == parse_whole(other, resource)
    except BadQuantity:
        return True


def _is_privileged(one: DeclaredContainer) -> bool:
    context = object_at(one.fields, "securityContext", one.field)
    value = context.get("privileged")
    if value is not None and not isinstance(value, bool):
        field = f"{one.field}.securityContext.privileged"
        raise BadObject(field, shown(value), "true or false")
    return value is True


def _environment(one: DeclaredContainer) -> dict[str, str | None]:
    """Read the variables; None for one whose value comes from elsewhere."""
    found: dict[str, str | None] = {}
    for index, item in enumerate(list_at(one.fields, "env", one.field)):
        field = f"{one.field}.env[{index}]"
        variable = as_object(item, field)
        name = name_at(variable, "name", field)
        is_elsewhere = variable.get("valueFrom") is not None
        text = optional_text_at(variable, "value", field)
        found[name] = None if is_elsewhere else text
    return found
