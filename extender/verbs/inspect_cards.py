"""Cards with what is charged on them, and whether they take anything more."""

from collections.abc import Iterator, Sequence

from extender.core.closed_cards import closed_cards
from extender.core.kind_set import Kinds
from extender.core.kinds import Kind, RequestRule
from extender.core.names import DeviceUUID, NodeName
from extender.core.node import Device
from extender.core.reasons import REASON_OF, Reason
from extender.core.usage import NOTHING, Usage
from extender.state.ledger_view import LedgerView
from extender.verbs.inspection import InspectedCard

ClosedBy = dict[tuple[NodeName, DeviceUUID], Reason]
"""Why cards that count take no further container; open ones are not there."""


def closed_by(ledger: LedgerView, kinds: Kinds, names: Sequence[NodeName]) -> ClosedBy:
    """Tell which cards of some nodes are closed.

    Cost: a copy of these nodes' arrays, and a few vector operations.
    """
    found: ClosedBy = {}
    for kind in kinds:
        for cards, positions in ledger.fleet.of(kind.type_word).nodes(names):
            codes = closed_cards(cards)
            for position, column in zip(*codes.nonzero(), strict=True):
                name = names[positions[column]]
                uuid = cards.device_uuid(position, column)
                found[name, uuid] = REASON_OF[int(codes[position, column])]
    return found


def cards_on(
    ledger: LedgerView, kinds: Kinds, name: NodeName, closed: ClosedBy
) -> Iterator[InspectedCard]:
    """List a node's cards, also those that do not count; holders are left out.

    Args:
        ledger: The state.
        kinds: Those that are scheduled.
        name: Of the node.
        closed: By `closed_by` of this node at this moment.

    Cost: O(cards + holdings) of the node.
    """
    node = ledger.nodes.get(name)
    if node is None:
        return
    charged: dict[DeviceUUID, Usage] = {}
    for holding in ledger.holdings_on(name):
        for uuid, usage in holding.charge.items():
            charged[uuid] = charged.get(uuid, NOTHING) + usage
    for kind in kinds:
        inventory = node.inventories.get(kind.type_word)
        devices = (inventory.devices if inventory else None) or ()
        unusable = ledger.fleet.of(kind.type_word).why_unusable(name)
        for device in sorted(devices, key=lambda card: (card.index, card.device_uuid)):
            uuid = device.device_uuid
            reason = unusable or closed.get((name, uuid))
            yield _card(kind, device, charged.get(uuid, NOTHING), reason)


def _card(
    kind: Kind, device: Device, charged: Usage, reason: Reason | None
) -> InspectedCard:
    free_mib = max(device.capacity.memory_mib - charged.memory_mib, 0)
    return InspectedCard(
        device.device_uuid,
        device.index,
        device.model,
        kind.type_word,
        device.mode,
        device.capacity,
        charged,
        reason,
        free_mib if reason is not None and kind.counts_memory else 0,
        counts_units=kind.tells_cores_apart or RequestRule.CORES_OF_CARD in kind.rules,
    )
