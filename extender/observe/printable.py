"""Text from outside, made safe to show: it may hold line breaks and the like."""


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
