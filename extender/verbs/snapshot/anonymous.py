"""The same snapshot under other names, so that it decides the same.

Names that stand for the same thing become the same name, and stay in their order, by
which equal nodes, cards and pods are told apart. Texts for people are withheld. Kept
are numbers, card models, and the names of kinds, resources and annotations: see
`RULES`, which has every text of a snapshot; one that it does not list cannot be
written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, NewType, Union, cast, get_args, get_origin
from typing import get_type_hints as hints_of

from extender.core.allocation import Share, UnreadableAllocation
from extender.core.container import Container
from extender.core.holding import Holding
from extender.core.kind_admission import Admission
from extender.core.kind_parts import CapacityCards, MemorySize
from extender.core.kinds import Kind
from extender.core.mig import MigInstance, MigProfile
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.node import Device, Inventory, Node
from extender.core.pod import Placing, Pod
from extender.core.pod_request import PodRequest, Selection
from extender.core.profiles import CardProfile
from extender.core.quota_room import Quota, QuotaLimit, ShownKey
from extender.core.quota_scopes import QuotaTraits, ScopeRequirement
from extender.state.holdings import Standing
from extender.verbs.decision import Decision
from extender.verbs.snapshot.saved import Head, Snapshot

WITHHELD: Final = "withheld"


class Names:
    """New names for old ones, each kind of name in its old order."""

    def __init__(self, snapshot: Snapshot) -> None:
        found = _Found()
        found.walk(Snapshot, snapshot)
        self._of_nodes = _renamed("node", found.of[NodeName])
        self._of_devices = _renamed("device", found.of[DeviceUUID])
        self._of_uids = _renamed("uid", found.of[PodUID])
        self._classes = _renamed("class", found.classes - {""})
        # As full names are sorted: a slash stands after each namespace.
        spaces = sorted(found.namespaces, key=lambda name: f"{name}/")
        width = len(str(len(spaces)))
        self._namespaces = {
            name: f"namespace-{number:0{width}}" for number, name in enumerate(spaces)
        }
        self._pods = _renamed("pod", found.pod_names)
        self._quotas = _renamed("quota", found.quota_names)
        self._models = {model.lower() for model in found.models}
        self._modes = found.modes

    def new_type(self, of: object, value: str) -> str:
        """Rename what has a type of its own."""
        if of is NodeName:
            return self._of_nodes[value]
        if of is DeviceUUID:
            return self._of_devices[value]
        return self._of_uids[value]

    def namespace(self, value: str) -> str:
        """Rename a namespace."""
        return self._namespaces[value]

    def pod(self, value: str) -> str:
        """Rename a pod; one of the same name in another namespace is renamed alike."""
        return self._pods[value]

    def quota(self, value: str) -> str:
        """Rename a quota."""
        return self._quotas[value]

    def priority_class(self, value: str) -> str:
        """Rename a priority class; none stays none."""
        return self._classes.get(value, "")

    def card_type(self, value: str) -> str:
        """Keep a word that some card's type has in it; others match nothing."""
        lowered = value.lower()
        return value if any(lowered in each for each in self._models) else WITHHELD

    def modes(self, value: str) -> str:
        """Keep those modes of cards that stand in a text."""
        return " ".join(sorted(mode for mode in self._modes if mode and mode in value))


Rule = Callable[[Names, str], str]


def _kept(_names: Names, value: str) -> str:
    return value


def _withheld(_names: Names, value: str) -> str:
    return WITHHELD if value else ""


def _dropped(_names: Names, _value: str) -> str:
    return ""


RULES: Final[Mapping[tuple[type, str], Rule]] = {
    **{
        (of, name): _kept
        for of, names in (
            (Head, ("made_by",)),
            (Kind, tuple(each.name for each in fields(Kind))),
            (CapacityCards, tuple(each.name for each in fields(CapacityCards))),
            (MemorySize, ("name",)),
            (Admission, tuple(each.name for each in fields(Admission))),
            (PodRequest, ("kind",)),
            (Share, ("kind",)),
            (MigInstance, ("profile",)),
            (UnreadableAllocation, ("kinds",)),
            (Holding, ("kubelet_slots", "hides")),
            (Node, ("inventories",)),
            (Device, ("model", "mode", "minor")),
            (MigProfile, ("name",)),
            (CardProfile, ("name", "number")),
            (Standing, ("quota",)),
            (QuotaLimit, ("key", "kind", "unit")),
            (ShownKey, ("key", "hard", "used")),
        )
        for name in names
    },
    (Pod, "namespace"): Names.namespace,
    (Pod, "name"): Names.pod,
    (Pod, "request_problem"): _withheld,
    (Pod, "warnings"): _withheld,
    (Pod, "leftovers"): _withheld,
    (Pod, "scheduler_name"): _withheld,
    (Placing, "at"): _dropped,
    (Placing, "refusal"): _withheld,
    (Container, "name"): _withheld,
    (Selection, "use_types"): Names.card_type,
    (Selection, "avoid_types"): Names.card_type,
    (Selection, "modes"): Names.modes,
    (UnreadableAllocation, "problem"): _withheld,
    (QuotaTraits, "priority_class"): Names.priority_class,
    (ScopeRequirement, "values"): Names.priority_class,
    # Reason codes; a request's own problem is put in `anonymous`.
    (Decision, "failed"): _kept,
    (Decision, "unresolvable"): _kept,
    (Inventory, "problem"): _withheld,
    (Node, "lock"): _withheld,
    (Node, "own_locks"): _withheld,
    (Node, "version"): _dropped,
    (Node, "warnings"): _withheld,
    (Node, "handshakes"): _withheld,
    (Node, "texts"): _withheld,
    (Quota, "namespace"): Names.namespace,
    (Quota, "name"): Names.quota,
    (Quota, "warnings"): _withheld,
    (Quota, "unreadable"): _withheld,
    (QuotaLimit, "problem"): _withheld,
}
"""What becomes of each text, by the class and the field that it stands in."""


