"""What is printed, kept from playing tricks on a terminal."""

from typing import Final

from rich.console import Console

from extender.observe.printable import printable

__all__ = ["console", "printable"]

_WIDE: Final = 10_000
"""Columns; no line of ours is longer."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `extender.cli.main`, where rich would end the process."""
        raise BrokenPipeError


def console(*, is_wide: bool = False) -> Console:
    """Open standard output for tables; text is never read as markup."""
    width = _WIDE if is_wide else None
    return _Console(highlight=False, markup=False, emoji=False, width=width)
