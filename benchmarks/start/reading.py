"""The least that a start can cost: to get and decode the pages that it lists."""

import gc
import gzip
import subprocess
import sys
from http.client import HTTPConnection, HTTPResponse
from resource import RUSAGE_SELF, getrusage

import orjson

from benchmarks.api_server.processes import StandIn
from benchmarks.servers import LOOPBACK, ServerFailed
from extender.settings import KubeSettings

_COLLECTIONS = ("nodes", "pods")


def reading_seconds(api: StandIn) -> float:
    """Tell how much processor time a process takes that reads all pages.

    It does nothing with them, and lets them go one by one. A process of its own, so
    that nothing that is in memory here is looked at again and again.

    Raises:
        ServerFailed: It could not read them.
    """
    command = [sys.executable, "-m", "benchmarks.start.reading", str(api.port)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode:
        raise ServerFailed(f"the pages could not be read: {done.stderr}")
    return float(done.stdout)


def _read_all(port: int) -> None:
    connection = HTTPConnection(LOOPBACK, port, timeout=60.0)
    limit = KubeSettings().page_size
    for name in _COLLECTIONS:
        more = ""
        while True:
            path = f"/api/v1/{name}?limit={limit}&continue={more}"
            # As the extender does.
            connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
            page = orjson.loads(_content(connection.getresponse()))
            more = page["metadata"].get("continue", "")
            if not more:
                break


def _content(answer: HTTPResponse) -> bytes:
    content = answer.read()
    is_compressed = answer.headers["Content-Encoding"] == "gzip"
    return gzip.decompress(content) if is_compressed else content


def main() -> None:
    """Read all pages at a port; print the seconds of processor that it took."""
    gc.disable()  # pages hold no cycles; the least is without it
    before = getrusage(RUSAGE_SELF)
    _read_all(int(sys.argv[1]))
    after = getrusage(RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(used)


if __name__ == "__main__":
    main()
