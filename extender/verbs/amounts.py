"""Amounts of cards in words, and what must become free in a sentence."""

from extender.core.usage import Usage
from extender.verbs.explanation import CardRelief


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


def relief_text(relief: CardRelief, *, is_of_empty: bool, cards: str = "") -> str:
    """Tell what must become free; completes "would fit there if".

    Args:
        relief: Of one kind of device on one node.
        is_of_empty: Whether it is missing even if no pod holds anything there.
        cards: Names the cards; without, they are counted.

    Example:
        >>> relief = CardRelief("NVIDIA", ("GPU-a",), (0,), Usage(0, 2_048, 10))
        >>> relief_text(relief, is_of_empty=False)
        '2048 MiB, 10 % of cores more were free on one card'
        >>> relief_text(relief, is_of_empty=True, cards="card 0")
        'card 0 had 2048 MiB, 10 % of cores more'
    """
    ids = f"{relief.device_ids} more device ids of kubelet were free"
    if not relief.cards:
        return ids
    count = len(relief.cards)
    where = cards or ("one card" if count == 1 else f"each of {count} cards")
    amount = amount_text(relief.amount, counts_units=relief.counts_units)
    if is_of_empty:
        told = f"{where} had {amount} more"
    else:
        told = f"{amount} more were free on {where}"
    return f"{told}, and {ids}" if relief.device_ids else told
