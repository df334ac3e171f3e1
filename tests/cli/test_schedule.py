"""gpu-extender schedule: where pods would go, or why they would not."""

import json
from pathlib import Path

import pytest

from tests.builders import PodBuilder, node, pod
from tests.cli.command import (
    EXAMPLE,
    PODS,
    Outcome,
    gpu_extender,
    listed,
    subprocess_of,
    violations,
)
from tests.vendor_places import CLASS, QOS
from tests.vendors import AMD, DRS, SGPUS, XPUS

ONE_SGPU = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 20}
CARD = node("n1").gpu("GPU-a", memory=24_576)
BOTH = pod("both").sidecar("s", gpu=1, gpumem=10_240).app("a", gpu=1, gpumem=10_240)
TWELVE = pod("twelve").app("a", gpu=1, gpumem=12_288)
INIT = (
    pod("phases")
    .sidecar("s", gpu=1, gpumem=2048)
    .init("i", gpu=1, gpumem=20_480)
    .init("free")
    .app("a", gpu=1, gpumem=10_240, cores=30)
)


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Write a cluster of one card of 24 GiB."""
    file = tmp_path / "cluster.json"
    file.write_text(listed(CARD))
    return file


def scheduled(cluster: Path, *pods: PodBuilder, output: str = "json") -> Outcome:
    """Schedule pods from standard input."""
    return gpu_extender(
        "schedule", "-f", "-", "--cluster", cluster, "-o", output, stdin=listed(*pods)
    )


POLICIES = {
    "by default": ((), "GPU-b"),
    "binpack": (("--gpu-scheduler-policy", "binpack"), "GPU-a"),
    "mutex": (("--gpu-scheduler-policy", "mutex,binpack"), "GPU-b"),
    "weights": (("--device-scoring-weights", "slot=0,core=1,memory=0"), "GPU-a"),
}


@pytest.mark.parametrize(("options", "card"), POLICIES.values(), ids=POLICIES)
def test_policy_of_the_cluster(
    tmp_path: Path, options: tuple[str, ...], card: str
) -> None:
    """It counts for pods that name none; GPU-a is in use, without cores."""
    holder = pod("h").app("a", gpu=1, gpumem=1_000).on("n1")
    file = tmp_path / "cluster.json"
    cards = node("n1").gpu("GPU-a").gpu("GPU-b")
    file.write_text(listed(cards, holder.holding("GPU-a,NVIDIA,1000,0:;")))
    outcome = gpu_extender(
        *("schedule", "-f", "-", "--cluster", file, "-o", "json"),
        *options,
        stdin=listed(TWELVE),
    )
    assert card in json.dumps(outcome.json["pods"][0])


def test_only_selected_nodes_are_asked(tmp_path: Path) -> None:
    """The others are refused, with what their labels should be like."""
    file = tmp_path / "cluster.json"
    other = node("a-first").gpu("GPU-x").labels(gpu="off")
    file.write_text(listed(CARD.labels(gpu="on"), other))
    command = ("schedule", "-f", "-", "--cluster", file, "--node-label-selector")
    placed = gpu_extender(*command, "gpu in (on)", "-o", "json", stdin=listed(TWELVE))
    assert placed.json["pods"][0]["node"] == "n1"
    assert placed.json["pods"][0]["candidates"] == 1
    nowhere = gpu_extender(*command, "gpu=maybe", stdin=listed(TWELVE))
    assert nowhere.code == 1
    assert nowhere.out.count("its labels do not match gpu=maybe") == 2
    assert nowhere.out.count("NodeNotSelected*") == 2


@pytest.mark.parametrize(("release", "code"), [("after-init", 0), ("never", 1)])
def test_release_counts_for_the_pods_that_are_there(
    tmp_path: Path, release: str, code: int
) -> None:
    """An init that is over leaves room, or does not."""
    holder = INIT.on("n1").holding(
        "GPU-a,NVIDIA,2048,0:;GPU-a,NVIDIA,20480,0:;;GPU-a,NVIDIA,10240,30:;"
    )
    file = tmp_path / "cluster.json"
    file.write_text(listed(CARD, holder.exited("i").exited("free").running("a")))
    outcome = gpu_extender(
        *("schedule", "-f", "-", "--cluster", file, "--release", release),
        stdin=listed(TWELVE),
    )
    assert outcome.code == code


def test_placed_pod_as_json(cluster: Path) -> None:
    """Node, rows per container, and each device's phases and charge."""
    outcome = scheduled(cluster, INIT)
    assert (outcome.code, outcome.err) == (0, "")
    assert violations("schedule", outcome.json) == []
    share = {"uuid": "GPU-a", "core_percent": 0}
    assert outcome.json == {
        "pods": [
            {
                "namespace": "default",
                "name": "phases",
                "uid": INIT.pod_uid,
                "placed": True,
                "node": "n1",
                "score": 5,
                "candidates": 1,
                "containers": [
                    {
                        "name": "s",
                        "lifetime": "sidecar",
                        "devices": [{**share, "memory_mib": 2048}],
                    },
                    {
                        "name": "i",
                        "lifetime": "init",
                        "devices": [{**share, "memory_mib": 20_480}],
                    },
                    {"name": "free", "lifetime": "init", "devices": []},
                    {
                        "name": "a",
                        "lifetime": "app",
                        "devices": [
                            {**share, "memory_mib": 10_240, "core_percent": 30}
                        ],
                    },
                ],
                "devices": {
                    "GPU-a": {
                        "phases": [
                            _phase("i", 2, 22_528, 0),
                            _phase("free", 1, 2048, 0),
                            _phase(None, 2, 12_288, 30),
                        ],
                        "effective": _usage(2, 22_528, 30),
                        "steady": _usage(2, 12_288, 30),
                    }
                },
                "warnings": [],
            }
        ]
    }


