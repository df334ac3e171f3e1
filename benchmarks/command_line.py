"""What the commands of the benchmarks share."""

import argparse
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn


def whole_number(limit: int, *, least: int = 1) -> Callable[[str], int]:
    """Make a reader of whole numbers up to a limit."""

    def read(text: str) -> int:
        is_number = text.isascii() and text.isdigit()
        if not is_number or not least <= int(text) <= limit:
            raise argparse.ArgumentTypeError(f"{text} is not within {least} to {limit}")
        return int(text)

    return read


def exit_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """Leave by an exception, so that what was started is ended on the way out."""
    sys.exit(128 + number)
