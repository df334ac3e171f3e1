"""What ``python -m playground`` does: build, start, print what to try, wait, end."""

import argparse
import asyncio
from pathlib import Path
from typing import Final

import pytest

from playground.announcement import announcement
from playground.ending import Ending
from playground.folder import FolderInUse, own_folder
from playground.running import Playground
from tests.control_plane import binaries

_FOLDER: Final = Path("build/playground")


def run(ending: Ending) -> int:
    """Run a playground; give the exit code.

    Returns:
        0 where it was ended by a signal, 1 where a part of it could not be started or
        ended by itself.

    Raises:
        KeyboardInterrupt: The signal came before anything was started.
    """
    parser = argparse.ArgumentParser(
        prog="python -m playground",
        description="Run a control plane with example GPU nodes until Ctrl-C.",
    )
    parser.add_argument("--folder", type=Path, default=_FOLDER, metavar="FOLDER")
    folder: Path = parser.parse_args().folder
    try:
        with own_folder(folder) as own:
            programs = binaries.built(say)
            kwok = binaries.built_kwok(say)
            return asyncio.run(_run(Playground(own, programs, kwok, say), ending))
    except (FolderInUse, pytest.fail.Exception) as error:
        say(str(error))
        return 1


def say(text: str) -> None:
    """Tell the user, at once also through a pipe."""
    print(f"playground: {text}" if text[:1].strip() else text, flush=True)


async def _run(playground: Playground, ending: Ending) -> int:
    session = asyncio.create_task(_session(playground))
    ended = asyncio.create_task(ending.asked())
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
        say(str(error) or repr(error))
        code = 1
    await playground.stop()
    ending.is_over()
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
