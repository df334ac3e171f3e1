"""One pod of each vendor's kind, through the real kube-scheduler and API server."""

import asyncio

from tests.builders import Json, node, pod
from tests.control_plane.client import Api, path_of
from tests.control_plane.extender import gpu_extender
from tests.control_plane.plane import ControlPlane
from tests.control_plane.scheduler import kube_scheduler, scheduler_name
from tests.shipped import SHIPPED, SHIPPED_FILE
from tests.vendors import ROWS, Shown

_MARK = "test/vendor"

BESIDE = {
    "a profile by slots": {
        "enflame.com/gcu-assigned": "false",
        "enflame.com/gcu-assigned-index": "0",
        "enflame.com/gcu-request-size": "3",
        "assigned-containers": (
            '{"a":{"allocated":false,"request":3,"profileID":"1",'
            '"profileName":"3g.20gb"}}'
        ),
    },
    "Neuron devices": {"AWS_NEURON_IDS": "0,1,2,3", "NEURON_ALLOCATED": "false"},
    "a Neuron core": {
        "AWS_NEURON_IDS": "0",
        "NEURON_RESOURCE_TYPE": "aws.amazon.com/neuroncore",
    },
}
"""What else of each pod its device plugin reads, by the row of the table."""


def node_of(name: str, shown: Shown) -> Json:
    """Describe a vendor's node; all that it has can be asked for."""
    _, capacity, annotations, _, _ = shown
    made = node(name).build()
    made["metadata"]["labels"] = {_MARK: name}
    made["metadata"]["annotations"] = annotations
    for amounts in ("capacity", "allocatable"):
        shown_there = made["status"].setdefault(amounts, {})
        shown_there.update({key: str(each) for key, each in capacity.items()})
    return made


def pod_of(name: str, shown: Shown) -> Json:
    """Describe a pod for that node alone, since several have the same resource."""
    limits = {resource: str(each) for resource, each in shown[3].items()}
    made = pod(name).app("a").build()
    made["spec"]["containers"][0]["resources"] = {"limits": limits}
    made["spec"]["nodeSelector"] = {_MARK: name}
    return made


async def test_a_pod_of_each_kind_is_placed(
    control_plane: ControlPlane, api: Api
) -> None:
    """With the rows, in the vendor's own words, that its device plugin looks for."""
    kinds = [SHIPPED[word] for word in dict.fromkeys(each[0] for each in ROWS.values())]
    named = {f"v{number}": shown for number, shown in enumerate(ROWS.values())}
    titles = dict(zip(named, ROWS, strict=True))
    async with (
        gpu_extender(
            control_plane, options=("--device-config", str(SHIPPED_FILE))
        ) as running,
        kube_scheduler(control_plane, running.url, kinds=kinds),
    ):
        for name, shown in named.items():
            await api.create_node(node_of(name, shown))
        created = await asyncio.gather(
            *(
                api.create_pod(pod_of(name, shown), scheduler_name=scheduler_name())
                for name, shown in named.items()
            )
        )
        for each in created:
            name = each["metadata"]["name"]
            word, _, _, _, rows = named[name]
            bound = await api.when(path_of(each), _is_bound, wanted="bound")
            kind, annotations = SHIPPED[word], bound["metadata"]["annotations"]
            assert annotations.items() >= BESIDE.get(titles[name], {}).items()
            expected = rows.replace("n1-", f"{name}-")
            assert annotations[kind.allocated_annotation] == expected
            if kind.to_allocate_annotation is not None:
                assert annotations[kind.to_allocate_annotation] == expected


def _is_bound(shown: Json) -> bool:
    return "nodeName" in shown["spec"]
