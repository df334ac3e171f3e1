"""Filter while events flow, in turns with filter while none do."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from benchmarks.api_server.processes import StandIn, extender_on, stand_in
from benchmarks.books import Memory, processor_seconds
from benchmarks.churn.absorbed import Absorbed
from benchmarks.churn.asking import Asker
from benchmarks.churn.plan import Load, Plan
from benchmarks.churn.taken import Taken
from benchmarks.connection import Connection, connect
from benchmarks.results import Row
from benchmarks.servers import Server, ServerFailed

_WARM_UP_SECONDS: Final = 1.0
_DRAINED_WITHIN_SECONDS: Final = 60.0


def measure(
    workload: Mapping[str, object], *, full: bool, say: Callable[[str], None]
) -> list[Row]:
    """Measure each load on an extender of its own.

    Raises:
        WorkloadUnusable: The workload cannot be read.
        ServerFailed: A process did not do what it is for.
        AnswerUnusable: An answer of filter is wrong.
    """
    plan = Plan.of(workload, full=full)
    rows = []
    for load in plan.loads:
        say(f"{load.name}: starting at {plan.nodes:,} nodes")
        with (
            stand_in(plan.stand_in_arguments(load)) as api,
            extender_on(api) as server,
            connect(server.port) as connection,
        ):
            run = _Run(plan, load, api, server, connection)
            rows += [taken.row(plan, load) for taken in run.all(say)]
    return rows


class _Run:
    """One load, on running servers."""

    def __init__(
        self,
        plan: Plan,
        load: Load,
        api: StandIn,
        server: Server,
        connection: Connection,
    ) -> None:
        self._plan, self._load = plan, load
        self._api, self._process_id = api, server.process.pid
        self._connection = connection
        self._absorbed = Absorbed(server.port)

    def all(self, say: Callable[[str], None]) -> Iterator[Taken]:
        """Measure every shape."""
        for shape in self._plan.shapes:
            say(f"{self._load.name}: {shape.name}")
            is_seen = self._load.is_seen
            asker = Asker(self._connection, shape, self._plan.cluster, is_seen)
            yield self._measured(asker)

    def _measured(self, asker: Asker) -> Taken:
        plan, taken = self._plan, Taken(asker.shape.name)
        asker.ask_for(_WARM_UP_SECONDS)
        for _ in range(plan.rounds):
            # In turns, so that whatever else the machine does falls on both.
            taken.calm += asker.ask_for(plan.calm_seconds)
            before = self._absorbed.now()
            self._api.start_events(self._load.rates)
            taken.churn += asker.ask_for(plan.churn_seconds)
            sent, now = self._api.stop_events(), self._absorbed.now()
            taken.note_events(before, sent, now, plan.churn_seconds)
            taken.drain_seconds.append(self._drained(sent))
        taken.processor_us_per_event = self._cost_of_events()
        taken.resident_mib = Memory.of(self._process_id).resident
        return taken

    def _cost_of_events(self) -> float:
        """Let events flow alone; give microseconds of processor for one."""
        sent_before = sum(self._absorbed.now().values())
        used_before = processor_seconds(self._process_id)
        self._api.start_events(self._load.rates)
        time.sleep(self._plan.alone_seconds)
        sent = self._api.stop_events()
        self._drained(sent)
        used = processor_seconds(self._process_id) - used_before
        return used / (sum(sent.values()) - sent_before) * 1e6

    def _drained(self, sent: Mapping[str, int]) -> float:
        seconds = self._absorbed.seconds_until(sent, _DRAINED_WITHIN_SECONDS)
        if seconds is None:
            raise ServerFailed(f"not all events came in: {sent} were sent")
        return seconds
