"""A soak: real control plane, two extenders, and everything that goes wrong.

More pods come than fit, through kube-scheduler; they run, crash, finish and are deleted
at every stage. Meanwhile extenders are killed, the apiserver restarts, watches break
and nodes flap. Whoever watches looks at every change (`witness`). In the end all
comes to rest, and what is left must add up (`end`).
"""

import asyncio
import math
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from time import monotonic
from typing import Final, Self

from tests.control_plane.client import Api
from tests.control_plane.plane import ControlPlane, User
from tests.control_plane.scheduler import kube_scheduler
from tests.control_plane.soak.chaos import (
    Action,
    Kills,
    NodeFlaps,
    Outages,
    Trouble,
    spread,
)
from tests.control_plane.soak.end import Ending
from tests.control_plane.soak.front import fronted
from tests.control_plane.soak.load import Load
from tests.control_plane.soak.nodes import NODES, Flaps, PatientApi, SoakKubelet
from tests.control_plane.soak.parts import Parts
from tests.control_plane.soak.replicas import Replica, replica
from tests.control_plane.soak.report import Report, Required, report_of
from tests.control_plane.soak.shapes import SHAPES
from tests.control_plane.soak.stories import Stories
from tests.control_plane.soak.stream import Change, Stream
from tests.control_plane.soak.supervisor import Supervisor
from tests.control_plane.soak.trace import Trace
from tests.control_plane.soak.waits import Waits
from tests.control_plane.soak.witness import Witness

Say = Callable[[str], None]

_ROOM: Final = 0.75
"""How much of the offered load the cards have room for."""

_START_SECONDS: Final = 6.0
"""How long a pod holds its cards, on average, besides the time that its apps run."""

