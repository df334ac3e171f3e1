"""What is going on, where something takes longer than a moment."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console

_SILENT_SECONDS: Final = 1.0


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Tell on a terminal what is going on, once it takes a second; nothing elsewhere.

    Args:
        what: Such as ``pods are listed``.
    """
    if not sys.stderr.isatty():
        yield
        return
    console = Console(stderr=True, highlight=False, markup=False)
    status = console.status(f"{what} ...")
    timer = threading.Timer(_SILENT_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
