"""What the feeds tell, as events of the ledger."""

import logging
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from typing import Final, Generic, TypeVar

from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.core.quota_room import Quota
from extender.errors import WireError
from extender.kube.feed import ListBegins, ListEnds, News, Removed, Shown
from extender.service import Extender
from extender.state.events import (
    ListTaken,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    QuotaGone,
    QuotaSeen,
    Relisted,
)
from extender.wire.objects import as_object, name_at, object_at, optional_text_at
from extender.wire.plain_pods import is_plain
from extender.wire.resource_quota import read_quota_remains

_log = logging.getLogger(__name__)

Name = TypeVar("Name")

_AS_READ_LAST: Final = "it counts as it was read last"


class _NamedIntake(ABC, Generic[Name]):
    """Objects that stay known by name until they are gone, one event at a time.

    What a whole list does not show any more is gone, whatever event was missed.

    Attributes:
        unreadable: How many objects could not be read.
        is_listed: Whether a whole list was applied.
    """

    def __init__(self, extender: Extender) -> None:
        self._extender = extender
        self._listed: set[Name] | None = None
        self.unreadable = 0
        self.is_listed = False

    def take(self, news: News) -> None:
        """Apply what a feed tells."""
        match news:
            case ListBegins():
                self._listed = set()
            case ListEnds():
                for lost in sorted(self._known() - (self._listed or set()), key=str):
                    self._forget(lost)
                self._listed = None
                self.is_listed = True
            case Shown(obj):
                name = self._name_of(obj)
                if name is not None and self._listed is not None:
                    self._listed.add(name)
                self._see(obj, name)
            case Removed(obj):
                gone = self._name_of(obj)
                if gone is not None:
                    self._forget(gone)

    @abstractmethod
    def _known(self) -> set[Name]:
        """Name all that are known."""

    @abstractmethod
    def _name_of(self, obj: object) -> Name | None:
        """Name an object; None where that cannot be read."""

    @abstractmethod
    def _see(self, obj: object, name: Name | None) -> None:
        """Apply what an object shows."""

    @abstractmethod
    def _forget(self, name: Name) -> None:
        """Apply that one is gone."""


class NodeIntake(_NamedIntake[NodeName]):
    """Nodes to events; an object that cannot be read changes nothing."""

    def _known(self) -> set[NodeName]:
        return set(self._extender.ledger.nodes)

    def _name_of(self, obj: object) -> NodeName | None:
        with suppress(WireError):
            metadata = object_at(as_object(obj, "node"), "metadata", "node")
            return NodeName(name_at(metadata, "name", "metadata"))
        return None

    def _see(self, obj: object, name: NodeName | None) -> None:
        try:
            node = self._extender.read_node(obj)
        except Exception as error:  # noqa: BLE001 - see _report
            self.unreadable += 1
            _report(f"node {name}", error)
        else:
            known = self._extender.ledger.nodes.get(node.name)
            if node.warnings and (known is None or known.warnings != node.warnings):
                _log.warning("node %s: %s", name, "; ".join(node.warnings))
            self._extender.take_in(NodeSeen(node))

    def _forget(self, name: NodeName) -> None:
        self._extender.take_in(NodeGone(name))


