"""kube-scheduler's end of the wire, and what can be seen of the cluster from there.

Bodies are spelled out here, with every key that kube-scheduler sends, so that nothing
of `extender.wire` is used to test it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiohttp.test_utils import TestClient, TestServer

from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID, NodeName
from extender.core.pod import Release
from extender.core.usage import Usage
from extender.embedded.cluster import EmbeddedCluster
from extender.service import Extender
from extender.state.events import NodeGone, NodeSeen, PodGone, PodSeen
from tests.builders import Json, NodeBuilder, PodBuilder, pod
from tests.oracles import Totals, timeline_charge, timeline_effective

ALLOCATED: Final = "hami.io/vgpu-devices-allocated"
TO_ALLOCATE: Final = "hami.io/vgpu-devices-to-allocate"
REGISTER: Final = "hami.io/node-nvidia-register"
RELEASE: Final = "gpu-extender/release"

FILTER_KEYS: Final = {
    "Nodes",
    "NodeNames",
    "FailedNodes",
    "FailedAndUnresolvableNodes",
    "Error",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and bytes, as they came."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON is anything
        """The body; fails the test where it is no JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Filtered:
    """filter's answer, by its five keys."""

    nodes: list[Json] | None
    node_names: list[str] | None
    failed: dict[str, str]
    unresolvable: dict[str, str]
    error: str


