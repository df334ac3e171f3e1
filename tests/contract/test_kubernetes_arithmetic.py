"""Kubernetes' own PodRequests and our accounting rule give the same numbers.

PodRequests sums per resource name, so one extended resource stands for each dimension
of each device. Thousands of pods go through one process.
"""

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID
from extender.core.phases import effective_usage, steady_usage
from extender.core.requests import kubelet_slots
from extender.core.usage import Usage

Pod = Sequence[ContainerUsage]
Amounts = dict[str, int]

pytestmark = pytest.mark.timeout(900)  # a first build, on a busy machine

RANDOM_PODS = 5_000
MOST_CONTAINERS = 20
DEVICES = [DeviceUUID(f"gpu-{letter}") for letter in "abcd"]

CARD = DEVICES[0]
OTHER = DEVICES[1]


def sidecar(memory_mib: int, cores: int = 0, on: DeviceUUID = CARD) -> ContainerUsage:
    """Hold one slot until the pod ends."""
    return ContainerUsage(Lifetime.SIDECAR, {on: Usage(1, memory_mib, cores)})


def init(memory_mib: int, cores: int = 0, on: DeviceUUID = CARD) -> ContainerUsage:
    """Hold one slot until it exits."""
    return ContainerUsage(Lifetime.INIT, {on: Usage(1, memory_mib, cores)})


def app(memory_mib: int, cores: int = 0, on: DeviceUUID = CARD) -> ContainerUsage:
    """Hold one slot in the steady phase."""
    return ContainerUsage(Lifetime.APP, {on: Usage(1, memory_mib, cores)})


EXAMPLES = {
    "sidecar and app run side by side": (
        [sidecar(4_000, 40), app(4_000, 40)],
        {CARD: Usage(2, 8_000, 80)},
        {CARD: Usage(2, 8_000, 80)},
    ),
    "an init before the sidecar runs alone": (
        [init(20_000, 60), sidecar(2_000, 10), app(10_000, 30)],
        {CARD: Usage(2, 20_000, 60)},
        {CARD: Usage(2, 12_000, 40)},
    ),
    "an init after the sidecar runs beside it": (
        [sidecar(2_000, 10), init(20_000, 60), app(10_000, 30)],
        {CARD: Usage(2, 22_000, 70)},
        {CARD: Usage(2, 12_000, 40)},
    ),
    "an init and an app take turns": (
        [init(4_000, 40), app(4_000, 40)],
        {CARD: Usage(1, 4_000, 40)},
        {CARD: Usage(1, 4_000, 40)},
    ),
    "two sidecars and an app add up": (
        [sidecar(3_000, 10), sidecar(5_000, 20), app(1_000, 5)],
        {CARD: Usage(3, 9_000, 35)},
        {CARD: Usage(3, 9_000, 35)},
    ),
    "an init on a card of its own is charged there": (
        [sidecar(2_000, 10), init(7_000, 70, on=OTHER), app(3_000, 30)],
        {CARD: Usage(2, 5_000, 40), OTHER: Usage(1, 7_000, 70)},
        {CARD: Usage(2, 5_000, 40)},
    ),
    "three apps share a card": (
        [app(100, 10), app(100, 10), app(100, 10)],
        {CARD: Usage(3, 300, 30)},
        {CARD: Usage(3, 300, 30)},
    ),
    "design: sidecar 10 and app 10 are charged 20": (
        [sidecar(10 * 1024), app(10 * 1024)],
        {CARD: Usage(2, 20 * 1024)},
        {CARD: Usage(2, 20 * 1024)},
    ),
    "design: sidecar 2, then init 20, app 10 are charged 22": (
        [sidecar(2 * 1024), init(20 * 1024), app(10 * 1024)],
        {CARD: Usage(2, 22 * 1024)},
        {CARD: Usage(2, 12 * 1024)},
    ),
    "design: init 20, then sidecar 2, app 10 are charged 20": (
        [init(20 * 1024), sidecar(2 * 1024), app(10 * 1024)],
        {CARD: Usage(2, 20 * 1024)},
        {CARD: Usage(2, 12 * 1024)},
    ),
    "memory and slots peak in different phases": (
        [sidecar(1_000), init(6_000), sidecar(2_000), app(3_000)],
        {CARD: Usage(3, 7_000)},
        {CARD: Usage(3, 6_000)},
    ),
}
"""Name: containers, charge while inits count, charge in the steady phase.

The first seven are HAMi's test points as its order-aware rule computes them.
"""


