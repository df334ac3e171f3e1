"""Addresses: which routes each serves, to whom, and which may serve plain HTTP."""

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from extender.errors import SettingsError
from extender.kube.connections import connector
from extender.runtime import embed
from extender.settings import (
    Address,
    HttpSettings,
    Part,
    Settings,
    TlsSettings,
    http_settings,
)
from extender.web.app import build_app
from extender.web.listening import served
from tests.builders import node, pod
from tests.certificates import HOST, Authority, Pair
from tests.cli.command import EXAMPLE
from tests.web.doors import PATIENCE_SECONDS, Caller, opened, request

FREE: Final = Address(HOST, 0)
APART: Final = HttpSettings(port=0, webhook=FREE, metrics=FREE)
NODE: Final = node("n1").gpu("GPU-a")
POD: Final = pod("p").app("a", gpu=1)

SERVED: Final[dict[Part, set[str]]] = {
    Part.VERBS: {"/filter", "/prioritize", "/bind", "/pods"},
    Part.WEBHOOK: {"/webhook", "/validate"},
    Part.METRICS: {
        "/healthz",
        "/readyz",
        "/metrics",
        "/debug/audit",
        "/debug/log",
        "/explain",
        "/explain/default/p",
    },
}
PATHS: Final = sorted(set[str]().union(*SERVED.values()))


async def _status(url: str, context: ssl.SSLContext | None = None) -> int:
    known = None if context is None else connector(context)
    async with (
        aiohttp.ClientSession(connector=known) as session,
        session.get(url) as answer,
    ):
        return answer.status


async def test_each_listener_serves_its_own_routes_only(tmp_path: Path) -> None:
    """A path of another listener is not there."""
    async with opened(tmp_path, APART, NODE, POD) as door:
        urls = door.doors.urls
        assert len(set(urls.values())) == len(Part)
        for part, url in urls.items():
            found = {path for path in PATHS if await _status(f"{url}{path}") != 404}
            assert found == SERVED[part], part


async def test_all_is_at_one_address_by_default(tmp_path: Path) -> None:
    """`make run` needs one address."""
    async with opened(tmp_path, HttpSettings(port=0), NODE, POD) as door:
        (url,) = set(door.doors.urls.values())
        assert {path for path in PATHS if await _status(url + path) == 404} == set()


def test_pods_are_taken_by_the_embedded_cluster_only() -> None:
    """Beside an API server nobody can add a pod here."""
    embedded = embed([EXAMPLE], Settings())
    for listener in (*APART.listeners(), *HttpSettings().listeners()):
        app = build_app(embedded.extender, APART, listener=listener)
        paths = {
            route.resource.canonical for route in app.router.routes() if route.resource
        }
        assert "/pods" not in paths


async def test_only_the_verbs_ask_for_a_client_certificate(tmp_path: Path) -> None:
    """kube-apiserver and kubelet have none; all of it is TLS."""
    authority = Authority(tmp_path, "authority")
    own, client = authority.server(), authority.client("scheduler")
    tls = _tls(authority, own)
    async with opened(tmp_path, replace(APART, tls=tls), NODE) as door:
        urls = door.doors.urls
        assert {url.partition(":")[0] for url in urls.values()} == {"https"}
        anybody = ssl.create_default_context(cafile=authority.cert_file)
        known = ssl.create_default_context(cafile=authority.cert_file)
        known.load_cert_chain(client.cert_file, client.key_file)
        assert await _status(f"{urls[Part.METRICS]}/metrics", anybody) == 200
        assert await _status(f"{urls[Part.WEBHOOK]}/nowhere", anybody) == 404
        assert await _status(f"{urls[Part.VERBS]}/pods", anybody) == 403
        assert await _status(f"{urls[Part.VERBS]}/pods", known) == 200


