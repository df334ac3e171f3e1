"""Bindings that were sent, until it is known what became of them."""

import logging
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace

from extender.core.allocation import UnreadableAllocation
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.errors import ExtenderError, NotFound, Unanswered
from extender.observe.metrics import Metrics
from extender.service.cluster import Cluster
from extender.service.node_locks import NodeLocks
from extender.settings import BindSettings
from extender.state.events import Reserved, Unreserved
from extender.state.ledger import Ledger
from extender.wire.extender_v1 import BindingArgs

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A Binding that was sent, and that no event has shown yet.

    Attributes:
        args: What was asked.
        lock: Value of the node's lock, given back if the pod turns out unbound; None
            where no lock of ours protects it.
        at: When it was sent, or answered, on the monotonic clock.
        due: When the pod is to be read, on the same clock.
        is_answered: Whether kube-scheduler was told that the pod is bound. Until it is
            known, no other bind of this pod begins.
    """

    args: BindingArgs
    lock: str | None
    at: float
    due: float
    is_answered: bool


class SentBindings:
    """Finds out what became of each Binding, and undoes what was not carried out.

    A lost answer is no refusal: reservation and lock stay until the pod was read.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        ledger: Ledger,
        locks: NodeLocks,
        settings: BindSettings,
        metrics: Metrics,
        monotonic: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._locks = locks
        self._settings = settings
        self._metrics = metrics
        self._monotonic = monotonic
        self._sent: dict[PodUID, _Sent] = {}

    def holds(self, uid: PodUID) -> bool:
        """Tell whether a pod's reservation must stay."""
        return uid in self._sent

    def is_open(self, uid: PodUID) -> bool:
        """Tell whether nobody knows yet if a pod was bound."""
        sent = self._sent.get(uid)
        return sent is not None and not sent.is_answered

    def open_in(self, namespace: str) -> Iterator[PodUID]:
        """List the pods of a namespace of which nobody knows if they were bound."""
        for uid, sent in self._sent.items():
            if sent.args.namespace == namespace and not sent.is_answered:
                yield uid

    def node_of(self, uid: PodUID) -> NodeName | None:
        """Tell where a pod is known to be bound, though no event has shown it yet."""
        sent = self._sent.get(uid)
        return sent.args.node_name if sent is not None and sent.is_answered else None

    async def after_failure(
        self, args: BindingArgs, lock_value: str, error: ExtenderError
    ) -> str:
        """Read the pod back: only that tells whether it is bound.

        A pod that is unbound after a lost answer may still become bound a moment
        later, so its place and the lock are kept until `settle` reads it again.
        """
        try:
            pod = await self._cluster.read_pod(args.namespace, args.name)
        except NotFound:
            await self._undo(args, lock_value)
            return str(error)
        except ExtenderError as unread:
            _log.warning("pod of %s cannot be read back: %s", described(args), unread)
            return f"{error}; whether it was carried out is not known yet"
        if is_bound(pod, args):
            self._count(pod, args, lock_value)
            if not pod.is_unserved:
                await self._locks.release(args.node_name, lock_value)
            return ""
        if pod.uid == args.uid and pod.node_name is not None:
            # Another's Binding came first, and our watch may be late to show it.
            self._count(pod, replace(args, node_name=pod.node_name), None)
            await self._locks.release(args.node_name, lock_value)
        elif pod.uid != args.uid or not isinstance(error, Unanswered):
            await self._undo(args, lock_value)
        return str(error)

    def _count(self, pod: Pod, args: BindingArgs, lock_value: str | None) -> None:
        """Count a pod that was read bound, until an event shows it.

        By the devices that its annotations name; where they cannot be read, by what was
        chosen on our own node, and by nothing on another's.
        """
        self.note(args, lock_value, is_answered=True)
        reservation = self._ledger.reservation(args.uid)
        known = self._ledger.pods.get(args.uid)
        if reservation is None or known is None:
            return
        if pod.allocation and not isinstance(pod.allocation, UnreadableAllocation):
            self._ledger.apply(Reserved(known, args.node_name, pod.allocation))
        elif reservation.node_name != args.node_name:
            self._ledger.apply(Unreserved(args.uid))

    async def _undo(self, args: BindingArgs, lock_value: str | None) -> None:
        """Take back what a pod was to have; the watch tells whether it is gone."""
        self._sent.pop(args.uid, None)
        self._ledger.apply(Unreserved(args.uid))
        if lock_value is not None:
            await self._locks.release(args.node_name, lock_value)

    def note(
        self, args: BindingArgs, lock_value: str | None, *, is_answered: bool
    ) -> None:
        """Keep in mind what must be found out; nothing where an event has shown it."""
        if is_answered and self._ledger.reservation(args.uid) is None:
            self._sent.pop(args.uid, None)
            return
        now = self._monotonic()
        due = now + self._settings.settle_seconds
        self._sent[args.uid] = _Sent(args, lock_value, now, due, is_answered)

    def show_bound(self, pod: Pod) -> None:
        """Take note that an event shows a pod bound: nothing is left to find out."""
        sent = self._sent.get(pod.uid)
        if sent is not None and sent.is_answered:
            del self._sent[pod.uid]
            lag_seconds = self._monotonic() - sent.at
            self._metrics.watch_lag_seconds.observe(lag_seconds)

    async def settle(self, in_flight: Container[PodUID]) -> None:
        """Read each pod whose Binding was sent long ago; the answer decides.

        Args:
            in_flight: Pods to leave alone: whoever binds them does the same.
        """
        now = self._monotonic()
        for uid, sent in list(self._sent.items()):
            if uid in in_flight:
                continue
            if self._ledger.reservation(uid) is None:
                self._sent.pop(uid, None)
            elif now >= sent.due and self._sent.get(uid) is sent:
                try:
                    await self._settle(sent)
                except ExtenderError as error:
                    of = described(sent.args)
                    _log.warning("%s: not settled yet: %s", of, error)

    async def _settle(self, sent: _Sent) -> None:
        args = sent.args
        try:
            pod = await self._cluster.read_pod(args.namespace, args.name)
        except NotFound:
            pod = None
        if self._sent.get(args.uid) is not sent:
            return
        if pod is not None and is_bound(pod, args):
            # The watch is late; until it shows the pod, the reservation counts.
            due = self._monotonic() + self._settings.settle_seconds
            self._sent[args.uid] = replace(sent, due=due, is_answered=True)
            return
        _log.warning("%s: sent, but the pod is not bound there", described(args))
        await self._undo(args, sent.lock)


def is_bound(pod: Pod, args: BindingArgs) -> bool:
    """Tell whether a pod that was read is where it was to be."""
    return pod.uid == args.uid and pod.node_name == args.node_name


def described(args: BindingArgs) -> str:
    """Name pod and node in a log line; names from a body may hold line breaks."""
    text = f"{args.namespace}/{args.name} (uid {args.uid}) to {args.node_name}"
    return text if text.isprintable() else repr(text)
