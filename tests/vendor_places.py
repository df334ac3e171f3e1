"""Nodes of vendors who have rules of their own, and pods that are bound there.

Both come as the wire has them, and what is there is counted by the ledger.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from extender.core.kind_set import Kinds
from extender.core.names import NodeName
from extender.core.node import Node
from extender.core.pod import Pod
from extender.state.audit import audit
from extender.state.events import NodeSeen, PodSeen
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.wire.binding import binding_annotations
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import pod
from tests.shipped import SHIPPED
from tests.values import N1, uuids

SGPU: Final = "metax-tech.com"
QOS: Final = f"{SGPU}/sgpu-qos-policy"
CLASS: Final = f"{SGPU}/sgpu-app-class"


def metax(*names: str, zones: Mapping[str, int] | None = None) -> Node:
    """Show a node of MetaX cards with 16 slots, 64 GiB and 100 percent each."""
    listed = [
        {
            "uuid": name,
            "model": "MXC500",
            "totalDevCount": 16,
            "totalCompute": 100,
            "totalVRam": 65_536,
            "healthy": True,
            "qosPolicy": "burst-share",
            "linkZone": (zones or {}).get(name, 0),
        }
        for name in names
    ]
    text = json.dumps(listed)
    return shown("Metax-SGPU", {f"{SGPU}/node-gpu-devices": text}, f"{SGPU}/sgpu")


def amd(*units: int, together: int | None = None) -> Node:
    """Show a node of AMD cards with 10 slots, 64 GiB and so many compute units.

    Args:
        units: Of each card.
        together: How many its plugin hands out at once; it does not say without.
    """
    told = {} if together is None else {"custominfo": {"cuPerWGP": together}}
    listed = [
        {
            "id": f"gpu-{index}",
            "index": index,
            "count": 10,
            "devmem": 65_536,
            "devcore": each,
            "type": "AMD Instinct MI300X",
            "health": True,
            **told,
        }
        for index, each in enumerate(units)
    ]
    text = json.dumps(listed)
    return shown("AMD", {"hami.io/node-amd-register": text}, "amd.com/gpu")


def shown(word: str, annotations: dict[str, str], count: str) -> Node:
    """Read node ``n1``."""
    obj: dict[str, Any] = {
        "metadata": {"name": N1, "annotations": annotations},
        "status": {"allocatable": {count: "1000"}},
    }
    return decode_node(obj, [SHIPPED[word]])


class Place:
    """A node whose pods are bound one after another."""

    def __init__(self, word: str, node: Node) -> None:
        self.kind = SHIPPED[word]
        self.reader = PodReader(Kinds([self.kind]))
        self.ledger = Ledger()
        self.node = node
        self.ledger.apply(NodeSeen(node))

    def read(
        self,
        name: str,
        limits: Mapping[str, object],
        annotations: Mapping[str, str],
        node_name: NodeName | None = None,
    ) -> Pod:
        """Read a pod of one container."""
        builder = pod(name).uid(name).app("a").annotations(annotations)
        made = (builder.on(node_name) if node_name else builder).build()
        made["spec"]["containers"][0]["resources"] = {"limits": limits}
        return self.reader.read(made)

    def bind(
        self, name: str, limits: Mapping[str, object], annotations: Mapping[str, str]
    ) -> list[str]:
        """Bind a pod as its Binding says; gives its cards."""
        asking = self.read(name, limits, annotations)
        allocation = choose_devices(self.ledger.fleet, asking, N1, None)
        assert allocation is not None, self.why_not(asking)
        written = binding_annotations(
            asking,
            {self.kind.type_word: self.kind},
            node_name=N1,
            devices=self.node.devices,
            allocation=allocation,
            unix_seconds=1,
        )
        bound = self.read(name, limits, {**annotations, **written}, N1)
        assert bound.allocation == allocation
        self.ledger.apply(PodSeen(bound))
        assert audit(self.ledger) == []
        return [uuid for each in uuids(allocation) or [] for uuid in each]

    def end(self, name: str) -> None:
        """Let a pod end."""
        ended = pod(name).uid(name).app("a").on(N1).phase("Succeeded").build()
        self.ledger.apply(PodSeen(self.reader.read(ended)))

    def why_not(self, asking: Pod) -> str | None:
        """Ask filter; gives its text, None where the pod fits."""
        decision = filter_nodes(self.ledger.fleet, asking, [N1], None)
        return decision.failed.get(N1) or decision.unresolvable.get(N1)


def sgpu(gib: int = 4, cores: int = 20) -> dict[str, object]:
    """Ask for a part of a MetaX card."""
    return {f"{SGPU}/sgpu": 1, f"{SGPU}/vmemory": gib, f"{SGPU}/vcore": cores}
