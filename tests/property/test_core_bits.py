"""Which cores containers get, against every way to give them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from extender.core.allocation import Allocation, Share
from extender.core.container import Lifetime
from extender.core.core_bits import held_cores, with_cores
from extender.core.fleet import Fleet
from extender.core.kind_set import Kinds
from extender.core.names import DeviceUUID, NodeName, PodUID
from extender.core.phases import container_usages, effective_usage
from extender.core.pod import Pod
from extender.core.pod_status import ContainerStatus, PodPhase, PodStatus, RunState
from extender.state.audit import audit
from extender.state.events import NodeSeen, PodGone, PodSeen, Reserved
from extender.state.ledger import Ledger
from extender.verbs.bind import choose_devices
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import node, pod
from tests.shipped import SHIPPED

NEURON = SHIPPED["AWSNeuron"]
CARD = DeviceUUID("a")
CORES = 4
"""More than a device of today has, so that there is something to choose."""


def living_together(lifetimes: Sequence[Lifetime]) -> Iterator[list[int]]:
    """List who runs at the same time: each init beside the sidecars before it."""
    sidecars: list[int] = []
    for index, lifetime in enumerate(lifetimes):
        if lifetime is Lifetime.INIT:
            yield [*sidecars, index]
        elif lifetime is Lifetime.SIDECAR:
            sidecars.append(index)
    yield [index for index, each in enumerate(lifetimes) if each is not Lifetime.INIT]


def is_exclusive(bits: Sequence[int], lifetimes: Sequence[Lifetime]) -> bool:
    """Whether no two containers that run at the same time have a core in common."""
    return all(
        not bits[one] & bits[other]
        for together in living_together(lifetimes)
        for one, other in combinations(together, 2)
    )


def least_held(
    counts: Sequence[int], lifetimes: Sequence[Lifetime], free: int
) -> list[int] | None:
    """Try every way to give cores, and keep the fewest that can be held.

    Returns:
        How many cores are held, by the number of inits that are over; each the least of
        all ways. None where there is no way.
    """
    sets = [each for each in range(1 << CORES) if not each & ~free]
    found: list[int] | None = None
    for bits in product(
        *([each for each in sets if each.bit_count() == count] for count in counts)
    ):
        if is_exclusive(bits, lifetimes):
            held = [
                held_after(bits, lifetimes, released).bit_count()
                for released in range(lifetimes.count(Lifetime.INIT) + 1)
            ]
            found = held if found is None else list(map(min, found, held))
    return found


def held_after(
    bits: Sequence[int], lifetimes: Sequence[Lifetime], released: int
) -> int:
    """Put together the cores of all containers but the inits that are over."""
    held, inits = 0, 0
    for each, lifetime in zip(bits, lifetimes, strict=True):
        inits += lifetime is Lifetime.INIT
        if lifetime is not Lifetime.INIT or inits > released:
            held |= each
    return held


@st.composite
def pods(draw: st.DrawFn) -> tuple[list[Lifetime], list[int]]:
    """Draw containers in start order, and how many cores each asks for."""
    declared = st.sampled_from([Lifetime.INIT, Lifetime.INIT, Lifetime.SIDECAR])
    lifetimes = [*draw(st.lists(declared, max_size=3)), Lifetime.APP]
    if len(lifetimes) < 4 and draw(st.booleans()):
        lifetimes.append(Lifetime.APP)
    return lifetimes, [draw(st.integers(0, 3)) for _ in lifetimes]


def allocation_of(counts: Sequence[int]) -> Allocation:
    """Say how many cores each container has."""
    word = NEURON.type_word
    return tuple((Share(CARD, 0, count, word),) if count else () for count in counts)


def bits_of(allocation: Allocation) -> list[int]:
    """Tell which cores each container has."""
    return [row[0].cores if row else 0 for row in allocation]


@given(pods(), st.integers(0, (1 << CORES) - 1))
def test_cores_are_given_where_there_is_a_way_and_as_few_are_held_as_can_be(
    drawn: tuple[list[Lifetime], list[int]], others: int
) -> None:
    """At every moment of the pod's life; and that is what is charged."""
    lifetimes, counts = drawn
    free = ((1 << CORES) - 1) & ~others
    least = least_held(counts, lifetimes, free)
    counted = allocation_of(counts)
    charge = effective_usage(container_usages(lifetimes, counted))
    fits = not charge or charge[CARD].core_percent <= free.bit_count()
    given_cores = with_cores(counted, lifetimes, {CARD: others}, CORES)
    assert (given_cores is not None) == fits == (least is not None)
    if given_cores is None or least is None:
        return
    bits = bits_of(given_cores)
    assert [each.bit_count() for each in bits] == counts
    assert not any(each & others for each in bits)
    assert is_exclusive(bits, lifetimes)
    for released, fewest in enumerate(least):
        held = held_cores(lifetimes, given_cores, released).get(CARD, 0)
        assert held == held_after(bits, lifetimes, released)
        assert held.bit_count() == fewest
        charged = effective_usage(
            container_usages(lifetimes, given_cores), released_inits=released
        )
        assert fewest == (charged[CARD].core_percent if CARD in charged else 0)


