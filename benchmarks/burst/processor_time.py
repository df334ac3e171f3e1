"""Who used the processors while a burst ran, by the system's own books."""

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from benchmarks.books import TICKS_PER_SECOND, Times

DRIVER: Final = "driver"
"""This process."""


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Seconds of processor that were used.

    Attributes:
        by_program: Of this process and of all that it started, by program. Whatever
            ended is not in it.
        machine: Of everything on the machine.
    """

    by_program: Mapping[str, float]
    machine: float

    @classmethod
    def now(cls) -> Self:
        """Read what was used so far."""
        found = _processes()
        by_program: Counter[str] = Counter()
        for number, times in found.items():
            if _is_ours(number, found):
                by_program[_program(number)] += times.ticks
        seconds = {name: n / TICKS_PER_SECOND for name, n in by_program.items()}
        return cls(seconds, _busy_ticks() / TICKS_PER_SECOND)

    def since(self, before: Self) -> "ProcessorTime":
        """Give what was used since an earlier look."""
        used = {
            name: seconds - before.by_program.get(name, 0.0)
            for name, seconds in self.by_program.items()
        }
        return ProcessorTime(used, self.machine - before.machine)

    @property
    def others(self) -> float:
        """Of what has nothing to do with this process."""
        return max(0.0, self.machine - sum(self.by_program.values()))


Processes = Mapping[int, Times]
"""Every process by its number."""


def _processes() -> Processes:
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError):  # it has ended
            found[int(folder.name)] = Times.of(int(folder.name))
    return found


def _is_ours(number: int, found: Processes) -> bool:
    """Tell whether a process is this one, or below it."""
    while number in found and number != os.getpid():
        number = found[number].parent_id
    return number == os.getpid()


def _program(number: int) -> str:
    if number == os.getpid():
        return DRIVER
    try:
        command = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "ended"
    words = [os.fsdecode(word) for word in command]
    if any(word.endswith("leash.py") for word in words):
        return "leash"
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1]
    return Path(words[0]).name


def _busy_ticks() -> int:
    first, *_ = Path("/proc/stat").read_text().splitlines()
    user, nice, system, _idle, _wait, irq, softirq, *_ = map(int, first.split()[1:])
    return user + nice + system + irq + softirq
