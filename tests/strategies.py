"""What hypothesis draws: pods, statuses, devices and requests of every odd shape."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from hypothesis import strategies as st

from extender.core.container import ContainerUsage, Lifetime
from extender.core.device_policy import (
    BINPACK_CARDS,
    EQUAL_WEIGHTS,
    SPREAD_CARDS,
    DevicePolicy,
    Weights,
)
from extender.core.mig import MigPlacement, MigProfile, MigProfiles
from extender.core.names import MAX_INT32, DeviceUUID
from extender.core.node import Device
from extender.core.pod import Release
from extender.core.pod_request import (
    ContainerRequest,
    PodRequest,
    Policy,
    Selection,
    Sharing,
)
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.profiles import CardProfile, CardProfiles, ProfileWish
from extender.core.usage import Usage
from extender.wire.device_policies import device_policy_of, on_one_numa_node
from tests.oracles import Loaded, kubelet_slots
from tests.values import GPU, NPU

_T = TypeVar("_T")

PlacementCase = tuple[list[Loaded], int, int, PodRequest]
"""Arguments of `tests.oracles.place_greedily` and `exhaustive_fits`, in their order."""

DEVICE_UUIDS: Final = tuple(DeviceUUID(f"GPU-{letter}") for letter in "abcd")

OTHER_UUIDS: Final = tuple(DeviceUUID(f"NPU-{letter}") for letter in "abcd")
"""Of cards of the other kind."""

_MOMENTS: Final = st.sampled_from([None, 40.0, 50.0, 50.5, 60.0])
"""Few, so that exits often fall before, at and after a change of the sandbox."""


def usages() -> st.SearchStrategy[Usage]:
    """Draw what a container may hold on one device: a slot or more."""
    return st.builds(
        Usage,
        slots=st.integers(1, 3),
        memory_mib=st.one_of(st.integers(0, 30_000), st.integers(0, MAX_INT32)),
        core_percent=st.integers(0, 100),
    )


def held_usages() -> st.SearchStrategy[dict[DeviceUUID, Usage]]:
    """Draw what one container holds, often nothing, on up to four devices."""
    return st.dictionaries(st.sampled_from(DEVICE_UUIDS), usages(), max_size=4)


def container_usage(*lifetimes: Lifetime) -> st.SearchStrategy[ContainerUsage]:
    """Draw one container of one of these lifetimes."""
    return st.builds(
        ContainerUsage, lifetime=st.sampled_from(lifetimes), held=held_usages()
    )


def declared_usages(*, max_size: int = 10) -> st.SearchStrategy[list[ContainerUsage]]:
    """Draw inits and sidecars in any order, as ``initContainers`` declares them."""
    declared = container_usage(Lifetime.INIT, Lifetime.SIDECAR)
    return st.lists(declared, max_size=max_size)


def app_usages(*, max_size: int = 10) -> st.SearchStrategy[list[ContainerUsage]]:
    """Draw apps; a pod has at least one."""
    return st.lists(container_usage(Lifetime.APP), min_size=1, max_size=max_size)


def container_usages(*, max_size: int = 20) -> st.SearchStrategy[list[ContainerUsage]]:
    """Draw a pod's containers in start order, at least one app and up to `max_size`."""
    half = max_size // 2
    return st.tuples(
        declared_usages(max_size=half), app_usages(max_size=max_size - half)
    ).map(lambda parts: parts[0] + parts[1])


def container_statuses() -> st.SearchStrategy[ContainerStatus]:
    """Draw one status, a good exit about half of the time."""
    return st.one_of(_good_exits(), _any_status())


def _good_exits(
    finished_at: st.SearchStrategy[float | None] = _MOMENTS,
) -> st.SearchStrategy[ContainerStatus]:
    return st.builds(
        ContainerStatus,
        run_state=st.just(RunState.TERMINATED),
        exit_code=st.just(0),
        finished_at=finished_at,
        has_started=st.just(value=True),
    )


def _any_status() -> st.SearchStrategy[ContainerStatus]:
    return st.builds(
        ContainerStatus,
        run_state=st.sampled_from(RunState),
        exit_code=st.sampled_from([None, 0, 1, 137]),
        finished_at=_MOMENTS,
        has_started=st.booleans(),
    )


