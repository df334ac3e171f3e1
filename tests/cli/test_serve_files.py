"""gpu-extender serve, where only so many files may be open."""

import resource
import socket
from contextlib import ExitStack
from typing import Final

from tests.cli.command import EXAMPLE
from tests.cli.test_serve import SECONDS, ask, connection, serving

FILES: Final = 200
"""Less than what connections alone could take; the process itself needs about 15."""

_SHELL: Final = ("sh", "-c", 'ulimit "$1" "$2" && shift 2 && exec "$@"', "sh")


def _url_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)


def test_connections_leave_files_for_others() -> None:
    """More clients than files stay connected, and one more is answered."""
    within = (*_SHELL, "-n", str(FILES))
    with (
        serving(EXAMPLE, within=within) as (process, url, _),
        ExitStack() as crowd,
    ):
        for _number in range(FILES + 20):
            crowd.enter_context(socket.create_connection(_url_of(url), SECONDS))
        with connection(url) as caller:
            assert ask(caller, "/healthz")[0] == 200
        process.terminate()
        _, err = process.communicate(timeout=SECONDS)
    assert f"{FILES} files may be open, so a listener has {FILES // 2} conn" in err
    assert "Too many open files" not in err


def test_the_soft_limit_is_raised() -> None:
    """It is 1024 on many machines, which is too few for a listener."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard >= 2 * FILES, f"this needs a hard limit of {2 * FILES} open files"
    with serving(EXAMPLE, within=(*_SHELL, "-Sn", str(FILES))) as (process, _url, _):
        soft, _ = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        assert soft == hard
