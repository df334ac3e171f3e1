"""What is printed, kept from playing tricks on a terminal."""

from rich.console import Console


def printable(text: str) -> str:
    r"""Write control characters out: names and annotations come from anywhere.

    Example:
        >>> printable("GPU-\x1b[2J")
        'GPU-\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )


def console() -> Console:
    """Open standard output for tables; text is never read as markup."""
    return Console(highlight=False, markup=False, emoji=False)
