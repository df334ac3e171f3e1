"""Ask an extender of anybody: ``python -m benchmarks.http --url URL``."""

import argparse
import signal
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson
from rich.console import Console

from benchmarks.cluster import to_create
from benchmarks.command_line import exit_on_signal, whole_number
from benchmarks.connection import AnswerUnusable
from benchmarks.http.cases import Case
from benchmarks.http.elsewhere import (
    FileUnusable,
    Target,
    measure_elsewhere,
    new_pods,
    read_plan,
    read_pods,
)
from benchmarks.http.judging import WARM_UPS
from benchmarks.servers import ServerFailed
from benchmarks.shapes import MOST_QUESTIONS, SHAPE_BY_NAME
from benchmarks.tables import WIDTH, tables

_PORTS: Final = {"http": 80, "https": 443}


def main() -> None:
    """Ask a running extender about pods, beside an echo server that is started here.

    The extender must know the nodes of a file that python -m benchmarks.cluster wrote.
    Every answer is judged by how that cluster was made.
    """
    signal.signal(signal.SIGTERM, exit_on_signal)
    arguments = _read_arguments()
    try:
        cases = _cases(arguments)
        if arguments.write_pods is not None:
            content = orjson.dumps(to_create(new_pods(cases)))
            arguments.write_pods.write_bytes(content)
            return
        pods = read_pods(arguments.pods) if arguments.pods is not None else {}
        rows = measure_elsewhere(_target(arguments), cases, pods)
    except (FileUnusable, ServerFailed, AnswerUnusable, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    console = Console()
    console = console if console.is_terminal else Console(width=WIDTH)
    for table in tables(rows):
        console.print(table, end="\n\n")


def _cases(arguments: argparse.Namespace) -> Sequence[Case]:
    plan = read_plan(arguments.cluster)
    each = WARM_UPS + arguments.requests
    return [
        Case(
            verb=verb,
            plan=plan,
            shape=SHAPE_BY_NAME[arguments.pod],
            asked=arguments.asked,
            requests=arguments.requests,
            first_number=turn * each,
            limits={},
            budgets={},
        )
        for turn, verb in enumerate(_paths(arguments))
    ]


def _paths(arguments: argparse.Namespace) -> dict[str, str]:
    paths = {
        "filter": arguments.filter_path,
        "prioritize": arguments.prioritize_path,
    }
    return {verb: path for verb, path in paths.items() if path}


def _target(arguments: argparse.Namespace) -> Target:
    url = urlsplit(arguments.url)
    if url.scheme not in _PORTS or url.hostname is None:
        raise FileUnusable(f"{arguments.url} is no http:// or https:// address")
    tls = None
    if url.scheme == "https":
        # As kube-scheduler without a CA: it does not look at the certificate.
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    port = url.port or _PORTS[url.scheme]
    return Target(url.hostname, port, tls, _paths(arguments))


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.http", description=main.__doc__
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--url", metavar="URL", help="such as http://127.0.0.1:8080")
    what.add_argument(
        "--write-pods",
        type=Path,
        metavar="FILE",
        help="ask nothing; write the pods, for kubectl create",
    )
    parser.add_argument("--cluster", type=Path, required=True, metavar="FILE")
    parser.add_argument(
        "--pods",
        type=Path,
        metavar="FILE",
        help="the pods as the API server has them, from kubectl get -o json",
    )
    parser.add_argument("--filter-path", default="/filter", metavar="PATH")
    parser.add_argument(
        "--prioritize-path",
        default="/prioritize",
        metavar="PATH",
        help="empty where there is no such verb",
    )
    parser.add_argument("--pod", choices=SHAPE_BY_NAME, default="one app")
    parser.add_argument("--asked", choices=("never", "seen"), default="never")
    most = MOST_QUESTIONS // 2 - WARM_UPS
    parser.add_argument("--requests", type=whole_number(most), default=200, metavar="N")
    return parser.parse_args()


if __name__ == "__main__":
    main()
