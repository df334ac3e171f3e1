"""gpu-extender serve, in a process of its own, over loopback."""

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import pytest

from tests.builders import node, pod
from tests.cli.command import (
    EXAMPLE,
    PODS,
    command,
    environment,
    gpu_extender,
    listed,
    subprocess_of,
)
from tests.shipped import SHIPPED_FILE
from tests.web.scheduler import arguments, binding

SECONDS: Final = 15
"""Longest wait for anything; a failure, never a pace."""

HOLDER: Final = (
    pod("holder")
    .init("i", gpu=1, gpumem=20_000)
    .app("a", gpu=1, gpumem=8_000)
    .on("n1")
    .holding("GPU-a,NVIDIA,20000,0:;GPU-a,NVIDIA,8000,0:;")
    .exited("i")
    .running("a")
    .phase("Running")
)
"""A pod whose init is over."""


@contextmanager
def serving(
    *clusters: Path,
    listen: str = "127.0.0.1:0",
    options: Sequence[str] = (),
    within: Sequence[str] = (),
) -> Iterator[tuple["subprocess.Popen[str]", str, list[str]]]:
    """Start the command; gives the process, its URL, and what it printed so far.

    Another command may be given that it is to be started within.
    """
    files = [part for file in clusters for part in ("--cluster", str(file))]
    process = subprocess.Popen(
        [*within, *command("serve", *files, "--listen", listen, *options)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        yield process, *_announced(process)
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def _announced(process: "subprocess.Popen[str]") -> tuple[str, list[str]]:
    assert process.stdout is not None
    printed: list[str] = []
    for line in process.stdout:
        printed.append(line)
        found = re.search(r"https?://\S+:\d+", line)
        if found:
            return found[0], printed
    raise AssertionError(f"no URL: {printed}")


@contextmanager
def connection(url: str) -> Iterator[HTTPConnection]:
    """Connect to a server on loopback, and stay connected."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    with closing(HTTPConnection(host.strip("[]"), int(port), timeout=SECONDS)) as made:
        yield made


def ask(open_to: HTTPConnection, path: str, body: object = None) -> tuple[int, bytes]:
    """GET, or POST where there is a body."""
    sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    open_to.request("GET" if body is None else "POST", path, sent)
    reply = open_to.getresponse()
    return reply.status, reply.read()


def test_serve_answers_and_ends_on_sigterm() -> None:
    """Prints what it has and where it is; takes a pod through all verbs; exit 0."""
    wanted = pod("p").app("a", gpu=1, gpumem=8000)
    before = EXAMPLE.read_bytes()
    with serving(EXAMPLE) as (process, url, printed), connection(url) as caller:
        assert "7 nodes" in "".join(printed)
        assert ask(caller, "/healthz")[0] == 200
        assert ask(caller, "/readyz")[0] == 200
        assert ask(caller, "/pods", wanted.build())[0] == 201
        file = (PODS / "two-cards.yaml").read_bytes()
        assert ask(caller, "/pods", file)[0] == 201
        names = ["gpu-a10-01", "cpu-01"]
        status, body = ask(caller, "/filter", arguments(wanted, names, None))
        assert (status, json.loads(body)["NodeNames"]) == (200, ["gpu-a10-01"])
        status, body = ask(caller, "/prioritize", arguments(wanted, names, None))
        assert [entry["Host"] for entry in json.loads(body)] == names
        status, body = ask(caller, "/bind", binding(wanted, "gpu-a10-01"))
        assert (status, json.loads(body)) == (200, {"Error": ""})
        # The connection stays open and idle, as kube-scheduler's do.
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == 0
        _, err = process.communicate(timeout=SECONDS)
        assert "Traceback" not in err
    assert EXAMPLE.read_bytes() == before  # files are never written


def test_serve_ends_on_sigint(tmp_path: Path) -> None:
    """Ctrl-C is a normal end, on any loopback address."""
    file = tmp_path / "cluster.json"
    file.write_text(listed(node("n1").gpu("GPU-a")))
    with (
        serving(file, listen="localhost:0") as (process, url, _),
        connection(url) as caller,
    ):
        assert ask(caller, "/readyz")[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=5) == 0
        _, err = process.communicate(timeout=SECONDS)
        assert "Traceback" not in err


@pytest.mark.parametrize(
    ("release", "fitting"), [("after-init", ["n1"]), ("never", [])]
)
def test_release_of_the_cluster(
    tmp_path: Path, release: str, fitting: list[str]
) -> None:
    """It counts for bound pods that do not name one."""
    file = tmp_path / "cluster.json"
    file.write_text(listed(node("n1").gpu("GPU-a", memory=24_000), HOLDER))
    wanted = pod("p").app("a", gpu=1, gpumem=12_000)
    with (
        serving(file, options=("--release", release)) as (_, url, _),
        connection(url) as caller,
    ):
        _, body = ask(caller, "/filter", arguments(wanted, ["n1"], None))
        assert json.loads(body)["NodeNames"] == fitting


def test_exact_mode_on_selected_nodes(tmp_path: Path) -> None:
    """Filter returns one node, and of those whose labels match."""
    file = tmp_path / "cluster.json"
    nodes = [
        node(name).gpu(f"GPU-{name}").labels(gpu=gpu)
        for name, gpu in (("a", "off"), ("c", "on"), ("b", "on"))
    ]
    broken = node("broken").allocatable(10)
    broken = broken.annotations({"hami.io/node-nvidia-register": "[{"})
    file.write_text(listed(*nodes, broken))
    wanted = pod("p").app("a", gpu=1, gpumem=12_000)
    options = ("--mode", "exact", "--node-label-selector", "gpu=on")
    with serving(file, options=options) as (_, url, printed), connection(url) as caller:
        assert "4 nodes, 2 with cards that count: 2" in "".join(printed)
        assert "broken" not in "".join(printed)
        _, body = ask(caller, "/filter", arguments(wanted, ["a", "c", "b"], None))
        answer = json.loads(body)
        assert answer["NodeNames"] == ["b"]
        assert answer["FailedNodes"] == {}
        assert answer["FailedAndUnresolvableNodes"] == {"a": "NodeNotSelected"}


def test_summary_names_what_needs_a_person(tmp_path: Path) -> None:
    """Unreadable registers and allocations, cards that hold too much, strangers."""
    file = tmp_path / "cluster.json"
    register = {"hami.io/node-nvidia-register": "[{"}
    file.write_text(
        listed(
            node("n1").gpu("GPU-a"),
            node("broken").allocatable(10).annotations(register),
            pod("stranger").app("a", gpu=1).on("n1").phase("Running"),
            pod("damaged").app("a", gpu=1).on("n1").holding("x").phase("Running"),
            node("cut").mig("GPU-m").gpu("GPU-p"),
            pod("untold")
            .app("a", gpu=2, gpumem=100)
            .on("cut")
            .holding("GPU-m,NVIDIA,5120,15:GPU-p,NVIDIA,100,0:;"),
            node("full").gpu("GPU-f", memory=24_000),
            *(
                pod(name)
                .app("a", gpu=1, gpumem=16_000)
                .on("full")
                .holding("GPU-f,NVIDIA,16000,0:;")
                for name in "pq"
            ),
        )
    )
    with serving(file) as (_, _, printed):
        text = "".join(printed)
        assert "4 nodes" in text
        assert "default/untold on cut: holds GPU-m, which is in MIG mode" in text
        assert "card GPU-f holds 2 slots, 32000 MiB" in text
        assert "(inherited); it takes nothing new" in text
        assert [
            name
            for name in ("default/stranger", "default/damaged", "broken")
            if name not in text
        ] == []


def test_summary_names_kinds_without_an_allocation(tmp_path: Path) -> None:
    """A pod of two kinds that has rows of one is charged for that one alone."""
    shown = pod("half").app("a", gpu=1, gpumem=100).on("n1").phase("Running")
    half = shown.holding("GPU-a,NVIDIA,100,0:;").build()
    half["spec"]["containers"][0]["resources"]["limits"]["vastaitech.com/va"] = "1"
    file = tmp_path / "cluster.json"
    file.write_text(listed(node("n1").gpu("GPU-a"), half))
    options = ["--device-config", str(SHIPPED_FILE)]
    with serving(file, options=options) as (_, _, printed):
        text = "".join(printed)
        expected = "asks for Vastai but has no allocation of it; not charged for that"
        assert f"default/half on n1: {expected}" in text
        assert "asks for NVIDIA" not in text


def test_port_that_is_taken() -> None:
    """One line that names it, and exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        outcome = subprocess_of("serve", "--cluster", EXAMPLE, "--listen", where)
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"gpu-extender: cannot listen on {where}: ")


LISTEN: dict[str, str] = {
    "nothing": "",
    "no port": "127.0.0.1",
    "no host": ":8080",
    "a word for a port": "127.0.0.1:http",
    "a port out of range": "127.0.0.1:65536",
    "a negative port": "127.0.0.1:-1",
    "another script's digits": "127.0.0.1:٨٠",
    "no address": "nowhere.invalid:8080",
    "an address of somebody else": "192.0.2.1:8080",
    "only dots": "..:8080",
    "a label that is too long": f"{'a' * 64}.example:8080",
    "a port without end": f"127.0.0.1:{'9' * 5000}",
}


@pytest.mark.parametrize("listen", LISTEN.values(), ids=LISTEN)
def test_address_that_cannot_be_used(listen: str) -> None:
    """One line that quotes it, and exit code 2."""
    outcome = gpu_extender("serve", "--cluster", EXAMPLE, "--listen", listen)
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("gpu-extender: ")
    assert listen[:10] in line
    assert "Unknown error" not in line
