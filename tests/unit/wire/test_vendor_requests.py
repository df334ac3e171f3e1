"""What pods ask of vendors who read more than amounts."""

from collections.abc import Mapping

import pytest

from extender.core.container import Container, Lifetime
from extender.core.pod_request import ContainerRequest
from extender.wire.pod_resources import DeclaredContainer, ReadRequests, read_requests
from tests.shipped import SHIPPED

SGPU = "metax-tech.com"
NPU = "huawei.com/Ascend910B4"


def read(
    word: str,
    *limits: Mapping[str, object],
    annotations: Mapping[str, str] | None = None,
) -> ReadRequests:
    """Read containers ``a``, ``b`` and so on."""
    declared = [
        DeclaredContainer(
            Container("abc"[index], Lifetime.APP),
            f"spec.containers[{index}]",
            {"resources": {"limits": each}},
        )
        for index, each in enumerate(limits)
    ]
    return read_requests(SHIPPED[word], declared, annotations or {})


NOTATIONS: dict[str, tuple[object, int]] = {
    "a bare number is GiB": ("4", 4096),
    "a JSON number too": (4, 4096),
    "Gi is bytes": ("4Gi", 4096),
    "Mi is bytes": ("1500Mi", 1500),
    "G is bytes, and a part of a MiB counts as one": ("1G", 954),
    "an exponent is bytes": ("1e9", 954),
}


@pytest.mark.parametrize(("text", "mib"), NOTATIONS.values(), ids=NOTATIONS)
def test_metax_writes_gib_or_bytes(text: object, mib: int) -> None:
    """The same text is another amount for other vendors."""
    limits = {f"{SGPU}/sgpu": "1", f"{SGPU}/vmemory": text}
    assert read("Metax-SGPU", limits).asked == (ContainerRequest(1, mib, 0, 100),)


def test_metax_refuses_less_than_a_mib() -> None:
    """Kubernetes writes 2000 as 2k, which is hardly meant as bytes."""
    limits = {f"{SGPU}/sgpu": "1", f"{SGPU}/vmemory": "2k"}
    assert read("Metax-SGPU", limits).problem == (
        "container 'a': spec.containers[0].resources.limits[metax-tech.com/vmemory]: "
        "'2k' is not at least 1 MiB; with a suffix it is bytes, without one GiB"
    )


WORDS: dict[str, tuple[dict[str, str], str | None]] = {
    "no annotation": ({}, None),
    "a policy": ({f"{SGPU}/sgpu-qos-policy": "fixed-share"}, None),
    "a class": ({f"{SGPU}/sgpu-app-class": "online"}, None),
    "a policy of none": (
        {f"{SGPU}/sgpu-qos-policy": "Fixed-Share"},
        (
            "annotation metax-tech.com/sgpu-qos-policy: 'Fixed-Share' is not one of "
            "best-effort, fixed-share, burst-share"
        ),
    ),
    "a class of none": (
        {f"{SGPU}/sgpu-app-class": ""},
        "annotation metax-tech.com/sgpu-app-class: '' is not one of online, offline",
    ),
}


@pytest.mark.parametrize(("annotations", "problem"), WORDS.values(), ids=WORDS)
def test_metax_words_that_nobody_knows_are_refused(
    annotations: dict[str, str], problem: str | None
) -> None:
    """By name, and for pods that ask for its cards only."""
    read_it = read("Metax-SGPU", {f"{SGPU}/sgpu": "1"}, annotations=annotations)
    assert read_it.problem == problem
    assert read("Metax-SGPU", {"cpu": "1"}, annotations=annotations).problem is None


def test_npu_is_shared_in_software_by_the_pods_word() -> None:
    """Cores and any memory; without the word, cores are refused."""
    limits: dict[str, object] = {NPU: 1, f"{NPU}-memory": 5000, f"{NPU}-core": 30}
    in_software = {"huawei.com/vnpu-mode": "hami-core"}
    asked = read("Ascend910B4", limits, annotations=in_software).asked
    assert asked == (ContainerRequest(1, 5000, 0, 30),)
    assert read("Ascend910B4", limits).problem == (
        "container 'a': huawei.com/Ascend910B4-core: 30 is not allowed without pod "
        "annotation huawei.com/vnpu-mode: hami-core"
    )


