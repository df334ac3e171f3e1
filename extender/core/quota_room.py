"""What quotas leave a pod: limits, what is used of them, and what is short."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from extender.core.kinds import Kind, RequestRule
from extender.core.names import KindWord
from extender.core.quota_scopes import QuotaTraits, ScopeRequirement
from extender.core.reasons import Reason
from extender.core.usage import Usage

UNLIMITED: Final = 2**62
"""More than any pod needs, and the largest limit that is read; a 64-bit sum of it and
a need does not overflow."""


class QuotaDimension(StrEnum):
    """What a key of a quota counts."""

    COUNT = "count"
    MEMORY = "memory"
    CORES = "cores"

    def of(self, usage: Usage) -> int:
        """Take this dimension of a usage; a count is of slots."""
        match self:
            case QuotaDimension.COUNT:
                return usage.slots
            case QuotaDimension.MEMORY:
                return usage.memory_mib
            case QuotaDimension.CORES:
                return usage.core_percent


def dimension_of(kind: Kind, resource: str) -> QuotaDimension | None:
    """Tell what a resource of a kind counts; None for a percentage of memory.

    How much a percentage is depends on the card, so that no sum of them is a limit;
    pods that name one are charged their MiB.
    """
    return {
        kind.count_resource: QuotaDimension.COUNT,
        kind.memory_resource: QuotaDimension.MEMORY,
        kind.core_resource: QuotaDimension.CORES,
    }.get(resource)


def unit_of(kind: Kind, dimension: QuotaDimension) -> str:
    """Say what one of a dimension is of a kind, for people.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> unit_of(NVIDIA, QuotaDimension.CORES)
        '% of cores'
    """
    match dimension:
        case QuotaDimension.COUNT:
            return "slots" if RequestRule.PROFILE in kind.rules else "devices"
        case QuotaDimension.MEMORY:
            return "MiB"
        case QuotaDimension.CORES if kind.whole_card_cores == _PERCENT:
            return "% of cores"
        case QuotaDimension.CORES:
            return f"cores ({kind.whole_card_cores} a device)"


_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class QuotaLimit:
    """One key of a quota that is enforced here.

    Attributes:
        key: As the object has it, such as ``limits.nvidia.com/gpumem``.
        kind: Of device.
        dimension: What it counts.
        unit: What one of it is; see `unit_of`.
        most: The limit; memory in MiB, after the memory factor. None where it cannot be
            read: then no pod that needs any of it is placed.
        problem: Why it cannot be read.
    """

    key: str
    kind: KindWord
    dimension: QuotaDimension
    unit: str
    most: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A key that the API server enforces: ``requests.`` of a device's resource.

    Attributes:
        key: As the object has it.
        hard: The limit, as it is written.
        used: What the API server counts, as it is written; empty where it has not yet.
    """

    key: str
    hard: str
    used: str


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota, reduced to what concerns devices.

    Attributes:
        namespace: Whose pods it counts.
        name: Of the object.
        scopes: Which of them; a pod must be in each.
        limits: What is enforced here.
        shown: What is only shown.
        warnings: What of the object is not done as it says.
        unreadable: Why what the API shows cannot be read; empty where it can. The rest
            is then what was read last, or else what of it can be: see
            `extender.wire.resource_quota.read_quota_remains`.
    """

    namespace: str
    name: str
    scopes: tuple[ScopeRequirement, ...] = ()
    limits: tuple[QuotaLimit, ...] = ()
    shown: tuple[ShownKey, ...] = ()
    warnings: tuple[str, ...] = ()
    unreadable: str = ""

    def matches(self, traits: QuotaTraits) -> bool:
        """Tell whether a pod of the namespace is counted."""
        return all(scope.matches(traits) for scope in self.scopes)


@dataclass(frozen=True, slots=True)
class Shortage:
    """A limit that a pod would go beyond.

    Attributes:
        quota_name: Of the object.
        limit: Of the key.
        needed: By the pod.
        used: By the other pods that the object counts.
        waiting: How much of `used` is of pods that are not bound yet; always 0 but at
            admission.
    """

    quota_name: str
    limit: QuotaLimit
    needed: int
    used: int
    waiting: int = 0

    def __str__(self) -> str:
        """Tell it to people, with numbers."""
        name, limit = f"quota {self.quota_name}: {self.limit.key}", self.limit
        if limit.most is None:
            return f"{name}: {limit.problem}"
        used = self.used if self.used <= UNLIMITED else "an unknown amount"
        held = f"{used} of {limit.most} {limit.unit} used"
        text = f"{name}: needs {self.needed}, {held}"
        if not self.waiting:
            return text
        return f"{text}, {self.waiting} of these by pods that wait for a node"

    @property
    def reason(self) -> Reason:
        """The code that filter gives."""
        if self.limit.most is None:
            return Reason.QUOTA_UNREADABLE
        return Reason.QUOTA_NOT_FIT


@dataclass(frozen=True, slots=True)
class LimitUse:
    """A limit, and what is used of it.

    Attributes:
        quota_name: Of the object.
        limit: Of the key.
        used: In its unit.
        waiting: How much of that is of pods that are not bound yet.
    """

    quota_name: str
    limit: QuotaLimit
    used: int
    waiting: int = 0

    @property
    def known_use(self) -> int | None:
        """What is used, for showing; None where an amount of it cannot be told."""
        return self.used if self.used <= UNLIMITED else None


@dataclass(frozen=True, slots=True)
class QuotaRoom:
    """What all quotas that count a pod leave it of one kind of device.

    Attributes:
        uses: One entry per object and key; the pod's own charge is not in them.
    """

    uses: tuple[LimitUse, ...]

    def left(self, dimension: QuotaDimension) -> int | None:
        """Give the smallest room of all objects; None where none limits it.

        It may be negative: a limit can be lowered below what is used.
        """
        found = [
            0 if each.limit.most is None else each.limit.most - each.used
            for each in self.uses
            if each.limit.dimension is dimension
        ]
        return min(found, default=None)

    def shortages(self, need: Usage) -> list[Shortage]:
        """List the limits that a need would go beyond.

        What is not needed is never short, also where a limit is 0, is exceeded
        already, or cannot be read.

        Example:
            >>> key, memory = "limits.nvidia.com/gpumem", QuotaDimension.MEMORY
            >>> limit = QuotaLimit(key, "NVIDIA", memory, "MiB", 10_000)
            >>> room = QuotaRoom((LimitUse("q", limit, 6_000),))
            >>> [str(each) for each in room.shortages(Usage(1, 4_001))]
            ['quota q: limits.nvidia.com/gpumem: needs 4001, 6000 of 10000 MiB used']
            >>> room.shortages(Usage(1, 4_000))
            []
        """
        found = []
        for each in self.uses:
            needed, most = each.limit.dimension.of(need), each.limit.most
            if needed > 0 and (most is None or each.used + needed > most):
                found.append(
                    Shortage(
                        each.quota_name, each.limit, needed, each.used, each.waiting
                    )
                )
        return found

    def admits(self, need: Usage) -> bool:
        """Tell whether a need stays within every limit."""
        return not self.shortages(need)

    @property
    def limits_memory(self) -> bool:
        """Whether any limit is of memory."""
        return any(each.limit.dimension is QuotaDimension.MEMORY for each in self.uses)

    @property
    def most(self) -> Usage:
        """The largest need that stays within every limit; 0 where nothing is left.

        What is not limited is `UNLIMITED`, and so is a limit beyond it: a quantity may
        be larger than any array holds.
        """
        count, memory_mib, cores = (
            UNLIMITED if left is None else min(max(left, 0), UNLIMITED)
            for left in map(self.left, QuotaDimension)
        )
        return Usage(count, memory_mib, cores)


QuotaRooms = Mapping[KindWord, QuotaRoom]
"""By kind; a kind that no quota limits is absent."""

NO_ROOMS: Final[QuotaRooms] = MappingProxyType({})
"""Of a pod that no quota limits."""


def refusal(shortages: Sequence[Shortage]) -> Reason | None:
    """Give the one reason of some shortages; a number that is short comes first."""
    reasons = {each.reason for each in shortages}
    if Reason.QUOTA_NOT_FIT in reasons:
        return Reason.QUOTA_NOT_FIT
    return Reason.QUOTA_UNREADABLE if reasons else None
