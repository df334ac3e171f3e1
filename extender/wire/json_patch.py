"""Changes of a pod as JSON Patch.

Source: RFC 6902 and RFC 6901. ``add`` also replaces a member that is there.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from extender.verbs.admission import (
    AddEnv,
    Mutation,
    SetAnnotation,
    SetLimit,
    SetRuntimeClass,
    SetScheduler,
)
from extender.wire.objects import JsonObject

_Step = str | int

JsonPatch = list[JsonObject]


def apply_mutations(pod: JsonObject, mutations: Iterable[Mutation]) -> JsonPatch:
    """Change a pod, and give the patch that does the same.

    Args:
        pod: Was read, so each container is an object; changed in place.
        mutations: In this order.

    Example:
        >>> pod = {"metadata": {}, "spec": {"containers": [{"name": "a"}]}}
        >>> apply_mutations(pod, [SetAnnotation("x.com/a", "b")])
        [{'op': 'add', 'path': '/metadata/annotations', 'value': {'x.com/a': 'b'}}]
        >>> apply_mutations(pod, [SetAnnotation("x.com/c", "d")])
        [{'op': 'add', 'path': '/metadata/annotations/x.com~1c', 'value': 'd'}]
    """
    patch: JsonPatch = []
    for mutation in mutations:
        for path, value in _writes(pod, mutation):
            patch.append(_write(pod, path, value))
    return patch


def _writes(
    pod: JsonObject, mutation: Mutation
) -> Iterator[tuple[Sequence[_Step], str | JsonObject]]:
    match mutation:
        case SetScheduler(name):
            yield ("spec", "schedulerName"), name
        case SetRuntimeClass(name):
            yield ("spec", "runtimeClassName"), name
        case SetAnnotation(name, value):
            yield ("metadata", "annotations", name), value
        case AddEnv(place, name, value):
            path = ("spec", place.field, place.index, "env", _END)
            yield path, {"name": name, "value": value}
        case SetLimit(place, resource, amount):
            resources = ("spec", place.field, place.index, "resources")
            yield (*resources, "limits", resource), str(amount)
            # A request that is missing follows from the limit, one that is there not.
            if _holds(pod, (*resources, "requests"), resource):
                yield (*resources, "requests", resource), str(amount)


_END: Final = "-"
"""Of a list: behind its last element."""


def _write(
    pod: JsonObject, path: Sequence[_Step], value: str | JsonObject
) -> JsonObject:
    """Set what is at a path, with all that is missing on the way; null is missing."""
    parent: Any = pod
    depth = 0
    while depth + 1 < len(path):
        child = _child(parent, path[depth])
        if child is None:
            break
        parent, depth = child, depth + 1
    step, rest = path[depth], path[depth + 1 :]
    if step == _END:
        parent.append(value)
    else:
        parent[step] = _nested(rest, value)
    # Not the object that was put into the pod: later mutations change that one.
    return {
        "op": "add",
        "path": pointer(path[: depth + 1]),
        "value": _nested(rest, value),
    }


def _child(parent: Any, step: _Step) -> object:  # noqa: ANN401 - any JSON
    return parent[step] if isinstance(step, int) else parent.get(step)


def _nested(path: Sequence[_Step], value: object) -> object:
    for step in reversed(path):
        value = [value] if step == _END else {step: value}
    return value


def _holds(pod: JsonObject, path: Sequence[_Step], name: str) -> bool:
    found: Any = pod
    for step in path:
        found = _child(found, step)
        if found is None:
            return False
    return name in found


def pointer(path: Iterable[_Step]) -> str:
    """Write a path as JSON Pointer.

    Example:
        >>> pointer(["metadata", "annotations", "a.b/c~d", 0])
        '/metadata/annotations/a.b~1c~0d/0'
    """
    return "".join(
        f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path
    )