def _usage(slots: int, memory_mib: int, core_percent: int) -> dict[str, int]:
    return {"slots": slots, "memory_mib": memory_mib, "core_percent": core_percent}


def _phase(
    init: str | None, slots: int, memory_mib: int, core_percent: int
) -> dict[str, object]:
    return {"init": init, **_usage(slots, memory_mib, core_percent)}


def test_placed_pod_as_table(cluster: Path) -> None:
    """Node, card, and one line per phase with slots, MiB and percent."""
    outcome = scheduled(cluster, INIT, output="table")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert "default/phases -> n1" in outcome.out
    assert "GPU-a NVIDIA A10" in outcome.out
    assert ["a", "app", "0", "10240", "30"] in lines
    assert ["free", "init", "-", "-", "-"] in lines
    tails = {" ".join(line[:-3]): line[-3:] for line in lines if len(line) > 3}
    assert tails["init i + s"] == ["2", "22528", "0"]
    assert tails["init free + s"] == ["1", "2048", "0"]
    assert tails["steady: sidecars + apps"] == ["2", "12288", "30"]
    charged = next(value for name, value in tails.items() if "charged" in name)
    assert charged == ["2", "22528", "30"]
    assert "1 of 1 pods placed" in outcome.out


def test_each_pod_is_placed_beside_the_ones_before(cluster: Path) -> None:
    """20 of 24 GiB are gone, so 12 are refused and 4 still fit: exit code 1."""
    four = pod("four").app("a", gpu=1, gpumem=4096)
    outcome = scheduled(cluster, BOTH, TWELVE, four)
    assert outcome.code == 1
    assert violations("schedule", outcome.json) == []
    assert [each["placed"] for each in outcome.json["pods"]] == [True, False, True]
    (refusal,) = outcome.json["pods"][1]["refusals"]
    assert refusal == {
        "node": "n1",
        "reasons": ["CardInsufficientMemory"],
        "unresolvable": False,
        "problem": None,
        "container": "a",
        "wanted_cards": 1,
        "kubelet_slots": {"needed": 1, "taken": 2, "allocatable": 10},
        "cards": [
            {
                "uuid": "GPU-a",
                "model": "NVIDIA A10",
                "refused_by": "CardInsufficientMemory",
                "free": _usage(8, 4096, 100),
                "needed": _usage(1, 12_288, 0),
            }
        ],
        "quota": [],
    }


