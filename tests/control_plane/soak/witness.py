"""Whoever holds the cluster against its capacity at every change, and tells why.

That more is held than there is may be true: containers run again that had ended. So
each excess gets a cause, by what happened when it appeared:

placed
    A pod was bound there that did not fit at any moment of its bind. Must not happen.
crossed
    A pod was bound there that fitted at some moment after this bind of it took the
    node's lock; what an earlier bind saw, that gave up, excuses nothing. Before the
    Binding was carried out, another pod's containers began to run again. Nobody can
    exclude that: kubelet asks no one.
re-inflated
    A pod that was bound there already counts more than before.
shrunk
    The node offers less than before.
"""

from collections import Counter
from collections.abc import Set as AbstractSet
from enum import StrEnum

from tests.builders import Json
from tests.control_plane.judging import name_of
from tests.control_plane.plugin import BIND_PHASE, LOCK, TO_ALLOCATE, WORDS
from tests.control_plane.soak.excuses import Wrong
from tests.control_plane.soak.locks import Locks
from tests.control_plane.soak.places import IDS, Held, Place, held_by
from tests.control_plane.soak.stream import Change, Kind


class Cause(StrEnum):
    """Why more is held than there is."""

    PLACED = "placed"
    CROSSED = "crossed"
    RE_INFLATED = "re-inflated"
    SHRUNK = "shrunk"


class Witness:
    """Follows every change of a cluster."""

    def __init__(self) -> None:
        self.events = 0
        self.causes = Counter[Cause]()
        """How often a card, or the ids of a node, came to hold too much."""

        self.crossed_cards = 0
        """How often that was a card, and the cause crossed."""

        self.told: list[str] = []
        """Each of these times, in words."""

        self.wrongs: list[Wrong] = []
        """What must not happen: a pod that was placed without room, or bound without
        the node's lock, or while another pod there was still to be served."""

        self.places: dict[str, Place] = {}
        self._bound: dict[str, Json] = {}
        self._over: dict[str, AbstractSet[str]] = {}
        self._locks = Locks()

    def see(self, change: Change) -> None:
        """Look at one change."""
        self.events += 1
        if change.kind is Kind.NODE:
            self._see_node(change)
        elif change.after is None:
            self._see_gone(change)
        elif "nodeName" in change.after["spec"]:
            self._see_on_node(change, change.after)

    def _see_node(self, change: Change) -> None:
        if change.after is None:
            return
        self.places.setdefault(change.name, Place()).know(change.after)
        self._judge(change, change.name, Cause.SHRUNK)
        value = change.after["metadata"].get("annotations", {}).get(LOCK, "")
        self._locks.see(change.name, value, change.revision)

    def _see_gone(self, change: Change) -> None:
        self._locks.forget(change.name)
        if change.before is None:
            return
        self._bound.pop(change.before["metadata"]["uid"], None)
        node_name = change.before["spec"].get("nodeName")
        if node_name is not None:
            uid = change.before["metadata"]["uid"]
            self.places[node_name].put(uid, None, change.revision)
            self._over[node_name] = self.places[node_name].excesses().keys()

    def _see_on_node(self, change: Change, shown: Json) -> None:
        uid, node_name = shown["metadata"]["uid"], shown["spec"]["nodeName"]
        place, held = self.places[node_name], held_by(shown)
        if uid in self._bound:
            place.put(uid, held, change.revision)
            self._judge(change, node_name, Cause.RE_INFLATED)
        else:
            since = self._locks.taken_for(shown, change.name)
            has_fitted = place.would_have_fitted(held, since or change.revision)
            place.put(uid, held, change.revision)
            cause = Cause.CROSSED if has_fitted else Cause.PLACED
            self._judge(change, node_name, cause, bound_to=held.subjects)
            self._check_turn(change, node_name, held)
        self._bound[uid] = shown

    def _judge(
        self,
        change: Change,
        node_name: str,
        cause: Cause,
        bound_to: AbstractSet[str] = frozenset(),
    ) -> None:
        """Count what became too much, and that to which a pod was bound although."""
        excesses = self.places[node_name].excesses()
        before = self._over.get(node_name, frozenset())
        for subject, text in excesses.items():
            if subject not in before or subject in bound_to:
                self.causes[cause] += 1
                self.crossed_cards += cause is Cause.CROSSED and subject != IDS
                self._tell(change, f"{cause}: {node_name}: {text}")
        if cause is Cause.PLACED and bound_to & excesses.keys():
            self.wrongs.append(Wrong(self.told[-1]))
        self._over[node_name] = excesses.keys()

    def _check_turn(self, change: Change, node_name: str, held: Held) -> None:
        """Hold a bind against the rule that a node serves one pod after another."""
        if not held.ids:
            return
        owner = self._locks.owner_of(node_name)
        if owner != change.name:
            self._wrong(change, f"bound to {node_name} while it is locked by {owner!r}")
        for uid, other in self._bound.items():
            if other["spec"]["nodeName"] == node_name and is_unserved(other):
                text = f"bound to {node_name} while {name_of(other)} is unserved"
                self._wrong(change, text, uid)

    def _wrong(self, change: Change, text: str, *others: str) -> None:
        assert change.after is not None
        self._tell(change, text)
        uids = frozenset([change.after["metadata"]["uid"], *others])
        self.wrongs.append(Wrong(self.told[-1], uids))

    def _tell(self, change: Change, text: str) -> None:
        self.told.append(f"revision {change.revision}, {change.name}: {text}")


def is_unserved(pod: Json) -> bool:
    """Whether the device plugin still has to serve a bound pod."""
    texts = pod["metadata"].get("annotations", {})
    is_left = any(word in texts.get(TO_ALLOCATE, "") for word in WORDS)
    is_open = texts.get(BIND_PHASE) == "allocating" or is_left
    return pod["status"]["phase"] == "Pending" and is_open