READER = PodReader(Kinds([NEURON]))
N1 = NodeName("n1")

Asks = list[tuple[Lifetime, int]]


def node_of(devices: int) -> NodeSeen:
    """Show node ``n1``."""
    shown = node(N1).build()
    capacity = {NEURON.count_resource: devices, str(NEURON.core_resource): 2 * devices}
    for amounts in ("capacity", "allocatable"):
        shown["status"].setdefault(amounts, {}).update(capacity)
    return NodeSeen(decode_node(shown, [NEURON]))


def pod_of(name: str, asks: Asks) -> Pod:
    """Show a pod whose containers ask for cores."""
    shown = pod(name)
    for index, (lifetime, _) in enumerate(asks):
        shown = getattr(shown, lifetime.value)(f"c{index}")
    built = shown.build()
    listed = [*built["spec"].get("initContainers", []), *built["spec"]["containers"]]
    for container, (_, cores) in zip(listed, asks, strict=True):
        limits = {str(NEURON.core_resource): cores} if cores else {}
        container["resources"] = {"limits": limits}
    return READER.read(built)


asks = st.tuples(
    st.lists(
        st.tuples(
            st.sampled_from([Lifetime.INIT, Lifetime.SIDECAR]), st.integers(0, 2)
        ),
        max_size=2,
    ),
    st.lists(
        st.tuples(st.just(Lifetime.APP), st.integers(0, 2)), min_size=1, max_size=2
    ),
).map(lambda parts: [*parts[0], *parts[1]])


def finished_inits(bound: Pod) -> PodStatus:
    """Show all inits as over, and apps as running."""
    over = ContainerStatus(RunState.TERMINATED, exit_code=0, finished_at=1.0)
    running = ContainerStatus(RunState.RUNNING)
    shown = [
        over if each.lifetime is Lifetime.INIT else running for each in bound.containers
    ]
    return PodStatus(PodPhase.RUNNING, tuple(shown))


@given(st.lists(st.tuples(asks, st.integers(0, 3)), min_size=1, max_size=12))
def test_no_core_is_held_by_two_pods(steps: list[tuple[Asks, int]]) -> None:
    """As pods come, end their inits and go; and what is counted is what is held."""
    ledger = Ledger()
    ledger.apply(node_of(2))
    bound: list[Pod] = []
    for number, (asked, act) in enumerate(steps):
        if bound and act == 0:
            ledger.apply(PodGone(bound.pop(0).uid))
        if bound and act == 1:
            bound[0] = replace(bound[0], status=finished_inits(bound[0]))
            ledger.apply(PodSeen(bound[0]))
        coming = replace(pod_of(f"p{number}", asked), uid=PodUID(f"u{number}"))
        if coming.asks_for_devices:
            chosen = choose_devices(ledger.fleet, coming, N1, None)
            if chosen is not None:
                ledger.apply(Reserved(coming, N1, chosen))
                shown = replace(coming, node_name=N1, allocation=chosen)
                ledger.apply(PodSeen(shown))
                bound.append(shown)
        assert audit(ledger) == []
        check(ledger.fleet)


def check(fleet: Fleet) -> None:
    """Look at what is counted of each device, and at who has its cores."""
    totals = fleet.totals(N1)[NEURON.type_word]
    assert all(count == 1 for count in totals.cores.values())
    for device_uuid, used in totals.used.items():
        held = [core for uuid, core in totals.cores if uuid == device_uuid]
        assert used.core_percent == len(held)
        assert used.core_percent <= NEURON.whole_card_cores