REFUSALS: dict[str, tuple[list[PodBuilder], list[str]]] = {
    "memory": ([BOTH, TWELVE], ["1/1", "CardInsufficientMemory", "12288", "4096"]),
    "too large for any": (
        [pod("p").app("a", gpu=1, gpumem=98_304)],
        ["CardInsufficientMemory*", "98304", "24576"],
    ),
    "cores": (
        [
            pod("p").app("a", gpu=1, gpumem=1, cores=80),
            pod("q").app("a", gpu=1, gpumem=1, cores=30),
        ],
        ["CardInsufficientCore", "30 %", "20 %"],
    ),
    "cards": ([pod("p").app("a", gpu=3)], ["NodeInsufficientDevice*", "3", "1"]),
    "type": (
        [pod("p").app("a", gpu=1).annotations({"nvidia.com/use-gputype": "H100"})],
        ["CardTypeMismatch*", "NVIDIA A10"],
    ),
    "kubelet": (
        [
            pod(f"p{index}").init("i", gpu=1, gpumem=1).app("a", gpu=1, gpumem=1)
            for index in range(10)
        ]
        + [pod("last").app("a", gpu=1, gpumem=1)],
        ["KubeletSlotsExhausted", "needs 1 device ids", "10 of 10 taken"],
    ),
    "quantity": (
        [pod("p").app("worker", gpu=1, gpumem="5Gi")],
        ["worker", "nvidia.com/gpumem", "5368709120", "2147483647"],
    ),
}


@pytest.mark.parametrize(("pods", "shown"), REFUSALS.values(), ids=REFUSALS)
def test_refusal_shows_numbers(
    cluster: Path, pods: list[PodBuilder], shown: list[str]
) -> None:
    """What is asked and what there is, per node; the JSON is as documented."""
    outcome = scheduled(cluster, *pods, output="table")
    assert outcome.code == 1
    assert "fits nowhere" in outcome.out
    flat = " ".join(outcome.out.split())
    assert [text for text in shown if text not in flat] == []
    assert violations("schedule", scheduled(cluster, *pods).json) == []


def test_all_rules_are_documented(cluster: Path, tmp_path: Path) -> None:
    """Unregistered, unreadable, cordoned, sick, MIG: JSON that fits the schema."""
    odd = tmp_path / "odd.json"
    register = {"hami.io/node-nvidia-register": "[{"}
    unreadable = pod("u").app("a", gpu=1).on("q").phase("Running").holding("x")
    named = pod("v").app("a", gpu=1).on("r").phase("Running").holding("GPU-r,N,x,0:;")
    odd.write_text(
        listed(
            node("plain"),
            node("broken").allocatable(10).annotations(register),
            node("mixed")
            .gpu("GPU-1", health=False)
            .gpu("GPU-2", mode="mig")
            .gpu("GPU-3")
            .cordon("GPU-3")
            .gpu("GPU-4", memory=10),
            node("q").gpu("GPU-q", memory=80_000),
            node("r").gpu("GPU-r", memory=80_000),
            node("few").gpu("GPU-f").allocatable(1),
            unreadable,
            named,
        )
    )
    two = pod("two").app("a", gpu=1, gpumem=12_288).app("b", gpu=1, gpumem=14_000)
    stdin = listed(two)
    outcome = gpu_extender(
        *("schedule", "-f", "-", "--cluster", cluster, "--cluster", odd, "-o", "json"),
        stdin=stdin,
    )
    assert violations("schedule", outcome.json) == []
    (refused,) = outcome.json["pods"]
    reasons = {each["node"]: each["reasons"] for each in refused["refusals"]}
    assert reasons == {
        "plain": ["node unregistered"],
        "broken": ["NodeRegistrationUnreadable"],
        "mixed": [
            "CardNotHealth",
            "CardCordoned",
            "CardInsufficientMemory",
            "CardMigTopologyInfeasible",
        ],
        "q": ["NodeHasUnreadableAllocation"],
        "r": ["CardHeldByUnreadableAllocation"],
        "few": ["KubeletSlotsExhausted"],
        "n1": ["CardInsufficientMemory"],
    }
    names = [each["node"] for each in refused["refusals"]]
    assert names == sorted(names)


