"""TLS and client certificates, over real sockets."""

import asyncio
import errno
import json
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import BinaryIO, Final

import aiohttp
import pytest
import pytest_asyncio

from extender.errors import SettingsError
from extender.kube.connections import connector
from extender.runtime import embed
from extender.settings import HttpSettings, Part, Settings, TlsSettings
from extender.web.listening import served
from extender.web.tls import listening_context
from tests.builders import node, pod
from tests.certificates import HOST, Authority, Pair, encrypted
from tests.web.conftest import listed
from tests.web.scheduler import arguments

NAME: Final = "system:kube-scheduler"
QUESTION: Final = arguments(pod("p").app("a", gpu=1, gpumem=1000), ["n1"], None)

Answer = tuple[int, str]


class Door:
    """An open door: who signed for both sides, and what was served."""

    def __init__(self, folder: Path) -> None:
        self.servers = Authority(folder, "servers")
        self.clients = Authority(folder, "clients")
        self.own = self.servers.server()
        self.scheduler = self.clients.client(NAME)
        self.port = 0

    def settings(self, *client_names: str) -> TlsSettings:
        """Say what is served, to whom."""
        return TlsSettings(
            cert_file=self.own.cert_file,
            key_file=self.own.key_file,
            client_ca_file=self.clients.cert_file,
            client_names=frozenset(client_names),
        )

    def context(self, client: Pair | None = None) -> ssl.SSLContext:
        """Trust the server, and be that client."""
        context = ssl.create_default_context(cafile=self.servers.cert_file)
        if client is not None:
            context.load_cert_chain(client.cert_file, client.key_file)
        return context

    async def ask(self, context: ssl.SSLContext, path: str = "/filter") -> Answer:
        """POST to a verb, or GET, on a connection of its own."""
        async with aiohttp.ClientSession(connector=connector(context)) as session:
            return await self.ask_by(session, path)

    async def ask_by(self, session: aiohttp.ClientSession, path: str) -> Answer:
        """Ask on a connection of a session, which may be open already."""
        url = f"https://{HOST}:{self.port}{path}"
        asking = session.post(url, json=QUESTION) if path == "/filter" else None
        async with asking or session.get(url) as answer:
            return answer.status, await answer.text()

    def serial_shown(self) -> str:
        """Tell which certificate a new connection is shown. Blocks."""
        with (
            socket.create_connection((HOST, self.port)) as plain,
            self.context().wrap_socket(plain, server_hostname=HOST) as wrapped,
        ):
            shown = wrapped.getpeercert()
        assert shown is not None
        return str(shown["serialNumber"])


Open = Callable[..., Awaitable[Door]]


@pytest_asyncio.fixture
async def open_door(tmp_path: Path) -> AsyncIterator[Open]:
    """Give a function that serves a cluster of one node, and knows those names."""
    async with AsyncExitStack() as stack:

        async def serve(
            *client_names: str, client_ca: bool = True, door: Door | None = None
        ) -> Door:
            door = door or Door(tmp_path)
            tls = door.settings(*client_names)
            if not client_ca:
                tls = TlsSettings(cert_file=tls.cert_file, key_file=tls.key_file)
            file = tmp_path / "cluster.json"
            file.write_text(json.dumps(listed(node("n1").gpu("GPU-a"))))
            embedded = embed([file], Settings())
            doors = await stack.enter_async_context(
                served(
                    embedded.extender,
                    HttpSettings(host=HOST, port=0, tls=tls),
                    embedded.cluster,
                )
            )
            door.port = int(doors.urls[Part.VERBS].rpartition(":")[2])
            return door

        yield serve


async def test_known_client_is_served(open_door: Open) -> None:
    """By common name as well as by DNS name."""
    door = await open_door(NAME, "scheduler.test")
    by_dns_name = door.clients.client("somebody", "scheduler.test")
    for client in (door.scheduler, by_dns_name):
        status, text = await door.ask(door.context(client))
        assert (status, json.loads(text)["NodeNames"]) == (200, ["n1"])