_USUAL_CARD: Final = 24_000
_TOLD_SECONDS: Final = 30.0
_AUDIT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, how much of everything, and from which seed."""

    seed: int
    seconds: float
    pods: int
    kills: int
    restarts: int
    troubles: int
    flaps: int

    @classmethod
    def of(cls, minutes: float, seed: int) -> Self:
        """Plan a soak; three minutes and a bit are the least."""
        parts = max(1.0, minutes / 3)
        return cls(
            seed=seed,
            seconds=60 * minutes,
            pods=math.ceil(300 * parts),
            kills=math.ceil(10 * parts),
            restarts=math.ceil(2 * parts),
            troubles=math.ceil(12 * parts),
            flaps=math.ceil(9 * parts),
        )

    def random(self, of: str) -> Random:
        """Give what one part of the soak draws from."""
        return Random(f"{self.seed} {of}")

    @property
    def required(self) -> Required:
        """How much there must have been of everything, at least."""
        return Required(
            pods=self.pods,
            kills=self.kills,
            aimed_kills=self.kills // 2,
            restarts=self.restarts,
            compactions=self.restarts // 2,
            watches_cut=self.troubles // 3,
        )

    @property
    def pods_per_second(self) -> float:
        """How many pods come, on average: a few more than are required."""
        return 1.1 * self.pods / self.seconds

    @property
    def mean_seconds(self) -> float:
        """How long apps run, on average, so that there is room for some of the load."""
        weights = sum(shape.weight for shape in SHAPES.values())
        mean_mib = sum(
            shape.weight * shape.steady_mib(_USUAL_CARD) for shape in SHAPES.values()
        )
        there_is = sum(sum(node.cards) for node in NODES)
        at_a_time = there_is / _ROOM / (mean_mib / weights)
        return at_a_time / self.pods_per_second - _START_SECONDS


class Soak:
    """One soak; `run` does all of it.

    Args:
        plane: Runs, with `stream.AS_JSON`, and is empty.
        plan: What is to be done.
        say: Is told every so often how far it is.
    """

    def __init__(self, plane: ControlPlane, plan: Plan, say: Say) -> None:
        self._plane = plane
        self._plan = plan
        self._say = say

    async def run(self) -> Report:
        """Run it, and tell what came of it."""
        async with (
            Api.connected(self._plane) as plain,
            PatientApi.connected(self._plane) as patient,
            AsyncExitStack() as running,
            asyncio.TaskGroup() as group,
        ):
            trace = running.enter_context(Trace(self._plane.folder / "changes.log"))
            load = Load(patient, self._plan.seed, group)
            stream, witness = Stream(self._plane), Witness()

            def see(change: Change) -> None:
                trace.see(change)
                witness.see(change)
                load.see(change)

            following = group.create_task(stream.follow(see))
            kubelets = await self._kubelets(patient, plain, group)
            replicas = await self._replicas(running)
            urls = [one.url for one in replicas]
            front, url = await running.enter_async_context(fronted(urls))
            scheduler = Supervisor(
                await running.enter_async_context(kube_scheduler(self._plane, url))
            )
            outages = Outages(self._plane)
            waits = Waits(stream, witness, lambda: outages.is_now)
            random = self._plan.random
            flaps = [Flaps(patient, plan) for plan in NODES]
            parts = Parts(
                stream=stream,
                witness=witness,
                waits=waits,
                load=load,
                kubelets=kubelets,
                replicas=replicas,
                front=front,
                kills=Kills(replicas, random("kills")),
                outages=outages,
                trouble=Trouble(replicas, random("trouble")),
                flaps=NodeFlaps(flaps, random("flaps")),
                ending=Ending(stream, witness, waits, replicas),
                scheduler=scheduler,
            )
            works: list[Coroutine[None, None, None]] = [
                waits.look_forever(),
                scheduler.keep_running(),
                self._tell_forever(parts),
                *(one.watch_forever(_AUDIT_SECONDS) for one in replicas),
                *(kubelet.run() for kubelet in kubelets),
            ]
            forever = [group.create_task(work) for work in works]
            await self._disturb(parts)
            report = await self._rest(parts)
            for kubelet in kubelets:
                kubelet.stories.end()
            for task in (following, *forever):
                task.cancel()
        return report

    async def _kubelets(
        self, patient: PatientApi, plain: Api, group: asyncio.TaskGroup
    ) -> list[SoakKubelet]:
        """Create the nodes, and give their kubelets, which are still to be run."""
        kubelets = []
        for plan in NODES:
            await patient.create_node(plan.builder().build())
            seconds = self._plan.mean_seconds
            stories = Stories(patient, self._plan.seed, seconds, group)
            kubelets.append(SoakKubelet(patient, plain, plan, stories))
        return kubelets

    async def _replicas(self, running: AsyncExitStack) -> list[Replica]:
        made = [replica(self._plane, name, User.EXTENDER) for name in ("one", "two")]
        return [await running.enter_async_context(one) for one in made]

    async def _disturb(self, parts: Parts) -> None:
        """Create pods for as long as planned, and let go wrong what was planned."""
        plan = self._plan
        lanes: dict[str, list[Action]] = {
            "kills": parts.kills.actions(plan.kills),
            "outages": parts.outages.actions(plan.restarts),
            "trouble": parts.trouble.actions(plan.troubles),
            "flaps": parts.flaps.actions(plan.flaps),
        }
        async with asyncio.TaskGroup() as group:
            creating = group.create_task(
                parts.load.create_forever(plan.pods_per_second)
            )
            async with asyncio.TaskGroup() as until:
                until.create_task(asyncio.sleep(plan.seconds))
                until.create_task(parts.load.has_created(plan.pods))
                for name, actions in lanes.items():
                    drawn = plan.random(f"times of {name}")
                    until.create_task(spread(actions, plan.seconds, drawn))
            creating.cancel()
        parts.load.end()
        for kubelet in parts.kubelets:
            kubelet.stories.are_held = True

    async def _rest(self, parts: Parts) -> Report:
        """Wait until nothing happens any more, and look at what is left."""
        self._say("soak: no more pods come; waiting until all has settled")
        still_open = await parts.ending.settle()
        wrong = [*still_open, *await parts.ending.check()]
        for one in parts.replicas:
            await one.look()
        return report_of(parts, self._plan.required, wrong)

    async def _tell_forever(self, parts: Parts) -> None:
        begun = monotonic()
        while True:
            await asyncio.sleep(_TOLD_SECONDS)
            load, kills = parts.load.counts, parts.kills.counts.total()
            self._say(
                f"soak: {monotonic() - begun:.0f} s, {load['created']} pods created, "
                f"{load['placed']} placed, {kills} kills, "
                f"{parts.outages.restarts} restarts of the apiserver, "
                f"{parts.witness.events} changes seen"
            )
