"""What a shadow serves, and to whom."""

from http import HTTPStatus

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.embedded.cluster import EmbeddedCluster
from extender.service.shadow import ShadowExtender
from extender.settings import HttpSettings
from extender.web.app import build_app
from extender.wire.pods import PodReader
from tests.web.conftest import Serve


def built() -> web.Application:
    """Put the routes of a shadow together, on a cluster without nodes."""
    reader = PodReader(Kinds([NVIDIA]))
    shadow = ShadowExtender(EmbeddedCluster(reader), reader, lambda: 0.0)
    shadow.mark_synced()
    return build_app(shadow, HttpSettings())


async def test_report_is_served_beside_metrics() -> None:
    """Also before anything was decided."""
    async with (
        TestClient(TestServer(built())) as client,
        client.get("/shadow") as answer,
    ):
        assert answer.status == HTTPStatus.OK
        report = await answer.json()
        assert report["since"] == "1970-01-01T00:00:00+00:00"
        assert report["cards"]["count"] == 0
        assert set(report["decisions"].values()) == {0}


async def test_report_is_for_loopback_only() -> None:
    """It names pods."""
    app = built()
    request = make_mocked_request("GET", "/shadow", app=app).clone(remote="10.0.0.7")
    found = await app.router.resolve(request)
    with pytest.raises(web.HTTPForbidden, match="loopback only"):
        await found.handler(request)


async def test_only_a_shadow_has_a_report(serve: Serve) -> None:
    """Any other extender has no such path."""
    scheduler = await serve()
    answer = await scheduler.send("GET", "/shadow")
    assert answer.status == HTTPStatus.NOT_FOUND
