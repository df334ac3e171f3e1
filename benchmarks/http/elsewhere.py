"""An extender that runs elsewhere, and that may be anybody's."""

import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.cluster import Manifest
from benchmarks.connection import connect
from benchmarks.http.askers import Questions, asker
from benchmarks.http.asking import Asker, accept, ask_in_turn
from benchmarks.http.cases import Case
from benchmarks.http.judging import Judge, filters_somehow, scores_somehow
from benchmarks.http.run import PART, compared
from benchmarks.layout import LAYOUTS, ClusterPlan
from benchmarks.results import Row
from benchmarks.servers import echo

_JUDGES: Final[Mapping[str, Judge]] = {
    "filter": filters_somehow,
    "prioritize": scores_somehow,
}


class FileUnusable(Exception):
    """A file or address that was named cannot be used."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an extender is.

    Attributes:
        host: Its address.
        port: Its port.
        tls: Speaks HTTPS by this, where it is not None.
        paths: By verb, where each is served.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None
    paths: Mapping[str, str]


def measure_elsewhere(
    target: Target, cases: Iterable[Case], pods: Mapping[str, Manifest]
) -> list[Row]:
    """Ask it, and an echo server in turn.

    Args:
        target: The extender, which knows the cases' cluster.
        cases: Filter or prioritize.
        pods: By name: those that its API server has.

    Raises:
        OSError: It cannot be reached.
        AnswerUnusable: An answer is wrong.
    """
    rows = []
    with echo() as yardstick, connect(yardstick.port) as second:
        for case in cases:
            with connect(target.port, target.host, target.tls) as first:
                asked = asker(
                    first,
                    case,
                    path=target.paths[case.verb],
                    is_right=_JUDGES[case.verb],
                    pods=pods,
                )
                beside = asker(second, case, pods=pods)
                theirs = Asker(second, beside.request, accept)
                times, echo_times = ask_in_turn(asked, theirs, case.numbers)
            figures, ratios = compared(times, echo_times, None)
            rows.append(
                Row(part=PART, case=case.told(), figures=figures, ratios=ratios)
            )
    return rows


def new_pods(cases: Iterable[Case]) -> Manifest:
    """List the pods that are going to be asked about."""
    items = []
    for case in cases:
        questions = Questions(case, [])
        for number in case.numbers:
            pod = orjson.loads(questions[number].new_pod())
            # Its owner is not there, and would be looked for.
            del pod["metadata"]["ownerReferences"]
            # Nobody's, or a kube-scheduler might place it meanwhile.
            pod["spec"]["schedulerName"] = "none"
            del pod["spec"]["volumes"], pod["status"]
            for container in _containers(pod):
                del container["volumeMounts"]
            items.append(pod)
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _containers(pod: Manifest) -> Sequence[Any]:
    return [*pod["spec"]["initContainers"], *pod["spec"]["containers"]]


def read_pods(file: Path) -> dict[str, Manifest]:
    """Read pods by name, as ``kubectl get pods -o json`` prints them.

    Raises:
        FileUnusable: It holds something else.
    """
    return {pod["metadata"]["name"]: pod for pod in _items(file)}


def read_plan(file: Path) -> ClusterPlan:
    """Tell how the cluster in a file was made.

    Raises:
        FileUnusable: ``python -m benchmarks.cluster`` did not write it.
    """
    items = _items(file)
    nodes = [item for item in items if item["kind"] == "Node"]
    pods = sum(item["kind"] == "Pod" for item in items)
    names = [node["metadata"]["name"] for node in nodes]
    counts = [_card_count(node) for node in nodes]
    for layout in LAYOUTS:
        plan = ClusterPlan(len(nodes), pods // (len(nodes) or 1), layout)
        wanted = [cards.count for cards in plan.all_cards()]
        if nodes and names == plan.node_names() and counts == wanted:
            return plan
    raise FileUnusable(f"{file} was not written by python -m benchmarks.cluster")


def _card_count(node: Manifest) -> int:
    annotations = node["metadata"].get("annotations", {})
    return len(orjson.loads(annotations.get("hami.io/node-nvidia-register", "[]")))


def _items(file: Path) -> list[Manifest]:
    try:
        items: list[Manifest] = orjson.loads(file.read_bytes())["items"]
    except OSError as error:
        raise FileUnusable(f"{file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileUnusable(f"{file} holds no list of objects: {error}") from error
    return items
