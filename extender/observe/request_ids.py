"""Which request is being answered: by its id, in every log line that it causes.

The id goes along with the tasks that a request begins, so it is a context variable.
Nothing is decided by it.
"""

import os
import re
from contextvars import ContextVar
from typing import Final

REQUEST_ID: Final[ContextVar[str]] = ContextVar("request_id", default="")
"""Of the request that is being answered; empty outside of any."""

_SANE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RANDOM_BYTES: Final = 8


def request_id_of(text: str | None) -> str:
    """Take the id that a caller gave, if it is sane; else make one up.

    Args:
        text: Taken where it has 1 to 64 of letters, digits, ``.``, ``_`` and ``-``, and
            begins with one of the first two: so it can neither break a line nor fill
            the log.

    Example:
        >>> request_id_of("3f2a-77")
        '3f2a-77'
        >>> len(request_id_of("two words"))
        16
    """
    if text is not None and _SANE.fullmatch(text):
        return text
    return os.urandom(_RANDOM_BYTES).hex()
