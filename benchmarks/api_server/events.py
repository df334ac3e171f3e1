"""What happens to the pods and nodes of a large cluster, as lines of a watch.

Most of it changes nothing that the extender keeps: kubelets write statuses of pods,
device plugins write that they live. Some pods end, and others take their place, each
seen as often as the API server shows it on its way.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count, cycle, islice
from random import Random
from typing import Final
from uuid import UUID

import orjson

from benchmarks.cluster import Manifest

Change = tuple[str, Manifest]
"""Type and object of a watch's event, before it has a version."""

_ALLOCATED: Final = "hami.io/vgpu-devices-allocated"
_TO_ALLOCATE: Final = "hami.io/vgpu-devices-to-allocate"
_PHASE: Final = "hami.io/bind-phase"
_HANDSHAKE: Final = "hami.io/node-handshake"
_NOW: Final = "2026-01-02T00:00:00Z"
_APART: Final = (50, 400)
"""Events of others between two of one pod: at 2,000/s, 25 to 200 ms."""

_TRIES: Final = 20


class PodLives:
    """The pods of a cluster, as they live on with every event that is taken.

    The same arguments always give the same events. A pod that takes another's place
    holds what that one held, so no card is ever overfull.
    """

    def __init__(
        self,
        gpu_pods: Sequence[Manifest],
        plain_pods: Sequence[Manifest],
        mix: Mapping[str, float],
        seed: int = 0,
    ) -> None:
        """Begin with running pods.

        Args:
            gpu_pods: As `benchmarks.cluster` makes them.
            plain_pods: Pods without GPU; may be empty where the mix has none of them.
            mix: How often each of `KINDS` begins, relative to the others.
            seed: Of chance.
        """
        self._gpu, self._plain = list(gpu_pods), list(plain_pods)
        self._mix = {KINDS[name]: weight for name, weight in mix.items() if weight}
        self._random = Random(seed)  # noqa: S311 - the same load in every run
        self._busy: set[tuple[int, int]] = set()

    def changes(self) -> Iterator[Change]:
        """Tell what happens, without an end."""
        waiting: list[tuple[int, int, Iterator[Change]]] = []
        lives = count()
        now = 0
        while True:
            if waiting and waiting[0][0] <= now:
                _, number, life = heappop(waiting)
            else:
                number, life = next(lives), self._begin()
            change = next(life, None)
            now += 1  # also where a life is over, or no pod was free to begin one
            if change is not None:
                yield change
                later = now + self._random.randint(*_APART)
                heappush(waiting, (later, number, life))

    def _begin(self) -> Iterator[Change]:
        kind = self._random.choices(list(self._mix), list(self._mix.values()))[0]
        return kind(self)

    def _gpu_status(self) -> Iterator[Change]:
        return self._status(self._gpu)

    def _plain_status(self) -> Iterator[Change]:
        return self._status(self._plain)

    def _status(self, pods: list[Manifest]) -> Iterator[Change]:
        """Have a container restart, which changes no charge."""
        place = self._free_place(pods)
        if place is None:
            return
        first, *others = pods[place]["status"]["containerStatuses"]
        again = first | {"restartCount": first["restartCount"] + 1}
        pods[place] = _with_status(pods[place], containerStatuses=[again, *others])
        yield "MODIFIED", pods[place]

    def _gpu_replaced(self) -> Iterator[Change]:
        """Have a job end, and another take its place."""
        place = self._free_place(self._gpu)
        if place is None:
            return
        self._busy.add((id(self._gpu), place))
        ended = _with_status(self._gpu[place], phase="Succeeded")
        yield "MODIFIED", ended
        yield "DELETED", ended
        running = self._gpu[place] = self._successor(self._gpu[place])
        yield "ADDED", _pending(running)
        yield "MODIFIED", _bound(running)
        yield "MODIFIED", _with_status(running, **_NOT_STARTED)
        if running["spec"]["initContainers"]:
            yield "MODIFIED", _starting(running)
        yield "MODIFIED", running
        self._busy.discard((id(self._gpu), place))

    def _plain_replaced(self) -> Iterator[Change]:
        """Have a pod deleted, and its ReplicaSet make another."""
        place = self._free_place(self._plain)
        if place is None:
            return
        self._busy.add((id(self._plain), place))
        metadata = self._plain[place]["metadata"] | {"deletionTimestamp": _NOW}
        ended = self._plain[place] | {"metadata": metadata}
        yield "MODIFIED", ended
        yield "DELETED", ended
        running = self._plain[place] = self._successor(self._plain[place])
        yield "ADDED", _pending(running)
        yield "MODIFIED", _with_status(running, **_NOT_STARTED)
        yield "MODIFIED", running
        self._busy.discard((id(self._plain), place))

    def _successor(self, pod: Manifest) -> Manifest:
        """Make a pod of another name and UID in the place of one."""
        number = self._random.getrandbits(128)
        name, _, _ = pod["metadata"]["name"].partition(".")
        metadata = {"name": f"{name}.{number:032x}"[:63], "uid": str(UUID(int=number))}
        return pod | {"metadata": pod["metadata"] | metadata}

    def _free_place(self, pods: list[Manifest]) -> int | None:
        """Choose a pod that is not being replaced; None where that takes too long."""
        for _ in range(_TRIES):
            place = self._random.randrange(len(pods))
            if (id(pods), place) not in self._busy:
                return place
        return None


