"""What bound pods hold, against what they ask for and what their node has."""

from collections.abc import Iterator
from dataclasses import dataclass

from extender.core.allocation import Share, UnreadableAllocation
from extender.core.cards import Cards
from extender.core.names import DeviceUUID, KindWord, NodeName
from extender.core.needs import share_needed
from extender.core.pod import Pod
from extender.core.pod_request import ContainerRequest
from extender.state.holdings import Footing, Standing
from extender.verbs.diagnosis import Diagnosis
from extender.verbs.doctor.catalogue import (
    ALLOCATION_DIFFERS_FROM_SPEC,
    ALLOCATION_EDITED,
    ALLOCATION_LEFTOVER,
    ALLOCATION_LOST,
    ALLOCATION_MISSING,
    ALLOCATION_NAMES_UNKNOWN_CARD,
    ALLOCATION_UNREADABLE,
    POD_NOT_SERVED,
    REQUEST_UNREADABLE,
    SETTING_IGNORED,
)
from extender.verbs.doctor.signs import Signs


@dataclass(frozen=True, slots=True)
class Place:
    """A node as far as allocations are compared with it.

    Attributes:
        name: Of the node.
        registered: UUIDs of its cards, by kind; no entry where they cannot be read.
        cards: Its cards that count, by kind, with their place in the arrays.
    """

    name: NodeName
    registered: dict[KindWord, frozenset[DeviceUUID]]
    cards: dict[KindWord, tuple[Cards, dict[DeviceUUID, int]]]

    @classmethod
    def of(cls, signs: Signs, name: NodeName) -> "Place":
        """Look a node up. Cost: a copy of its arrays."""
        node = signs.ledger.nodes.get(name)
        registered, found = {}, {}
        for kind in signs.kinds:
            word = kind.type_word
            inventory = node.inventories.get(word) if node is not None else None
            if inventory is None or inventory.devices is None:
                continue
            registered[word] = frozenset(each.device_uuid for each in inventory.devices)
            cards = signs.ledger.fleet.of(word).node(name)
            if cards is not None:
                positions = {
                    cards.device_uuid(position, 0): position
                    for position in cards.exists[:, 0].nonzero()[0].tolist()
                }
                found[word] = (cards, positions)
        return cls(name, registered, found)


def check_waiting(pod: Pod) -> Iterator[Diagnosis]:
    """Tell what is wrong with a pod that holds nothing yet."""
    about = f"pod {pod.full_name}"
    if pod.request_problem is not None and not pod.status.is_finished:
        yield REQUEST_UNREADABLE.found(about, pod.request_problem)
    if pod.leftovers:
        yield ALLOCATION_LEFTOVER.found(
            about,
            "it is not bound, and says that it holds devices",
            f"annotations: {', '.join(pod.leftovers)}",
        )


def check_settings(pod: Pod) -> Iterator[Diagnosis]:
    """Tell what of a pod's annotations is not heeded."""
    for warning in pod.warnings:
        yield SETTING_IGNORED.found(f"pod {pod.full_name}", warning)


def check_allocation(
    signs: Signs, pod: Pod, standing: Standing, place: Place
) -> Iterator[Diagnosis]:
    """Tell what is wrong with what a pod holds on a node.

    Args:
        signs: What is examined.
        pod: Bound to the node, or reserved there: then a bind is under way, and
            nothing is wrong.
        standing: What it counts for.
        place: The node.
    """
    if standing.footing is Footing.RESERVED or pod.node_name is None:
        return
    about = f"pod {pod.full_name}"
    yield from _check_footing(signs, pod, standing)
    if len(standing.charged_by) > 1:
        former, now = (_told(pod, rows) for rows in standing.charged_by[-2:])
        yield ALLOCATION_EDITED.found(
            about, "its allocation was changed after it was bound", *former, *now
        )
    if pod.is_unserved and not pod.status.is_terminating and not signs.is_recent(pod):
        yield POD_NOT_SERVED.found(
            about,
            f"no device plugin on node {place.name} has handed out its devices",
            signs.bound_for(pod),
            _lock_evidence(signs, pod, place.name),
        )
    if isinstance(pod.allocation, tuple) and len(pod.allocation) == len(pod.containers):
        yield from _check_cards(pod, pod.allocation, place)
        if pod.request_problem is None:
            yield from _check_spec(pod, place)