def _tls(authority: Authority, own: Pair) -> TlsSettings:
    return TlsSettings(
        cert_file=own.cert_file,
        key_file=own.key_file,
        client_ca_file=authority.cert_file,
        client_names=frozenset({"scheduler"}),
    )


async def test_handshake_that_never_ends(tmp_path: Path) -> None:
    """It has as long as a header."""
    authority = Authority(tmp_path, "authority")
    tls = _tls(authority, authority.server())
    hasty = HttpSettings(port=0, tls=tls, header_seconds=0.2)
    async with opened(tmp_path, hasty, NODE) as door:
        caller = await door.connect()
        caller.send(b"\x16")
        assert await caller.rest() == b""


async def test_handshakes_count_among_the_connections(tmp_path: Path) -> None:
    """The earliest gives way, before any connection that was served."""
    authority = Authority(tmp_path, "authority")
    settings = HttpSettings(
        port=0,
        tls=_tls(authority, authority.server()),
        connection_limit=3,
        header_seconds=90.0,
    )
    context = ssl.create_default_context(cafile=authority.cert_file)
    async with opened(tmp_path, settings, NODE) as door:
        served_one = Caller(
            *await asyncio.open_connection(
                HOST, door.port(), ssl=context, server_hostname=HOST
            )
        )
        door.callers.append(served_one)
        knocking = []
        for _ in range(4):
            knocking.append(await door.connect())
            knocking[-1].send(b"\x16")
            await asyncio.sleep(0.05)
        for each in knocking[:2]:
            assert await each.rest() == b""
        served_one.send(request("GET", "/healthz"))
        assert (await served_one.answer())[0] == 200
        assert await _status(f"https://{HOST}:{door.port()}/healthz", context) == 200
        assert await knocking[2].rest() == b""
        knocking[3].send(b"\x03")
        await asyncio.sleep(0.05)
        assert not knocking[3].writer.is_closing()


async def test_ipv6(tmp_path: Path) -> None:
    """An address in brackets is listened on, in the clear where it is loopback."""
    settings = http_settings("[::1]:0")
    async with opened(tmp_path, settings, NODE) as door:
        url = door.doors.urls[Part.VERBS]
        assert url.startswith("http://[::1]:")
        assert await _status(f"{url}/healthz") == 200


WIDE: Final = {
    "--listen": replace(APART, host="0.0.0.0"),
    "--metrics-listen": replace(APART, metrics=Address("0.0.0.0", 0)),
    "--listen of IPv6": replace(APART, host="::"),
}


@pytest.mark.parametrize(("flag", "wide"), WIDE.items(), ids=WIDE)
async def test_plain_http_stays_on_this_machine(flag: str, wide: HttpSettings) -> None:
    """The refusal names the address and says what to do; nothing is served."""
    embedded = embed([EXAMPLE], Settings())
    with pytest.raises(SettingsError) as refused:
        async with served(embedded.extender, wide):
            pytest.fail("it is served")
    said = str(refused.value)
    assert said.startswith(flag.partition(" ")[0])
    assert "plain HTTP is served on loopback only" in said
    assert "--tls-cert and --tls-key" in said
    assert "--insecure-http" in said


