"""What the cluster's nodes say that an installation has to be about."""

from extender.core.kind_set import Kinds
from extender.state.ledger_view import LedgerView
from extender.verbs.installation.documents import Demand


def demand_of(ledger: LedgerView, kinds: Kinds) -> Demand:
    """Tell which kinds of card nodes have, and which resources they report.

    Of the resources of a kind only its count is known to be reported, but for kinds
    whose cards are told by the capacity of others. Cost: O(nodes x kinds).
    """
    present = frozenset(
        word
        for node in ledger.nodes.values()
        for word, inventory in node.inventories.items()
        if inventory.devices
    )
    reported = frozenset(
        name
        for kind in kinds
        if kind.capacity_cards is not None
        for name in kind.capacity_cards.resources
    )
    return Demand(kinds, present, reported, len(ledger.nodes))