def pod_statuses(
    *, max_containers: int = 20, phases: tuple[PodPhase, ...] = tuple(PodPhase)
) -> st.SearchStrategy[PodStatus]:
    """Draw a pod's status, plausible or not; statuses may be missing at the end."""
    return st.builds(
        PodStatus,
        phase=st.sampled_from(phases),
        containers=st.lists(container_statuses(), max_size=max_containers).map(tuple),
        sandbox=st.sampled_from(SandboxReadiness),
        sandbox_changed_at=_MOMENTS,
        is_restarting_all=st.sampled_from([False, False, False, True]),
        restarted_all_at=_MOMENTS,
        is_terminating=st.booleans(),
    )


def releases() -> st.SearchStrategy[Release]:
    """Draw when a pod's inits are released."""
    return st.sampled_from(Release)


def unfinished_statuses() -> st.SearchStrategy[PodStatus]:
    """Draw the status of a pod that still counts."""
    unfinished = (PodPhase.PENDING, PodPhase.RUNNING, PodPhase.UNKNOWN)
    return pod_statuses(phases=unfinished)


@st.composite
def living_pods(draw: st.DrawFn) -> tuple[list[ContainerUsage], PodStatus]:
    """Draw a pod whose inits matter and a status that is about to release some.

    Inits hold more than all the rest, on the first card, so that each release shows;
    most have exited well, and sandbox, apps and conditions vary around that.
    """
    containers = draw(container_usages(max_size=6))
    weighed = [
        replace(container, held={DEVICE_UUIDS[0]: Usage(1, 10**12 - index)})
        if container.lifetime is Lifetime.INIT
        else container
        for index, container in enumerate(containers)
    ]
    lately = st.sampled_from([50.0, 50.5, 60.0])
    by_lifetime = {
        Lifetime.INIT: st.one_of(_good_exits(lately), _good_exits(), _any_status()),
        Lifetime.SIDECAR: _any_status(),
        Lifetime.APP: st.one_of(st.just(ContainerStatus()), _any_status()),
    }
    shown = tuple(draw(by_lifetime[container.lifetime]) for container in containers)
    status = PodStatus(
        phase=draw(_mostly(PodPhase.PENDING, odd=list(PodPhase)[1:])),
        containers=shown[: draw(_mostly(len(shown), odd=range(len(shown))))],
        sandbox=draw(st.sampled_from(SandboxReadiness)),
        sandbox_changed_at=draw(st.sampled_from([50.0, 50.0, 55.0, None])),
        is_restarting_all=draw(_mostly(usual=False, odd=[True])),
        restarted_all_at=draw(_mostly(None, odd=[50.0, 55.0])),
        is_terminating=draw(st.booleans()),
    )
    return weighed, status


def capacities() -> st.SearchStrategy[Usage]:
    """Draw what a card offers: usual sizes, scaled ones, and zero in any dimension."""
    return st.builds(
        Usage,
        slots=_mostly(10, odd=[4, 2, 1, 0]),
        memory_mib=_mostly(24_000, odd=[16_000, 80_000, 999, 0]),
        core_percent=_mostly(100, odd=[200, 50, 0]),
    )


def _mostly(usual: _T, odd: Sequence[_T]) -> st.SearchStrategy[_T]:
    """Draw the usual value four times out of five or more."""
    return st.sampled_from([usual] * max(4 * len(odd), 8) + list(odd))


@st.composite
def mig_profiles(draw: st.DrawFn) -> MigProfiles:
    """Draw what a card in MIG mode can be cut into: profiles of odd shapes, or none."""
    places = st.builds(MigPlacement, st.integers(0, 5), st.integers(1, 4))
    names = ("1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb")
    return tuple(
        MigProfile(
            name,
            draw(st.sampled_from([3_000, 8_000, 12_000, 24_000])),
            draw(st.sampled_from([15, 30, 30, 100])),
            draw(st.integers(1, 7)),
            tuple(draw(st.lists(places, unique=True, max_size=5))),
        )
        for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=4))
    )


FEW_PROFILES: Final[CardProfiles] = (
    CardProfile("1g.6gb", "0", 1, 6_144, 34),
    CardProfile("3g.20gb", "1", 3, 20_480, 100),
)
MANY_PROFILES: Final[CardProfiles] = (
    CardProfile("1g.2gb", "0", 1, 2_048, 25),
    CardProfile("2g.4gb", "3", 2, 4_096, 50),
    CardProfile("2g.8gb", "5", 2, 8_192, 50),
    CardProfile("4g.12gb", "1", 4, 12_288, 100),
)