def test_instances_of_a_card_in_mig_mode_are_shown(tmp_path: Path) -> None:
    """Their profiles beside the card in the table; their places in JSON."""
    cluster = tmp_path / "mig.json"
    cluster.write_text(listed(node("m1").mig("GPU-m")))
    wanted = pod("p").init("i", gpu=1, gpumem=9_000).app("a", gpu=2, gpumem=4_000)
    outcome = scheduled(cluster, wanted)
    assert violations("schedule", outcome.json) == []
    (placed,) = outcome.json["pods"]
    assert [
        [(each["mig"]["profile"], each["mig"]["placement"]) for each in one["devices"]]
        for one in placed["containers"]
    ] == [
        [("2g.10gb", {"start": 0, "size": 2})],
        [("1g.5gb", {"start": 6, "size": 1}), ("1g.5gb", {"start": 5, "size": 1})],
    ]
    held = {"slots": 3, "memory_mib": 20_480, "core_percent": 59}
    assert placed["devices"]["GPU-m"]["effective"] == held
    assert placed["devices"]["GPU-m"]["steady"] == held
    shown = gpu_extender(
        *("schedule", "-f", "-", "--cluster", cluster), stdin=listed(wanted)
    )
    assert "0 1g.5gb, 0 1g.5gb" in shown.out


def test_nodes_and_pods_may_come_from_several_files(tmp_path: Path) -> None:
    """--cluster twice, -f twice, and standard input among them."""
    nodes, pods = tmp_path / "nodes.json", tmp_path / "pods.json"
    resident = pod("r").app("a", gpu=1).on("n1").phase("Running")
    nodes.write_text(listed(CARD))
    pods.write_text(listed(resident.holding("GPU-a,NVIDIA,20480,0:;")))
    four = tmp_path / "four.yaml"
    four.write_text(json.dumps(pod("four").app("a", gpu=1, gpumem=4096).build()))
    outcome = gpu_extender(
        *("schedule", "-f", four, "-f", "-", "-o", "json"),
        *("--cluster", nodes, "--cluster", pods),
        stdin=listed(pod("one").app("a", gpu=1, gpumem=1)),
    )
    placed = {each["name"]: each["placed"] for each in outcome.json["pods"]}
    assert placed == {"four": True, "one": False}


def test_pod_without_devices_is_placed(cluster: Path) -> None:
    """Every node fits; there is no device to show."""
    outcome = scheduled(cluster, pod("cpu").app("a"))
    assert violations("schedule", outcome.json) == []
    (placed,) = outcome.json["pods"]
    assert (outcome.code, placed["node"], placed["devices"]) == (0, "n1", {})
    assert "no GPU" in scheduled(cluster, pod("cpu").app("a"), output="table").out


def test_nothing_to_do_is_done(cluster: Path, tmp_path: Path) -> None:
    """No pod is no input; no node is a refusal."""
    outcome = scheduled(cluster)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "gpu-extender: no pod found in the input\n"
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    outcome = scheduled(empty, TWELVE)
    assert outcome.code == 1
    assert violations("schedule", outcome.json) == []
    assert outcome.json["pods"][0]["refusals"] == []
    assert "no node" in scheduled(empty, TWELVE, output="table").out


def test_unknown_setting_is_a_warning(cluster: Path) -> None:
    """Policy pack is read as the default, and it says so."""
    misspelt = TWELVE.annotations({"hami.io/gpu-scheduler-policy": "pack"})
    outcome = scheduled(cluster, misspelt)
    (warning,) = outcome.json["pods"][0]["warnings"]
    assert "pack" in warning
    assert "warning: " in scheduled(cluster, misspelt, output="table").out