async def test_any_client_of_the_ca_is_served_where_no_name_is_given(
    open_door: Open,
) -> None:
    """A certificate without any name, too."""
    door = await open_door()
    status, _ = await door.ask(door.context(door.clients.client("whoever")))
    assert status == 200


async def test_wrong_name(open_door: Open) -> None:
    """403, and the text says which names there are and which are asked for."""
    door = await open_door(NAME)
    client = door.clients.client("prometheus", "a.test", "b.test")
    for path in ("/filter", "/metrics", "/pods", "/nowhere"):
        status, text = await door.ask(door.context(client), path)
        assert status == 403
        assert json.loads(text)["error"] == (
            "the client's certificate is for 'prometheus' and 'a.test' and 'b.test'; "
            "--client-name asks for 'system:kube-scheduler'"
        )
    status, _ = await door.ask(door.context(client), "/readyz")
    assert status == 200


async def test_name_that_only_looks_alike(open_door: Open) -> None:
    """Neither a prefix, nor another case, nor a pattern is the name."""
    door = await open_door(NAME, "scheduler.test")
    for name, dns_name in (
        (f"{NAME}x", "x.scheduler.test"),
        (NAME.upper(), "*.test"),
        ("", "test"),
    ):
        client = door.clients.client(name, dns_name)
        assert (await door.ask(door.context(client)))[0] == 403


async def test_client_without_a_certificate(open_door: Open) -> None:
    """403 and a reason for all but what kubelet's probes ask."""
    door = await open_door()
    for path in (
        "/filter",
        "/prioritize",
        "/pods",
        "/metrics",
        "/debug/audit",
        "/explain/default/p",
        "/",
    ):
        status, text = await door.ask(door.context(), path)
        assert status == 403
        assert "--client-ca" in json.loads(text)["error"]
    for path in ("/healthz", "/readyz"):
        assert await door.ask(door.context(), path) == (200, "ok\n")


