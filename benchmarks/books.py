"""What the system's books say of a process: ``/proc``, so on Linux only."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process has in memory, MiB.

    Attributes:
        resident: Now.
        peak: At most, so far.
    """

    resident: float
    peak: float

    @classmethod
    def of(cls, process_id: int) -> Self:
        """Read it.

        Raises:
            OSError: There is no such process, or the system has no such books.
        """
        fields = {}
        for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            fields[name] = value
        resident, peak = (
            int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")
        )
        return cls(resident, peak)


@dataclass(frozen=True, slots=True)
class Times:
    """Of a process.

    Attributes:
        parent_id: Which process started it.
        ticks: For which it has kept a processor busy, `TICKS_PER_SECOND` each.
    """

    parent_id: int
    ticks: int

    @classmethod
    def of(cls, process_id: int) -> Self:
        """Read them.

        Raises:
            OSError: As for `Memory.of`.
        """
        text = Path(f"/proc/{process_id}/stat").read_text()
        # The name before it may hold anything, also blanks and brackets.
        fields = text.rpartition(")")[2].split()
        return cls(int(fields[1]), int(fields[11]) + int(fields[12]))


def processor_seconds(process_id: int) -> float:
    """Read how long a process has kept a processor busy.

    Raises:
        OSError: As for `Memory.of`.
    """
    return Times.of(process_id).ticks / TICKS_PER_SECOND
