"""A file to which log lines are appended: through rotations, full disks, lost folders.

What cannot be written is counted and told on the rest of the log: at most once a minute
while it lasts, and once when it is over. Whoever reads the file finds whole lines.
"""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from extender.errors import SettingsError

_log = logging.getLogger(__name__)

_TOLD_EVERY_SECONDS: Final = 60.0

# Without waiting: of a named pipe that nobody reads, opening and writing would not end.
_HOW: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK


class AppendedFile(logging.Handler):
    """Writes each record to a file; opens it anew once another file has its name."""

    def __init__(
        self, file: Path, flag: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Open it.

        Args:
            file: Made where there is none.
            flag: Of the command line, for messages.
            clock: Seconds; for how often a trouble is told.

        Raises:
            SettingsError: It cannot be opened; names the flag, the file and the reason.
        """
        super().__init__()
        self._name = f"{flag} {file}"
        self._file = file
        self._clock = clock
        self._lost_now = 0
        self._tell_at = 0.0
        self._is_cut = False
        try:
            self._descriptor: int | None = os.open(file, _HOW, 0o666)
        except OSError as error:
            raise SettingsError(f"{self._name}: {error.strerror}") from error
        self.lost = 0
        """Lines that could not be written, since the start."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; where that fails it is lost, and that is told."""
        line = f"{self.format(record)}\n".encode(errors="backslashreplace")
        try:
            self._write(self._opened(), line)
        except OSError as error:
            self._lose(error)
        else:
            self._tell_end()

    def close(self) -> None:
        """Close the file."""
        self._let_go()
        super().close()

    def _opened(self) -> int:
        """Give the descriptor of what has the file's name now.

        Raises:
            OSError: Nothing has it, and none can be made.
        """
        if self._descriptor is not None and not self._is_replaced(self._descriptor):
            return self._descriptor
        self._let_go()
        self._descriptor = os.open(self._file, _HOW, 0o666)
        return self._descriptor

    def _is_replaced(self, descriptor: int) -> bool:
        try:
            named = self._file.stat()
        except FileNotFoundError:
            return True
        return not os.path.samestat(named, os.fstat(descriptor))

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None
        self._is_cut = False

    def _write(self, descriptor: int, line: bytes) -> None:
        """Write a whole line; what a failure left of one before gets an end."""
        left = b"\n" + line if self._is_cut else line
        begun = len(left)
        try:
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            self._is_cut = bool(left) and (self._is_cut or len(left) < begun)

    def _lose(self, error: OSError) -> None:
        self.lost += 1
        self._lost_now += 1
        if self._clock() < self._tell_at:
            return
        self._tell_at = self._clock() + _TOLD_EVERY_SECONDS
        _log.warning(
            "%s: lines are lost, %d so far: %s; free or mend it, and they go on by "
            "themselves",
            self._name,
            self._lost_now,
            error.strerror,
        )

    def _tell_end(self) -> None:
        if self._lost_now:
            _log.warning(
                "%s: is written again; %d lines were lost", self._name, self._lost_now
            )
            self._lost_now, self._tell_at = 0, 0.0
