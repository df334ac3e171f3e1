"""Where log lines go: through a queue to one thread that formats and writes them.

So neither a slow disk nor a pipe that nobody reads ever holds up a verb; what does not
fit into the queue is dropped and counted.
"""

import logging
import os
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from typing import Final, TextIO

from extender.observe.decision_log import DECISIONS, NOTHING
from extender.observe.log_files import AppendedFile
from extender.observe.log_lines import REQUEST_ID_ATTRIBUTE, LogFormat, formatter
from extender.observe.request_ids import REQUEST_ID

_log = logging.getLogger(__name__)

_MOST_WAITING: Final = 10_000
"""Lines; about 1 kB each, half a minute of a busy process."""


class Decisions(StrEnum):
    """Which decisions are written."""

    OFF = "off"
    REFUSED = "refused"
    ALL = "all"


class LogLevel(StrEnum):
    """From which level on all other lines are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"


_PARTING_SECONDS: Final = 2.0
"""How long the last lines may take; a pipe that nobody reads never takes them."""

_LEVEL_OF: Final = {
    Decisions.OFF: NOTHING,
    Decisions.REFUSED: logging.WARNING,
    Decisions.ALL: logging.INFO,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is logged, how, and where to."""

    format: LogFormat = LogFormat.TEXT
    """Text for people, JSON for what collects logs."""

    level: LogLevel = LogLevel.INFO
    """Of all lines but decisions; SIGUSR1 changes it."""

    decisions: Decisions = Decisions.ALL
    """Of decisions; SIGUSR2 changes it."""

    decision_file: Path | None = None
    """Where decisions go instead of standard error. It is opened anew once another
    file has its name, as after a rotation."""


class LogLevels:
    """What is written now; it can be changed at any time.

    There is one for the process, as there is one root logger.
    """

    @property
    def level(self) -> LogLevel:
        """From which level on lines are written that tell no decision."""
        return LogLevel(logging.getLevelName(logging.getLogger().level).lower())

    @property
    def decisions(self) -> Decisions:
        """Which decisions are written."""
        return next(each for each in Decisions if _LEVEL_OF[each] == DECISIONS.level)

    def set(self, level: LogLevel, decisions: Decisions) -> None:
        """Write these from now on."""
        logging.getLogger().setLevel(level.upper())
        DECISIONS.setLevel(_LEVEL_OF[decisions])

    def turn_level(self) -> None:
        """Go on from info to debug, from there to warning, and to info again."""
        after = {
            LogLevel.INFO: LogLevel.DEBUG,
            LogLevel.DEBUG: LogLevel.WARNING,
            LogLevel.WARNING: LogLevel.INFO,
        }
        self.set(after[self.level], self.decisions)
        _log.warning("log level is %s from now on", self.level.value)

    def turn_decisions(self) -> None:
        """Go on from all decisions to none, then to refusals, and to all again."""
        after = {
            Decisions.ALL: Decisions.OFF,
            Decisions.OFF: Decisions.REFUSED,
            Decisions.REFUSED: Decisions.ALL,
        }
        self.set(self.level, after[self.decisions])
        _log.warning("decision log is %s from now on", self.decisions.value)


LEVELS: Final = LogLevels()


@contextmanager
def logging_to(stream: TextIO, settings: LogSettings) -> Iterator[None]:
    """Write all log lines of the process by these settings; the rest at the end.

    Raises:
        SettingsError: The decision log's file cannot be opened.
    """
    lines = _writing(_stream_handler(stream), settings)
    apart = None
    if settings.decision_file is not None:
        apart = AppendedFile(settings.decision_file, "--decision-log-file")
        _writing(apart, settings)
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(_MOST_WAITING)
    listener = _Writer(waiting, _Sorted(lines, apart))
    handler = _Waiting(waiting, apart)
    root = logging.getLogger()
    root.addHandler(handler)
    LEVELS.set(settings.level, settings.decisions)
    listener.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        LEVELS.set(LogLevel.WARNING, Decisions.OFF)
        listener.stop()
        for each in (lines, apart):
            if each is not None and listener.is_done:
                each.close()


def dropped_lines() -> int:
    """Count the lines that the process could not write, or not in time."""
    handlers = logging.getLogger().handlers
    return sum(each.dropped for each in handlers if isinstance(each, _Waiting))


class _Waiting(QueueHandler):
    """Takes records as they are, with the id of the request that they belong to."""

    def __init__(
        self, waiting: "queue.Queue[logging.LogRecord]", apart: AppendedFile | None
    ) -> None:
        super().__init__(waiting)
        self._untaken = 0
        self._apart = apart

    @property
    def dropped(self) -> int:
        """Lines for which there was no room, here or in the file."""
        return self._untaken + (self._apart.lost if self._apart is not None else 0)

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Leave formatting to the thread, but for arguments that may change."""
        if record.args:
            record.msg, record.args = record.getMessage(), None
        setattr(record, REQUEST_ID_ATTRIBUTE, REQUEST_ID.get())
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        """Put a record into the queue, if there is room: nobody ever waits."""
        try:
            self.queue.put_nowait(record)
        except queue.Full:
            self._untaken += 1


class _Writer(QueueListener):
    """Writes in its own thread, and does not wait for ever for its end."""

    def __init__(
        self, waiting: "queue.Queue[logging.LogRecord]", handler: logging.Handler
    ) -> None:
        super().__init__(waiting, handler)
        self._waiting: queue.Queue[logging.LogRecord | None] = waiting  # type: ignore[assignment]
        self.is_done = False

    def stop(self) -> None:
        """Write what waits, as far as it is taken soon."""
        thread = self._thread
        if thread is None:
            return
        try:
            self._waiting.put(None, timeout=_PARTING_SECONDS)  # what ends the thread
        except queue.Full:
            return
        thread.join(_PARTING_SECONDS)
        self.is_done = not thread.is_alive()


class _Descriptor(logging.Handler):
    """Writes to a file descriptor: without buffers and locks, which could be held.

    Python's own end would wait for those of a stream that nobody reads.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def createLock(self) -> None:  # noqa: N802 - logging's name
        """Have none: there is one thread."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; where the other end is closed, nobody misses it."""
        left = f"{self.format(record)}\n".encode(errors="backslashreplace")
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            pass

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)
        super().close()


def _stream_handler(stream: TextIO) -> logging.Handler:
    try:
        return _Descriptor(os.dup(stream.fileno()))
    except OSError:  # it has none: it is in memory
        return logging.StreamHandler(stream)


class _Sorted(logging.Handler):
    """Writes decisions apart from all else, where they have a place of their own."""

    def __init__(self, lines: logging.Handler, apart: logging.Handler | None) -> None:
        super().__init__()
        self._lines = lines
        self._apart = apart or lines

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        is_decision = record.name == DECISIONS.name
        (self._apart if is_decision else self._lines).handle(record)


def _writing(handler: logging.Handler, settings: LogSettings) -> logging.Handler:
    handler.setFormatter(formatter(settings.format))
    return handler
