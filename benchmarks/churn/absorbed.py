"""How many events the extender has taken in, by its own metrics."""

import re
import time
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Final

from benchmarks.servers import LOOPBACK

_SAMPLE: Final = re.compile(
    r'^gpu_extender_(watch_events|lists)_total\{collection="(\w+)"\} (\S+)$',
    re.MULTILINE,
)
_LOOK_EVERY_SECONDS: Final = 0.01


def absorbed(text: str) -> dict[str, int]:
    """Read from metrics how many objects were told of each collection.

    Raises:
        ValueError: A collection was listed twice: what was listed counts, too, so
            nothing could be told from the difference.

    Example:
        >>> absorbed('gpu_extender_watch_events_total{collection="pods"} 12.0')
        {'pods': 12}
    """
    counts = {}
    for name, collection, value in _SAMPLE.findall(text):
        if name == "watch_events":
            counts[collection] = int(float(value))
        elif float(value) > 1:
            raise ValueError(f"{collection} were listed {value} times")
    return counts


class Absorbed:
    """Counts the events since a moment; what was listed before is none of them."""

    def __init__(self, port: int) -> None:
        """Begin to count, on the extender at a port."""
        self._port = port
        self._listed = self._read()

    def now(self) -> dict[str, int]:
        """Tell how many events came since the beginning."""
        return {
            name: count - self._listed.get(name, 0)
            for name, count in self._read().items()
        }

    def seconds_until(
        self, flowed: Mapping[str, int], within_seconds: float
    ) -> float | None:
        """Wait until all that flowed has been taken in; tell how long that took.

        Returns:
            None where it was not within the time.
        """
        began = time.monotonic()
        while time.monotonic() - began < within_seconds:
            now = self.now()
            if all(now.get(name, 0) >= count for name, count in flowed.items()):
                return time.monotonic() - began
            time.sleep(_LOOK_EVERY_SECONDS)
        return None

    def _read(self) -> dict[str, int]:
        connection = HTTPConnection(LOOPBACK, self._port, timeout=60.0)
        try:
            connection.request("GET", "/metrics")
            return absorbed(connection.getresponse().read().decode())
        finally:
            connection.close()
