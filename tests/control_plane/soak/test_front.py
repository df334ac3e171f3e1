"""The soak's front passes requests on as a Service does, and counts what is said."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.builders import Json
from tests.control_plane.soak.front import fronted

NOBODY: Final = "http://127.0.0.1:9"
FITS: Final = {"NodeNames": ["n1"], "Error": ""}
REFUSED: Final = {"NodeNames": [], "Error": ""}


@asynccontextmanager
async def extender(*answers: Json) -> AsyncIterator[str]:
    """Answer filter with one after another; break the connection after the last."""
    left = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse:
        if left:
            return web.json_response(left.pop(0))
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    app = web.Application()
    app.router.add_post("/filter", answer)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


async def names(url: str) -> list[str]:
    """Ask filter."""
    asked = f"{url}/filter"
    async with (
        aiohttp.ClientSession() as session,
        session.post(asked, json={}) as answer,
    ):
        said: list[str] = (await answer.json())["NodeNames"]
        return said


async def test_each_answers_in_turn() -> None:
    """Requests are spread over all."""
    async with (
        extender(FITS) as one,
        extender(REFUSED) as other,
        fronted([one, other]) as (front, url),
    ):
        assert [await names(url), await names(url)] == [["n1"], []]
        assert front.counts == {"filter: answered": 1, "filter: refused": 1}


async def test_whoever_is_there_answers() -> None:
    """A refused connection is no failure as long as another one is taken."""
    async with extender(FITS, FITS) as there, fronted([NOBODY, there]) as (front, url):
        assert [await names(url), await names(url)] == [["n1"], ["n1"]]
        assert front.counts == {"filter: answered": 2, "filter: no connection": 1}


async def test_broken_connection_is_passed_on() -> None:
    """Nobody else is asked, since the first one may have acted on it."""
    async with (
        extender() as breaks,
        extender(FITS) as other,
        fronted([breaks, other]) as (front, url),
    ):
        with pytest.raises(aiohttp.ClientError):
            await names(url)
        assert front.counts == {"filter: broken": 1}


async def test_nobody_is_there() -> None:
    """Then the connection breaks, too."""
    async with fronted([NOBODY, NOBODY]) as (front, url):
        with pytest.raises(aiohttp.ClientError):
            await names(url)
        assert front.counts["filter: nobody there"] == 1