def _check_footing(signs: Signs, pod: Pod, standing: Standing) -> Iterator[Diagnosis]:
    about = f"pod {pod.full_name}"
    problem = "it has no allocation"
    if isinstance(pod.allocation, UnreadableAllocation):
        problem = pod.allocation.problem
    match standing.footing:
        case Footing.QUARANTINED:
            hidden = standing.holding.hides if standing.holding else ()
            named = standing.holding.quarantined if standing.holding else ()
            shut = f"all {', '.join(sorted(hidden))} cards" if hidden else "none"
            if named:
                shut = ", ".join(named)
            yield ALLOCATION_UNREADABLE.found(
                about, problem, f"cards that take nothing new for it: {shut}"
            )
        case Footing.LAST_READABLE:
            yield ALLOCATION_LOST.found(
                about, problem, *_told(pod, standing.charged_by[-1])
            )
        case Footing.UNMANAGED if not signs.is_recent(pod):
            who = f"scheduler {pod.scheduler_name or 'not named'}"
            ids = ", ".join(f"{n} of {k}" for k, n in pod.kubelet_slots.items())
            yield ALLOCATION_MISSING.found(
                about,
                "it is bound and asks for devices, and no allocation says which",
                f"{who}; device ids: {ids}",
                signs.bound_for(pod),
            )
        case _:
            pass


def _lock_evidence(signs: Signs, pod: Pod, name: NodeName) -> str:
    lock = signs.lock_of.get(name)
    owner = lock.seen.owner if lock is not None and lock.seen is not None else None
    if owner is not None and owner.uid == pod.uid:
        return "the node's lock names it: nobody else is bound there"
    if owner is not None:
        return f"the node's lock names pod {owner.full_name}"
    return "the node's lock does not name it: a plugin that goes by it passes it over"


def _told(pod: Pod, rows: tuple[tuple[Share, ...], ...]) -> Iterator[str]:
    for container, row in zip(pod.containers, rows, strict=True):
        for share in row:
            yield f"{container.name} has {_share(share)}"


def _share(share: Share) -> str:
    return (
        f"{share.memory_mib} MiB, {share.core_percent} % of cores on "
        f"{share.device_uuid}"
    )


def _check_cards(
    pod: Pod, rows: tuple[tuple[Share, ...], ...], place: Place
) -> Iterator[Diagnosis]:
    lost = {
        share.device_uuid: None
        for row in rows
        for share in row
        if share.device_uuid
        not in place.registered.get(share.kind, (share.device_uuid,))
    }
    if lost:
        yield ALLOCATION_NAMES_UNKNOWN_CARD.found(
            f"pod {pod.full_name}",
            f"node {place.name} does not register {', '.join(lost)}",
        )


def _check_spec(pod: Pod, place: Place) -> Iterator[Diagnosis]:
    found = list(_differences(pod, place))
    if found:
        yield ALLOCATION_DIFFERS_FROM_SPEC.found(
            f"pod {pod.full_name}",
            "what it holds is not what its containers ask for",
            *found,
        )


def _differences(pod: Pod, place: Place) -> Iterator[str]:
    """Compare amounts; rows whose counts differ cannot be read in the first place."""
    rows = pod.allocation
    if not isinstance(rows, tuple):
        return
    asked_of = {request.kind: request.containers for request in pod.requests}
    for index, (container, row) in enumerate(zip(pod.containers, rows, strict=True)):
        for share in row:
            if share.kind in asked_of:
                asked = asked_of[share.kind][index]
                yield from _amounts(container.name, share, asked, place)


def _amounts(
    name: str, share: Share, asked: ContainerRequest, place: Place
) -> Iterator[str]:
    """Compare a share with what the same container would be given of the same card."""
    if share.kind not in place.cards:
        return
    cards, positions = place.cards[share.kind]
    position = positions.get(share.device_uuid)
    if position is None:
        return
    slots, memory_mib, core_percent = (
        share_needed(cards, asked).at(position, 0).tolist()
    )
    if not slots:
        return  # the card has no such profile any more
    if share.instance is not None:
        is_so = share.memory_mib >= memory_mib
    else:
        is_so = (share.memory_mib, share.core_percent) == (memory_mib, core_percent)
    if not is_so:
        yield (
            f"{name} asks for {memory_mib} MiB, {core_percent} % of cores and has "
            f"{_share(share)}"
        )