@pytest.mark.parametrize(
    ("pod", "effective", "steady"), EXAMPLES.values(), ids=EXAMPLES.keys()
)
def test_example_is_charged_alike(
    podrequests_binary: Path,
    pod: Pod,
    effective: Mapping[DeviceUUID, Usage],
    steady: Mapping[DeviceUUID, Usage],
) -> None:
    """Kubernetes and we both give the numbers that the table names."""
    assert effective_usage(pod) == effective
    assert steady_usage(pod) == steady
    assert pod_requests(podrequests_binary, [pod, without_inits(pod)]) == [
        amounts(effective),
        amounts(steady),
    ]


@pytest.fixture(scope="module")
def random_pods() -> list[Pod]:
    """The same random pods in every run."""
    random = Random(753)
    return [random_pod(random) for _ in range(RANDOM_PODS)]


def test_effective_usage_is_pod_requests(
    podrequests_binary: Path, random_pods: list[Pod]
) -> None:
    """A pod is charged, per device and dimension, what Kubernetes would count."""
    counted = pod_requests(podrequests_binary, random_pods)
    for pod, expected in zip(random_pods, counted, strict=True):
        assert amounts(effective_usage(pod)) == expected, shown(pod)


def test_steady_usage_is_pod_requests_without_inits(
    podrequests_binary: Path, random_pods: list[Pod]
) -> None:
    """Once all inits are over, what counts is the pod as if it never had any."""
    counted = pod_requests(podrequests_binary, map(without_inits, random_pods))
    for pod, expected in zip(random_pods, counted, strict=True):
        assert amounts(steady_usage(pod)) == expected, shown(pod)


def test_released_inits_are_pod_requests_without_those_inits(
    podrequests_binary: Path, random_pods: list[Pod]
) -> None:
    """Progressive release: each finished init leaves as if it was never declared."""
    random = Random(754)
    cases = [(pod, random.randint(0, init_count(pod))) for pod in random_pods]
    remaining = [without_inits(pod, first=released) for pod, released in cases]
    counted = pod_requests(podrequests_binary, remaining)
    for (pod, released), expected in zip(cases, counted, strict=True):
        charge = effective_usage(pod, released_inits=released)
        assert amounts(charge) == expected, (released, shown(pod))


def test_kubelet_slots_are_pod_requests_of_the_count(
    podrequests_binary: Path, random_pods: list[Pod]
) -> None:
    """Device ids are counted as kube-scheduler and kubelet count them."""
    random = Random(755)
    cases = [
        [(one.lifetime, random.choice([0, 1, 2, 8])) for one in pod]
        for pod in random_pods
    ]
    counted = pod_requests(
        podrequests_binary,
        [
            [ContainerUsage(lifetime, {CARD: Usage(count)}) for lifetime, count in case]
            for case in cases
        ],
    )
    for case, expected in zip(cases, counted, strict=True):
        lifetimes, counts = zip(*case, strict=True)
        slots = kubelet_slots(lifetimes, counts)
        assert amounts({CARD: Usage(slots)}) == expected, case


