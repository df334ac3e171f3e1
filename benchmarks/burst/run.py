"""One run of a burst, from an empty control plane to its figures."""

import asyncio
import os
import re
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import aiohttp

from benchmarks.burst.api import NODES, Api, ApiRefused
from benchmarks.burst.api_calls import CallLog
from benchmarks.burst.check import check
from benchmarks.burst.figures import Burst, Figures, Measured, Run, Said, figures_of
from benchmarks.burst.load import (
    IN_FLIGHT,
    BurstFailed,
    Say,
    Times,
    check_pending,
    load,
    prepare,
    refuse_first,
    when_running,
)
from benchmarks.burst.objects import nodes, pending_pods, pods
from benchmarks.burst.processor_time import ProcessorTime
from benchmarks.burst.programs import Scheduler, extender, plugins, scheduler
from benchmarks.burst.scheduler_metrics import SchedulerMetrics
from tests.control_plane.binaries import Binaries
from tests.control_plane.component import Component, ComponentError, tail
from tests.control_plane.plane import ControlPlane, running
from tests.control_plane.scheduler import scheduler_name

Result = TypeVar("Result")

_FAILURES: Final = (BurstFailed, ComponentError, ApiRefused, aiohttp.ClientError)
_LOOK_SECONDS: Final = 1.0


def run(burst: Burst, one: Run, binaries: Binaries, say: Say) -> Figures:
    """Run one burst; everything that it starts has ended when it returns.

    Raises:
        BurstFailed: It did not end in time, or not as it should; notes have the logs.
    """
    with _folder(burst, one) as folder, _logs_noted(folder):
        measured = _run_in(folder, burst, one, binaries, say)
        return figures_of(burst, one, measured, Said.read(folder, one.contender))


@contextmanager
def _folder(burst: Burst, one: Run) -> Iterator[Path]:
    """Give an empty folder, which stays where the burst wants the logs."""
    if burst.logs is None:
        with tempfile.TemporaryDirectory(prefix="burst-") as name:
            yield Path(name)
        return
    folder = burst.logs / re.sub(r"\W+", "-", one.name)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise BurstFailed(f"{folder}: {error.strerror}") from error
    yield folder


def _run_in(
    folder: Path, burst: Burst, one: Run, binaries: Binaries, say: Say
) -> Measured:
    load_before = os.getloadavg()[0]
    log = CallLog(folder)
    say("the control plane starts")
    with running(binaries, folder, log.flags()) as plane:
        asyncio.run(_prepare(plane, one.node_count, say))
        with (
            extender(plane, one.contender, is_secure=one.is_secure) as asked,
            scheduler(plane, asked) as placing,
            plugins(plane, burst.allocate_seconds) as standing_in,
        ):
            programs = [placing.program, standing_in]
            if asked is not None:
                programs.append(asked.program)
            if one.pending:
                refusing = _refuse_pending(burst, plane, one, placing, say)
                asyncio.run(_while_all_run(programs, refusing))
            log.forget()
            bursting = _burst(burst, plane, one, placing, say)
            times, used, metrics, running_seconds = asyncio.run(
                _while_all_run(programs, bursting)
            )
            # Before the extender's watches end: they are none of the burst's.
            calls = log.calls()
    return Measured(times, used, metrics, running_seconds, calls, load_before)


async def _prepare(plane: ControlPlane, node_count: int, say: Say) -> None:
    async with Api.connected(plane.kubeconfig(), connections=IN_FLIGHT) as api:
        await prepare(api, nodes(node_count), say)


async def _refuse_pending(
    burst: Burst, plane: ControlPlane, one: Run, placing: Scheduler, say: Say
) -> None:
    refused = pending_pods(
        one.pending, burst.policy, scheduler_name(), by_extender=one.contender.is_ours
    )
    async with Api.connected(plane.kubeconfig(), connections=IN_FLIGHT) as api:
        await refuse_first(
            api,
            refused,
            lambda: placing.metrics().waiting_pods(),
            burst.limit_seconds,
            say,
        )
    say(f"{one.pending:,} pending pods were refused")


async def _burst(
    burst: Burst, plane: ControlPlane, one: Run, placing: Scheduler, say: Say
) -> tuple[Times, ProcessorTime, SchedulerMetrics, float]:
    """Load the cluster, and hold what comes of it to what must be.

    Returns:
        When pods were bound, the processor time and what kube-scheduler counted until
        then, and the seconds until all ran.
    """
    asking = pods(burst.pods, burst.shape, burst.policy, scheduler_name())
    async with Api.connected(plane.kubeconfig()) as api:
        counted_before = await asyncio.to_thread(placing.metrics)
        used_before = ProcessorTime.now()
        times = await load(api, asking, burst.limit_seconds, say)
        used = ProcessorTime.now().since(used_before)
        counted = await asyncio.to_thread(placing.metrics)
        say("all pods are bound")
        shown = await when_running(api, burst.pods, burst.limit_seconds)
        running_seconds = time.monotonic() - min(times.created.values())
        check(one.contender, shown, (await api.get(NODES))["items"])
        if one.pending:
            await check_pending(api)
    return times, used, counted.since(counted_before), running_seconds


async def _while_all_run(
    programs: Sequence[Component], work: Coroutine[None, None, Result]
) -> Result:
    """Do a work, but not for longer than the programs run that it needs."""
    task = asyncio.create_task(work)
    while not task.done():
        await asyncio.wait({task}, timeout=_LOOK_SECONDS)
        ended = [program.name for program in programs if not program.runs]
        if ended:
            task.cancel()
            raise BurstFailed(f"{' and '.join(ended)} ended")
    return task.result()


@contextmanager
def _logs_noted(folder: Path) -> Iterator[None]:
    """Turn whatever fails into one failure that has the last lines of every log."""
    try:
        yield
    except (*_FAILURES, ExceptionGroup) as failed:
        leaves = list(_leaves(failed))
        if not all(isinstance(leaf, _FAILURES) for leaf in leaves):
            raise
        error = BurstFailed("\n".join(map(str, leaves)))
        for log in sorted(folder.glob("*.log")):
            error.add_note(f"--- {log.name}, last lines:\n{tail(log)}")
        raise error from failed


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error
