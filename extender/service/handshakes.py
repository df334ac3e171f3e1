"""Asking device plugins to register, where they wait to be asked.

Such a plugin writes ``Reported_<time>`` once it has registered, and does so again after
``Requesting_<time>`` was written there. Nothing here counts as dead by the age of it.

Source: HAMi v2.10's scheduler, which writes it for every kind.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import Final

from extender.core.names import NodeName
from extender.errors import ExtenderError
from extender.service.cluster import Cluster
from extender.state.ledger_view import LedgerView

_log = logging.getLogger(__name__)

_PERIOD_SECONDS: Final = 15.0
_REQUESTING: Final = "Requesting"
_TIME_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
_AT_ONCE: Final = 8


class Handshakes:
    """Answers each plugin's report with the next request, some seconds later."""

    def __init__(
        self, cluster: Cluster, ledger: LedgerView, unix_seconds: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._unix_seconds = unix_seconds
        self._writes = asyncio.Semaphore(_AT_ONCE)

    async def ask_forever(self) -> None:
        """Ask, until cancelled, whoever waits for it."""
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            await self.ask()

    async def ask(self) -> None:
        """Ask every plugin whose latest report is not followed by a request."""
        async with asyncio.TaskGroup() as group:
            for node_name, annotations in self._due():
                group.create_task(self._write(node_name, annotations))

    def _due(self) -> Iterator[tuple[NodeName, dict[str, str]]]:
        now = time.localtime(self._unix_seconds())
        request = f"{_REQUESTING}_{time.strftime(_TIME_FORMAT, now)}"
        for node in self._ledger.nodes.values():
            due = [name for name, text in node.handshakes if _REQUESTING not in text]
            if due:
                yield node.name, dict.fromkeys(due, request)

    async def _write(self, node_name: NodeName, annotations: dict[str, str]) -> None:
        async with self._writes:
            try:
                await self._cluster.annotate_node(node_name, annotations)
            except ExtenderError as error:
                names = ", ".join(annotations)
                _log.warning("node %s: %s is not written: %s", node_name, names, error)
