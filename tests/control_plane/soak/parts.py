"""Everything that takes part in a soak, and its figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.control_plane.soak.chaos import Kills, NodeFlaps, Outages, Trouble
from tests.control_plane.soak.end import Ending
from tests.control_plane.soak.excuses import Excuses
from tests.control_plane.soak.front import Front
from tests.control_plane.soak.load import Load
from tests.control_plane.soak.nodes import SoakKubelet
from tests.control_plane.soak.replicas import Replica
from tests.control_plane.soak.stream import Stream
from tests.control_plane.soak.supervisor import Supervisor
from tests.control_plane.soak.waits import Waits
from tests.control_plane.soak.witness import Cause, Witness

_ALWAYS_TOLD: Final = (
    "gpu_extender_audit_differences_total",
    "gpu_extender_audits_total",
    "gpu_extender_lists_total nodes",
    "gpu_extender_lists_total pods",
    "gpu_extender_woken_pods_total",
)


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that takes part in a soak."""

    stream: Stream
    witness: Witness
    waits: Waits
    load: Load
    kubelets: Sequence[SoakKubelet]
    replicas: Sequence[Replica]
    front: Front
    kills: Kills
    outages: Outages
    trouble: Trouble
    flaps: NodeFlaps
    ending: Ending
    scheduler: Supervisor

    def counted(self) -> Counter[str]:
        """Add up what all extenders counted in all their lives."""
        return sum((one.counted() for one in self.replicas), Counter[str]())

    def excuses(self) -> Excuses:
        """Tell what explains a wrong."""
        misled: dict[str, str] = {}
        for kubelet in self.kubelets:
            misled |= kubelet.misled
        without_ids = {node.name: node.without_ids for node in self.flaps.nodes}
        deleted, outages = self.load.deleted_unserved, self.outages.periods
        return Excuses(deleted, misled, outages, without_ids)

    def happened(self) -> Counter[str]:
        """Add up what happened to containers."""
        return sum((one.stories.happened for one in self.kubelets), Counter[str]())


def lines_of(parts: Parts) -> Iterator[str]:
    """Print all figures."""
    waits, witness, ending = parts.waits, parts.witness, parts.ending
    yield from _section("pods", parts.load.counts)
    yield f"  most that waited at a time: {waits.most_waiting}"
    yield f"  longest that one fitted and waited: {waits.longest}"
    yield from _section("containers", parts.happened())
    yield from _section("kube-scheduler", parts.front.counts)
    yield f"  it ended by itself, and was started again: {parts.scheduler.restarts}"
    yield from _section("kills of extenders", parts.kills.counts)
    yield f"  between lock and the Binding's answer: {parts.kills.aimed}"
    away = sum(until - since for since, until in parts.outages.periods)
    yield "apiserver"
    yield f"  restarts: {parts.outages.restarts}, in all {away:.0f} s"
    yield f"  compactions: {parts.outages.compactions}"
    yield f"  watches cut: {parts.trouble.watches_cut}"
    yield from _counts(parts.trouble.counts)
    yield from _section("nodes", parts.flaps.counts)
    counted = dict.fromkeys(_ALWAYS_TOLD, 0) | parts.counted()
    yield from _section("extenders, all lives of both", counted)
    yield f"changes observed: {witness.events}, gaps: {parts.stream.gaps}"
    yield "cards that came to hold too much"
    yield from _counts({cause: witness.causes[cause] for cause in Cause})
    yield from (f"    {text}" for text in witness.told)
    yield "end"
    yield f"  settled after {ending.seconds:.0f} s"
    yield f"  waiting, and fitting nowhere: {len(list(waits.waiting()))}"
    yield f"  of these, a better choice of cards would place: {len(ending.missed)}"
    yield from (f"    {text}" for text in ending.missed)
    yield f"  answers to probes: {ending.probes}"


def _section(name: str, counts: Mapping[str, int]) -> Iterator[str]:
    yield name
    yield from _counts(counts)


def _counts(counts: Mapping[str, int]) -> Iterator[str]:
    for what, number in sorted(counts.items()):
        yield f"  {what}: {number}"
