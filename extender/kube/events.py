"""Events on an API server."""

from extender.kube.client import ApiClient, path_of
from extender.wire.events import (
    EVENT_GROUP,
    EVENT_VERSION,
    EventOnPod,
    encode_event,
    encode_series,
)


async def create_event(client: ApiClient, event: EventOnPod, *, seconds: float) -> None:
    """Create an Event, waiting no longer than `seconds`."""
    path = _path(event.namespace)
    await client.post(path, encode_event(event), seconds=seconds)


async def patch_series(client: ApiClient, event: EventOnPod, *, seconds: float) -> None:
    """Patch how often it happened; the API server lets nothing else change."""
    path = _path(event.namespace, event.name)
    await client.patch(path, encode_series(event), seconds=seconds)


def _path(namespace: str, *name: str) -> str:
    group = ("apis", EVENT_GROUP, EVENT_VERSION)
    return path_of(*group, "namespaces", namespace, "events", *name)
