"""Lists of node names, each read once.

kube-scheduler sends the names that fitted in filter again for prioritize, and a list of
5,000 takes longer to take apart and look up than all else in such a request.
"""

from typing import Final

import orjson

from extender.core.names import NodeName

NAMES_KEY: Final = b'"NodeNames":'

_ESCAPE: Final = b"\\"

_LISTS_KEPT: Final = 8
_LONGEST_KEPT: Final = 2 * 2**20
"""Bytes of one list; 15,000 long names are 0.6 MB."""


class NodeLists:
    """The latest lists of names, by their JSON text."""

    def __init__(self) -> None:
        self._names_of: dict[bytes, tuple[NodeName, ...]] = {}

    def known(self, text: bytes) -> tuple[NodeName, ...] | None:
        """Give the very tuple that was kept for this text."""
        names = self._names_of.pop(text, None)
        if names is not None:
            self._names_of[text] = names  # as the latest
        return names

    def keep(self, text: bytes, names: tuple[NodeName, ...]) -> None:
        """Keep a list that was read from a text."""
        if len(text) > _LONGEST_KEPT:
            return
        self._names_of[text] = names
        if len(self._names_of) > _LISTS_KEPT:
            del self._names_of[next(iter(self._names_of))]


def cut_names(body: bytes) -> tuple[bytes, bytes] | None:
    """Cut the last value of an object out, where it is the list of names.

    Returns:
        The body with null in its place, and the text of the list; None where it does
        not stand there. If both are JSON, they say what the body says. For the quote
        before the key is not escaped, so it either ends a string, and then no JSON
        goes on with a letter, or begins one. Then the key is a whole key; and since
        the first part ends with the brace after its null, it is the outermost object's
        last, so none that is spelled the same counts instead.

    Example:
        >>> cut_names(b'{"Pod":{},"NodeNames":["n1","n2"]}')
        (b'{"Pod":{},"NodeNames":null}', b'["n1","n2"]')
        >>> cut_names(b'{"NodeNames":["n1"],"Pod":{}}') is None
        True
    """
    at = body.rfind(NAMES_KEY)
    if at < 0 or body[at - 1 : at] == _ESCAPE:
        return None
    text = body[at + len(NAMES_KEY) : -1]
    if not (text.startswith(b"[") and body.endswith(b"]}")):
        return None
    return body[:at] + NAMES_KEY + b"null}", text


def decoded_or_none(text: bytes) -> object:
    """Decode JSON; None also for what is no JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
