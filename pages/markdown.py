"""Tables and paragraphs, as the pages of ``docs`` have them."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

GENERATED: Final = (
    "<!-- Written by python -m pages. Change the code, not this page. -->"
)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Write a table; a ``|`` within a cell is kept.

    Example:
        >>> print(table(["a"], [["1|2"]]))
        | a |
        |---|
        | 1\|2 |
    """
    lines = [
        f"| {' | '.join(heads)} |",
        f"|{'|'.join('---' for _ in heads)}|",
        *(f"| {' | '.join(map(_cell, row))} |" for row in rows),
    ]
    return "\n".join(lines)


def code(text: str) -> str:
    """Mark text as code; nothing stays nothing.

    Example:
        >>> code("serve"), code("")
        ('`serve`', '')
    """
    return f"`{text}`" if text else ""


def one_line(text: str) -> str:
    r"""Put a docstring on one line, with marks as Markdown has them.

    Example:
        >>> one_line("Of ``a``\n    and `b.c`.")
        'Of `a` and `b.c`.'
    """
    return re.sub(r"``([^`]*)``", r"`\1`", " ".join(text.split()))


def page(title: str, *parts: str) -> str:
    """Put a page together."""
    return "\n\n".join([f"# {title}", GENERATED, *parts]) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)
