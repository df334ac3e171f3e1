"""Bars of block characters: how much of something is charged."""

from typing import Final

from rich.text import Text

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_EMPTY: Final = "░"
_NEARLY_FULL: Final = 0.9


def bar(charged: int, capacity: int, width: int) -> Text:
    """Draw how much is charged; red beyond what there is.

    What is charged shows at least as a sliver, and what is not all is never drawn full.

    Args:
        charged: Of `capacity`; may be more.
        capacity: What there is; 0 draws an empty bar.
        width: In characters.

    Example:
        >>> bar(5, 10, 4).plain, bar(1, 1_000, 4).plain, bar(999, 1_000, 4).plain
        ('██░░', '▏░░░', '███▉')
    """
    whole = width * 8
    parts = 0 if capacity <= 0 else min(charged * whole // capacity, whole)
    if charged > 0 and capacity > 0:
        parts = max(parts, 1)
    full, rest = divmod(parts, 8)
    drawn = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text(drawn.ljust(width, _EMPTY), _style(charged, capacity))


def _style(charged: int, capacity: int) -> str:
    if charged > capacity:
        return "bold red"
    if capacity and charged >= _NEARLY_FULL * capacity:
        return "yellow"
    return "green"