async def test_client_of_another_ca(
    open_door: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The handshake fails, and with it every route; one of the same name, too."""
    door = await open_door(NAME)
    stranger = Authority(tmp_path, "strangers").client(NAME)
    for path in ("/filter", "/healthz"):
        with pytest.raises(aiohttp.ClientConnectionError):
            await door.ask(door.context(stranger), path)
    (said,) = set(caplog.messages)
    assert said == (
        "a client was refused, since its certificate is not good by --client-ca: "
        "unable to get local issuer certificate"
    )


async def test_client_whose_certificate_is_over(
    open_door: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """The handshake fails, and the log says why."""
    door = await open_door(NAME)
    with pytest.raises(aiohttp.ClientConnectionError):
        await door.ask(door.context(door.clients.client(NAME, is_over=True)))
    assert caplog.messages[-1].endswith("--client-ca: certificate has expired")


async def test_everybody_is_served_without_a_client_ca(open_door: Open) -> None:
    """TLS alone says who the server is."""
    door = await open_door(client_ca=False)
    assert (await door.ask(door.context()))[0] == 200


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize(
    ("version", "is_served"),
    [
        (ssl.TLSVersion.TLSv1_1, False),
        (ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_3, True),
    ],
)
async def test_versions_of_tls(
    open_door: Open,
    caplog: pytest.LogCaptureFixture,
    version: ssl.TLSVersion,
    *,
    is_served: bool,
) -> None:
    """1.2 and 1.3 only; the log says that it is the version."""
    door = await open_door()
    context = door.context(door.scheduler)
    # What OpenSSL itself would not offer to anyone is to be refused by the server.
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    if is_served:
        assert (await door.ask(context))[0] == 200
        return
    with pytest.raises(aiohttp.ClientConnectionError):
        await door.ask(context)
    assert "UNSUPPORTED_PROTOCOL" in caplog.messages[-1]


async def test_certificates_rotate_under_load(open_door: Open) -> None:
    """No request fails, on new connections or open ones; each new file is served."""
    door = await open_door(NAME)
    is_over = asyncio.Event()
    answers: list[int] = []
    has_answered = asyncio.Condition()
    context = door.context(door.scheduler)

    async def keep_asking(*, on_one_connection: bool) -> None:
        async with aiohttp.ClientSession(connector=connector(context)) as session:
            while not is_over.is_set():
                if on_one_connection:
                    answer = await door.ask_by(session, "/filter")
                else:
                    answer = await door.ask(context)
                answers.append(answer[0])
                async with has_answered:
                    has_answered.notify_all()

    async def answered(count: int) -> None:
        wanted = len(answers) + count
        async with has_answered:
            await has_answered.wait_for(lambda: len(answers) >= wanted)

    async with asyncio.TaskGroup() as tasks:
        for number in range(4):
            tasks.create_task(keep_asking(on_one_connection=number % 2 == 0))
        serials = [await asyncio.to_thread(door.serial_shown)]
        for _ in range(5):
            signed = door.servers.sign()
            door.own.cert_file.write_bytes(signed.cert)
            await answered(10)  # by the pair of before: the key is not there yet
            door.own.key_file.write_bytes(signed.key)
            await answered(10)
            serials.append(await asyncio.to_thread(door.serial_shown))
        is_over.set()
    assert len(set(serials)) == 6
    assert set(answers) == {200}


async def test_client_ca_rotates(open_door: Open, tmp_path: Path) -> None:
    """One that is added lets its clients in; one that is removed, none any more."""
    door = await open_door(NAME)
    file = door.clients.cert_file
    before = file.read_bytes()
    newer = Authority(tmp_path, "newer")
    scheduler, following = (
        door.context(door.scheduler),
        door.context(newer.client(NAME)),
    )
    with pytest.raises(aiohttp.ClientConnectionError):
        await door.ask(following)
    file.write_bytes(before + newer.cert_file.read_bytes())
    assert (await door.ask(scheduler))[0] == 200
    assert (await door.ask(following))[0] == 200
    file.write_bytes(newer.cert_file.read_bytes())
    assert (await door.ask(following))[0] == 200
    with pytest.raises(aiohttp.ClientConnectionError):
        await door.ask(scheduler)


async def test_secret_is_replaced_as_kubelet_does(
    open_door: Open, tmp_path: Path
) -> None:
    """Each file is a link through ``..data``, which is what kubelet replaces."""
    door = Door(tmp_path)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    before, after = mounted / "before", mounted / "after"
    for folder in (before, after):
        folder.mkdir()
        Pair(folder / "tls.crt", folder / "tls.key").write(door.servers.sign())
    (mounted / "..data").symlink_to(before)
    door.own = Pair(mounted / "tls.crt", mounted / "tls.key")
    for file in (door.own.cert_file, door.own.key_file):
        file.symlink_to(Path("..data") / file.name)
    await open_door(NAME, door=door)
    shown = await asyncio.to_thread(door.serial_shown)
    (mounted / "..new").symlink_to(after)
    (mounted / "..new").rename(mounted / "..data")
    assert await asyncio.to_thread(door.serial_shown) != shown


async def test_files_of_before_serve_on(
    open_door: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Files that cannot be used change nothing; the log says so once, and why."""
    door = await open_door(NAME)
    shown = await asyncio.to_thread(door.serial_shown)
    context = door.context(door.scheduler)
    key = door.own.key_file.read_bytes()
    door.own.key_file.write_text("nonsense")
    with caplog.at_level(logging.WARNING, logger="extender.web.tls"):
        for _ in range(3):
            assert (await door.ask(context))[0] == 200
    (said,) = caplog.messages
    assert f"--tls-key {door.own.key_file}: holds no private key" in said
    door.own.key_file.unlink()
    assert (await door.ask(context))[0] == 200
    door.own.key_file.write_bytes(key)
    assert (await door.ask(context))[0] == 200
    assert await asyncio.to_thread(door.serial_shown) == shown
    door.own.write(door.servers.sign())
    assert await asyncio.to_thread(door.serial_shown) != shown


async def test_files_that_could_not_be_opened_are_tried_again(
    open_door: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No file may be open just then, and later one may; the files look the same."""
    door = await open_door(NAME)
    context = door.context(door.scheduler)
    shown = await asyncio.to_thread(door.serial_shown)
    door.own.write(door.servers.sign())
    monkeypatch.setattr("extender.web.tls._RETRY_SECONDS", 0.0)
    with monkeypatch.context() as full, caplog.at_level(logging.WARNING):
        full.setattr(Path, "open", _refuse_to_open)
        for _ in range(3):
            assert (await door.ask(context))[0] == 200
        (said,) = caplog.messages
        assert "Too many open files" in said
    assert await asyncio.to_thread(door.serial_shown) != shown


def _refuse_to_open(_file: Path, _mode: str) -> BinaryIO:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


async def test_rights_that_are_given_later_count_at_once(
    open_door: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They change neither what a file holds, nor when it was written."""
    door = await open_door(NAME)
    shown = await asyncio.to_thread(door.serial_shown)
    door.own.write(door.servers.sign())
    monkeypatch.setattr("extender.web.tls._RETRY_SECONDS", 3600.0)
    with monkeypatch.context() as closed:
        closed.setattr(Path, "open", _refuse_to_open)
        assert await asyncio.to_thread(door.serial_shown) == shown
    assert await asyncio.to_thread(door.serial_shown) == shown
    door.own.key_file.chmod(0o400)
    assert await asyncio.to_thread(door.serial_shown) != shown


Spoil = Callable[[Door], object]


def _make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


SPOILED: Final[dict[str, tuple[Spoil, str]]] = {
    "no certificate": (
        lambda door: door.own.cert_file.unlink(),
        "--tls-cert {own.cert_file}: No such file or directory",
    ),
    "no key": (
        lambda door: door.own.key_file.unlink(),
        "--tls-key {own.key_file}: No such file or directory",
    ),
    "no client CA": (
        lambda door: door.clients.cert_file.unlink(),
        "--client-ca {clients.cert_file}: No such file or directory",
    ),
    "a certificate that is a key": (
        lambda door: door.own.cert_file.write_bytes(door.own.key_file.read_bytes()),
        "--tls-cert {own.cert_file}: holds no certificate in PEM that can be read",
    ),
    "a key that is a certificate": (
        lambda door: door.own.key_file.write_bytes(door.own.cert_file.read_bytes()),
        "--tls-key {own.key_file}: holds no private key in PEM that can be read",
    ),
    "an empty key": (
        lambda door: door.own.key_file.write_bytes(b""),
        "--tls-key {own.key_file}: holds no private key in PEM that can be read",
    ),
    "an encrypted key": (
        lambda door: door.own.key_file.write_bytes(
            encrypted(door.own.key_file.read_bytes())
        ),
        "--tls-key {own.key_file}: is encrypted, and nobody is there",
    ),
    "the key of another": (
        lambda door: door.own.key_file.write_bytes(door.servers.sign().key),
        "--tls-key {own.key_file}: is not the key of --tls-cert {own.cert_file}",
    ),
    "a damaged certificate": (
        lambda door: door.own.cert_file.write_text(
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        ),
        "--tls-cert {own.cert_file}: holds no certificate in PEM that can be read",
    ),
    "a client CA that is none": (
        lambda door: door.clients.cert_file.write_bytes(b"\xff\x00"),
        "--client-ca {clients.cert_file}: holds no certificate in PEM that can be read",
    ),
    "a folder": (
        lambda door: _make_folder(door.clients.cert_file),
        "--client-ca {clients.cert_file}: Is a directory",
    ),
}


@pytest.mark.parametrize(("spoil", "said"), SPOILED.values(), ids=SPOILED)
def test_file_that_cannot_be_used(tmp_path: Path, spoil: Spoil, said: str) -> None:
    """The error names the flag, the file, and what is wrong with it."""
    door = Door(tmp_path)
    spoil(door)
    with pytest.raises(SettingsError) as refused:
        listening_context(door.settings())
    assert str(refused.value).startswith(
        said.format(own=door.own, clients=door.clients)
    )