_PROFILES: Final = st.sampled_from([(), MANY_PROFILES, MANY_PROFILES, FEW_PROFILES])


def profile_wishes() -> st.SearchStrategy[ProfileWish]:
    """Draw what is asked of a profile: slots, or memory and cores."""
    amounts = st.sampled_from([0, 1, 2, 6, 7, 12, 20, 24, 25, 41, 3_000, 20_000])
    return st.one_of(
        st.builds(ProfileWish, slots=st.sampled_from([1, 2, 3, 4, 5])),
        st.builds(
            ProfileWish, memory=amounts, core_percent=st.sampled_from([0, 0, 30, 60])
        ),
    )


@st.composite
def devices(
    draw: st.DrawFn,
    device_uuid: DeviceUUID = DEVICE_UUIDS[0],
    modes: st.SearchStrategy[str] | None = None,
) -> Device:
    """Draw one card, usable in most cases; plain ones unless `modes` are given."""
    plain = _mostly("hami-core", odd=["", "mps"])
    mode = draw(plain if modes is None else modes)
    return Device(
        device_uuid=device_uuid,
        index=draw(st.integers(0, 3)),
        capacity=draw(capacities()),
        model=draw(_mostly("NVIDIA A10", odd=["NVIDIA-Tesla P4"])),
        is_healthy=draw(_mostly(usual=True, odd=[False])),
        is_cordoned=draw(_mostly(usual=False, odd=[True])),
        mode=mode,
        numa_node=draw(st.sampled_from([0, 0, 1, 4])),
        mig_profiles=draw(mig_profiles()) if mode == "mig" else (),
        core_step=draw(_mostly(1, odd=[2, 7])),
        profiles=() if mode == "mig" else draw(_PROFILES),
    )


@st.composite
def roomy_mig_cards(draw: st.DrawFn, device_uuid: DeviceUUID) -> Device:
    """Draw a card in MIG mode that has place for several instances."""
    places = st.builds(MigPlacement, st.integers(0, 7), st.integers(1, 3))
    names = ("1g.5gb", "2g.10gb", "3g.20gb")
    named = st.lists(st.sampled_from(names), unique=True, min_size=1)
    profiles = tuple(
        MigProfile(
            name,
            draw(st.sampled_from([2_000, 4_000, 4_000, 9_000])),
            draw(st.sampled_from([30, 40, 100])),
            draw(st.integers(1, 3)),
            tuple(draw(st.lists(places, unique=True, min_size=2, max_size=5))),
        )
        for name in draw(named)
    )
    return Device(
        device_uuid,
        index=draw(st.integers(0, 1)),
        capacity=Usage(draw(st.sampled_from([7, 7, 2])), 24_000, 100),
        model="NVIDIA A10",
        mode="mig",
        numa_node=draw(st.integers(0, 1)),
        mig_profiles=profiles,
    )


@st.composite
def modest_requests(draw: st.DrawFn) -> PodRequest:
    """Draw a pod whose containers ask for little, each for several cards at most."""
    inits = draw(
        st.lists(st.sampled_from([Lifetime.INIT, Lifetime.SIDECAR]), max_size=2)
    )
    lifetimes = (*inits, *[Lifetime.APP] * draw(st.integers(1, 2)))
    asks = st.builds(
        ContainerRequest,
        count=st.sampled_from([1, 1, 2, 2, 3]),
        memory_mib=st.sampled_from([1_000, 3_000, 4_000, 9_000, None]),
        memory_percent=st.sampled_from([10, 50, 100]),
        core_percent=st.sampled_from([0, 0, 0, 30, 40, 100]),
    )
    asked = tuple(draw(asks) for _ in lifetimes)
    return PodRequest(
        GPU,
        lifetimes,
        asked,
        device_policy=draw(device_policies()),
        node_policy=draw(st.sampled_from(Policy)),
        kubelet_slots=kubelet_slots(lifetimes, asked),
    )


def held_slices() -> st.SearchStrategy[tuple[int, ...]]:
    """Draw how many instances hold each slice of a card: more than one, too."""
    counts = st.lists(st.sampled_from([0, 0, 0, 1, 2]), max_size=8)
    return st.just(()) | counts.map(tuple)


@st.composite
def used_amounts(draw: st.DrawFn, capacity: Usage) -> Usage:
    """Draw what is held on a card: idle, partly, full, or more than it offers."""
    if draw(st.booleans()):
        return Usage()
    return Usage(
        slots=draw(_amounts(capacity.slots)),
        memory_mib=draw(_amounts(capacity.memory_mib)),
        core_percent=draw(_amounts(capacity.core_percent)),
    )


