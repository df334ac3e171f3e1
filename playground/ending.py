"""Signals that end a playground: the first does, all others change nothing."""

import asyncio
import signal
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ending:
    """Hears Ctrl-C, SIGTERM and a closed terminal, from when it is made to the exit.

    Until `asked` is awaited nothing is started that would have to be ended: till then a
    signal is a KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self._was_heard = False
        self._tell: Callable[[], object] | None = None
        for number in _SIGNALS:
            # The loop's own handlers are gone once it is closed, and files are removed
            # after that.
            signal.signal(number, self._hear)

    async def asked(self) -> None:
        """Wait for the first signal."""
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        self._tell = lambda: loop.call_soon_threadsafe(heard.set)
        await heard.wait()

    def is_over(self) -> None:
        """Pass over signals from now on: all has ended."""
        self._tell = lambda: None

    def _hear(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        is_first, self._was_heard = not self._was_heard, True
        if self._tell is not None:
            self._tell()
        elif is_first:
            raise KeyboardInterrupt
