"""``python -m playground``, or ``make playground``."""

import sys

from playground.ending import Ending


def main() -> int:
    """Run it; give the exit code."""
    ending = Ending()
    try:
        # It takes a second or more, in which Ctrl-C is heard already.
        from playground.command import run  # noqa: PLC0415

        return run(ending)
    except KeyboardInterrupt:
        print("playground: ended before anything was started")
        return 0


if __name__ == "__main__":
    sys.exit(main())
