"""TLS handshakes that are not finished: they count among a listener's connections.

asyncio keeps a connection to itself until its handshake is done, so that nobody could
count it or close it before. Here its own TLS protocol is given to the listener instead
of a context, which is what asyncio does with one, and tells the room who has knocked.
"""

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Final

from extender.settings import HttpSettings
from extender.web.connections import Connection, Room

_TLS_CLOSE_SECONDS: Final = 5.0
"""How long a client may take to agree that a TLS connection is closed."""


class Handshaking(SSLProtocol):
    """The TLS side of one connection."""

    def __init__(
        self,
        connection: Connection,
        trusted: ssl.SSLContext,
        room: Room,
        settings: HttpSettings,
    ) -> None:
        """Wait for a client.

        Args:
            connection: What is told of it once its handshake is done.
            trusted: By whom.
            room: Where it counts until then.
            settings: How long a handshake may take.
        """
        super().__init__(
            asyncio.get_running_loop(),
            connection,
            trusted,
            None,  # type: ignore[arg-type] # nobody waits for the handshake
            server_side=True,
            # The stubs have whole seconds alone.
            ssl_handshake_timeout=settings.header_seconds,  # type: ignore[arg-type]
            ssl_shutdown_timeout=_TLS_CLOSE_SECONDS,
        )
        self._connection = connection
        self._room = room

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake, if there is room."""
        if isinstance(transport, asyncio.Transport) and not self._room.knock(
            self._connection, transport
        ):
            transport.abort()
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End, whether or not the handshake was done."""
        self._room.leave(self._connection)
        super().connection_lost(exc)