def test_random_pods_reach_every_corner(random_pods: list[Pod]) -> None:
    """The comparison would be empty if the pods were all alike."""
    lengths = {len(pod) for pod in random_pods}
    named = {len({uuid for one in pod for uuid in one.held}) for pod in random_pods}
    peaks_in_an_init = [
        pod for pod in random_pods if effective_usage(pod) != steady_usage(pod)
    ]
    order_matters = [
        pod
        for pod in random_pods
        if effective_usage(pod) != effective_usage(sorted(pod, key=_sidecars_first))
    ]
    assert lengths == set(range(1, MOST_CONTAINERS + 1))
    assert named >= {0, 1, 2, 3, 4}
    assert len(peaks_in_an_init) > RANDOM_PODS // 10
    assert len(order_matters) > RANDOM_PODS // 10


def random_pod(random: Random) -> Pod:
    """Draw inits and sidecars in any order, then at least one app."""
    length = random.randint(1, MOST_CONTAINERS)
    apps = random.randint(1, random.choice([1, length]))
    devices = DEVICES[: random.randint(1, len(DEVICES))]
    startup = random.choices([Lifetime.INIT, Lifetime.SIDECAR], k=length - apps)
    most_mib = random.choice([3, 1_000, 80_000, 2**31 - 1])
    return [
        ContainerUsage(
            lifetime, dict(_random_held(random, devices, lifetime, most_mib))
        )
        for lifetime in [*startup, *[Lifetime.APP] * apps]
    ]


def _random_held(
    random: Random, devices: Sequence[DeviceUUID], lifetime: Lifetime, most_mib: int
) -> Iterator[tuple[DeviceUUID, Usage]]:
    # Inits ask for more, or they would seldom be the peak.
    scale = 4 if lifetime is Lifetime.INIT else 1
    for device_uuid in devices:
        if random.random() < 0.6:
            yield (
                device_uuid,
                Usage(
                    slots=random.choice([0, 1, 1, 1, 2, 3]) * scale,
                    memory_mib=random.choice([0, random.randint(0, most_mib)]) * scale,
                    core_percent=random.choice([0, random.randint(0, 100)]) * scale,
                ),
            )


def _sidecars_first(container: ContainerUsage) -> int:
    order = [Lifetime.SIDECAR, Lifetime.INIT, Lifetime.APP]
    return order.index(container.lifetime)


def init_count(pod: Pod) -> int:
    """Count the inits."""
    return sum(container.lifetime is Lifetime.INIT for container in pod)


def without_inits(pod: Pod, first: int | None = None) -> Pod:
    """Leave out the `first` inits, or all of them."""
    left = init_count(pod) if first is None else first
    kept = []
    for container in pod:
        if container.lifetime is Lifetime.INIT and left:
            left -= 1
        else:
            kept.append(container)
    return kept


def pod_requests(binary: Path, pods: Iterable[Pod]) -> list[Amounts]:
    """Ask Kubernetes what it counts for each pod; zeros are left out."""
    asked = "".join(f"{json.dumps(_as_declared(pod))}\n" for pod in pods)
    done = subprocess.run(
        [binary], input=asked, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [_without_zeros(answer) for answer in answers]


def _as_declared(pod: Pod) -> list[dict[str, object]]:
    return [
        {"lifetime": one.lifetime.value, "amounts": _resources(one.held)} for one in pod
    ]


def amounts(charge: Mapping[DeviceUUID, Usage]) -> Amounts:
    """Write a charge as extended resources; zeros are left out, for absent equals 0."""
    return _without_zeros(_resources(charge))


def _resources(charge: Mapping[DeviceUUID, Usage]) -> Amounts:
    return {
        f"example.com/{device_uuid}.{dimension}": amount
        for device_uuid, usage in charge.items()
        for dimension, amount in [
            ("slots", usage.slots),
            ("memory", usage.memory_mib),
            ("cores", usage.core_percent),
        ]
    }


def _without_zeros(counted: Amounts) -> Amounts:
    return {name: amount for name, amount in counted.items() if amount}


def shown(pod: Pod) -> str:
    """Print a pod small enough to be pasted into the table."""
    return "\n".join(f"{one.lifetime.value}: {dict(one.held)}" for one in pod)
