"""Routes for operators: metrics and the audit."""

from http import HTTPStatus

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from prometheus_client.parser import text_string_to_metric_families

from extender.web.local import check_local
from tests.builders import node, pod
from tests.web.conftest import Serve

HELD = pod("p").app("a", gpu=1, gpumem=20_000).on("n1").phase("Running")
HELD = HELD.holding("GPU-a,NVIDIA,20000,0:;")


async def test_metrics_can_be_read(serve: Serve) -> None:
    """In Prometheus' text format, each with a help text."""
    scheduler = await serve(node("n1").gpu("GPU-a"), HELD)
    answer = await scheduler.send("GET", "/metrics")
    assert answer.status == HTTPStatus.OK
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = list(text_string_to_metric_families(answer.body.decode()))
    samples = {
        sample.name: sample.value for family in families for sample in family.samples
    }
    assert samples["gpu_extender_nodes"] == 1
    assert samples["gpu_extender_pods"] == 1
    assert all(family.documentation for family in families)


async def test_audit_on_demand(serve: Serve) -> None:
    """What differs, and which cards hold more than they have."""
    more = pod("q").app("a", gpu=1, gpumem=20_000).on("n1").phase("Running")
    more = more.holding("GPU-a,NVIDIA,20000,0:;")
    scheduler = await serve(node("n1").gpu("GPU-a", memory=24_000), HELD, more)
    answer = await scheduler.send("GET", "/debug/audit")
    assert answer.json == {
        "nodes": 1,
        "pods": 2,
        "reservations": 0,
        "differences": [],
        "overfull": [
            {
                "node": "n1",
                "device": "GPU-a",
                "cause": "inherited",
                "held": {"slots": 2, "memory_mib": 40_000, "core_percent": 0},
                "capacity": {"slots": 10, "memory_mib": 24_000, "core_percent": 100},
            }
        ],
    }


@pytest.mark.parametrize("remote", ["10.0.0.7", "2001:db8::1", "", "name"])
def test_audit_is_for_loopback_only(remote: str) -> None:
    """It takes time, and tells of all nodes."""
    # Who is local is told by the socket: a header may say anything.
    headers = {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
    request = make_mocked_request("GET", "/debug/audit", headers).clone(remote=remote)
    with pytest.raises(web.HTTPForbidden, match="loopback only"):
        check_local(request)


@pytest.mark.parametrize("remote", ["127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_is_let_in(remote: str) -> None:
    """IPv4 and IPv6."""
    headers = {"Host": "127.0.0.1:8080"}
    check_local(make_mocked_request("GET", "/a", headers).clone(remote=remote))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8080", "127.9.9.9", "[::1]:8080", "[::1]", "localhost", "LocalHost:1"],
)
def test_names_of_loopback_are_let_in(host: str) -> None:
    """As kubectl port-forward and people write them."""
    request = make_mocked_request("GET", "/a", {"Host": host})
    check_local(request.clone(remote="127.0.0.1"))


@pytest.mark.parametrize(
    "host",
    [
        "a.test",
        "a.test:8080",
        "10.0.0.7",
        "[2001:db8::1]",
        "localhost.a.test",
        "127.0.0.1.a.test",
        "localhost@a.test",
        "[::1].a.test",
        "127.1",
        "",
    ],
)
def test_foreign_names_are_refused(host: str) -> None:
    """A page's own name may lead here (DNS rebinding), and then tells who asks."""
    request = make_mocked_request("GET", "/a", {"Host": host})
    with pytest.raises(web.HTTPForbidden, match="Host names something else"):
        check_local(request.clone(remote="127.0.0.1"))


@pytest.mark.parametrize("site", ["cross-site", "same-site", "other"])
def test_pages_of_other_sites_are_refused(site: str) -> None:
    """What the browser says of them; to follow a link to us is no such request."""
    headers = {"Host": "127.0.0.1", "Sec-Fetch-Site": site}
    request = make_mocked_request("GET", "/a", headers).clone(remote="127.0.0.1")
    with pytest.raises(web.HTTPForbidden, match="pages of other sites"):
        check_local(request)
    link = {**headers, "Sec-Fetch-Mode": "navigate"}
    check_local(make_mocked_request("GET", "/a", link).clone(remote="127.0.0.1"))