def test_pod_that_has_a_node_is_not_scheduled(cluster: Path) -> None:
    """Whether bound here, elsewhere or by others: it says so, and places nothing."""
    for bound in (TWELVE.on("n1"), TWELVE.on("n2"), TWELVE.on("n1").holding("x")):
        outcome = scheduled(cluster, bound)
        assert outcome.code == 2
        assert "default/twelve" in outcome.complaint
        assert bound.node_name in outcome.complaint.split()


@pytest.mark.parametrize("markup", ["[/]", "[/bold]", "[red]", ":boom:", "\\[x]"])
def test_odd_names_are_printed_as_they_are(tmp_path: Path, markup: str) -> None:
    """Brackets in a name are text, not a style."""
    file = tmp_path / "odd.json"
    odd_node = node(f"n{markup}").gpu("GPU-a", model=f"A10 {markup}")
    file.write_text(listed(odd_node))
    odd = pod(f"p{markup}").app(f"c{markup}", gpu=1, gpumem=1)
    large = pod(f"q{markup}").app(f"d{markup}", gpu=1, gpumem=10**6)
    outcome = scheduled(file, odd, large, output="table")
    assert outcome.code == 1
    assert [one for one in "pqnc" if f"{one}{markup}" not in outcome.out] == []
    assert f"GPU-a A10 {markup}" in outcome.out


@pytest.mark.parametrize("file", sorted(PODS.iterdir()), ids=lambda file: file.name)
def test_example_fits_a_terminal(file: Path) -> None:
    """What the documentation shows: 80 columns, no colour code, no cut word."""
    outcome = gpu_extender("schedule", "-f", file, "--cluster", EXAMPLE)
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "\x1b" not in outcome.out
    assert "…" not in outcome.out


def test_real_command_prints_plain_text_into_a_pipe() -> None:
    """As gpu_extender does in this process, to the letter."""
    arguments = ("schedule", "-f", PODS / "two-cards.yaml", "--cluster", EXAMPLE)
    assert subprocess_of(*arguments) == gpu_extender(*arguments)
    as_json = (*arguments, "-o", "json")
    outcome = subprocess_of(*as_json)
    assert outcome == gpu_extender(*as_json)
    assert violations("schedule", outcome.json) == []


def test_cards_of_two_kinds_are_told_apart(tmp_path: Path) -> None:
    """Line by line, with the kind beside them; both have a card 0."""
    shown = node("n1").gpu("GPU-a").build()
    register = "DCU-0,4,65520,100,Z100L,0,true:"
    shown["metadata"]["annotations"]["hami.io/node-dcu-register"] = register
    shown["status"]["allocatable"]["hygon.com/dcunum"] = "4"
    wanted = pod("p").app("a").app("b").build()
    limits = {
        "nvidia.com/gpu": "1",
        "nvidia.com/gpumem": "3000",
        "hygon.com/dcunum": "1",
        "hygon.com/dcumem": "4000",
        "hygon.com/dcucores": "60",
    }
    wanted["spec"]["containers"][0]["resources"] = {"limits": limits}
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": [shown]}))
    config = EXAMPLE.parent / "device-config.yaml"
    outcome = gpu_extender(
        *("schedule", "-f", "-", "--cluster", file, "--device-config", config),
        stdin=json.dumps(wanted),
    )
    assert outcome.code == 0
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert lines[1:5] == [
        "container lifetime kind cards memory MiB each cores % each",
        "a app NVIDIA 0 3000 0",
        "DCU 0 4000 60",
        "b app - - - -",
    ]