class PodIntake:
    """Pods to events; an object that cannot be read holds its node.

    Pods that neither ask for devices nor hold any are passed over: they are many, and
    change nothing. A list is applied once it is whole, what makes room first: until
    then the state is an old one, and never half of two.

    Attributes:
        unreadable: How many objects could not be read.
        is_listed: Whether a whole list was applied.
    """

    def __init__(self, extender: Extender) -> None:
        self._extender = extender
        self._uid_of: dict[str, PodUID] = {}
        # What was read apart, and the watch has not told of; then, when a list began.
        self._ahead: set[PodUID] = set()
        self._ahead_of_list: set[PodUID] = set()
        self._listed: dict[str, Pod] | None = None
        self.unreadable = 0
        self.is_listed = False

    def take(self, news: News) -> None:
        """Apply what a feed tells."""
        match news:
            case ListBegins():
                self._listed = {}
                self._ahead_of_list = set(self._ahead)
            case ListEnds():
                listed, self._listed = self._listed or {}, None
                self._apply_list(listed)
                self.is_listed = True
            case Shown(obj):
                self._see(obj)
            case Removed(obj):
                self._remove(obj)

    def _see(self, obj: object) -> None:
        name, uid = _pod_name(obj), _uid(obj)
        if name is None or uid is None:
            self.unreadable += 1
            _log.error("a pod without name or uid is passed over")
            return
        is_known = self._uid_of.get(name) == uid or uid in self._ahead
        pod = None
        if is_known or not is_plain(obj, self._extender.reader.kinds):
            pod = self._read(obj, name, uid if is_known else None)
        if pod is not None and not is_known and not _matters(pod):
            pod = None
        if self._listed is None:
            self._apply(name, uid, pod)
        elif pod is not None:
            self._listed[name] = pod
        elif is_known and (known := self._extender.ledger.pods.get(uid)) is not None:
            # It is there, and nothing of it can be read: it stays as it was.
            self._listed[name] = known

    def see_if_newly_bound(self, obj: object) -> None:
        """Apply a pod that was read apart, if it is bound and not known to be.

        All else of it may be older than what the watch has told. And the watch may
        have to tell of others that had its name before: who has it now is for the
        watch to say.
        """
        name, uid = _pod_name(obj), _uid(obj)
        if name is None or uid is None or is_plain(obj, self._extender.reader.kinds):
            return
        known = self._extender.ledger.pods.get(uid)
        if known is not None and known.node_name is not None:
            return
        pod = self._read(obj, name, uid if known is not None else None)
        if pod is not None and pod.node_name is not None and _matters(pod):
            if self._uid_of.get(name) != uid:
                self._ahead.add(uid)
            self._extender.take_in(PodSeen(pod))

    def _apply(self, name: str, uid: PodUID, pod: Pod | None) -> None:
        known = self._uid_of.get(name)
        if known is not None and known != uid:
            # It was deleted and made again while nobody looked.
            del self._uid_of[name]
            self._extender.take_in(PodGone(known))
        if pod is not None:
            self._uid_of[name] = uid
            self._ahead.discard(uid)
            self._extender.take_in(PodSeen(pod))

    def _apply_list(self, listed: dict[str, Pod]) -> None:
        for name, uid in list(self._uid_of.items()):
            if name not in listed or listed[name].uid != uid:
                del self._uid_of[name]
                self._extender.take_in(PodGone(uid))
        for uid in self._ahead_of_list - {pod.uid for pod in listed.values()}:
            if uid in self._ahead:
                self._ahead.discard(uid)
                self._extender.take_in(PodGone(uid))
        self._extender.take_in(Relisted())
        ledger = self._extender.ledger
        changed = [
            (ledger.effect_of(pod), name, pod)
            for name, pod in listed.items()
            if name not in self._uid_of or ledger.pods.get(pod.uid) != pod
        ]
        changed.sort(key=lambda change: change[0])
        for _, name, pod in changed:
            self._apply(name, pod.uid, pod)
        self._extender.take_in(ListTaken())

    def _read(self, obj: object, name: str, known: PodUID | None) -> Pod | None:
        """Read a pod; where that fails, what holds its node as it was held before."""
        reader = self._extender.reader
        try:
            return reader.read(obj)
        except Exception as error:  # noqa: BLE001 - see _report
            self.unreadable += 1
            _report(f"pod {name}", error)
            remains = reader.read_bound_remains(obj, str(error))
        former = None if known is None else self._extender.ledger.pods.get(known)
        if remains is None or remains.status.is_finished or former is None:
            return remains
        return remains if former.node_name is None else former

    def _remove(self, obj: object) -> None:
        name, uid = _pod_name(obj), _uid(obj)
        if name is None:
            return
        known = self._uid_of.get(name)
        if uid is not None:
            self._ahead.discard(uid)
        if known is not None and uid in (None, known):
            del self._uid_of[name]
            self._extender.take_in(PodGone(known))
        elif uid is not None and uid in self._extender.ledger.pods:
            self._extender.take_in(PodGone(uid))


class QuotaIntake(_NamedIntake[tuple[str, str]]):
    """ResourceQuotas to events; one that cannot be read never lifts a limit.

    What was read last goes on to count; where nothing was, what can be read of it. A
    quota is replaced in one event, so that it never stops to limit in between.
    """

    def __init__(self, extender: Extender) -> None:
        super().__init__(extender)
        self._never_read: set[tuple[str, str]] = set()

    def _known(self) -> set[tuple[str, str]]:
        quotas = self._extender.ledger.quotas
        return {(each.namespace, each.name) for each in quotas}

    def _name_of(self, obj: object) -> tuple[str, str] | None:
        with suppress(WireError):
            metadata = object_at(as_object(obj, "resourcequota"), "metadata", "quota")
            namespace = optional_text_at(metadata, "namespace", "metadata") or "default"
            return namespace, name_at(metadata, "name", "metadata")
        return None

    def _see(self, obj: object, name: tuple[str, str] | None) -> None:
        try:
            quota = self._extender.read_quota(obj)
        except Exception as error:  # noqa: BLE001 - see _report
            self.unreadable += 1
            _report(f"resourcequota {name}", error)
            if name is None:
                return
            quota = self._as_far_as_known(obj, name, str(error))
        else:
            self._never_read.discard((quota.namespace, quota.name))
        self._extender.take_in(QuotaSeen(quota))

    def _as_far_as_known(
        self, obj: object, name: tuple[str, str], problem: str
    ) -> Quota:
        namespace, own = name
        for former in self._extender.ledger.quotas.of(namespace):
            if former.name == own and name not in self._never_read:
                return replace(former, unreadable=f"{problem}; {_AS_READ_LAST}")
        self._never_read.add(name)
        return read_quota_remains(obj, self._extender.reader.kinds, problem)

    def _forget(self, name: tuple[str, str]) -> None:
        self._never_read.discard(name)
        self._extender.take_in(QuotaGone(*name))


def _matters(pod: Pod) -> bool:
    return (
        pod.asks_for_devices
        or pod.request_problem is not None
        or bool(pod.kubelet_slots)
        or pod.allocation is not None
    )


def _report(what: str, error: Exception) -> None:
    """Log an object that cannot be read.

    Whatever the reason, also where it is a fault of ours: one object must not make us
    blind to all others.
    """
    is_ours = not isinstance(error, WireError)
    _log.error(
        "%s cannot be read: %s", what, error, exc_info=error if is_ours else None
    )


def _pod_name(obj: object) -> str | None:
    with suppress(WireError):
        metadata = object_at(as_object(obj, "pod"), "metadata", "pod")
        namespace = optional_text_at(metadata, "namespace", "metadata") or "default"
        return f"{namespace}/{name_at(metadata, 'name', 'metadata')}"
    return None


def _uid(obj: object) -> PodUID | None:
    with suppress(WireError):
        metadata = object_at(as_object(obj, "pod"), "metadata", "pod")
        return PodUID(optional_text_at(metadata, "uid", "metadata")) or None
    return None


Intake = NodeIntake | PodIntake | QuotaIntake
