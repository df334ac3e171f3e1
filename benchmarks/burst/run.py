"""One run of a burst, from an empty control plane to its figures."""

import asyncio
import os
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
from benchmarks.burst.figures import Figures, Measured, Plan, Run, Said, figures_of
from benchmarks.burst.load import (
    IN_FLIGHT,
    BurstFailed,
    Say,
    Times,
    load,
    prepare,
    when_running,
)
from benchmarks.burst.objects import nodes, pods
from benchmarks.burst.processor_time import ProcessorTime
from benchmarks.burst.programs import extender, plugins, scheduler
from tests.control_plane.binaries import Binaries
from tests.control_plane.component import Component, ComponentError, tail
from tests.control_plane.plane import ControlPlane, running
from tests.control_plane.scheduler import scheduler_name

Result = TypeVar("Result")

_FAILURES: Final = (BurstFailed, ComponentError, ApiRefused, aiohttp.ClientError)
_LOOK_SECONDS: Final = 1.0


def run(plan: Plan, one: Run, binaries: Binaries, say: Say) -> Figures:
    """Run one burst; everything that it starts has ended when it returns.

    Raises:
        BurstFailed: It did not end in time, or not as it should; notes have the logs.
    """
    with _folder(plan, one) as folder, _logs_noted(folder):
        measured = _run_in(folder, plan, one, binaries, say)
        return figures_of(one, measured, Said.read(folder, one.contender))


@contextmanager
def _folder(plan: Plan, one: Run) -> Iterator[Path]:
    """Give an empty folder, which stays where the plan wants the logs."""
    if plan.logs is None:
        with tempfile.TemporaryDirectory(prefix="burst-") as name:
            yield Path(name)
        return
    folder = plan.logs / f"{one.node_count}-{one.contender.name}-{one.number}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise BurstFailed(f"{folder}: {error.strerror}") from error
    yield folder


def _run_in(
    folder: Path, plan: Plan, one: Run, binaries: Binaries, say: Say
) -> Measured:
    load_before = os.getloadavg()[0]
    log = CallLog(folder)
    say("the control plane starts")
    with running(binaries, folder, log.flags()) as plane:
        asyncio.run(_prepare(plane, one.node_count, say))
        with (
            extender(plane, one.contender) as asked,
            scheduler(plane, asked.url if asked else None) as placing,
            plugins(plane, plan.allocate_seconds) as standing_in,
        ):
            programs = [placing.program, standing_in]
            if asked is not None:
                programs.append(asked.program)
            log.forget()
            bursting = _burst(plan, plane, one, say)
            times, used, running_seconds = asyncio.run(
                _while_all_run(programs, bursting)
            )
            # Before the extender's watches end: they are none of the burst's.
            calls = log.calls()
            metrics = placing.metrics()
    return Measured(times, used, metrics, running_seconds, calls, load_before)


async def _prepare(plane: ControlPlane, node_count: int, say: Say) -> None:
    async with Api.connected(plane.kubeconfig(), connections=IN_FLIGHT) as api:
        await prepare(api, nodes(node_count), say)


async def _burst(
    plan: Plan, plane: ControlPlane, one: Run, say: Say
) -> tuple[Times, ProcessorTime, float]:
    """Load the cluster, and hold what comes of it to what must be.

    Returns:
        When pods were bound, the processor time until then, and the seconds until all
        ran.
    """
    burst = pods(plan.pods, plan.shape, plan.policy, scheduler_name())
    async with Api.connected(plane.kubeconfig()) as api:
        before = ProcessorTime.now()
        times = await load(api, burst, plan.limit_seconds, say)
        used = ProcessorTime.now().since(before)
        say("all pods are bound")
        shown = await when_running(api, plan.pods, plan.limit_seconds)
        running_seconds = time.monotonic() - min(times.created.values())
        check(one.contender, shown, (await api.get(NODES))["items"])
    return times, used, running_seconds


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
