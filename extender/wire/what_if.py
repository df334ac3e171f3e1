"""The body of ``POST /what-if``: a pod's manifest, and what is supposed."""

from extender.core.pod import Pod
from extender.errors import BadObject, Described, MalformedBody
from extender.verbs.supposition import (
    MOST_ADDED,
    MOST_REPLICAS,
    Supposition,
)
from extender.wire.objects import JsonObject, as_object, shown
from extender.wire.pods import PodReader
from extender.wire.views import decode_view, view_object

_MOST_WITHOUT = 1_000
_FIELDS = ("pod", "replicas", "add_nodes", "without")


def encode_what_if(pod: JsonObject, supposed: Supposition) -> JsonObject:
    """Write the body."""
    return {"pod": pod, **view_object(supposed)}


def decode_what_if(body: JsonObject, reader: PodReader) -> tuple[Pod, Supposition]:
    """Read the body.

    Args:
        body: ``pod`` is the manifest of one; all other fields may be left out.
        reader: Reads the pod.

    Raises:
        MalformedBody: A field is unknown, missing, of another type or too large.
    """
    for name in body:
        if name not in _FIELDS:
            expected = f"one of {', '.join(_FIELDS)}"
            raise MalformedBody(f"body.{name}", shown(body[name]), expected)
    try:
        pod = reader.read(as_object(body.get("pod"), "body.pod"))
    except BadObject as error:
        raise MalformedBody(error.field, error.value, error.expected) from error
    supposed = decode_view(Supposition, body, "body")
    check_supposition(supposed)
    return pod, supposed


def check_supposition(supposed: Supposition) -> None:
    """Refuse what would take too long, or cannot be.

    Raises:
        MalformedBody: It is named.
    """
    replicas = supposed.replicas
    if replicas is not None and not 1 <= replicas <= MOST_REPLICAS:
        raise MalformedBody("replicas", replicas, f"1 to {MOST_REPLICAS}")
    for each in supposed.add_nodes:
        if not 0 <= each.count <= MOST_ADDED:
            raise MalformedBody("add_nodes.count", each.count, f"0 to {MOST_ADDED}")
    types = [each.type for each in supposed.add_nodes]
    if len(set(types)) < len(types):
        found = Described(", ".join(sorted(types)))
        raise MalformedBody("add_nodes.type", found, "each type once")
    most = sum(max(each.count, 1) for each in supposed.add_nodes)
    if most > MOST_ADDED:
        found = Described(f"{most} nodes")
        raise MalformedBody("add_nodes", found, f"at most {MOST_ADDED} together")
    if len(supposed.without) > _MOST_WITHOUT:
        found = Described(f"{len(supposed.without)} pods")
        raise MalformedBody("without", found, f"at most {_MOST_WITHOUT}")
