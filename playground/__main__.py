"""``python -m playground``: run a playground until Ctrl-C.

Exit codes: 0 where it was ended by a signal, 1 where a part of it could not be started
or ended by itself.
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path
from typing import Final

import pytest

from playground.announcement import announcement
from playground.folder import FolderInUse, own_folder
from playground.running import Playground
from tests.control_plane import binaries

_FOLDER: Final = Path("build/playground")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Run it; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m playground", description=__doc__)
    parser.add_argument("--folder", type=Path, default=_FOLDER, metavar="FOLDER")
    folder: Path = parser.parse_args().folder
    try:
        with own_folder(folder) as own:
            programs = binaries.built(say)
            kwok = binaries.built_kwok(say)
            return asyncio.run(_run(Playground(own, programs, kwok, say)))
    except KeyboardInterrupt:
        say("ended before anything was started")
        return 0
    except (FolderInUse, pytest.fail.Exception) as error:
        say(str(error))
        return 1


def say(text: str) -> None:
    """Tell the user, at once also through a pipe."""
    print(f"playground: {text}" if text[:1].strip() else text, flush=True)


async def _run(playground: Playground) -> int:
    # The handlers stay to the end, so a second signal changes nothing.
    is_ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, is_ended.set)
    session = asyncio.create_task(_session(playground))
    ended = asyncio.create_task(is_ended.wait())
    await asyncio.wait({session, ended}, return_when=asyncio.FIRST_COMPLETED)
    code = 0
    try:
        if not session.done():
            say("ending; a few seconds")
            session.cancel()
        await session
    except asyncio.CancelledError:
        pass
    except Exception as error:  # noqa: BLE001 - whatever it is, everything is ended
        say(f"{error or repr(error)}")
        code = 1
    await playground.stop()
    say(f"everything is ended; logs are in {playground.folder}")
    return code


async def _session(playground: Playground) -> None:
    """Start it and watch it, until cancelled or something is wrong."""
    starting = asyncio.create_task(playground.start())
    watching = asyncio.create_task(playground.watch())
    try:
        await asyncio.wait({starting, watching}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
            say(announcement(playground))
        await watching
    finally:
        starting.cancel()
        watching.cancel()
        await asyncio.gather(starting, watching, return_exceptions=True)


if __name__ == "__main__":
    sys.exit(main())