ONE_CONTAINER = {
    "MLU": "cambricon.com/vmlu",
    "Mthreads": "mthreads.com/vgpu",
    "kunlun": "kunlunxin.com/xpu",
    "Enflame": "enflame.com/drs-gcu",
}


@pytest.mark.parametrize(("word", "count"), ONE_CONTAINER.items())
def test_plugin_that_is_told_of_one_container_serves_one(word: str, count: str) -> None:
    """A second one would be given the cards of the first, or none."""
    one: dict[str, object] = {count: "1"}
    assert read(word, {}, one, {}).problem is None
    refused = read(word, one, {"cpu": "1"}, one)
    assert refused.problem == (
        f"containers 'a' and 'c': both ask for {count}, and its device plugin is told "
        "the cards of one container of a pod"
    )
    assert refused.counts == (1, 0, 1)


def test_containers_that_name_memory_alone_are_told_of_what_they_name() -> None:
    """Nobody looks for a resource that their pod does not have."""
    memory: dict[str, object] = {"enflame.com/gcu-memory": "20"}
    slots: dict[str, object] = {"enflame.com/drs-gcu": "1"}
    both = read("Enflame", memory, memory).problem or ""
    assert "'a' and 'b': both ask for enflame.com/gcu-memory, and" in both
    each = read("Enflame", slots, memory).problem or ""
    assert "ask for enflame.com/drs-gcu and enflame.com/gcu-memory, and" in each


def test_plugin_that_reads_rows_serves_all() -> None:
    """As NVIDIA's does."""
    one: dict[str, object] = {"hygon.com/dcunum": "1"}
    assert read("DCU", one, one).problem is None


def test_slots_of_a_card_are_device_ids_of_one_device() -> None:
    """Kubelet counts three, and the allocation has one card."""
    read_it = read("Enflame", {"enflame.com/drs-gcu": 3})
    assert (read_it.counts, read_it.ids) == ((1,), (3,))
    alone = read("Enflame", {"enflame.com/gcu-memory": "20"})
    assert (alone.counts, alone.ids, alone.problem) == ((1,), (0,), None)


def test_cores_are_no_device_ids_of_devices() -> None:
    """They are of a resource of their own, which kube-scheduler counts."""
    read_it = read("AWSNeuron", {"aws.amazon.com/neuroncore": 8}, {})
    assert (read_it.counts, read_it.ids) == ((4, 0), (0, 0))


def test_devices_are_known_though_a_claim_is_refused() -> None:
    """An allocation that was made by others goes by them."""
    read_it = read("AWSNeuron", {"aws.amazon.com/neuroncore": 5})
    assert (read_it.counts, bool(read_it.problem)) == ((2,), True)


def test_neuron_devices_and_cores_are_not_mixed_in_a_pod() -> None:
    """Its plugin is told one list, of devices or of cores."""
    devices, cores = {"aws.amazon.com/neuron": 1}, {"aws.amazon.com/neuroncore": 1}
    assert read("AWSNeuron", devices, {}, devices).problem is None
    assert read("AWSNeuron", cores, cores).problem is None
    assert read("AWSNeuron", cores, devices).problem == (
        "container 'a': asks for aws.amazon.com/neuroncore, and container 'b' for "
        "aws.amazon.com/neuron: its device plugin is told one of both of a pod"
    )


def test_a_device_is_known_though_its_memory_cannot_be_read() -> None:
    """It is one, whatever the number of slots."""
    read_it = read("Enflame", {"enflame.com/drs-gcu": 3, "enflame.com/gcu-memory": "?"})
    assert (read_it.counts, read_it.ids, bool(read_it.problem)) == ((1,), (3,), True)
