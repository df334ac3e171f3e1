"""Events of ours on pods, as users see them."""

import asyncio
from typing import Final

from tests.builders import Json
from tests.control_plane.client import Api

REPORTER: Final = "gpu-extender"
_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def events_of(api: Api, pod: Json, *, times: int = 1) -> list[Json]:
    """Wait until our Events tell that something happened so often to a pod.

    Args:
        api: Reads them.
        pod: The pod.
        times: How often at least, over all of its Events.

    Raises:
        AssertionError: They do not, in time.
    """
    uid = pod["metadata"]["uid"]
    found: list[Json] = []
    for _ in range(int(_SECONDS / _POLL_SECONDS)):
        found = await all_events(api)
        found = [one for one in found if one["regarding"].get("uid") == uid]
        if sum(map(count_of, found)) >= times:
            return found
        await asyncio.sleep(_POLL_SECONDS)
    raise AssertionError(f"told less than {times} times: {found}")


async def all_events(api: Api) -> list[Json]:
    """List all Events of ours."""
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    listed = await api.items(path)
    return [one for one in listed if one.get("reportingController") == REPORTER]


def count_of(event: Json) -> int:
    """Tell how often an Event says that it happened."""
    count: int = (event.get("series") or {"count": 1})["count"]
    return count


async def printed(api: Api, pod: Json) -> list[dict[str, str]]:
    """Give what ``kubectl get events`` prints of a pod, by column: its very request."""
    uid = pod["metadata"]["uid"]
    async with api.session.get(
        "/api/v1/namespaces/default/events",
        headers={"Accept": _TABLE},
        params={"fieldSelector": f"involvedObject.uid={uid}"},
    ) as answer:
        table = await answer.json()
    names = [column["name"] for column in table["columnDefinitions"]]
    rows = [row["cells"] for row in table["rows"]]
    return [dict(zip(names, map(str, cells), strict=True)) for cells in rows]