KINDS: Final[Mapping[str, Callable[[PodLives], Iterator[Change]]]] = {
    "gpu_status": PodLives._gpu_status,  # noqa: SLF001 - of this class, by its name
    "plain_status": PodLives._plain_status,  # noqa: SLF001
    "gpu_replaced": PodLives._gpu_replaced,  # noqa: SLF001
    "plain_replaced": PodLives._plain_replaced,  # noqa: SLF001
}
"""What can happen to a pod, by the name in the workload."""


def handshakes(nodes: Sequence[Manifest]) -> Iterator[Change]:
    """Have the device plugin of one node after another write that it lives."""
    for number, node in enumerate(cycle(nodes)):
        metadata = node["metadata"]
        shown = metadata["annotations"] | {_HANDSHAKE: f"Reported {number}"}
        yield "MODIFIED", node | {"metadata": metadata | {"annotations": shown}}


def watch_lines(
    changes: Iterable[Change],
    event_count: int,
    first_version: int,
    as_shown: Callable[[Manifest], Manifest],
) -> Iterator[bytes]:
    """Encode events as a watch tells them, with rising versions."""
    for version, (kind, obj) in enumerate(
        islice(changes, event_count), start=first_version + 1
    ):
        shown = as_shown(obj)
        shown["metadata"]["resourceVersion"] = str(version)
        yield orjson.dumps({"type": kind, "object": shown}) + b"\n"


_NOT_STARTED: Final[Manifest] = {
    "phase": "Pending",
    "conditions": [],
    "initContainerStatuses": [],
    "containerStatuses": [],
}


def _with_status(pod: Manifest, **fields: object) -> Manifest:
    return pod | {"status": pod["status"] | fields}


def _pending(pod: Manifest) -> Manifest:
    """Show a pod as it was created: unbound, and without what a bind writes."""
    metadata = pod["metadata"] | {"annotations": {}, "labels": {}}
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return _with_status(pod | {"metadata": metadata, "spec": spec}, **_NOT_STARTED)


def _bound(pod: Manifest) -> Manifest:
    """Show a GPU pod as its Binding leaves it: its devices are still to be served."""
    metadata = pod["metadata"]
    annotations = metadata["annotations"]
    due = {_PHASE: "allocating", _TO_ALLOCATE: annotations[_ALLOCATED]}
    bound = pod | {"metadata": metadata | {"annotations": annotations | due}}
    return _with_status(bound, **_NOT_STARTED)


def _starting(pod: Manifest) -> Manifest:
    """Show a pod whose inits run, and whose apps wait for them."""
    waiting = {"waiting": {"reason": "PodInitializing"}}
    status = pod["status"]
    return _with_status(
        pod,
        phase="Pending",
        initContainerStatuses=[
            shown | {"ready": False, "state": {"running": {"startedAt": _NOW}}}
            for shown in status["initContainerStatuses"]
        ],
        containerStatuses=[
            shown | {"ready": False, "started": False, "state": waiting}
            for shown in status["containerStatuses"]
        ],
    )
