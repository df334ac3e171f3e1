"""What must be so once nothing happens any more."""

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Final

from tests.builders import Json
from tests.control_plane.plugin import LOCK
from tests.control_plane.recomputed import checked_rows
from tests.control_plane.soak.fit import Probe, fits, fits_somehow, probes_of
from tests.control_plane.soak.replicas import Replica
from tests.control_plane.soak.shapes import shape_of
from tests.control_plane.soak.stream import Stream
from tests.control_plane.soak.waits import Waits
from tests.control_plane.soak.witness import Cause, Witness, is_unserved

_SETTLED_SECONDS: Final = 300.0
"""Generous: a sent Binding is read after 60 s, a lock of an unbound pod is taken over
after 60 s, a bind waits 20 s, kube-scheduler up to 10 s, a wake 5 s; and the machine is
shared."""

_IN_A_ROW: Final = 5
"""How many looks, a second apart, must find everything settled."""


class Ending:
    """Waits until all has settled, and holds it against what must be so."""

    def __init__(
        self,
        stream: Stream,
        witness: Witness,
        waits: Waits,
        replicas: Sequence[Replica],
    ) -> None:
        self.seconds = 0.0
        """How long it took to settle."""

        self.missed: list[str] = []
        """Pods that some choice of cards would have placed, but not card after card."""

        self.probes = 0
        self._stream = stream
        self._witness = witness
        self._waits = waits
        self._replicas = replicas

    async def settle(self) -> list[str]:
        """Wait until all that can be placed is placed and served.

        Returns:
            What is still open when the time is up.
        """
        begun = monotonic()
        in_a_row = 0
        while in_a_row < _IN_A_ROW:
            await asyncio.sleep(1.0)
            open_now = await self._open()
            in_a_row = 0 if open_now else in_a_row + 1
            self.seconds = monotonic() - begun
            if self.seconds > _SETTLED_SECONDS:
                return open_now
        return []

    async def _open(self) -> list[str]:
        """List what is not settled."""
        found = [f"{_name(pod)} fits and waits" for pod in self._waits.fitting()]
        found += [
            f"{_name(pod)} is not served"
            for pod in self._stream.pods.values()
            if "nodeName" in pod["spec"] and is_unserved(pod)
        ]
        for name, node in self._stream.nodes.items():
            lock = node["metadata"]["annotations"].get(LOCK)
            if lock is not None:
                found.append(f"{name} is locked: {lock}")
        for replica in self._replicas:
            audit = await replica.audit()
            if audit["reservations"]:
                found.append(f"{replica.name} has {audit['reservations']} reservations")
        return found

    async def check(self) -> list[str]:
        """List all that is not as it must be."""
        wrong: list[str] = []
        for replica in self._replicas:
            audit = await replica.audit()
            wrong += [f"{replica.name}: {one}" for one in audit["differences"]]
            wrong += [
                f"{replica.name}: {one}"
                for one in audit["overfull"]
                if one["cause"] == Cause.PLACED
            ]
        for pod in self._stream.pods.values():
            if "nodeName" in pod["spec"] and pod["status"]["phase"] != "Failed":
                wrong += self._why_not_as_asked(pod)
        self._note_missed()
        for name in self._stream.nodes:
            wrong += await self._ask(name)
        return wrong

    def _why_not_as_asked(self, pod: Json) -> list[str]:
        if not shape_of(pod).request().asks_for_devices:
            return []
        try:
            checked_rows(pod, self._stream.nodes[pod["spec"]["nodeName"]])
        except AssertionError as error:
            return [f"{_name(pod)}: {error}"]
        return []

    def _note_missed(self) -> None:
        for pod in self._waits.waiting():
            for name, node in self._stream.nodes.items():
                place = self._witness.places[name]
                if fits_somehow(shape_of(pod).request(), node, place):
                    self.missed.append(f"{_name(pod)} on {name}")

    async def _ask(self, node_name: str) -> list[str]:
        """Ask both extenders what is left on each card, to the last MiB."""
        node, place = self._stream.nodes[node_name], self._witness.places[node_name]
        wrong = []
        for probe in probes_of(node, place):
            expected = [node_name] if fits(probe.request(), node, place) else []
            for replica in self._replicas:
                self.probes += 1
                said = await replica.ask("filter", _filter_args(probe, node_name))
                if said["NodeNames"] != expected:
                    where = f"{replica.name}, {node_name}, {probe.device_uuid}"
                    wrong.append(f"{where}, {probe.name}: {said}, not {expected}")
        return wrong


def _filter_args(probe: Probe, node_name: str) -> Json:
    shown = probe.builder().build()
    return {"Pod": shown, "Nodes": None, "NodeNames": [node_name]}


def _name(pod: Json) -> str:
    name: str = pod["metadata"]["name"]
    return f"{name} ({shape_of(pod).name})"
