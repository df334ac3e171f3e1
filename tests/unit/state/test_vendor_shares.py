"""Shares that take several slots, and cores that are told apart, in the ledger."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from extender.core.allocation import UnreadableAllocation
from extender.core.kind_set import Kinds
from extender.core.names import DeviceUUID, NodeName
from extender.core.pod import Pod
from extender.core.pod_status import ContainerStatus, PodPhase, PodStatus, RunState
from extender.core.usage import Usage
from extender.state.audit import audit
from extender.state.events import NodeSeen, PodSeen, Synced
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.verbs.verdicts import judge_node
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, pod
from tests.shipped import SHIPPED
from tests.vendors import DRS

READER: Final = PodReader(Kinds(SHIPPED.values()))
N1: Final = NodeName("n1")
GCU: Final = DeviceUUID("n1-enflame-drs-0")
NEURON: Final = DeviceUUID("n1-AWSNeuron-0")
SLOTS: Final = "enflame.com/drs-gcu"
MEMORY: Final = "enflame.com/gcu-memory"
CORES: Final = "aws.amazon.com/neuroncore"
GCU_ROWS: Final = "hami.io/enflame-vgpu-devices-allocated"
NEURON_ROWS: Final = "hami.io/aws-neuron-devices-allocated"


def a_node() -> Ledger:
    """Start with a node that has a GCU of 6 slots, and a Neuron device."""
    amounts = {SLOTS: 6, "aws.amazon.com/neuron": 1, CORES: 2}
    shown = {
        "metadata": {
            "name": N1,
            "annotations": {"enflame.com/gcu-drs-capacity": DRS},
        },
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    ledger = Ledger()
    ledger.apply(NodeSeen(decode_node(shown, SHIPPED.values())))
    ledger.apply(Synced())
    return ledger


def asking(
    shown: PodBuilder,
    limits: Mapping[str, Mapping[str, int]],
    annotations: Mapping[str, str] | None = None,
) -> Pod:
    """Read a pod, of which the named containers ask for this."""
    printed: dict[str, Any] = shown.build()
    printed["metadata"].setdefault("annotations", {}).update(annotations or {})
    if annotations:
        printed["spec"]["nodeName"] = N1
    spec = printed["spec"]
    for container in [*spec.get("initContainers", ()), *spec["containers"]]:
        asked = limits.get(container["name"], {})
        container["resources"] = {"limits": asked}
    return READER.read(printed)


def drs(name: str, limits: Mapping[str, int], **annotations: str) -> Pod:
    """Show a pod that is bound to the GCU with three of its slots."""
    rows = {GCU_ROWS: f"{GCU},Enflame,20480,50:;"}
    return asking(pod(name).app("a"), {"a": limits}, {**rows, **annotations})


def used(ledger: Ledger, word: str) -> Mapping[DeviceUUID, Usage]:
    """Read what is held of one kind, and that all adds up."""
    assert audit(ledger) == []
    return ledger.fleet.totals(N1)[word].used


def why(ledger: Ledger, limits: Mapping[str, int]) -> str:
    """Tell why one more container does not fit; empty where it does."""
    coming = asking(pod("coming").app("a"), {"a": limits})
    verdict = judge_node(ledger.fleet, coming, N1, None)
    return "" if verdict is None else ", ".join(r.value for r in verdict.reasons)


def test_a_profile_takes_its_slots() -> None:
    """Two of three fill a card of six."""
    ledger = a_node()
    ledger.apply(PodSeen(drs("one", {SLOTS: 3})))
    assert used(ledger, "Enflame") == {GCU: Usage(3, 20_480, 50)}
    assert not why(ledger, {SLOTS: 3})
    assert why(ledger, {SLOTS: 6}) == "KubeletSlotsExhausted"
    assert why(ledger, {MEMORY: 40}) == "CardTimeSlicingExhausted"
    told = '{"a":{"allocated":true,"request":3,"profileName":"3g.20gb"}}'
    ledger.apply(PodSeen(drs("two", {MEMORY: 20}, **{"assigned-containers": told})))
    assert used(ledger, "Enflame") == {GCU: Usage(6, 40_960, 100)}
    assert why(ledger, {MEMORY: 1}) == "CardTimeSlicingExhausted"
    assert why(ledger, {SLOTS: 2}) == "CardProfileMismatch"
    assert ledger.overfull.causes == {}


def test_all_slots_of_a_card_can_be_used() -> None:
    """Though each is a sixth of its cores, rounded up."""
    ledger = a_node()
    for number in range(6):
        coming = asking(pod(f"p{number}").app("a"), {"a": {SLOTS: 1}})
        chosen = choose_devices(ledger.fleet, coming, N1, None)
        assert chosen is not None
        ledger.apply(PodSeen(replace(coming, node_name=N1, allocation=chosen)))
    assert used(ledger, "Enflame") == {GCU: Usage(6, 36_864, 102)}
    assert ledger.overfull.causes == {}


UNTOLD = {
    "nothing": None,
    "no JSON": "{",
    "a list": "[]",
    "another container": '{"b":{"request":3}}',
    "no slots": '{"a":{"request":0}}',
    "a text": '{"a":{"request":"3"}}',
    "a truth": '{"a":{"request":true}}',
}


@pytest.mark.parametrize("told", UNTOLD.values(), ids=UNTOLD)
def test_slots_that_are_not_told_make_an_allocation_unreadable(
    told: str | None,
) -> None:
    """Its card counts as full: one slot would be too few."""
    annotations = {} if told is None else {"assigned-containers": told}
    holder = drs("p", {MEMORY: 20}, **annotations)
    assert isinstance(holder.allocation, UnreadableAllocation)
    assert holder.allocation.named == (GCU,)
    assert "assigned-containers" in holder.allocation.problem
    ledger = a_node()
    ledger.apply(PodSeen(holder))
    assert why(ledger, {MEMORY: 1}) == "CardHeldByUnreadableAllocation"


def edited(shown: Pod, number: int, cores: int) -> Pod:
    """Give it one slot, other memory, and other cores."""
    assert isinstance(shown.allocation, tuple)
    ((share,),) = shown.allocation
    other = replace(share, memory_mib=number, slots=1, cores=cores)
    return replace(shown, allocation=((other,),))


def test_an_edited_allocation_keeps_slots_and_cores() -> None:
    """However often it is edited, what it was counts on."""
    ledger = a_node()
    holder = drs("p", {SLOTS: 3})
    neuron = asking(
        pod("q").app("a"), {"a": {CORES: 1}}, {NEURON_ROWS: f"{NEURON},AWSNeuron,0,2:;"}
    )
    for number in range(12):
        for shown, cores in ((holder, 0), (neuron, 0b01)):
            ledger.apply(
                PodSeen(shown if number == 0 else edited(shown, number, cores))
            )
    assert used(ledger, "Enflame")[GCU].slots == 3
    assert used(ledger, "AWSNeuron")[NEURON].core_percent == 2
    assert set(ledger.fleet.totals(N1)["AWSNeuron"].cores) == {(NEURON, 0), (NEURON, 1)}


def neuron_pod(name: str, init_bits: int, app_bits: int) -> Pod:
    """Show a pod of an init and an app, whose cores somebody chose."""
    row = f"{NEURON},AWSNeuron,0,%d:;"
    return asking(
        pod(name).init("i").app("a"),
        {"i": {CORES: 1}, "a": {CORES: 1}},
        {NEURON_ROWS: row % init_bits + row % app_bits},
    )


def test_cores_that_others_chose_count_as_long_as_they_can_be_held() -> None:
    """An init and an app need one core between them, and were given two."""
    ledger = a_node()
    holder = neuron_pod("p", 0b10, 0b01)
    ledger.apply(PodSeen(holder))
    assert used(ledger, "AWSNeuron") == {NEURON: Usage(1, 0, 2)}
    assert why(ledger, {CORES: 1}) == "CardInsufficientCore"
    over = ContainerStatus(RunState.TERMINATED, exit_code=0, finished_at=1.0)
    running = ContainerStatus(RunState.RUNNING)
    status = PodStatus(PodPhase.RUNNING, (over, running))
    ledger.apply(PodSeen(replace(holder, status=status)))
    assert used(ledger, "AWSNeuron") == {NEURON: Usage(1, 0, 1)}
    coming = asking(pod("coming").app("a"), {"a": {CORES: 1}})
    chosen = choose_devices(ledger.fleet, coming, N1, None)
    assert chosen is not None
    assert [share.cores for share in chosen[0]] == [0b10]


def test_a_core_that_two_pods_hold_is_told() -> None:
    """Both are counted, so that the other core is not given either."""
    ledger = a_node()
    ledger.apply(PodSeen(neuron_pod("p", 0b01, 0b01)))
    assert ledger.overfull.causes == {}
    ledger.apply(PodSeen(neuron_pod("q", 0b01, 0b01)))
    assert list(ledger.overfull.causes[N1]) == [NEURON]
    assert why(ledger, {CORES: 1}) == "CardTimeSlicingExhausted"
