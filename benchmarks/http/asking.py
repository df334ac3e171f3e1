"""Ask two servers in turn, so that whatever else the machine does falls on both."""

import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks.connection import Connection
from benchmarks.http.judging import WARM_UPS


@dataclass(frozen=True, slots=True)
class Asker:
    """How one server is asked.

    Attributes:
        connection: To it.
        request: Makes the whole request from the question's number.
        judge: Raises for a wrong answer.
        prepare: Does what comes before the question, and is not timed.
    """

    connection: Connection
    request: Callable[[int], bytes]
    judge: Callable[[int, bytes], None]
    prepare: Callable[[int], None] | None = None

    def ask(self, number: int, request: bytes) -> int:
        """Ask once; give the nanoseconds it took."""
        if self.prepare is not None:
            self.prepare(number)
        elapsed, body = self.connection.ask(request)
        self.judge(number, body)
        return elapsed


def accept(_number: int, _body: bytes) -> None:
    """Judge nothing: the echo server's answers are wrong by design."""


def ask_in_turn(
    first: Asker, second: Asker, numbers: Iterable[int]
) -> tuple[list[int], list[int]]:
    """Ask both the questions of these numbers, the first few to warm up.

    Returns:
        Nanoseconds of each timed request, of the first and of the second.

    Raises:
        AnswerUnusable: An answer is wrong.
    """
    times: tuple[list[int], list[int]] = ([], [])
    gc.disable()
    try:
        for number in numbers:
            made = [asker.request(number) for asker in (first, second)]
            # Each goes first every other time: the second finds warmer caches.
            for turn in (0, 1) if number % 2 else (1, 0):
                asker = (first, second)[turn]
                times[turn].append(asker.ask(number, made[turn]))
    finally:
        gc.enable()
    return times[0][WARM_UPS:], times[1][WARM_UPS:]
