"""gpu-extender charge: what pods that hold devices are charged."""

import json
from collections.abc import Callable

import pytest
import yaml

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
from tests.web.scheduler import effective

PLACED = (
    pod("p", "research")
    .sidecar("s", gpu=1)
    .init("i", gpu=2)
    .init("free")
    .app("a", gpu=1)
    .on("n1")
    .holding(
        "GPU-a,NVIDIA,2048,5:;GPU-a,NVIDIA,20480,0:GPU-b,NVIDIA,20480,0:;;"
        "GPU-a,NVIDIA,10240,30:;"
    )
)


def charged(*shown: PodBuilder, output: str = "json") -> Outcome:
    """Charge pods from standard input."""
    return gpu_extender("charge", "-f", "-", "-o", output, stdin=listed(*shown))


def usage(slots: int = 0, memory_mib: int = 0, core_percent: int = 0) -> dict[str, int]:
    """Write an amount."""
    return {"slots": slots, "memory_mib": memory_mib, "core_percent": core_percent}


def test_contract_to_the_letter() -> None:
    """Scripts read these keys and no others."""
    outcome = charged(PLACED.running("s").running("i"))
    assert (outcome.code, outcome.err) == (0, "")
    assert violations("charge", outcome.json) == []
    assert outcome.json == [
        {
            "namespace": "research",
            "name": "p",
            "uid": PLACED.pod_uid,
            "node": "n1",
            "devices": {
                "GPU-a": {
                    "effective": usage(2, 22_528, 35),
                    "steady": usage(2, 12_288, 35),
                    "now": usage(2, 22_528, 35),
                },
                "GPU-b": {
                    "effective": usage(1, 20_480, 0),
                    "steady": usage(),
                    "now": usage(1, 20_480, 0),
                },
            },
        }
    ]


FULL, STEADY, NOTHING = (22_528, 20_480), (12_288, 0), (0, 0)
LIVES: dict[str, tuple[Callable[[PodBuilder], PodBuilder], tuple[int, int]]] = {
    "just bound": (lambda p: p, FULL),
    "the large init runs": (lambda p: p.running("i"), FULL),
    "the large init is over": (lambda p: p.exited("i"), STEADY),
    "it failed": (lambda p: p.exited("i", code=1), FULL),
    "all inits are over": (lambda p: p.exited("i").exited("free"), STEADY),
    "the sandbox is down": (lambda p: p.exited("i").sandbox(ready=False), FULL),
    "terminating": (lambda p: p.exited("i").terminating(), STEADY),
    "succeeded": (lambda p: p.phase("Succeeded"), NOTHING),
    "failed": (lambda p: p.phase("Failed"), NOTHING),
}


@pytest.mark.parametrize(("lives", "memory"), LIVES.values(), ids=LIVES)
def test_now_follows_the_status(
    lives: Callable[[PodBuilder], PodBuilder], memory: tuple[int, int]
) -> None:
    """Effective and steady are of the whole life and stay."""
    (entry,) = charged(lives(PLACED)).json
    devices = entry["devices"]
    now = tuple(devices[uuid]["now"]["memory_mib"] for uuid in ("GPU-a", "GPU-b"))
    assert now == memory
    most = [devices[uuid]["effective"]["memory_mib"] for uuid in ("GPU-a", "GPU-b")]
    assert most == list(FULL)
    assert devices["GPU-a"]["steady"] == usage(2, 12_288, 35)


KEEPS = PLACED.annotations({"gpu-extender/release": "never"})
RELEASES: dict[str, tuple[PodBuilder, tuple[str, ...], bool]] = {
    "by default": (PLACED, (), False),
    "the pod says never": (KEEPS, (), True),
    "the cluster says never": (PLACED, ("--release", "never"), True),
    "the pod says otherwise": (
        PLACED.annotations({"gpu-extender/release": "after-init"}),
        ("--release", "never"),
        False,
    ),
    "the pod says what is not known": (
        PLACED.annotations({"gpu-extender/release": "nevr"}),
        ("--release", "never"),
        True,
    ),
}


