"""What is printed, kept from playing tricks on a terminal."""

from rich.console import Console

from extender.observe.printable import printable

__all__ = ["console", "printable"]


def console() -> Console:
    """Open standard output for tables; text is never read as markup."""
    return Console(highlight=False, markup=False, emoji=False)