class Scheduler:
    """One extender that is being served, and kube-scheduler calling it."""

    def __init__(
        self,
        client: TestClient[Any, Any],
        server: TestServer,
        cluster: EmbeddedCluster,
        extender: Extender,
    ) -> None:
        self._client = client
        self.server = server
        self.cluster = cluster
        self.extender = extender

    async def close(self) -> None:
        """Hang up, and stop the server; only for those that no fixture closes."""
        await self._client.close()

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,  # noqa: ANN401 - whatever aiohttp can send
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send any bytes anywhere."""
        async with self._client.request(
            method, path, data=body, headers=headers
        ) as reply:
            return Answer(reply.status, dict(reply.headers), await reply.read())

    async def post(self, path: str, body: object) -> Answer:
        """Send JSON as kube-scheduler does."""
        return await self.send(
            "POST", path, json.dumps(body), {"Content-Type": "application/json"}
        )

    async def filter(
        self,
        wanted: PodBuilder | Json,
        names: Sequence[str] | None = None,
        nodes: Sequence[Json] | None = None,
    ) -> Filtered:
        """Ask which candidates fit; all nodes of the cluster where none are given."""
        if names is None and nodes is None:
            names = self.node_names
        answer = await self.post("/filter", arguments(wanted, names, nodes))
        assert answer.status == 200, answer.body
        reply = answer.json
        assert set(reply) == FILTER_KEYS
        return Filtered(
            None if reply["Nodes"] is None else reply["Nodes"]["items"],
            reply["NodeNames"],
            reply["FailedNodes"] or {},
            reply["FailedAndUnresolvableNodes"] or {},
            reply["Error"],
        )

    async def prioritize(
        self,
        wanted: PodBuilder | Json,
        names: Sequence[str] | None = None,
        nodes: Sequence[Json] | None = None,
    ) -> list[tuple[str, int]]:
        """Ask how good each candidate is."""
        if names is None and nodes is None:
            names = self.node_names
        answer = await self.post("/prioritize", arguments(wanted, names, nodes))
        assert answer.status == 200, answer.body
        assert all(set(entry) == {"Host", "Score"} for entry in answer.json)
        return [(entry["Host"], entry["Score"]) for entry in answer.json]

    async def bind(self, wanted: PodBuilder | Json, node_name: str) -> str:
        """Ask to commit; gives the error text, empty on success."""
        answer = await self.post("/bind", binding(wanted, node_name))
        assert answer.status == 200, answer.body
        assert set(answer.json) == {"Error"}
        error: str = answer.json["Error"]
        return error

    async def add(self, wanted: PodBuilder | Json) -> None:
        """Create a pod."""
        answer = await self.post("/pods", built(wanted))
        assert answer.status == 201, answer.body

    async def place(
        self, wanted: PodBuilder, names: Sequence[str] | None = None
    ) -> str | None:
        """Create a pod and take it through all verbs, as kube-scheduler does.

        Returns:
            The node, the best by score and then by name; None where none fits.
        """
        await self.add(wanted)
        filtered = await self.filter(wanted, names)
        assert filtered.error == ""
        fitting = filtered.node_names or []
        if not fitting:
            return None
        scores = await self.prioritize(wanted, fitting)
        assert sorted(host for host, _ in scores) == sorted(fitting)
        chosen = min(scores, key=lambda scored: (-scored[1], scored[0]))[0]
        assert await self.bind(wanted, chosen) == ""
        return chosen

    async def pods(self) -> list[Json]:
        """List every pod as the cluster has it."""
        answer = await self.send("GET", "/pods")
        assert answer.status == 200, answer.body
        items: list[Json] = answer.json["items"]
        return items

    async def shown(self, wanted: PodBuilder) -> Json:
        """Give one pod as the cluster has it."""
        return next(
            each
            for each in await self.pods()
            if each["metadata"]["uid"] == wanted.pod_uid
        )

    async def charges(self) -> dict[str, Totals]:
        """Add up, by the oracle, what bound pods are charged on each node."""
        totals: dict[str, Totals] = {}
        for each in await self.pods():
            node_name = each["spec"].get("nodeName")
            if node_name is None:
                continue
            status = self.extender.reader.read(each).status
            texts = each["metadata"].get("annotations", {})
            release = Release(texts.get(RELEASE, Release.AFTER_INIT))
            charge = timeline_charge(container_usages(each), status, release)
            on_node = totals.setdefault(node_name, {})
            for uuid, held in charge.items():
                on_node[uuid] = on_node.get(uuid, Usage()) + held
        return totals

    async def free_memory(self, uuid: str) -> int:
        """Find out through filter how many MiB of one card a pod could still get.

        Cost: about 17 requests.
        """
        at_least, too_much = 0, 100_001
        while too_much - at_least > 1:
            asked = (at_least + too_much) // 2
            probe = pod("probe").annotations({"nvidia.com/use-gpuuuid": uuid})
            filtered = await self.filter(probe.app("a", gpu=1, gpumem=asked))
            if filtered.node_names:
                at_least = asked
            else:
                too_much = asked
        return at_least

    async def state(self) -> tuple[bytes, ...]:
        """Give everything that an outsider can see, to be compared."""
        probe = pod("probe").init("i", gpu=1, gpumem=5000).app("a", gpu=1, gpumem=2000)
        asked = arguments(probe, self.node_names, None)
        answers = [
            await self.send("GET", "/pods"),
            await self.post("/filter", asked),
            await self.post("/prioritize", asked),
        ]
        assert [answer.status for answer in answers] == [200] * 3
        return tuple(answer.body for answer in answers)

    @property
    def node_names(self) -> list[str]:
        """Every node of the cluster."""
        return list(self.cluster.nodes)

    # What a watch would show: events that the embedded cluster itself has no door for.

    def see_pod(self, shown: PodBuilder | Json) -> None:
        """Show a pod, new or changed."""
        self.extender.take_in(PodSeen(self.extender.reader.read(built(shown))))

    def lose_pod(self, shown: PodBuilder) -> None:
        """Show that a pod is deleted."""
        pod_uid = self.extender.reader.read(shown.build()).uid
        self.extender.take_in(PodGone(pod_uid))

    def see_node(self, shown: NodeBuilder) -> None:
        """Show a node, new or changed."""
        self.extender.take_in(NodeSeen(self.extender.read_node(shown.build())))

    def lose_node(self, shown: NodeBuilder) -> None:
        """Show that a node is deleted."""
        self.extender.take_in(NodeGone(NodeName(shown.name)))


def built(shown: PodBuilder | Json) -> Json:
    """Give the JSON object of a pod in either form."""
    return shown.build() if isinstance(shown, PodBuilder) else shown


def arguments(
    wanted: PodBuilder | Json,
    names: Sequence[str] | None,
    nodes: Sequence[Json] | None,
) -> Json:
    """Write the body of filter and prioritize."""
    return {
        "Pod": _as_sent(built(wanted)),
        "Nodes": None
        if nodes is None
        else {"metadata": {}, "items": list(map(_as_sent, nodes))},
        "NodeNames": None if names is None else list(names),
    }


def binding(wanted: PodBuilder | Json, node_name: str) -> Json:
    """Write the body of bind."""
    metadata = built(wanted)["metadata"]
    return {
        "PodName": metadata["name"],
        "PodNamespace": metadata["namespace"],
        "PodUID": metadata["uid"],
        "Node": node_name,
    }


def _as_sent(shown: Json) -> Json:
    """Leave out what Go's typed objects do not have."""
    return {key: shown[key] for key in shown if key not in ("kind", "apiVersion")}


def container_usages(shown: Json) -> list[ContainerUsage]:
    """Read a pod's allocation without our reader; empty rows are kept."""
    spec = shown["spec"]
    lifetimes = [
        Lifetime.SIDECAR if each.get("restartPolicy") == "Always" else Lifetime.INIT
        for each in spec.get("initContainers", [])
    ] + [Lifetime.APP for _ in spec["containers"]]
    rows = shown["metadata"].get("annotations", {}).get(ALLOCATED)
    if rows is None:
        return []
    return [
        ContainerUsage(lifetime, _held(row))
        for lifetime, row in zip(lifetimes, rows.split(";")[:-1], strict=True)
    ]


def _held(row: str) -> dict[DeviceUUID, Usage]:
    shares = [share.split(",") for share in row.split(":") if share]
    return {
        DeviceUUID(uuid): Usage(1, int(memory), int(cores))
        for uuid, _, memory, cores in shares
    }


def effective(shown: Json) -> dict[str, tuple[int, int, int]]:
    """Give the oracle's charge for a whole life: slots, MiB, percent, per device."""
    most = timeline_effective(container_usages(shown))
    return {
        uuid: (held.slots, held.memory_mib, held.core_percent)
        for uuid, held in most.items()
    }
