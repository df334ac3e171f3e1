"""The folder of one playground: what is in it while it runs, and what is left."""

import fcntl
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.control_plane.binaries import Binaries


class FolderInUse(Exception):
    """Another playground runs in that folder."""


@contextmanager
def own_folder(folder: Path) -> Iterator[Path]:
    """Have a folder alone, empty at first; of what is written there, logs stay.

    Raises:
        FolderInUse: Another process has it.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(
                f"a playground runs in {folder} already; end it, or name "
                "another --folder"
            ) from None
        _empty(folder, keeps=(".lock",))
        try:
            yield folder
        finally:
            _empty(folder, keeps=("*.log",))


def _empty(folder: Path, keeps: tuple[str, ...]) -> None:
    for path in folder.iterdir():
        if any(path.match(pattern) for pattern in keeps):
            continue
        if path.is_dir() and not path.is_symlink():
            # A program that was ended by force may still write for a moment.
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def link_programs(folder: Path, binaries: Binaries) -> Path:
    """Fill ``bin`` with what the commands need, for ``PATH``; give it."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "kubectl").symlink_to(binaries.kubectl)
    own = programs / "gpu-extender"
    own.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m extender "$@"\n')
    own.chmod(0o755)
    return programs