@pytest.mark.parametrize(("shown", "options", "keeps"), RELEASES.values(), ids=RELEASES)
def test_release_never_keeps_every_phase(
    shown: PodBuilder, options: tuple[str, ...], *, keeps: bool
) -> None:
    """Now is effective though its inits are over, and the output says why."""
    stdin = listed(shown.exited("i").exited("free"))
    outcome = gpu_extender("charge", "-f", "-", "-o", "json", *options, stdin=stdin)
    assert violations("charge", outcome.json) == []
    (entry,) = outcome.json
    now = entry["devices"]["GPU-a"]["now"]["memory_mib"]
    assert now == (22_528 if keeps else 12_288)
    assert entry.get("release") == ("never" if keeps else None)
    table = gpu_extender("charge", "-f", "-", *options, stdin=stdin).out
    assert (" on n1, Pending, release never" in table) is keeps
    assert ("(over)" in table) is not keeps
    ended = listed(shown.phase("Succeeded"))
    (entry,) = gpu_extender(
        "charge", "-f", "-", "-o", "json", *options, stdin=ended
    ).json
    assert entry["devices"]["GPU-a"]["now"] == usage()


def test_unbound_pod_is_charged_nothing_now() -> None:
    """Its annotations are of an old attempt; node is null."""
    shown = pod("p").app("a", gpu=1).holding("GPU-a,NVIDIA,100,0:;")
    (entry,) = charged(shown).json
    assert entry["node"] is None
    assert entry["devices"]["GPU-a"] == {
        "effective": usage(1, 100),
        "steady": usage(1, 100),
        "now": usage(),
    }


def test_unknown_uid_is_null() -> None:
    """It is not made up."""
    shown = PLACED.build()
    del shown["metadata"]["uid"], shown["metadata"]["namespace"]
    outcome = gpu_extender("charge", "-f", "-", "-o", "json", stdin=json.dumps(shown))
    assert violations("charge", outcome.json) == []
    (entry,) = outcome.json
    assert (entry["uid"], entry["namespace"]) == (None, "default")


def test_only_pods_with_an_allocation_are_listed() -> None:
    """Nodes, pods without GPU, unmanaged and all-empty ones are left out."""
    outcome = gpu_extender(
        *("charge", "-f", "-", "-o", "json"),
        stdin=listed(
            node("n1").gpu("GPU-a"),
            {"kind": "Service", "metadata": {"name": "s"}},
            {"kind": None},
            pod("cpu").app("a").on("n1"),
            pod("unmanaged").app("a", gpu=1).on("n1"),
            pod("empty").app("a").app("b").on("n1").holding(";;"),
            pod("asking").app("a", gpu=1),
            PLACED,
        ),
    )
    assert outcome.code == 0
    assert [entry["name"] for entry in outcome.json] == ["p"]
    outcome = charged(pod("cpu").app("a"))
    assert (outcome.code, outcome.json) == (0, [])
    assert "holds a device" in charged(pod("cpu").app("a"), output="table").out


UNREADABLE: dict[str, str] = {
    "no number": "GPU-a,NVIDIA,abc,0:;",
    "negative": "GPU-a,NVIDIA,-1,0:;",
    "above 2^31-1": "GPU-a,NVIDIA,2147483648,0:;",
    "too few fields": "GPU-a,NVIDIA,1:;",
    "too many rows": "GPU-a,NVIDIA,1,0:;GPU-a,NVIDIA,1,0:;",
    "all empty though it asks": ";",
    "garbage": "garbage",
    "markup": "GPU-[/bold],NVIDIA,[red],0:;",
}


