"""Starts kube-scheduler again when it ends by itself, as a kubelet does."""

import asyncio
from typing import Final, NoReturn

from tests.control_plane.component import Component

_LOOK_SECONDS: Final = 0.5


class Supervisor:
    """Keeps one program running.

    kube-scheduler 1.36.3 ends with "Pod updated on a different node than previously
    added to" where a list, after a watch that broke, shows another pod by the name of
    one that was bound: its handler of updates does not compare UIDs.
    """

    def __init__(self, program: Component) -> None:
        self.restarts = 0
        self._program = program

    async def keep_running(self) -> NoReturn:
        """Look every so often, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if not self._program.runs:
                self.restarts += 1
                self._program.stop()
                self._program.start()
