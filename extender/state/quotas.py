"""Every namespace's quotas, and what its pods are charged to them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

from extender.core.names import KindWord
from extender.core.pod import Pod
from extender.core.quota import QuotaCharges
from extender.core.quota_room import (
    NO_ROOMS,
    LimitUse,
    Quota,
    QuotaRoom,
    QuotaRooms,
)
from extender.core.quota_scopes import QuotaTraits
from extender.core.usage import NOTHING, Usage
from extender.state.events import QuotaGone, QuotaSeen
from extender.state.freed import Freed

NO_CHARGES: Final[QuotaCharges] = MappingProxyType({})

Sums = dict[QuotaTraits, dict[KindWord, Usage]]
"""What the pods of one namespace are charged, by what scopes look at."""

_NO_SUMS: Final[Mapping[QuotaTraits, Mapping[KindWord, Usage]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Charged:
    """What one pod is charged, and what decides which quotas count it."""

    namespace: str
    traits: QuotaTraits
    charges: QuotaCharges

    @classmethod
    def of(cls, pod: Pod | None, charges: QuotaCharges) -> Self | None:
        """Give what a pod is charged; None where that is nothing."""
        if pod is None or not charges:
            return None
        return cls(pod.namespace, pod.quota_traits, charges)


class Quotas:
    """Quotas by name, and sums of charges by namespace and traits.

    Sums do not depend on the quotas: whichever comes first, and whatever its scopes
    say, what is used of a quota is the sum over the traits that it matches. A quota is
    replaced in one step, so that at no moment its namespace is without a limit.

    Invariant: a namespace's sums are those of its pods' charges; a sum of nothing has
    no entry. Owned by the ledger; others read.

    Attributes:
        freed: Namespaces with quotas that may have more room, by the ledger's
            generation.
    """

    def __init__(self) -> None:
        self.freed: Freed[str] = Freed()
        self._quotas: dict[str, dict[str, Quota]] = {}
        self._sums: dict[str, Sums] = {}

    def see(self, event: QuotaSeen | QuotaGone, generation: int) -> None:
        """Add or replace a quota, or forget one; one that is not there is no error."""
        if isinstance(event, QuotaSeen):
            namespace, has_changed = event.quota.namespace, self._put(event.quota)
        else:
            namespace = event.namespace
            has_changed = self._remove(namespace, event.name)
        if has_changed:
            self.freed.note(namespace, generation)

    def _put(self, quota: Quota) -> bool:
        named = self._quotas.setdefault(quota.namespace, {})
        is_new = named.get(quota.name) != quota
        named[quota.name] = quota
        return is_new

    def _remove(self, namespace: str, name: str) -> bool:
        named = self._quotas.get(namespace, {})
        was_there = named.pop(name, None) is not None
        if not named:
            self._quotas.pop(namespace, None)
        return was_there

    def __iter__(self) -> Iterator[Quota]:
        """List all quotas, by namespace and name."""
        for namespace in sorted(self._quotas):
            yield from self.of(namespace)

    def of(self, namespace: str) -> list[Quota]:
        """List the quotas of a namespace, by name."""
        named = self._quotas.get(namespace, {})
        return [named[name] for name in sorted(named)]

    def limits_any(self, namespace: str) -> bool:
        """Tell whether any limit is enforced in a namespace."""
        return any(quota.limits for quota in self._quotas.get(namespace, {}).values())

    @property
    def sums(self) -> Mapping[str, Sums]:
        """What each namespace's pods are charged; for reading."""
        return self._sums

    def replace(
        self, old: Charged | None, new: Charged | None, generation: int
    ) -> None:
        """Count a pod's new charge instead of its former one."""
        if old == new:
            return
        if old is not None:
            self._count(old, -1)
            if self.limits_any(old.namespace):
                self.freed.note(old.namespace, generation)
        if new is not None:
            self._count(new, 1)

    def _count(self, charged: Charged, sign: int) -> None:
        by_traits = self._sums.setdefault(charged.namespace, {})
        sums = by_traits.setdefault(charged.traits, {})
        for kind, charge in charged.charges.items():
            before = sums.get(kind, NOTHING)
            after = before + charge if sign > 0 else before - charge
            if after == NOTHING:
                sums.pop(kind, None)
            else:
                sums[kind] = after
        if not sums:
            del by_traits[charged.traits]
            if not by_traits:
                del self._sums[charged.namespace]

    def clear_sums(self, generation: int) -> None:
        """Forget every charge, before all are counted anew; the quotas stay."""
        self._sums = {}
        for namespace in self._quotas:
            self.freed.note(namespace, generation)

    def used(self, quota: Quota) -> dict[KindWord, Usage]:
        """Sum what the pods that a quota counts are charged."""
        return _counted(quota, self._sums.get(quota.namespace, {}))

    def uses(self, quota: Quota) -> list[LimitUse]:
        """Tell what is used of each limit of a quota."""
        used = self.used(quota)
        return [
            LimitUse(
                quota.name, limit, limit.dimension.of(used.get(limit.kind, NOTHING))
            )
            for limit in quota.limits
        ]

    def rooms(
        self,
        namespace: str,
        traits: QuotaTraits,
        own: Charged | None = None,
        waiting: Mapping[QuotaTraits, Mapping[KindWord, Usage]] = _NO_SUMS,
    ) -> QuotaRooms:
        """Tell what the quotas of a namespace leave a pod.

        Args:
            namespace: The pod's.
            traits: The pod's.
            own: What it is charged already: a pod is judged as if it held nothing
                itself.
            waiting: What else is to be counted: sums of pods that are not bound, as
                admission has them. Nothing of this is recorded.

        Returns:
            Nothing where no limit counts the pod.

        Cost: O(quotas x keys + traits) of the namespace; a look-up where it has none.
        """
        if namespace not in self._quotas:
            return NO_ROOMS
        found: dict[KindWord, list[LimitUse]] = {}
        for quota in self.of(namespace):
            if not quota.matches(traits):
                continue
            is_in = own is not None and quota.matches(own.traits)
            charged = own.charges if own is not None and is_in else NO_CHARGES
            beside = _counted(quota, waiting)
            for use in self.uses(quota):
                kind, dimension = use.limit.kind, use.limit.dimension
                others = use.used - dimension.of(charged.get(kind, NOTHING))
                more = dimension.of(beside.get(kind, NOTHING))
                each = LimitUse(use.quota_name, use.limit, others + more, more)
                found.setdefault(kind, []).append(each)
        return {kind: QuotaRoom(tuple(uses)) for kind, uses in found.items()}


def _counted(
    quota: Quota, by_traits: Mapping[QuotaTraits, Mapping[KindWord, Usage]]
) -> dict[KindWord, Usage]:
    """Sum what a quota counts."""
    total: dict[KindWord, Usage] = {}
    for traits, sums in by_traits.items():
        if quota.matches(traits):
            for kind, charge in sums.items():
                total[kind] = total.get(kind, NOTHING) + charge
    return total
