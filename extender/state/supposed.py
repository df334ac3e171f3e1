"""A copy of the state to try things on; the ledger that it is of never changes."""

from collections.abc import Collection, Generator, Iterable

from extender.core.allocation import Allocation
from extender.core.fleet import Fleet
from extender.core.holding import Holding
from extender.core.names import NodeName, PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.core.quota_room import QuotaRooms
from extender.state.events import QuotaSeen
from extender.state.holdings import Reservation, standing_of
from extender.state.ledger_view import LedgerView
from extender.state.quotas import NO_CHARGES, Charged, Quotas

_NODES_A_STEP = 16


class SupposedState:
    """Cards, what is held on them, and one namespace's quotas, to place pods on.

    Whatever is placed here is charged as the ledger charges a reservation.
    """

    def __init__(
        self, nodes: Collection[NodeName], fleet: Fleet, quotas: Quotas
    ) -> None:
        """Take over what `copied` has put together."""
        self.node_names = tuple(sorted(nodes))
        self.fleet = fleet
        self._quotas = quotas

    @classmethod
    def copied(
        cls,
        ledger: LedgerView,
        namespace: str,
        added: Iterable[Node] = (),
        without: Collection[PodUID] = (),
    ) -> Generator[None, None, "SupposedState"]:
        """Copy a ledger as it is now, in steps of some milliseconds.

        Args:
            ledger: Read in the first step alone, so that the copy is of one moment.
            namespace: Whose quotas are copied.
            added: Nodes besides, on which nothing is held.
            without: Pods that are left out, with all that they hold.

        Cost: O(cards + holdings).
        """
        held = [
            (node, _without(ledger, node.name, without))
            for node in ledger.nodes.values()
        ]
        held += [(node, []) for node in added]
        quotas = _quotas(ledger, namespace, without)
        yield
        fleet = Fleet()
        for number, (node, holdings) in enumerate(held, start=1):
            fleet.put(node, holdings)
            if number % _NODES_A_STEP == 0:
                yield
        return cls([node.name for node, _ in held], fleet, quotas)

    def alone(self, node: Node) -> "SupposedState":
        """Give one empty node alone, under a copy of the quotas."""
        fleet = Fleet()
        fleet.put(node, ())
        return SupposedState([node.name], fleet, _copied(self._quotas))

    def empty(self, node: Node) -> None:
        """Go on with this empty node alone; what was placed stays charged to quotas."""
        self.fleet = Fleet()
        self.fleet.put(node, ())
        self.node_names = (node.name,)

    def rooms(self, pod: Pod) -> QuotaRooms:
        """Tell what the quotas leave a pod that holds nothing yet."""
        return self._quotas.rooms(pod.namespace, pod.quota_traits)

    def place(self, pod: Pod, node_name: NodeName, allocation: Allocation) -> None:
        """Charge a pod, as a further one of its kind."""
        standing = standing_of(pod, Reservation(node_name, allocation), None)
        if standing.holding is not None:
            self.fleet.add(standing.holding)
        self._quotas.replace(None, Charged.of(pod, standing.quota), 0)


def _without(
    ledger: LedgerView, name: NodeName, without: Collection[PodUID]
) -> list[Holding]:
    holders = ledger.holders_on(name)
    return [holding for uid, holding in holders.items() if uid not in without]


def _copied(quotas: Quotas) -> Quotas:
    found = Quotas()
    for quota in quotas:
        found.see(QuotaSeen(quota), 0)
    for namespace, sums in quotas.sums.items():
        for traits, charges in sums.items():
            found.replace(None, Charged(namespace, traits, dict(charges)), 0)
    return found


def _quotas(ledger: LedgerView, namespace: str, without: Collection[PodUID]) -> Quotas:
    quotas = Quotas()
    for quota in ledger.quotas.of(namespace):
        quotas.see(QuotaSeen(quota), 0)
    for traits, charges in ledger.quotas.sums.get(namespace, {}).items():
        quotas.replace(None, Charged(namespace, traits, dict(charges)), 0)
    for uid in without:
        pod, standing = ledger.pods.get(uid), ledger.standing(uid)
        if pod is not None and pod.namespace == namespace:
            held = standing.quota if standing else NO_CHARGES
            quotas.replace(Charged.of(pod, held), None, 0)
    return quotas
