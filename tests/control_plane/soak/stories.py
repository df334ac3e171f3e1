"""What the containers of admitted pods do by themselves, by chance."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from random import Random
from typing import Final

from tests.builders import Json
from tests.control_plane.client import Api, ApiError
from tests.control_plane.playing import Containers, is_sidecar
from tests.control_plane.soak.fates import number_of
from tests.control_plane.stage import Stage

_KILLED: Final = 137
_STEP_SECONDS: Final = (0.2, 1.5)
"""How long an init runs, and how long whatever happens between two steps takes."""

_INITS_THAT_FAIL: Final = 0.1
"""Of all starts of an init; it exits with 0 the next time."""

_CRASH: Final = "its sidecars crash"
_SANDBOX: Final = "its sandbox is recreated"
_RESTART: Final = "its containers are restarted"
_FAILURE: Final = "fails"
_HAPPENINGS: Final = {"runs on": 60, _CRASH: 16, _SANDBOX: 12, _RESTART: 4, _FAILURE: 8}
"""How many pods of a hundred it happens to, halfway through their lives."""

_GONE: Final = {
    HTTPStatus.NOT_FOUND,
    # There is another one of this name: the patch would change its UID.
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
_AGAIN_SECONDS: Final = 0.1


class _Gone(Exception):
    """The pod was deleted; what its containers do is told to nobody."""


class Stories(Stage):
    """Plays each pod of a node from its admission to its end.

    Args:
        api: As an administrator; tries again while the apiserver is away.
        seed: What all stories are drawn from, each by the number of its pod.
        mean_seconds: How long a pod's apps run, on average.
        group: Where pods are played.
    """

    def __init__(
        self, api: Api, seed: int, mean_seconds: float, group: asyncio.TaskGroup
    ) -> None:
        super().__init__(api)
        self.happened = Counter[str]()
        self.are_held = False
        """Once set, no pod ends, and nothing happens to those that run."""

        self._seed = seed
        self._mean_seconds = mean_seconds
        self._group = group
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def enter(self, pod: Json, containers: Containers) -> None:
        """Begin with a pod that was admitted."""
        await super().enter(pod, containers)
        uid = pod["metadata"]["uid"]
        self._tasks[uid] = self._group.create_task(self._tell(pod, containers))

    def leave(self, pod_uid: str) -> None:
        """End with a pod, wherever it is."""
        super().leave(pod_uid)
        task = self._tasks.pop(pod_uid, None)
        if task is not None:
            task.cancel()

    def end(self) -> None:
        """End with all pods."""
        for task in self._tasks.values():
            task.cancel()

    async def report(self, pod: Json, status: Json) -> None:
        """Patch a status; a pod that is gone is fine."""
        with suppress(_Gone):
            await self._write(pod, status)

    async def _tell(self, pod: Json, shown: Containers) -> None:
        async def show() -> None:
            await self._write(pod, shown.status())

        random = Random(f"{self._seed} story {number_of(pod)}")
        half = random.uniform(0.3, 1.7) * self._mean_seconds / 2
        (happening,) = random.choices([*_HAPPENINGS], [*_HAPPENINGS.values()])
        story = _Story(pod, shown, show, random, self.happened)
        with suppress(_Gone):
            await story.start()
            await asyncio.sleep(half)
            if not self.are_held:
                await story.happen(happening)
            await asyncio.sleep(half)
            if not self.are_held:
                shown.finish(1 if happening == _FAILURE else 0)
                await show()

    async def _write(self, pod: Json, status: Json) -> None:
        while True:
            try:
                await self._patch(pod, status)
            except ApiError as error:
                if error.status in _GONE:
                    raise _Gone from error
                if error.status != HTTPStatus.CONFLICT:
                    raise
                # Too many others wrote at the same time.
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return


class _Story:
    """The containers of one pod, step by step."""

    def __init__(
        self,
        pod: Json,
        shown: Containers,
        show: Callable[[], Awaitable[None]],
        random: Random,
        happened: Counter[str],
    ) -> None:
        self._inits: list[Json] = pod["spec"].get("initContainers", [])
        self._shown = shown
        self._show = show
        self._random = random
        self._happened = happened

    async def start(self) -> None:
        """Run the inits in turn, and then the apps."""
        for init in self._inits:
            self._shown.run(init["name"])
            await self._show()
            if not is_sidecar(init):
                await self._run_through(init["name"])
        self._shown.start_apps()
        await self._show()

    async def _run_through(self, init: str) -> None:
        await self._pause()
        if self._random.random() < _INITS_THAT_FAIL:
            self._happened["an init fails"] += 1
            await self._crash([init])
            await self._pause()
        self._shown.exit(init, 0)
        await self._show()
        await self._pause()

    async def happen(self, what: str) -> None:
        """Let something happen to a pod that runs."""
        self._happened[what] += 1
        if what == _CRASH:
            sidecars = [init["name"] for init in self._inits if is_sidecar(init)]
            await self._crash(sidecars)
        elif what == _SANDBOX:
            self._kill_all()
            await self._take(lambda: self._shown.sandbox(is_ready=False))
            await self._take(lambda: self._shown.sandbox(is_ready=True))
            await self.start()
        elif what == _RESTART:
            self._kill_all()
            await self._take(lambda: self._shown.restarting_all(is_true=True))
            await self._take(lambda: self._shown.restarting_all(is_true=False))
            await self.start()

    async def _crash(self, names: Iterable[str]) -> None:
        """Let containers fail, wait, and run again."""
        for name in names:
            self._shown.exit(name, 1)
            await self._show()
            self._shown.wait(name, "CrashLoopBackOff")
            await self._show()
            await self._pause()
            self._shown.run(name)
            await self._show()

    def _kill_all(self) -> None:
        status = self._shown.status()
        for kind in ("initContainerStatuses", "containerStatuses"):
            for one in status.get(kind, []):
                if "running" in one["state"]:
                    self._shown.exit(one["name"], _KILLED)

    async def _take(self, step: Callable[[], None]) -> None:
        """Take a step, show it, and let some time pass."""
        step()
        await self._show()
        await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self._random.uniform(*_STEP_SECONDS))
