"""Whoever calls an extender sees what an audit found, though it is mended at once."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.builders import Json
from tests.control_plane.caller import Caller, calling

_FOUND: Final = {"subject": "node n1", "recorded": "1", "recomputed": "0"}

_CLAIMS: Final[dict[str, Callable[[Caller], Awaitable[None]]]] = {
    "knows": lambda caller: caller.knows(nodes=1, pods=1),
    "is clean": lambda caller: caller.is_clean(),
}


def audited(*, pods: int, differences: list[Json]) -> Json:
    """Answer as an extender with one node does."""
    return {
        "nodes": 1,
        "pods": pods,
        "reservations": 1 - pods,
        "differences": differences,
        "overfull": [],
    }


@pytest.mark.parametrize("claim", _CLAIMS.values(), ids=_CLAIMS)
async def test_difference_in_an_earlier_answer_fails(
    claim: Callable[[Caller], Awaitable[None]],
) -> None:
    """The last answer, in which all is well, excuses nothing."""
    answers = [audited(pods=1, differences=[]), audited(pods=0, differences=[_FOUND])]

    async def answer(_request: web.Request) -> web.Response:
        return web.json_response(answers.pop() if len(answers) > 1 else answers[0])

    app = web.Application()
    app.router.add_get("/debug/audit", answer)
    async with TestServer(app) as server, calling(str(server.make_url("/"))) as caller:
        with pytest.raises(AssertionError, match="node n1"):
            await claim(caller)
        await claim(caller)
