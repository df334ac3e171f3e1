"""What is known of every node's cards and who holds them, for reading."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.node import Node
from extender.core.overlaid_fleet import OverlaidFleet
from extender.core.pod import Pod
from extender.core.quota_room import QuotaRooms
from extender.core.usage import Usage
from extender.state.admissions import Admissions
from extender.state.copied import LedgerCopy
from extender.state.freed import Freed
from extender.state.holdings import (
    Effect,
    Footing,
    Reservation,
    Standing,
    effect_of,
    standing_of,
)
from extender.state.overfull import Overfull, overfull_cards
from extender.state.phase_counts import PhaseCounts
from extender.state.quotas import NO_CHARGES, Charged, Quotas, Sums


class LedgerView:
    """All that can be asked of the ledger; none of it changes anything.

    What decides and what tells takes this, and so cannot record anything: that is for
    who has the `Ledger` itself.
    """

    def __init__(self) -> None:
        self._fleet = Fleet()
        self._nodes: dict[NodeName, Node] = {}
        self._pods: dict[PodUID, Pod] = {}
        self._reservations: dict[PodUID, Reservation] = {}
        self._standings: dict[PodUID, Standing] = {}
        self._held_on: dict[NodeName, dict[PodUID, Holding]] = {}
        self._nominated: dict[PodUID, Pod] = {}
        self._freed: Freed[NodeName] = Freed()
        self._quotas = Quotas()
        self._admissions = Admissions()
        self._overfull = Overfull()
        self._phase_counts = PhaseCounts()
        self._is_synced = False
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

    @property
    def reservation_count(self) -> int:
        """How many places are held for pods that are not shown bound yet."""
        return len(self._reservations)

    def holding(self, pod_uid: PodUID) -> Holding | None:
        """Tell what a pod adds to the totals."""
        standing = self._standings.get(pod_uid)
        return standing.holding if standing else None

    def holdings_on(self, node_name: NodeName) -> Iterable[Holding]:
        """List what is held on one node, also when the node itself is unknown."""
        return self._held_on.get(node_name, {}).values()

    def holders_on(self, node_name: NodeName) -> Mapping[PodUID, Holding]:
        """Tell which pod holds what on one node, also when the node is unknown."""
        return self._held_on.get(node_name, {})

    def places(self) -> list[NodeName]:
        """List every node that is known, or on which something is held."""
        return [*self._nodes, *(self._held_on.keys() - self._nodes.keys())]

    def pods_on(self, node_name: NodeName) -> list[Pod]:
        """List the pods that count on a node, bound there or reserved for."""
        return [self._pods[pod_uid] for pod_uid in self._held_on.get(node_name, ())]

    def standings(self) -> Iterator[tuple[Pod, Standing]]:
        """List every pod that counts somewhere, in the order of arrival."""
        for pod_uid, standing in self._standings.items():
            if standing.footing is not Footing.NOTHING:
                yield self._pods[pod_uid], standing

    def footing_counts(self) -> Mapping[Footing, int]:
        """Count pods by why they count as they do. Cost: O(pods)."""
        return Counter(standing.footing for standing in self._standings.values())

    @property
    def phase_counts(self) -> PhaseCounts:
        """How often phases of inits ended, and began to count again."""
        return self._phase_counts

    @property
    def generation(self) -> int:
        """How many events were applied: what was worked out holds while it stays."""
        return self._generation

    def freed_since(self, generation: int) -> list[NodeName]:
        """List nodes that may have more room than they had at a generation."""
        return self._freed.since(generation)

    @property
    def quotas(self) -> Quotas:
        """Every namespace's quotas, and what is used of them; for reading."""
        return self._quotas

    def quota_rooms(self, pod: Pod, waiting: Sums | None = None) -> QuotaRooms:
        """Tell what the quotas of its namespace leave a pod, its own charge apart.

        Args:
            pod: To be judged.
            waiting: What pods that hold nothing yet will be charged, where they are to
                be counted.
        """
        known, standing = self._pods.get(pod.uid), self._standings.get(pod.uid)
        own = Charged.of(known, standing.quota if standing else NO_CHARGES)
        return self._quotas.rooms(pod.namespace, pod.quota_traits, own, waiting or {})

    @property
    def expected_count(self) -> int:
        """How many pods were admitted and are not shown yet."""
        return self._admissions.expected_count

    def waiting_in(self, namespace: str) -> Iterator[Pod]:
        """List a namespace's pods that count at admission though they hold nothing.

        Those that wait for a place, and those that were admitted and are not shown yet.
        """
        yield from self._admissions.waiting_in(namespace)
        for pod in self._admissions.expected_in(namespace):
            if pod.uid not in self._pods:  # it may be reserved before it is shown
                yield pod

    def quota_freed_since(self, generation: int) -> list[str]:
        """List namespaces whose quotas may have more room than at a generation."""
        return self._quotas.freed.since(generation)

    @property
    def overfull(self) -> Overfull:
        """Which cards bound pods hold too much of, and why; for reading."""
        return self._overfull

    def overfull_on(
        self, node_name: NodeName
    ) -> Mapping[DeviceUUID, tuple[Usage, Usage]]:
        """List a node's cards that bound pods hold more of than there is.

        Returns:
            What is held and what there is.
        """
        node = self._nodes.get(node_name)
        held = self._held_on.get(node_name, ())
        bound = filter(None, (bound_holding(self._standings[uid]) for uid in held))
        return {} if node is None else overfull_cards(node, bound)

    def nominated(self) -> Iterable[Pod]:
        """List the unbound pods that others were evicted for."""
        return self._nominated.values()

    def effect_of(self, pod: Pod) -> Effect:
        """Tell what would change if the API showed a pod so."""
        return effect_of(self.holding(pod.uid), self._standing_of(pod).holding)

    def fleet_of(self, nodes: Sequence[Node]) -> Fleet:
        """Combine the inventory of `nodes` with what the ledger holds on them.

        For requests that bring their own node objects. Nothing is recorded.

        Args:
            nodes: Those that are not as the ledger has them; all others are.
        """
        if not nodes:
            return self._fleet
        fleet = Fleet(self._fleet.searches)
        for node in nodes:
            fleet.put(node, self.holdings_on(node.name))
        names = frozenset(node.name for node in nodes)
        return OverlaidFleet(fleet, names, self._fleet)

    def fleet_as_listed(
        self, node_name: NodeName, listed: Sequence[Pod], without: PodUID
    ) -> Fleet:
        """Combine one node with pods listed on it, and with what is reserved there.

        For a decision on a list that is newer than the events that came in. Nothing is
        recorded.

        Args:
            node_name: The only node of the fleet; a node that is unknown is not there.
            listed: Every pod that is bound there.
            without: A pod that is judged as if it held nothing itself.
        """
        fleet = Fleet(self._fleet.searches)
        node = self._nodes.get(node_name)
        if node is not None:
            seen = {pod.uid for pod in listed} | {without}
            standings = [self._standing_of(pod) for pod in listed if pod.uid != without]
            standings += [
                self._standings[pod_uid]
                for pod_uid, reservation in self._reservations.items()
                if reservation.node_name == node_name and pod_uid not in seen
            ]
            fleet.put(node, [one.holding for one in standings if one.holding])
        return fleet

    def copied(self) -> LedgerCopy:
        """Copy the state of this moment, for who reads on while events come.

        Cost: O(nodes + pods) references; 3 ms for 5,000 nodes and 40,000 pods.
        """
        return LedgerCopy(
            tuple(self._nodes.values()),
            tuple(self._pods.values()),
            dict(self._standings),
            dict(self._reservations),
            tuple(self._quotas),
            self._generation,
        )

    def _standing_of(self, pod: Pod) -> Standing:
        return standing_of(
            pod, self._reservations.get(pod.uid), self._standings.get(pod.uid)
        )


def bound_holding(standing: Standing | None) -> Holding | None:
    """Give what a pod holds as the API shows it; a reservation is not shown."""
    if standing is None or standing.footing is Footing.RESERVED:
        return None
    return standing.holding