VENDORS = {
    "AMD, in units of the card": (
        {"hami.io/node-amd-register": AMD},
        {"amd.com/gpu": 10},
        [
            ({"amd.com/gpu": 1, "amd.com/gpumem": 1, "amd.com/gpucores": 50}, {}),
            ({"amd.com/gpu": 1, "amd.com/gpumem": 1, "amd.com/gpucores": 51}, {}),
        ],
        "1/1 CardInsufficientCore needs 155 units of cores, 152 units free",
    ),
    "AWS Neuron, in cores": (
        {},
        {"aws.amazon.com/neuron": 1, "aws.amazon.com/neuroncore": 2},
        [({"aws.amazon.com/neuroncore": 1}, {}), ({"aws.amazon.com/neuron": 1}, {})],
        "1/1 CardInsufficientCore needs 2 units of cores, 1 units free",
    ),
    "Enflame DRS, by profile": (
        {"enflame.com/gcu-drs-capacity": DRS},
        {"enflame.com/drs-gcu": 6},
        [({"enflame.com/drs-gcu": 3}, {}), ({"enflame.com/drs-gcu": 2}, {})],
        "1/1 CardProfileMismatch* has no profile of the size that is asked",
    ),
    "Enflame DRS, by slots": (
        {"enflame.com/gcu-drs-capacity": DRS},
        {"enflame.com/drs-gcu": 7},
        [({"enflame.com/drs-gcu": 1}, {}), ({"enflame.com/drs-gcu": 6}, {})],
        "1/1 CardTimeSlicingExhausted needs 6 slots, 5 free",
    ),
    "MetaX, by policy": (
        {"metax-tech.com/node-gpu-devices": SGPUS},
        {"metax-tech.com/sgpu": 16},
        [(ONE_SGPU, {QOS: "fixed-share"}), (ONE_SGPU, {})],
        "1/1 CardQosPolicyMismatch pods with another QoS policy are there",
    ),
    "MetaX, by class": (
        {"metax-tech.com/node-gpu-devices": SGPUS},
        {"metax-tech.com/sgpu": 16},
        [(ONE_SGPU, {CLASS: "online"}), (ONE_SGPU, {CLASS: "offline"})],
        "1/1 CardAppClassMismatch pods of another class are there",
    ),
    "Kunlunxin, by size": (
        {"hami.io/node-register-xpu": XPUS},
        {"kunlunxin.com/vxpu": 4},
        [
            ({"kunlunxin.com/vxpu": 1, "kunlunxin.com/vxpu-memory": 49_152}, {}),
            ({"kunlunxin.com/vxpu": 1, "kunlunxin.com/vxpu-memory": 24_576}, {}),
        ],
        "1/1 CardSharedUnequally shared by containers with another memory",
    ),
}


@pytest.mark.parametrize(
    ("annotations", "capacity", "asking", "expected"), VENDORS.values(), ids=VENDORS
)
def test_vendors_reasons_are_told_in_words(
    tmp_path: Path,
    annotations: dict[str, str],
    capacity: dict[str, int],
    asking: list[tuple[dict[str, int], dict[str, str]]],
    expected: str,
) -> None:
    """Two pods for one card, of which the second does not fit."""
    shown = node("n1").annotations(annotations).build()
    for told in ("capacity", "allocatable"):
        shown["status"].setdefault(told, {}).update(capacity)
    pods = []
    for name, (limits, texts) in zip("pq", asking, strict=True):
        wanted = pod(name).app("a").annotations(texts).build()
        wanted["spec"]["containers"][0]["resources"] = {"limits": limits}
        pods.append(wanted)
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": [shown]}))
    config = EXAMPLE.parent / "device-config.yaml"
    outcome = gpu_extender(
        *("schedule", "-f", "-", "--cluster", file, "--device-config", config),
        stdin=json.dumps({"kind": "List", "items": pods}),
    )
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert f"n1 {expected}" in lines


def test_units_of_a_card_are_told_in_json(tmp_path: Path) -> None:
    """More than 100, where a card has more; the schema knows."""
    shown = node("n1").annotations({"hami.io/node-amd-register": AMD}).build()
    shown["status"]["allocatable"]["amd.com/gpu"] = 10
    wanted = pod("p").app("a").build()
    wanted["spec"]["containers"][0]["resources"] = {"limits": {"amd.com/gpu": 1}}
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": [shown]}))
    config = EXAMPLE.parent / "device-config.yaml"
    outcome = gpu_extender(
        *("schedule", "-f", "-", "--cluster", file, "--device-config", config),
        *("-o", "json"),
        stdin=json.dumps(wanted),
    )
    assert '"core_percent":304' in outcome.out
    assert violations("schedule", outcome.json) == []
