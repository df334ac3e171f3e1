"""What a refused pod lacks: room under a quota, or on the node where least is missing.

Explain tells it with names, and the pod's Event in one line without any: whoever may
read the events of a namespace need not be one who may read nodes.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.budget import STEPS_PER_NODE
from extender.core.quota_room import QuotaRooms
from extender.verbs.amounts import relief_text
from extender.verbs.explanation import NearMiss, QuotaShort
from extender.verbs.filter import FilterDecision
from extender.verbs.moment import Moment
from extender.verbs.nearest import (
    IN_FULL,
    NOT_BY_ROOM,
    Costs,
    Effort,
    Nearest,
    cost_steps,
    nearest_steps,
)
from extender.verbs.nominations import Nomination
from extender.verbs.quota import shortages_anywhere

FOR_AN_EVENT: Final = Effort(4, STEPS_PER_NODE, 16 * STEPS_PER_NODE)
"""Where nobody waits, and much else is to be done. What is told is enough; where pods
have many containers, less may be, which explain finds."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What a pod lacks that fits nowhere.

    Attributes:
        quota: Limits of its namespace that it would go beyond wherever it goes.
        nearest: The node where least is missing; None where a quota is short, or where
            no room would help.
        change: What stays equal as long as that node, and what is held there, does.
    """

    quota: tuple[QuotaShort, ...] = ()
    nearest: NearMiss | None = None
    change: object = None


def missing_steps(
    moment: Moment, costs: Costs | None = None, effort: Effort = IN_FULL
) -> Generator[None, None, Missing]:
    """Find what a pod lacks, in steps of some milliseconds.

    Args:
        moment: The pod, and the state; it fits nowhere.
        costs: Of `cost_steps`, where they are known.
        effort: What it may take.
    """
    quota = _shortages(moment, moment.rooms)
    if quota or moment.pod.request_problem is not None:
        return Missing(quota)
    if costs is None:
        costs = yield from cost_steps(moment)
    yield
    found = yield from nearest_steps(moment, costs, effort)
    return Missing() if found is None else _of_node(found)


def _of_node(found: Nearest) -> Missing:
    return Missing(nearest=found.miss, change=found.change)


def _shortages(moment: Moment, rooms: QuotaRooms) -> tuple[QuotaShort, ...]:
    """Tell which limits the pod would go beyond wherever it goes."""
    if not rooms or moment.pod.request_problem is not None:
        return ()
    short = shortages_anywhere(moment.fleet, moment.pod, rooms)
    return tuple(QuotaShort.of(each) for each in short)


def is_still_missing(
    missing: Missing,
    moment: Moment,
    rooms: QuotaRooms,
    nominated: Sequence[Nomination],
    decision: FilterDecision,
) -> bool:
    """Tell whether what was found step by step is so at this moment.

    Args:
        missing: Of `missing_steps`.
        moment: By which it was found.
        rooms: What the quotas of its namespace leave the pod now.
        nominated: Room that is held against it now.
        decision: Filter's answer now on the node where least was missing.
    """
    if missing.nearest is None:
        return _shortages(moment, rooms) == missing.quota
    name = missing.nearest.node
    refusals = decision.unresolvable if missing.nearest.is_of_empty else decision.failed
    return (
        name in refusals
        and not NOT_BY_ROOM.intersection(moment.reasons_in(refusals[name]))
        and moment.fleet.change_of(name) == missing.change
        and list(nominated) == list(moment.nominated)
    )


def missing_text(missing: Missing) -> str:
    """Tell it in one line, without the name of a node, a card or a pod.

    Returns:
        Empty where no room would help.

    Example:
        >>> key, unit = "limits.nvidia.com/gpumem", "MiB"
        >>> short = QuotaShort("team", key, unit, 16_384, 4_096, 8_192, "")
        >>> missing_text(Missing((short,)))
        'over quota: 12288 MiB of limits.nvidia.com/gpumem more are needed'
    """
    if missing.quota:
        return f"over quota: {', '.join(map(_short_text, missing.quota))}"
    miss = missing.nearest
    if miss is None:
        return ""
    reliefs = [relief_text(one, is_of_empty=miss.is_of_empty) for one in miss.reliefs]
    return f"would fit on one node if {' and '.join(reliefs)}"


def _short_text(short: QuotaShort) -> str:
    if short.limit is None:
        return f"the limit {short.key} cannot be read"
    lacking = short.used + short.needed - short.limit
    return f"{lacking} {short.unit} of {short.key} more are needed"
