"""The file that describes the kinds of device: read at start, and when it changes."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from extender.core.kinds import Kind
from extender.errors import SettingsError
from extender.observe.metrics import Metrics
from extender.wire.device_config import read_device_config

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 5.0
"""A ConfigMap takes kubelet up to a minute to show; a look is one small read."""


def kinds_in(file: Path) -> tuple[Kind, ...]:
    """Read the kinds of a file.

    Raises:
        SettingsError: It cannot be read; or every problem that it has, by line.
    """
    return read_device_config(_content(file), str(file))


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}") from error


class DeviceConfigFile:
    """Tells of new kinds whenever the file has changed and is valid.

    One that is not is logged once with all its problems, and changes nothing. Files are
    compared by content: kubelet replaces them through symbolic links.
    """

    def __init__(
        self,
        file: Path,
        kinds: tuple[Kind, ...],
        metrics: Metrics,
        told: Callable[[tuple[Kind, ...]], None],
    ) -> None:
        """Follow a file.

        Args:
            file: Where to look.
            kinds: That were read there at start.
            metrics: Counts.
            told: Is called with the kinds that are to count from then on.
        """
        self._file = file
        self._kinds = kinds
        self._metrics = metrics
        self._told = told
        self._seen: bytes | None = None
        self._trouble = ""

    async def follow_forever(self) -> None:
        """Look, until cancelled, whether it has changed."""
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Look once."""
        try:
            content = _content(self._file)
            if content == self._seen:
                return
            self._seen = content
            kinds = read_device_config(content, str(self._file))
        except SettingsError as error:
            self._refuse(str(error))
            return
        self._trouble = ""
        if kinds != self._kinds:
            self._kinds = kinds
            words = ", ".join(kind.type_word for kind in kinds)
            _log.info("%s has changed; kinds of device now: %s", self._file, words)
            self._metrics.device_config_reads.labels("taken").inc()
            self._told(kinds)

    def _refuse(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._metrics.device_config_reads.labels("refused").inc()
            _log.error("the kinds of device stay as they were: %s", trouble)
