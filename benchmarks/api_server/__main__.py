"""Serve a cluster's nodes and pods on loopback until ended.

Prints its port once everything is encoded.
"""

import argparse
import gc
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Final

import orjson

from benchmarks.api_server.events import KINDS, PodLives, handshakes, watch_lines
from benchmarks.api_server.objects import node_as_shown, plain_pod, pod_as_shown
from benchmarks.api_server.paced import Paced
from benchmarks.api_server.pages import pages_of
from benchmarks.api_server.server import Collection, Server
from benchmarks.cluster import PODS_PER_NODE, Manifest, make_cluster
from benchmarks.command_line import whole_number
from benchmarks.servers import LOOPBACK
from extender.settings import KubeSettings

_FIRST_VERSION: Final = 10_000_000
_LIVING_PLAIN_PODS: Final = 20_000
"""Of so many plain pods events tell at most; more would only take memory here."""


def main() -> None:
    """Serve a cluster's nodes and pods as an API server does, on loopback."""
    arguments = _read_arguments()
    items = make_cluster(arguments.nodes, arguments.pods_per_node)["items"]
    nodes = [item for item in items if item["kind"] == "Node"]
    pods = [item for item in items if item["kind"] == "Pod"]
    plain = (
        plain_pod(number, arguments.nodes) for number in range(arguments.plain_pods)
    )
    living = [
        plain_pod(number, arguments.nodes)
        for number in range(min(arguments.plain_pods, _LIVING_PLAIN_PODS))
    ]
    lives = PodLives(pods, living, arguments.mix)
    size = arguments.page_size
    told_of_nodes = watch_lines(
        handshakes(nodes), arguments.node_events, _FIRST_VERSION, node_as_shown
    )
    told_of_pods = watch_lines(
        lives.changes(), arguments.pod_events, _FIRST_VERSION, pod_as_shown
    )
    collections = {
        "nodes": Collection(
            pages_of(_encoded_nodes(nodes), size, _FIRST_VERSION),
            Paced(told_of_nodes, _FIRST_VERSION),
        ),
        "pods": Collection(
            pages_of(_encoded_pods(chain(pods, plain)), size, _FIRST_VERSION),
            Paced(told_of_pods, _FIRST_VERSION),
        ),
    }
    del items, nodes, pods, living, lives
    gc.collect()
    gc.freeze()
    with Server((LOOPBACK, 0), collections) as server, suppress(KeyboardInterrupt):
        print(server.server_port, flush=True)
        server.serve_forever()


def _encoded_nodes(nodes: Iterable[Manifest]) -> Iterator[bytes]:
    return (orjson.dumps(node_as_shown(node)) for node in nodes)


def _encoded_pods(pods: Iterable[Manifest]) -> Iterator[bytes]:
    return (orjson.dumps(pod_as_shown(pod)) for pod in pods)


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.api_server", description=main.__doc__
    )
    count = whole_number(10_000_000, least=0)
    parser.add_argument("--nodes", type=whole_number(20_000), default=100)
    parser.add_argument("--pods-per-node", type=count, default=PODS_PER_NODE)
    parser.add_argument("--plain-pods", type=count, default=0)
    parser.add_argument("--pod-events", type=count, default=0)
    parser.add_argument("--node-events", type=count, default=0)
    parser.add_argument(
        "--mix",
        type=_mix,
        default={"gpu_status": 1.0},
        metavar="JSON",
        help=f"how often each begins of {', '.join(KINDS)}",
    )
    parser.add_argument("--page-size", type=count, default=KubeSettings().page_size)
    return parser.parse_args()


def _mix(text: str) -> dict[str, float]:
    mix: dict[str, float] = orjson.loads(text)
    if unknown := mix.keys() - KINDS.keys():
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))} never happens")
    return mix


if __name__ == "__main__":
    main()
