"""The example cluster and the example pods do what their comments promise."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
import yaml
from aiohttp.test_utils import TestClient, TestServer

from extender.core.pod import Pod
from extender.core.usage import Usage
from extender.embedded.documents import objects_in
from extender.runtime import EmbeddedExtender, embed
from extender.settings import HttpSettings, Settings
from extender.state.audit import audit
from extender.state.holdings import Footing
from extender.web.app import build_app
from tests.builders import Json, PodBuilder, pod
from tests.web.scheduler import Filtered, Scheduler, effective

CONFIG: Final = Path(__file__).parents[2] / "config"
EXAMPLE: Final = CONFIG / "example-cluster.yaml"
POD_FILES: Final = sorted((CONFIG / "pods").iterdir())
A10_01: Final = (
    "GPU-b1ff3110-b958-4491-4da1-f1890a7ba076",
    "GPU-5f2eca7f-3a61-d165-a574-00540aa63f4c",
    "GPU-7fca10c8-cf4c-620f-60af-08cd7d095bde",
    "GPU-211e1b0a-494b-575d-76c5-e06ae7b007d0",
)
A10_02: Final = (
    "GPU-1c7b9554-9adc-064b-c81a-5cede58f1d07",
    "GPU-e9d5912d-d377-a34a-69a1-0b576cce8586",
    "GPU-5ffcf9be-252e-a568-38d8-313a2ee95571",
    "GPU-d8a472a8-3365-2cf1-46aa-91a1897a0a82",
)
GPU_NODES: Final = {"gpu-a10-01", "gpu-a10-02", "gpu-a100-01", "gpu-mixed-01"}
"""Those with cards that are shared in software, and a plugin that lives."""


def example_pod(name: str) -> Json:
    """Read a file of config/pods."""
    (shown,) = objects_in((CONFIG / "pods" / f"{name}.yaml").read_bytes(), name)
    copy: Json = json.loads(json.dumps(shown))
    copy["metadata"]["uid"] = f"uid-of-{name}"
    return copy


@pytest.fixture
def embedded() -> EmbeddedExtender:
    """Read the example cluster."""
    return embed([EXAMPLE], Settings())


@pytest_asyncio.fixture(loop_scope="function")
async def scheduler(embedded: EmbeddedExtender) -> AsyncIterator[Scheduler]:
    """Serve the example cluster."""
    extender, cluster = embedded.extender, embedded.cluster
    server = TestServer(build_app(extender, HttpSettings(), cluster))
    async with TestClient(server) as client:
        yield Scheduler(client, server, cluster, extender)


async def placed(scheduler: Scheduler, shown: Json) -> tuple[str | None, Json]:
    """Take a pod through all verbs; gives the node and the pod as it is then."""
    await scheduler.add(shown)
    fitting = (await scheduler.filter(shown)).node_names or []
    node_name = None
    if fitting:
        scores = await scheduler.prioritize(shown, fitting)
        node_name = min(scores, key=lambda scored: (-scored[1], scored[0]))[0]
        assert await scheduler.bind(shown, node_name) == ""
    uid = shown["metadata"]["uid"]
    found = [each for each in await scheduler.pods() if each["metadata"]["uid"] == uid]
    return node_name, found[0]


def pinned(uuid: str, memory_mib: int, name: str = "probe") -> PodBuilder:
    """Ask for memory on one card."""
    wanted = pod(name).app("a", gpu=1, gpumem=memory_mib)
    return wanted.annotations({"nvidia.com/use-gpuuuid": uuid})


def test_example_loads_without_problem(embedded: EmbeddedExtender) -> None:
    """Every node and pod can be read; nobody holds what cannot be told."""
    ledger = embedded.extender.ledger
    assert [
        each.name
        for each in ledger.nodes.values()
        for inventory in each.inventories.values()
        if inventory.problem
    ] == []
    assert [each.full_name for each in ledger.pods.values() if each.warnings] == []
    assert [
        each.full_name for each in ledger.pods.values() if each.request_problem
    ] == []
    footings = {standing.footing for _, standing in ledger.standings()}
    assert footings == {Footing.ALLOCATED}
    assert audit(ledger) == []


def test_example_is_like_what_kubectl_prints() -> None:
    """A List with every kind of node that the comments name."""
    document = yaml.safe_load(EXAMPLE.read_text())
    assert (document["kind"], document["apiVersion"]) == ("List", "v1")
    kinds = [each["kind"] for each in document["items"]]
    assert set(kinds) == {"Node", "Pod"}
    usable = {
        name
        for name, each in embed([EXAMPLE], Settings()).cluster.nodes.items()
        if each.is_usable
    }
    assert usable == {*GPU_NODES, "gpu-h100-01"}


async def test_no_card_is_over_capacity(
    scheduler: Scheduler, embedded: EmbeddedExtender
) -> None:
    """By the oracle, in any dimension; also not on the node without a plugin."""
    charges = await scheduler.charges()
    assert set(charges) >= {"gpu-a10-01", "gpu-a10-02", "gpu-a100-01", "gpu-t4-01"}
    for name, node in embedded.cluster.nodes.items():
        for device in node.devices:
            held = charges.get(name, {}).get(device.device_uuid, Usage())
            assert device.capacity.largest(held) == device.capacity


async def test_oracle_and_ledger_agree(
    scheduler: Scheduler, embedded: EmbeddedExtender
) -> None:
    """On every card that can be had, what is free is what the charges leave."""
    charges = await scheduler.charges()
    for name in GPU_NODES:
        for device in embedded.cluster.nodes[name].devices:
            held = charges.get(name, {}).get(device.device_uuid, Usage())
            free = await scheduler.free_memory(device.device_uuid)
            is_open = device.is_healthy and not device.is_cordoned
            wants_whole = held.core_percent == device.capacity.core_percent
            left = device.capacity.memory_mib - held.memory_mib
            assert free == (left if is_open and not wants_whole else 0)


CHARGED: dict[str, tuple[str, dict[str, int]]] = {
    "sidecar and app: 4096 + 16384": ("llama-chat", {A10_01[0]: 20_480}),
    "the tokenizer has exited": ("bert-finetune", {A10_01[1]: 10_240}),
    "came after the tokenizer's exit": ("whisper", {A10_01[1]: 4096}),
    "the init still runs: 2048 + 20480": ("resnet-sweep", {A10_02[0]: 22_528}),
    "told to end, and still running": ("sdxl", {A10_02[1]: 12_288}),
    "finished": ("nightly-eval", {}),
    "its sidecar crash-loops": (
        "moe-pretrain",
        {
            "GPU-9525f85c-d2ec-6a63-cb43-cbcf5753970f": 63_488,
            "GPU-a996f50a-b6b8-3a46-3331-5f9a3268c6ac": 61_440,
        },
    ),
    "two whole cards": (
        "vision-pretrain",
        {
            "GPU-4d69e009-8964-4177-2d74-c4b990164002": 81_920,
            "GPU-d5987f08-bd88-0c61-35ef-e359956aa92c": 81_920,
        },
    ),
    "on the card that was closed": (
        "notebook-bo",
        {"GPU-5592872a-545f-a890-8e06-fd82e514f05a": 16_384},
    ),
    "a quarter of an A10": (
        "notebook-ana",
        {"GPU-3dd3f55a-798c-bf26-b830-19e7bac8651e": 5757},
    ),
    "an app without a GPU beside one with": (
        "ocr",
        {"GPU-51b22547-f4dd-0ed0-f36a-d5ac1a6a4fa7": 3072},
    ),
    "where the plugin is gone": (
        "legacy-ner",
        {"GPU-dcb35c94-2322-ff18-29df-7f991654fb14": 4096},
    ),
    "no GPU": ("prometheus", {}),
}


@pytest.mark.parametrize(("name", "memory"), CHARGED.values(), ids=CHARGED)
def test_pod_is_charged_as_its_comment_says(
    embedded: EmbeddedExtender, name: str, memory: dict[str, int]
) -> None:
    """MiB per card, now; every pod of the example is in this table."""
    ledger = embedded.extender.ledger
    (shown,) = [each for each in ledger.pods.values() if each.name.startswith(name)]
    holding = ledger.holding(shown.uid)
    charge = holding.charge if holding else {}
    assert {uuid: held.memory_mib for uuid, held in charge.items()} == memory
    assert len(CHARGED) == len(ledger.pods)


async def test_nothing_above_2548_fits_beside_llama_chat(scheduler: Scheduler) -> None:
    """4096 + 16384 of 23028 MiB are taken."""
    assert await scheduler.free_memory(A10_01[0]) == 2548


async def test_whisper_could_not_have_come_earlier(scheduler: Scheduler) -> None:
    """20480 + 4096 MiB would never have fitted; 10240 + 4096 do."""
    assert await scheduler.free_memory(A10_01[1]) == 23_028 - 10_240 - 4096
    assert 20_480 + 4096 > 23_028


REFUSED: dict[str, tuple[str, str]] = {
    A10_02[3]: ("gpu-a10-02", "CardNotHealth"),
    "GPU-5592872a-545f-a890-8e06-fd82e514f05a": ("gpu-a100-01", "CardCordoned"),
    "GPU-db71f82e-fbde-cfe9-99ec-54e5c6604330": ("gpu-t4-01", "node unregistered"),
    "none": ("cpu-01", "node unregistered"),
}


@pytest.mark.parametrize("uuid", REFUSED)
async def test_closed_cards_say_why(scheduler: Scheduler, uuid: str) -> None:
    """Unhealthy, cordoned, no plugin, no GPU."""
    node_name, reason = REFUSED[uuid]
    filtered = await scheduler.filter(pinned(uuid, 1), [node_name])
    assert filtered.failed == {}
    assert reason in filtered.unresolvable[node_name].split(", ")


@pytest.mark.parametrize("file", POD_FILES, ids=lambda file: file.name)
def test_pod_file_reads_without_problem(embedded: EmbeddedExtender, file: Path) -> None:
    """One pod each, no warning, nothing that cannot be honoured."""
    shown: list[Any] = list(objects_in(file.read_bytes(), file.name))
    (read,) = [embedded.extender.reader.read(each) for each in shown]
    assert isinstance(read, Pod)
    assert (read.warnings, read.request_problem) == ((), None)
    assert read.asks_for_devices
    assert read.name == file.stem
    assert shown[0]["spec"]["schedulerName"] == "gpu-scheduler"


async def test_mig_instances(scheduler: Scheduler) -> None:
    """One of each card; what is written tells the device plugin where to cut."""
    node_name, bound = await placed(scheduler, example_pod("mig-instances"))
    assert node_name == "gpu-h100-01"
    text = bound["metadata"]["annotations"]["hami.io/vgpu-mig-allocations"]
    assert [(each["profile"], each["placement"]) for each in json.loads(text)] == [
        ("2g.20gb", {"start": 0, "size": 2})
    ] * 2
    assert len({each["gpuUUID"] for each in json.loads(text)}) == 2


async def test_init_then_app(scheduler: Scheduler) -> None:
    """22 GiB while the init has to run, 12 once it has exited; 20 the other way."""
    shown = example_pod("init-then-app")
    node_name, bound = await placed(scheduler, shown)
    assert node_name == "gpu-a10-01"
    assert effective(bound) == {A10_01[3]: (2, 22 * 1024, 0)}
    assert await scheduler.free_memory(A10_01[3]) == 23_028 - 22 * 1024
    exited = {"terminated": {"exitCode": 0, "finishedAt": "2026-12-01T00:00:00Z"}}
    statuses = [{"name": "compile", "state": exited}]
    scheduler.see_pod({**bound, "status": {"initContainerStatuses": statuses}})
    assert await scheduler.free_memory(A10_01[3]) == 23_028 - 12 * 1024


async def test_init_then_app_the_other_way_round(scheduler: Scheduler) -> None:
    """With the init declared first it would be 20, not 22."""
    shown = example_pod("init-then-app")
    shown["spec"]["initContainers"].reverse()
    _, bound = await placed(scheduler, shown)
    assert effective(bound) == {A10_01[3]: (2, 20 * 1024, 0)}


async def test_sidecar_and_app(scheduler: Scheduler) -> None:
    """10 + 10 GiB on one card; a later pod of 12 GiB is refused there."""
    node_name, bound = await placed(scheduler, example_pod("sidecar-and-app"))
    assert node_name == "gpu-a10-01"
    assert effective(bound) == {A10_01[2]: (2, 20 * 1024, 0)}
    refused = await scheduler.filter(pinned(A10_01[2], 12 * 1024), ["gpu-a10-01"])
    assert set(refused.failed) == {"gpu-a10-01"}
    assert "CardInsufficientMemory" in refused.failed["gpu-a10-01"]


async def test_sidecar_and_app_without_the_pin(scheduler: Scheduler) -> None:
    """Spread gives each of the two a card of its own where it can."""
    shown = example_pod("sidecar-and-app")
    del shown["metadata"]["annotations"]
    _, bound = await placed(scheduler, shown)
    assert [held[:2] for held in effective(bound).values()] == [(1, 10 * 1024)] * 2


async def test_too_large(scheduler: Scheduler) -> None:
    """Refused everywhere, and no eviction would help."""
    shown = example_pod("too-large")
    filtered = await scheduler.filter(shown)
    assert filtered == Filtered(None, [], {}, filtered.unresolvable, "")
    assert set(filtered.unresolvable) == set(scheduler.node_names)


async def test_two_cards(scheduler: Scheduler) -> None:
    """Two different A100, 40 GiB and half the compute of each."""
    node_name, bound = await placed(scheduler, example_pod("two-cards"))
    assert node_name == "gpu-a100-01"
    assert list(effective(bound).values()) == [(1, 40 * 1024, 50)] * 2


async def test_whole_card(scheduler: Scheduler, embedded: EmbeddedExtender) -> None:
    """A card that nobody used, all of it; and nobody joins it afterwards."""
    before = await scheduler.charges()
    node_name, bound = await placed(scheduler, example_pod("whole-card"))
    assert node_name in GPU_NODES
    ((uuid, charge),) = effective(bound).items()
    assert uuid not in before.get(node_name, {})
    (capacity,) = [
        device.capacity
        for device in embedded.cluster.nodes[node_name].devices
        if device.device_uuid == uuid
    ]
    assert charge == (1, capacity.memory_mib, 100)
    for cores in (0, 1):
        joining = pod("joins").app("a", gpu=1, gpumem=1, cores=cores)
        joining = joining.annotations({"nvidia.com/use-gpuuuid": uuid})
        assert (await scheduler.filter(joining)).node_names == []


async def test_all_examples_at_once(scheduler: Scheduler) -> None:
    """One after another they fit beside each other, but for the one too large."""
    outcomes = {
        file.stem: (await placed(scheduler, example_pod(file.stem)))[0]
        for file in POD_FILES
    }
    refused = [name for name, node_name in outcomes.items() if node_name is None]
    assert refused == ["too-large"]
