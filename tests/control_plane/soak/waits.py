"""How long pods wait that would fit, by the tests' oracle."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NoReturn

from tests.builders import Json
from tests.control_plane.soak.fit import fits
from tests.control_plane.soak.shapes import Shape, shape_of
from tests.control_plane.soak.stream import Stream
from tests.control_plane.soak.witness import Witness

_LOOK_SECONDS: Final = 1.0


class Waits:
    """Looks at all unbound pods every second.

    Attributes:
        longest_seconds: How long any pod fitted, all the time, and was not bound.
        longest: The same with its name, for people.
        most_waiting: How many were unbound at a time.
    """

    def __init__(
        self, stream: Stream, witness: Witness, is_outage: Callable[[], bool]
    ) -> None:
        self.longest_seconds = 0.0
        self.longest = "none"
        self.most_waiting = 0
        self._stream = stream
        self._witness = witness
        self._is_outage = is_outage
        self._seconds = Counter[str]()

    async def look_forever(self) -> NoReturn:
        """Look every second, until cancelled; not while the apiserver is away."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if not self._is_outage():
                self.look()

    def look(self) -> None:
        """Add a second to whatever fits and waits."""
        fitting = {pod["metadata"]["uid"]: pod for pod in self.fitting()}
        self.most_waiting = max(self.most_waiting, len(list(self.waiting())))
        for uid in self._seconds.keys() - fitting.keys():
            del self._seconds[uid]
        for uid, pod in fitting.items():
            self._seconds[uid] += 1
            if self._seconds[uid] * _LOOK_SECONDS > self.longest_seconds:
                self.longest_seconds = self._seconds[uid] * _LOOK_SECONDS
                name = f"{pod['metadata']['name']}, {shape_of(pod).name}"
                self.longest = f"{self.longest_seconds:.0f} s ({name})"

    def waiting(self) -> Iterator[Json]:
        """List the pods that are to be placed."""
        for pod in self._stream.pods.values():
            is_leaving = "deletionTimestamp" in pod["metadata"]
            if "nodeName" not in pod["spec"] and not is_leaving:
                yield pod

    def fitting(self) -> list[Json]:
        """List those that fit on some node."""
        waiting = list(self.waiting())
        fit = {shape: self._fits(shape) for shape in set(map(shape_of, waiting))}
        return [pod for pod in waiting if fit[shape_of(pod)]]

    def _fits(self, shape: Shape) -> bool:
        return any(
            fits(shape.request(), node, self._witness.places[name])
            for name, node in self._stream.nodes.items()
        )