async def test_plain_http_for_all_is_possible(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By a flag whose name says what it is, and the log says it again."""
    embedded = embed([EXAMPLE], Settings())
    wide = replace(APART, host="0.0.0.0", is_plain_allowed=True)
    async with served(embedded.extender, wide):
        (said,) = caplog.messages
    assert said == "--listen 0.0.0.0:0: plain HTTP is served to other machines"


async def test_tls_without_a_client_ca_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Encrypted is not closed: whoever reaches the verbs can bind."""
    authority = Authority(tmp_path, "authority")
    own = authority.server()
    tls = TlsSettings(cert_file=own.cert_file, key_file=own.key_file)
    embedded = embed([EXAMPLE], Settings())
    for is_known, wide in (
        (False, HttpSettings(host="0.0.0.0", port=0, tls=tls)),
        (True, HttpSettings(host="0.0.0.0", port=0, tls=_tls(authority, own))),
    ):
        caplog.clear()
        async with served(embedded.extender, wide):
            told = [each for each in caplog.messages if "can bind pods" in each]
        assert len(told) == (0 if is_known else 1)


async def test_all_addresses_or_none() -> None:
    """One that is taken is named, and the others are let go again."""
    with socket.create_server((HOST, 0)) as taken, socket.create_server((HOST, 0)) as f:
        free = f.getsockname()[1]
        f.close()
        busy = Address(HOST, taken.getsockname()[1])
        wanted = HttpSettings(port=free, metrics=busy)
        embedded = embed([EXAMPLE], Settings())
        with pytest.raises(SettingsError, match=f"cannot listen on {busy}: "):
            async with served(embedded.extender, wanted):
                pytest.fail("it is served")
        with socket.create_server((HOST, free)):
            pass


async def test_idle_connections_do_not_hold_up_the_end(tmp_path: Path) -> None:
    """On every listener."""
    async with asyncio.timeout(PATIENCE_SECONDS), opened(tmp_path, APART, NODE) as door:
        for part in Part:
            caller = await door.connect(part)
            caller.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            await caller.answer()
        await door.doors.close()


def test_idle_connections_outlive_those_of_kube_scheduler() -> None:
    """Go's client drops them after 90 s; a server that is first fails its requests."""
    assert HttpSettings().keepalive_seconds > 90


@pytest.mark.parametrize("flag", ["--listen", "--metrics-listen", "--webhook-listen"])
def test_address_is_named_by_its_flag(flag: str, tmp_path: Path) -> None:
    """Whichever is wrong."""
    given = {"--listen": f"{HOST}:0", flag: "nowhere"}
    tls = _tls(authority := Authority(tmp_path, "authority"), authority.server())
    with pytest.raises(SettingsError, match=f"{flag} 'nowhere': expected HOST:PORT"):
        http_settings(
            given["--listen"],
            tls,
            webhook_listen=given.get("--webhook-listen"),
            metrics_listen=given.get("--metrics-listen"),
        )


NO_ADDRESSES: Final = [
    ":1",
    "a",
    "a:",
    "a:-1",
    "a:65536",
    "a:http",
    "a:\uff11",
    "::1:1",
    "::1",
    "[::1",
    "[::1:1",
    "::1]:1",
    "[]:1",
    "[[::1]]:1",
    "[a]b:1",
]


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_address_that_is_none_is_refused(address: str) -> None:
    """An IPv6 host stands in brackets: else its last group is taken for a port."""
    with pytest.raises(SettingsError, match="expected HOST:PORT"):
        http_settings(address)


def test_webhook_needs_tls() -> None:
    """kube-apiserver asks no webhook in the clear."""
    with pytest.raises(SettingsError, match="--webhook-listen needs --tls-cert"):
        http_settings(f"{HOST}:0", webhook_listen=f"{HOST}:0", is_plain_allowed=True)


def test_plain_verbs_leave_tls_to_the_others(tmp_path: Path) -> None:
    """kube-scheduler of the same pod asks in the clear, the API server does not."""
    tls = _tls(authority := Authority(tmp_path, "authority"), authority.server())
    settings = http_settings(
        f"{HOST}:0",
        replace(tls, client_ca_file=None),
        webhook_listen=f"{HOST}:0",
        has_plain_verbs=True,
    )
    verbs, webhook = settings.listeners()
    assert verbs.tls is None
    assert webhook.tls is not None


def test_plain_verbs_know_nobody_by_certificate(tmp_path: Path) -> None:
    """Nobody is let to think that clients were asked for certificates."""
    tls = _tls(authority := Authority(tmp_path, "authority"), authority.server())
    with pytest.raises(SettingsError, match="--plain-verbs and --client-ca"):
        http_settings(f"{HOST}:0", tls, has_plain_verbs=True)