@pytest.mark.parametrize("rows", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_allocation_is_an_error(rows: str) -> None:
    """Never zero: "error", exit code 1, and the others are still shown."""
    damaged = pod("damaged").app("a", gpu=1).on("n1").holding(rows)
    outcome = charged(damaged, PLACED)
    assert outcome.code == 1
    assert violations("charge", outcome.json) == []
    first, second = outcome.json
    assert (first["name"], first["node"], first["devices"]) == ("damaged", "n1", {})
    assert "hami.io/vgpu-devices-allocated" in first["error"]
    assert "error" not in second
    table = charged(damaged, PLACED, output="table")
    assert table.code == 1
    flat = " ".join(table.out.split())
    assert " ".join(first["error"].split()) in flat
    assert "22528" in flat


def test_unreadable_pod_is_an_error_too() -> None:
    """As far as it can be named; the text is whole, brackets and all."""
    shown = PLACED.build()
    shown["metadata"]["annotations"]["hami.io/vgpu-devices-allocated"] = 5
    nameless = {"kind": "Pod", "metadata": "x"}
    stdin = listed(shown, nameless)
    outcome = gpu_extender("charge", "-f", "-", "-o", "json", stdin=stdin)
    assert outcome.code == 1
    assert violations("charge", outcome.json) == []
    first, second = outcome.json
    assert (first["namespace"], first["name"]) == ("research", "p")
    assert (second["namespace"], second["name"]) == (None, None)
    assert "metadata" in second["error"]
    table = gpu_extender("charge", "-f", "-", stdin=stdin)
    assert "annotations[hami.io/vgpu-devices-allocated]" in table.out


def test_table_shows_phases_and_charge() -> None:
    """One line per phase and device; effective and charged now below."""
    outcome = charged(PLACED.exited("i"), output="table")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["init", "i", "+", "s", "(over)", "2", "22528", "5"] in lines
    assert ["init", "free", "+", "s", "1", "2048", "5"] in lines
    assert ["steady:", "sidecars", "+", "apps", "2", "12288", "35"] in lines
    assert ["effective", "2", "22528", "35"] in lines
    assert ["charged", "now", "2", "12288", "35"] in lines
    assert "research/p" in outcome.out
    assert "n1" in outcome.out


def test_odd_names_are_printed_as_they_are() -> None:
    """Brackets are text, not a style."""
    odd = pod("p[/bold]", "n[red]").init("i[/]", gpu=1).app("a").on("x[/]")
    outcome = charged(odd.holding("GPU-[/b],NVIDIA,1,0:;;"), output="table")
    assert outcome.code == 0
    for text in ("n[red]/p[/bold]", "x[/]", "GPU-[/b]", "init i[/]"):
        assert text in outcome.out


def test_several_files_and_forms_add_up() -> None:
    """-f twice, one of them standard input."""
    outcome = gpu_extender(
        *("charge", "-f", EXAMPLE, "-f", "-", "-o", "json"), stdin=listed(PLACED)
    )
    names = [entry["name"] for entry in outcome.json]
    assert names[-1] == "p"
    assert len(names) > 8


def test_example_cluster_agrees_with_the_oracle() -> None:
    """Every pod's effective charge, from the annotations and nothing else."""
    outcome = gpu_extender("charge", "-f", EXAMPLE, "-o", "json")
    assert outcome.code == 0
    assert violations("charge", outcome.json) == []
    shown = {
        each["metadata"]["uid"]: each
        for each in yaml.safe_load(EXAMPLE.read_text())["items"]
        if each["kind"] == "Pod"
    }
    for entry in outcome.json:
        most = {
            uuid: tuple(device["effective"].values())
            for uuid, device in entry["devices"].items()
        }
        assert most == effective(shown[entry["uid"]])


def test_example_fits_a_terminal() -> None:
    """80 columns and no colour code."""
    outcome = gpu_extender("charge", "-f", EXAMPLE)
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "\x1b" not in outcome.out


def test_real_command_reads_a_pipe() -> None:
    """``kubectl get pods -o json | gpu-extender charge -f -``."""
    stdin = listed(PLACED)
    outcome = subprocess_of("charge", "-f", "-", "-o", "json", stdin=stdin.encode())
    assert outcome == charged(PLACED)
    unplaced = subprocess_of("charge", "-f", PODS / "whole-card.yaml", "-o", "json")
    assert unplaced == Outcome(0, "[]\n", "")