def _amounts(capacity: int) -> st.SearchStrategy[int]:
    marks = [0, capacity // 2, max(capacity - 1, 0), capacity, capacity + 1]
    return st.one_of(st.sampled_from(marks), st.integers(0, capacity))


@st.composite
def loaded_nodes(
    draw: st.DrawFn, *, min_devices: int = 0, max_devices: int = 4
) -> list[Loaded]:
    """Draw a node's cards with what is held on each, in any order."""
    count = draw(st.integers(min_devices, max_devices))
    loaded: list[Loaded] = []
    for device_uuid in draw(st.permutations(DEVICE_UUIDS))[:count]:
        device = draw(devices(device_uuid))
        loaded.append((device, draw(used_amounts(device.capacity))))
    return loaded


@st.composite
def container_requests(
    draw: st.DrawFn,
    *,
    max_count: int = 4,
    sharing: Sharing = Sharing.BY_AMOUNT,
    cores_of_card: bool = False,
) -> ContainerRequest:
    """Draw what one container asks: nothing, MiB or percent, with or without cores."""
    few = [count for count in (0, 1, 1, 1, 1, 2, 2) if count <= max_count]
    count = draw(st.one_of(st.sampled_from(few), st.integers(0, max_count)))
    if count == 0:
        return ContainerRequest()
    if sharing is Sharing.BY_SLOT:
        return ContainerRequest(count, 0, 0, 0, sharing)
    cores = draw(st.sampled_from([0, 0, 30, 30, 100]))
    if cores_of_card:
        cores = draw(st.sampled_from([1, 30, 33, 50, 100]))
    if sharing is Sharing.BY_MEMORY:
        cores = 0
    if sharing is Sharing.BY_AMOUNT and draw(st.booleans()):
        percent = draw(st.sampled_from([50, 25, 10, 1, 100, 0]))
        return ContainerRequest(
            count, None, percent, cores, cores_of_card=cores_of_card
        )
    memory_mib = draw(
        st.one_of(
            st.sampled_from([3_000, 8_000, 12_000, 1, 24_000]), st.integers(0, 30_000)
        )
    )
    return ContainerRequest(count, memory_mib, 0, cores, sharing, cores_of_card)


@st.composite
def selections(
    draw: st.DrawFn, uuids: Sequence[DeviceUUID] = DEVICE_UUIDS
) -> Selection:
    """Draw which cards are accepted: any, in most cases."""
    if draw(st.integers(0, 3)):
        return Selection()
    some_types = st.sampled_from([("a10",), ("Tesla", "A10"), ("H100",), ()])
    some_uuids = st.frozensets(st.sampled_from(uuids), max_size=4)
    return Selection(
        use_types=draw(st.none() | some_types),
        avoid_types=draw(st.sampled_from([(), (), ("tesla",), ("nvidia",)])),
        use_uuids=draw(st.none() | some_uuids),
        avoid_uuids=draw(st.just(frozenset[DeviceUUID]()) | some_uuids),
        modes=draw(st.sampled_from([None, None, "hami-core", "mps,mig"])),
    )


@st.composite
def device_policies(draw: st.DrawFn) -> DevicePolicy:
    """Draw how cards are chosen: plainly in half of the cases."""
    if draw(st.booleans()):
        return draw(st.sampled_from([SPREAD_CARDS, BINPACK_CARDS]))
    words = st.sampled_from(["binpack", "spread", "numa", "mutex"])
    policy = device_policy_of(",".join(draw(st.lists(words, min_size=1, max_size=3))))
    assert policy is not None
    amounts = st.integers(0, 3)
    weights = st.builds(Weights, slots=amounts, memory=amounts, cores=st.just(1))
    return replace(
        on_one_numa_node(policy) if draw(st.booleans()) else policy,
        weights=draw(st.just(EQUAL_WEIGHTS) | weights),
    )


@st.composite
def pod_requests(
    draw: st.DrawFn, *, max_containers: int = 4, max_count: int = 4
) -> PodRequest:
    """Draw a pod's request in start order, its last container an app."""
    size = draw(st.integers(1, max_containers))
    app_count = draw(st.integers(1, size))
    declared = st.sampled_from([Lifetime.INIT, Lifetime.SIDECAR])
    lifetimes = (
        *(draw(declared) for _ in range(size - app_count)),
        *(Lifetime.APP for _ in range(app_count)),
    )
    # A kind has one of these for all of its containers.
    sharing = draw(st.sampled_from([*[Sharing.BY_AMOUNT] * 6, *Sharing]))
    units = sharing is Sharing.BY_AMOUNT and not draw(st.integers(0, 5))
    one = container_requests(max_count=max_count, sharing=sharing, cores_of_card=units)
    asked = tuple(draw(one) for _ in range(size))
    return PodRequest(
        kind=GPU,
        lifetimes=lifetimes,
        containers=asked,
        selection=draw(selections()),
        device_policy=draw(device_policies()),
        node_policy=draw(st.sampled_from(Policy)),
        kubelet_slots=kubelet_slots(lifetimes, asked),
    )


@st.composite
def other_requests(draw: st.DrawFn, beside: PodRequest) -> PodRequest:
    """Draw what the containers of a request ask of the other kind."""
    asked = tuple(draw(container_requests(max_count=2)) for _ in beside.containers)
    return PodRequest(
        kind=NPU,
        lifetimes=beside.lifetimes,
        containers=asked,
        selection=draw(selections(OTHER_UUIDS)),
        device_policy=draw(device_policies()),
        node_policy=beside.node_policy,
        kubelet_slots=kubelet_slots(beside.lifetimes, asked),
    )


@st.composite
def profile_requests(draw: st.DrawFn, *, max_containers: int = 4) -> PodRequest:
    """Draw a pod whose containers ask for profiles, of one card each in most cases."""
    size = draw(st.integers(1, max_containers))
    declared = st.sampled_from([Lifetime.INIT, Lifetime.SIDECAR])
    lifetimes = (*(draw(declared) for _ in range(size - 1)), Lifetime.APP)
    counts = _mostly(1, odd=[0, 2])
    asked = tuple(
        ContainerRequest(count, 0, 0, 0, profile=draw(profile_wishes()))
        if (count := draw(counts))
        else ContainerRequest()
        for _ in lifetimes
    )
    return PodRequest(
        kind=GPU,
        lifetimes=lifetimes,
        containers=asked,
        device_policy=draw(device_policies()),
        node_policy=draw(st.sampled_from(Policy)),
        kubelet_slots=kubelet_slots(lifetimes, asked),
    )


@st.composite
def profile_nodes(draw: st.DrawFn, uuids: Sequence[DeviceUUID]) -> list[Loaded]:
    """Draw a node's cards that have profiles, with some of them taken."""
    profiles = draw(st.sampled_from([FEW_PROFILES, MANY_PROFILES, MANY_PROFILES]))
    # Alike whatever the profiles, and mostly with more of all but slots than they need.
    amounts = st.sampled_from([(48_000, 400), (48_000, 400), (20_480, 102)])
    capacity = Usage(draw(st.sampled_from([3, 4])), *draw(amounts))
    loaded: list[Loaded] = []
    for index, uuid in enumerate(uuids):
        held = draw(st.lists(st.sampled_from(profiles), max_size=1))
        used = Usage(
            sum(each.slots for each in held),
            sum(each.memory_mib for each in held),
            sum(each.core_percent for each in held),
        )
        card = Device(uuid, index, capacity, "Enflame", profiles=profiles)
        loaded.append((card, used if draw(st.booleans()) else Usage()))
    return loaded


@st.composite
def profile_cases(draw: st.DrawFn) -> PlacementCase:
    """Draw a node whose cards have profiles, and a pod that asks for some."""
    request = draw(profile_requests())
    uuids = draw(st.permutations(DEVICE_UUIDS))[: draw(st.integers(1, 3))]
    return draw(profile_nodes(uuids)), 99, 0, request


@st.composite
def placement_cases(
    draw: st.DrawFn, *, max_devices: int = 4, max_containers: int = 4
) -> PlacementCase:
    """Draw a node and a pod that has a fair chance to fit there."""
    loaded = draw(loaded_nodes(min_devices=1, max_devices=max_devices))
    asked_at_most = draw(_mostly(len(loaded), odd=[len(loaded) + 1]))
    request = draw(pod_requests(max_containers=max_containers, max_count=asked_at_most))
    kubelet_slots_used = draw(st.integers(0, 8))
    room = draw(_mostly(20, odd=[0, -1]))
    allocatable_slots = kubelet_slots_used + request.kubelet_slots + room
    return loaded, allocatable_slots, kubelet_slots_used, request
