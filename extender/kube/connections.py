"""Connections to an API server, none of which outlives the session that opened it."""

import ssl
import sys
from typing import Final

import aiohttp

# Older Pythons (see https://github.com/python/cpython/pull/118960) end a TLS connection
# whose answer was given up only once its server agrees, unless aiohttp is told to.
_VERSION: Final = sys.version_info[:3]
_LEAVES_SOME: Final = _VERSION < (3, 12, 7) or _VERSION == (3, 13, 0)


def connector(
    trust: ssl.SSLContext | None = None, most_connections: int = 0
) -> aiohttp.TCPConnector:
    """Open connections as they are needed, and end all when the session is closed.

    Args:
        trust: Whom to believe; by default those whom the machine believes.
        most_connections: At once; 0 is as many as there are requests.
    """
    return aiohttp.TCPConnector(
        ssl=trust or True, limit=most_connections, enable_cleanup_closed=_LEAVES_SOME
    )
