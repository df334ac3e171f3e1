"""What gpu-extender serve logs, while it runs as a process of its own."""

import json
import signal
import subprocess
from collections.abc import Iterator
from typing import Final

import pytest

from tests.admission import review
from tests.builders import Json, pod
from tests.cli.command import EXAMPLE, violations
from tests.cli.test_serve import SECONDS, ask, connection, serving
from tests.web.scheduler import arguments, binding

WANTED: Final = pod("p").app("a", gpu=1, gpumem=8000)
HUGE: Final = pod("huge").app("a", gpu=1, gpumem=8_000_000)
NODES: Final = ["gpu-a10-01", "gpu-a100-01", "cpu-01"]
JSON_LINES: Final = ("--log-format", "json")


def logged(process: subprocess.Popen[str]) -> list[Json]:
    """End it, and read its log."""
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=SECONDS)
    return [json.loads(line) for line in errors.splitlines()]


def test_every_line_is_as_documented() -> None:
    """Of each verb, of errors, and of all else that is said."""
    with (
        serving(EXAMPLE, options=JSON_LINES) as (process, url, _),
        connection(url) as caller,
    ):
        assert ask(caller, "/pods", WANTED.build())[0] == 201
        for path in ("/filter", "/prioritize"):
            assert ask(caller, path, arguments(WANTED, NODES, None))[0] == 200
        assert ask(caller, "/bind", binding(WANTED, "gpu-a10-01"))[0] == 200
        assert ask(caller, "/bind", binding(HUGE, "gpu-a10-01"))[0] == 200
        assert ask(caller, "/filter", arguments(HUGE, NODES, None))[0] == 200
        plain = pod("plain").app("a")
        assert ask(caller, "/filter", arguments(plain, NODES, None))[0] == 200
        assert ask(caller, "/webhook", review(WANTED.build()))[0] == 200
        assert ask(caller, "/validate", review(WANTED.build()))[0] == 200
        assert ask(caller, "/webhook", b"{")[0] == 400
        assert ask(caller, "/nowhere")[0] == 404
        lines = logged(process)
    assert [violations("decision-log", line) for line in lines] == [[]] * len(lines)
    told = [(line["verb"], line["outcome"]) for line in lines if "verb" in line]
    assert told == [
        ("filter", "fits"),
        ("prioritize", "scored"),
        ("bind", "bound"),
        ("bind", "refused"),
        ("filter", "fits-nowhere"),
        ("filter", "no-devices"),
        ("webhook", "changed"),
        ("validate", "passed-over"),
        ("webhook", "unreadable"),
    ]
    bound = next(line for line in lines if line.get("outcome") == "bound")
    (device,) = bound["devices"]
    assert device["memory_mib"] == 8000
    assert bound["pod"]["name"] == "p"


def test_request_id_is_told_and_logged() -> None:
    """In the answer, also of an error, and in each line of that request."""
    sent = json.dumps(arguments(HUGE, NODES, None)).encode()
    with (
        serving(EXAMPLE, options=JSON_LINES) as (process, url, _),
        connection(url) as caller,
    ):
        answered = []
        for path, body, given in (
            ("/filter", sent, "first-1"),
            ("/filter", b"{", "second 2"),
        ):
            caller.request("POST", path, body, {"X-Request-Id": given})
            answer = caller.getresponse()
            answer.read()
            answered.append(answer.headers["X-Request-Id"])
        lines = logged(process)
    assert answered[0] == "first-1"
    assert answered[1] not in ("second 2", "first-1")
    ids = [line["request_id"] for line in lines if "request_id" in line]
    assert ids == answered


def test_signals_change_levels() -> None:
    """SIGUSR1 that of all lines, SIGUSR2 that of decisions; loopback can read them."""
    with (
        serving(EXAMPLE) as (process, url, _),
        connection(url) as caller,
    ):
        shown = [json.loads(ask(caller, "/debug/log")[1])]
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            process.send_signal(number)
            while (now := json.loads(ask(caller, "/debug/log")[1])) == shown[-1]:
                pass
            shown.append(now)
        assert ask(caller, "/filter", arguments(WANTED, NODES, None))[0] == 200
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=SECONDS)
    assert shown == [
        {"level": "info", "decisions": "all"},
        {"level": "debug", "decisions": "all"},
        {"level": "debug", "decisions": "off"},
    ]
    assert "log level is debug from now on" in errors
    assert "verb=filter" not in errors


@pytest.fixture
def _hang_up_is_heeded() -> Iterator[None]:
    """Undo what nohup does: what is started from here would ignore it, too."""
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, former)


@pytest.mark.usefixtures("_hang_up_is_heeded")
def test_hang_up_ends_nothing() -> None:
    """A rotation's SIGHUP is answered by what is done without it."""
    with serving(EXAMPLE) as (process, url, _), connection(url) as caller:
        process.send_signal(signal.SIGHUP)
        assert ask(caller, "/filter", arguments(WANTED, NODES, None))[0] == 200
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "SIGHUP: nothing needs it" in errors


def test_full_disk_of_decisions_is_told_and_nothing_else_fails() -> None:
    """Verbs are answered, and the end is an ordinary one."""
    options = ("--decision-log-file", "/dev/full")
    with (
        serving(EXAMPLE, options=options) as (process, url, _),
        connection(url) as caller,
    ):
        for _ in range(3):
            assert ask(caller, "/filter", arguments(WANTED, NODES, None))[0] == 200
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert errors.count("lines are lost, 1 so far: No space left on device") == 1
    assert "Traceback" not in errors
