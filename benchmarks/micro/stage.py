"""The cluster that steps are measured on."""

from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Final

from benchmarks.api_server.objects import pod_as_shown
from benchmarks.cluster import Manifest, make_cluster
from benchmarks.layout import ClusterPlan
from benchmarks.questions import Question
from benchmarks.shapes import MOST_QUESTIONS, SHAPE_BY_NAME
from extender.core.cards import Cards
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.node import Node
from extender.core.pod import Pod
from extender.state.events import NodeSeen, PodSeen, Synced
from extender.state.ledger import Ledger
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader

READER: Final = PodReader(Kinds([NVIDIA]))

_numbers: Final = count()


@dataclass(frozen=True, slots=True)
class Stage:
    """A ledger with all nodes and pods of a made cluster.

    Attributes:
        plan: Which cluster.
        ledger: It, taken in.
        nodes: All of them.
        pod: A running one whose init is over.
        pod_object: The same as the API server shows it.
    """

    plan: ClusterPlan
    ledger: Ledger
    nodes: list[Node]
    pod: Pod
    pod_object: Manifest

    @property
    def cards(self) -> Cards:
        """The cards of all nodes."""
        (cards,) = self.ledger.fleet.of(NVIDIA.type_word).cards()
        return cards

    def question(self, shape: str) -> Question:
        """Ask for what was not asked for before."""
        number = next(_numbers)
        kind = SHAPE_BY_NAME[shape]
        return Question(kind, self.plan, number, number % MOST_QUESTIONS)


@cache
def staged(node_count: int, pods_per_node: int) -> Stage:
    """Build a stage; a size is built once.

    Cost: 10 s at 5,000 nodes with 8 pods.
    """
    plan = ClusterPlan(node_count, pods_per_node)
    items = make_cluster(node_count, pods_per_node)["items"]
    ledger, nodes = Ledger(), []
    shown: Manifest = {}
    for item in items:
        if item["kind"] == "Node":
            nodes.append(decode_node(item, [NVIDIA]))
            ledger.apply(NodeSeen(nodes[-1]))
        else:
            shown = item if item["metadata"]["name"] == _WITH_INIT else shown
            ledger.apply(PodSeen(READER.read(item)))
    ledger.apply(Synced())
    return Stage(plan, ledger, nodes, READER.read(shown), pod_as_shown(shown))


_WITH_INIT: Final = "job-00000-2"
"""Of the shapes that pods of a made cluster have, it is the one whose charge differs
between phases."""
