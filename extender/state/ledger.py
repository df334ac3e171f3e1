"""The ledger: every node's cards, and who holds them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.model import Node, NodeName, Pod, PodUID
from extender.state.events import (
    Event,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Reserved,
    Unreserved,
)
from extender.state.holdings import Footing, Reservation, Standing, standing_of


class Ledger:
    """The single mutable object; `apply` is its only door.

    A pod moves through::

        (absent) --Reserved--> reserved --PodSeen bound--> bound
        (absent) --PodSeen bound--> bound
        reserved --Unreserved or PodGone--> (absent)
        bound --PodSeen finished, or PodGone--> (absent)

    A reserved or bound pod is charged by `extender.core.phases.current_charge`. Events
    may repeat; a view that would unbind a pod, or bring a finished one back, is late
    and is passed over.

    Invariant: for each card, the fleet's ``used`` is the sum of the charges of the
    pods on its node; `extender.state.audit` recomputes and compares. It may exceed
    the capacity: what others bound is recorded, not refused.

    Ownership: only `extender.service` calls `apply`. Not thread-safe: one event loop
    is the lock.
    """

    def __init__(self) -> None:
        self._fleet = Fleet()
        self._nodes: dict[NodeName, Node] = {}
        self._pods: dict[PodUID, Pod] = {}
        self._reservations: dict[PodUID, Reservation] = {}
        self._standings: dict[PodUID, Standing] = {}
        self._held_on: dict[NodeName, dict[PodUID, Holding]] = {}
        self._nominated: dict[PodUID, Pod] = {}
        self._generation = 0

    @property
    def fleet(self) -> Fleet:
        """The arrays; for reading."""
        return self._fleet

    @property
    def nodes(self) -> Mapping[NodeName, Node]:
        """Every node that the API shows."""
        return MappingProxyType(self._nodes)

    @property
    def pods(self) -> Mapping[PodUID, Pod]:
        """Every pod that the API shows, or that we reserved for."""
        return MappingProxyType(self._pods)

    def standing(self, pod_uid: PodUID) -> Standing | None:
        """Tell what a pod counts for; None for an unknown pod."""
        return self._standings.get(pod_uid)

    def reservation(self, pod_uid: PodUID) -> Reservation | None:
        """Tell where a place is held for a pod that is not shown bound yet."""
        return self._reservations.get(pod_uid)

    def holding(self, pod_uid: PodUID) -> Holding | None:
        """Tell what a pod adds to the totals."""
        standing = self._standings.get(pod_uid)
        return standing.holding if standing else None

    def holdings_on(self, node_name: NodeName) -> Iterable[Holding]:
        """List what is held on one node, also when the node itself is unknown."""
        return self._held_on.get(node_name, {}).values()

    def standings(self) -> Iterator[tuple[Pod, Standing]]:
        """List every pod that counts somewhere, in the order of arrival."""
        for pod_uid, standing in self._standings.items():
            if standing.footing is not Footing.NOTHING:
                yield self._pods[pod_uid], standing

    @property
    def generation(self) -> int:
        """How many events were applied: what was worked out holds while it stays."""
        return self._generation

    def nominated(self) -> Iterable[Pod]:
        """List the unbound pods that others were evicted for."""
        return self._nominated.values()

    def fleet_of(self, nodes: Sequence[Node]) -> Fleet:
        """Combine the inventory of `nodes` with what the ledger holds on them.

        For requests that bring their own node objects. Nothing is recorded.
        """
        fleet = Fleet()
        for node in nodes:
            fleet.put(node, self.holdings_on(node.name))
        return fleet

    def apply(self, event: Event) -> None:
        """Take in one event.

        Cost: O(cards + holdings) of one node for `NodeSeen`, O(1) for the others.
        """
        self._generation += 1
        match event:
            case NodeSeen(node):
                self._see_node(node)
            case NodeGone(node_name):
                self._nodes.pop(node_name, None)
                self._fleet.remove(node_name)
            case PodSeen(pod):
                self._see_pod(pod)
            case PodGone(pod_uid):
                self._forget(pod_uid)
            case Reserved(pod, node_name, allocation):
                known = self._pods.get(pod.uid, pod)
                if known.node_name is None:
                    self._reservations[pod.uid] = Reservation(node_name, allocation)
                self._restate(known)
            case Unreserved(pod_uid):
                if self._reservations.pop(pod_uid, None) is not None:
                    self._restate(self._pods[pod_uid])

    def _see_node(self, node: Node) -> None:
        if self._nodes.get(node.name) == node:
            return
        self._nodes[node.name] = node
        self._fleet.put(node, self.holdings_on(node.name))

    def _see_pod(self, pod: Pod) -> None:
        known = self._pods.get(pod.uid)
        if known is not None and _is_older(pod, known):
            return
        self._restate(pod)
        if pod.node_name is not None:
            self._reservations.pop(pod.uid, None)

    def _restate(self, pod: Pod) -> None:
        before = self._standings.get(pod.uid)
        standing = standing_of(
            pod,
            self._reservations.get(pod.uid),
            before.seen_allocations if before else (),
        )
        self._pods[pod.uid] = pod
        if _waits_on_a_node(pod, standing):
            self._nominated[pod.uid] = pod
        else:
            self._nominated.pop(pod.uid, None)
        self._standings[pod.uid] = standing
        self._replace(pod.uid, before.holding if before else None, standing.holding)

    def _forget(self, pod_uid: PodUID) -> None:
        self._pods.pop(pod_uid, None)
        self._nominated.pop(pod_uid, None)
        self._reservations.pop(pod_uid, None)
        standing = self._standings.pop(pod_uid, None)
        if standing is not None:
            self._replace(pod_uid, standing.holding, None)

    def _replace(
        self, pod_uid: PodUID, old: Holding | None, new: Holding | None
    ) -> None:
        if old == new:
            return
        if old is not None:
            self._fleet.subtract(old)
            held = self._held_on[old.node_name]
            del held[pod_uid]
            if not held:
                del self._held_on[old.node_name]
        if new is not None:
            self._fleet.add(new)
            self._held_on.setdefault(new.node_name, {})[pod_uid] = new


def _is_older(shown: Pod, known: Pod) -> bool:
    """Whether a view steps back: a pod is never unbound again, nor unfinished."""
    return (known.node_name is not None and shown.node_name is None) or (
        known.status.is_finished and not shown.status.is_finished
    )


def _waits_on_a_node(pod: Pod, standing: Standing) -> bool:
    return (
        pod.nominated_node is not None
        and pod.node_name is None
        and standing.holding is None
        and pod.request.asks_for_devices
        and not pod.status.is_finished
        and not pod.status.is_terminating
    )