def anonymous(snapshot: Snapshot) -> Snapshot:
    """Replace every name, and withhold every text for people."""
    problem = snapshot.head.pod.request_problem
    found: Snapshot = _mapped(Snapshot, snapshot, (NoneType, ""), Names(snapshot))
    head = replace(found.head, is_anonymous=True, pod=_numbered(found.head.pod))
    if problem is not None:
        of_all = dict.fromkeys(head.decision.unresolvable, WITHHELD)
        head = replace(head, decision=replace(head.decision, unresolvable=of_all))
    pods = tuple(replace(each, pod=_numbered(each.pod)) for each in found.pods)
    return replace(found, head=head, pods=pods)


def _numbered(pod: Pod) -> Pod:
    """Call containers by their place in the pod."""
    containers = tuple(
        replace(each, name=f"container-{number}")
        for number, each in enumerate(pod.containers)
    )
    return replace(pod, containers=containers)


def _renamed(word: str, names: Iterable[str]) -> dict[str, str]:
    ordered = sorted(names)
    width = len(str(len(ordered)))
    return {name: f"{word}-{number:0{width}}" for number, name in enumerate(ordered)}


class _Found:
    """Every name of a snapshot."""

    def __init__(self) -> None:
        self.of: dict[object, set[str]] = {NodeName: set(), DeviceUUID: set()}
        self.of[PodUID] = set()
        self.namespaces: set[str] = set()
        self.pod_names: set[str] = set()
        self.quota_names: set[str] = set()
        self.classes: set[str] = set()
        self.models: set[str] = set()
        self.modes: set[str] = set()

    def walk(self, of: Any, value: Any) -> None:  # noqa: ANN401 - any field
        """Take in a value, by its type."""
        if value is None:
            return
        if isinstance(of, NewType):
            self.of.get(of, set()).add(value)
            return
        for each, item in _parts(of, value):
            self.walk(each, item)
        self._note(value)

    def _note(self, value: object) -> None:
        match value:
            case Pod():
                self.namespaces.add(value.namespace)
                self.pod_names.add(value.name)
            case Quota():
                self.namespaces.add(value.namespace)
                self.quota_names.add(value.name)
            case QuotaTraits():
                self.classes.add(value.priority_class)
            case ScopeRequirement():
                self.classes.update(value.values)
            case Device():
                self.models.add(value.model)
                self.modes.add(value.mode)
            case _:
                pass


@cache
def _hints(of: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass
    return hints_of(of)


def _parts(of: Any, value: Any) -> Iterable[tuple[Any, Any]]:  # noqa: ANN401
    """List what a value is made of, each part with its type."""
    of = _type_for(of, value)
    if is_dataclass(of):
        return [
            (hint, getattr(value, name))
            for name, hint in _hints(cast("Any", of)).items()
        ]
    origin, arguments = get_origin(of), get_args(of)
    if origin is tuple:
        return list(zip(_item_types(arguments, len(value)), value, strict=True))
    if origin is frozenset:
        return [(arguments[0], each) for each in value]
    if isinstance(value, Mapping):
        keys = [(arguments[0], each) for each in value]
        return [*keys, *[(arguments[1], each) for each in value.values()]]
    return []


def _item_types(arguments: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    return arguments[:1] * count if arguments[-1] is Ellipsis else arguments


def _type_for(of: Any, value: object) -> Any:  # noqa: ANN401
    """Take the one of several types that a value is of."""
    if get_origin(of) not in (Union, UnionType):
        return of
    for each in get_args(of):
        plain: Any = each.__supertype__ if isinstance(each, NewType) else each
        if isinstance(value, get_origin(plain) or plain):
            return each
    raise TypeError(f"{type(value).__name__} is not of {of}")


Place = tuple[Any, str]
"""The class and the field that something stands in."""


def _mapped(of: Any, value: Any, place: Place, names: Names) -> Any:  # noqa: ANN401
    """Rename within a value, by its type."""
    of = _type_for(of, value)
    if isinstance(of, NewType):
        return names.new_type(of, value)
    if of is str:
        return RULES[place](names, value)
    if not is_dataclass(of):
        return _mapped_items(of, value, place, names)
    changed = {
        name: _mapped(hint, getattr(value, name), (of, name), names)
        for name, hint in _hints(cast("Any", of)).items()
    }
    return replace(value, **changed)


def _mapped_items(of: Any, value: Any, place: Place, names: Names) -> Any:  # noqa: ANN401
    """Rename within what a list, a set or a mapping has; a number stays."""
    origin, arguments = get_origin(of), get_args(of)
    if origin is tuple:
        types = _item_types(arguments, len(value))
        pairs = zip(types, value, strict=True)
        return tuple(_mapped(each, item, place, names) for each, item in pairs)
    if origin is frozenset:
        return frozenset(_mapped(arguments[0], each, place, names) for each in value)
    if isinstance(value, Mapping):
        of_key, of_value = arguments
        return {
            _mapped(of_key, key, place, names): _mapped(of_value, each, place, names)
            for key, each in value.items()
        }
    return value
