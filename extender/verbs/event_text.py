"""Why a pod is refused, in one line for its Event: no node's name, and no card's.

Whoever may read a pod's events need not be one who may read nodes.
"""

from typing import Final

from extender.core.usage import Usage
from extender.verbs.explanation import CardRelief, Explanation, NearMiss, Outcome

LONGEST: Final = 1_000
"""Kubernetes takes no message of an Event beyond 1,024 bytes; all of ours are ASCII
but for what a pod's own texts bring."""


def event_text(told: Explanation) -> str:
    """Write the line; it is as long as an Event's message may be at most.

    Args:
        told: Of a pod that is to be placed. The details of nodes are not needed.
    """
    return _cut(_text(told))


def _text(told: Explanation) -> str:
    if told.problem is not None:
        return told.problem
    if told.outcome is Outcome.FITS:
        return f"fits on {len(told.fitting)} of {told.node_count} nodes by its devices"
    if told.outcome is not Outcome.REFUSED:
        return str(told.outcome)
    if told.quota:
        short = "; ".join(each.text for each in told.quota)
        other = f"fits on {told.fits_but_for_quota} of {told.node_count} nodes but for"
        return f"{other} its quota: {short}"
    groups = ", ".join(
        f"{len(group.nodes)} {' + '.join(each.value for each in group.reasons)}"
        for group in told.groups
    )
    parts = [f"fits on 0 of {told.node_count} nodes by its devices: {groups}"]
    binding = [need.name for need in told.phases if need.binds]
    if len(told.phases) > 1 and binding:
        parts.append(f"needs most in {', '.join(binding)}")
    if told.nearest is not None:
        parts.append(f"nearest miss: {miss_text(told.nearest)}")
    return "; ".join(parts)


def miss_text(miss: NearMiss) -> str:
    """Tell what is missing, without saying where."""
    return " and ".join(
        relief_text(each, is_of_empty=miss.is_of_empty) for each in miss.reliefs
    )


def relief_text(relief: CardRelief, *, is_of_empty: bool) -> str:
    """Tell how much is missing on how many cards.

    Example:
        >>> relief = CardRelief("NVIDIA", ("GPU-a",), (0,), Usage(0, 2_048, 10))
        >>> relief_text(relief, is_of_empty=False)
        '2048 MiB, 10 % of cores more free on one card'
        >>> relief_text(relief, is_of_empty=True)
        'one card with 2048 MiB, 10 % of cores more'
    """
    ids = f"{relief.device_ids} device ids of kubelet more" if relief.device_ids else ""
    if not relief.cards:
        return f"{ids} free"
    amount = amount_text(relief.amount, counts_units=relief.counts_units)
    count = len(relief.cards)
    if is_of_empty:
        whose = "one card with" if count == 1 else f"{count} cards, each with"
        told = f"{whose} {amount} more"
    else:
        where = "on one card" if count == 1 else f"on each of {count} cards"
        told = f"{amount} more free {where}"
    return f"{told}, and {ids}" if ids else told


def amount_text(amount: Usage, *, counts_units: bool = False) -> str:
    """Tell an amount, what is 0 left out.

    Example:
        >>> amount_text(Usage(1, 0, 30))
        '1 slot, 30 % of cores'
    """
    parts = []
    if amount.slots:
        parts.append(f"{amount.slots} slot{'' if amount.slots == 1 else 's'}")
    if amount.memory_mib:
        parts.append(f"{amount.memory_mib} MiB")
    if amount.core_percent:
        unit = "cores" if counts_units else "% of cores"
        parts.append(f"{amount.core_percent} {unit}")
    return ", ".join(parts) or "nothing"


def _cut(text: str) -> str:
    """Shorten by bytes, and never within a character."""
    encoded = text.encode()
    if len(encoded) <= LONGEST:
        return text
    return f"{encoded[: LONGEST - 3].decode(errors='ignore')}..."
