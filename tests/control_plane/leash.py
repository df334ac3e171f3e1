"""Run a program for as long as whoever started it holds our standard input open.

A program on a leash ends when it is let go, and also when the test process is killed:
then the pipe closes by itself. It hears no Ctrl-C, since the order in which a control
plane ends matters (see `tests.control_plane.plane`).

Usage: ``python leash.py GRACE_SECONDS PROGRAM ARGUMENT...``
"""

import os
import subprocess
import sys
import threading


def main() -> int:
    """Run the program; give its exit code."""
    grace_seconds, *command = sys.argv[1:]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as child:
        holder = (child, float(grace_seconds))
        threading.Thread(target=_end_when_let_go, args=holder, daemon=True).start()
        return child.wait()


def _end_when_let_go(child: subprocess.Popen[bytes], grace_seconds: float) -> None:
    while os.read(0, 1):
        pass
    child.terminate()
    try:
        child.wait(timeout=grace_seconds)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main())
