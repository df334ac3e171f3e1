"""Statuses as errors, and who we say that we are."""

from pathlib import Path

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from extender.errors import (
    ClusterError,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    Rejected,
    SettingsError,
    Unanswered,
    Unreachable,
)
from extender.kube.access import in_cluster_access, kubeconfig_access
from extender.kube.client import ApiClient
from tests.kube.server import ApiServer, answers, cut, streams

STATUSES: dict[int, type[ClusterError]] = {
    400: Rejected,
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Rejected,
    429: Unreachable,
    500: Unanswered,
    503: Unanswered,
    504: Unanswered,
}


@pytest.mark.parametrize(("code", "error"), STATUSES.items())
async def test_status(code: int, error: type[ClusterError]) -> None:
    """The server's own words are in the text, cut where they are long."""
    server = ApiServer()
    server.fail("POST", "/x", answers(code, "its own words " * 100))
    async with server.client() as client:
        with pytest.raises(ClusterError, match="its own words") as raised:
            await client.post("/x", {}, seconds=5)
    assert type(raised.value) is error
    assert len(str(raised.value)) < 400


async def test_what_would_come_too_late_is_not_sent() -> None:
    """Whether it may be sent is asked last of all."""
    server = ApiServer()
    async with server.client() as client:
        with pytest.raises(Unreachable, match="not sent, it would come too late"):
            await client.post("/x", {}, seconds=5, may_send=lambda: False)
    assert server.asked("POST", "/x") == []


async def test_no_answer() -> None:
    """Sent, and then nothing: what became of it is not known."""
    server = ApiServer()
    server.fail("POST", "/x", cut())
    server.fail("POST", "/x", streams(then_wait=True))
    server.fail("POST", "/x", streams(b"no JSON"))
    async with server.client() as client:
        for _ in range(3):
            with pytest.raises(Unanswered):
                await client.post("/x", {}, seconds=0.2)


async def test_no_connection(tmp_path: Path, unused_tcp_port: int) -> None:
    """Nothing was sent."""
    file = kubeconfig(tmp_path, f"http://127.0.0.1:{unused_tcp_port}")
    async with ApiClient(await kubeconfig_access(file)) as client:
        with pytest.raises(Unreachable) as raised:
            await client.post("/x", {}, seconds=5)
    assert type(raised.value) is Unreachable


async def test_token_file_is_read_again(tmp_path: Path) -> None:
    """At once where the server refuses the token that we have."""
    seen: list[str | None] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        if seen[-1] != "Bearer new":
            return web.Response(status=401)
        return web.json_response({})

    app = web.Application()
    app.router.add_get("/x", answer)
    token = tmp_path / "token"
    token.write_text("old")
    async with TestServer(app) as server:
        file = kubeconfig(tmp_path, str(server.make_url("")), tokenFile=str(token))
        async with ApiClient(await kubeconfig_access(file)) as client:
            token.write_text("new\n")
            with pytest.raises(Forbidden):
                await client.get("/x", seconds=5)
            assert await client.get("/x", seconds=5) == {}
            token.unlink()
            assert await client.get("/x", seconds=5) == {}
    assert seen == ["Bearer old", "Bearer new", "Bearer new"]


UNUSABLE = {
    "nothing": None,
    "no YAML": "a: [",
    "another YAML": "- a",
    "no such context": "current-context: x\ncontexts: []\nclusters: []\n",
}


@pytest.mark.parametrize("text", UNUSABLE.values(), ids=UNUSABLE)
async def test_unusable_kubeconfig(tmp_path: Path, text: str | None) -> None:
    """One error, and it names the file."""
    file = tmp_path / "config"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match="--kubeconfig"):
        await kubeconfig_access(file)


async def test_not_in_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a pod is missing."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(SettingsError, match="--in-cluster"):
        await in_cluster_access()


def kubeconfig(folder: Path, url: str, **user: str) -> Path:
    """Write a kubeconfig of one context."""
    file = folder / "kubeconfig"
    context = {"cluster": "c", "user": "u"}
    config = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user}],
    }
    file.write_text(yaml.safe_dump(config))
    return file
