"""``gpu-extender quota``: what is used and allowed, in numbers with units."""

import json
from pathlib import Path

import pytest

from tests.builders import Json, node, pod, resource_quota
from tests.cli.command import gpu_extender, listed, violations

HELD = (
    pod("h", "t")
    .init("i", gpu=1, gpumem=9_000)
    .app("a", gpu=1, gpumem=6_000, cores=30)
    .holding("GPU-a,NVIDIA,9000,0:;GPU-a,NVIDIA,6000,30:;")
    .on("n1")
    .phase("Running")
)
HARD: dict[str, int | str] = {
    "limits.nvidia.com/gpumem": 10_000,
    "limits.nvidia.com/gpucores": "1500m",
    "limits.nvidia.com/gpumem-percentage": 50,
    "requests.nvidia.com/gpu": 4,
}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Write a cluster with quotas in two namespaces."""
    first = resource_quota("q", "t", hard=HARD, scopes=["NotTerminating"])
    first["status"] = {"used": {"requests.nvidia.com/gpu": "2"}}
    file = tmp_path / "cluster.json"
    plain = resource_quota("cpu", "t", hard={"limits.cpu": 4})
    other = resource_quota("r", "u", hard={"limits.nvidia.com/gpu": 2})
    # A dump lists pods before the quotas that count them, or after.
    shown: list[Json] = [first, plain, other]
    file.write_text(listed(node("n1").gpu("GPU-a"), HELD, *shown))
    return file


def test_table(cluster: Path) -> None:
    """Numbers by object and key, what is wrong with it, and whose the others are."""
    outcome = gpu_extender("quota", "--cluster", cluster)
    assert outcome.code == 0
    text = " ".join(outcome.out.split())
    assert "limits.nvidia.com/gpumem 9000 10000 MiB" in text
    assert "limits.nvidia.com/gpucores 30 unreadable % of cores" in text
    assert "requests.nvidia.com/gpu* 2 4" in text
    assert "limits.nvidia.com/gpu 0 2 devices" in text
    assert "'1500m' is not a whole number" in text
    assert "gpumem-percentage is not enforced" in text
    assert "t/q counts: NotTerminating" in text
    assert "cpu" not in text.replace("requests.cpu", "")


def test_json(cluster: Path) -> None:
    """The same as its schema has it."""
    outcome = gpu_extender("quota", "--cluster", cluster, "-n", "t", "-o", "json")
    told = json.loads(outcome.out)
    assert violations("quota", told) == []
    [only] = told["quotas"]
    assert (only["namespace"], only["name"]) == ("t", "q")
    assert {each["key"]: each["used"] for each in only["limits"]} == {
        "limits.nvidia.com/gpumem": 9_000,
        "limits.nvidia.com/gpucores": 30,
    }


def test_no_quota(tmp_path: Path) -> None:
    """That is said, not left blank."""
    file = tmp_path / "cluster.json"
    file.write_text(listed(node("n1").gpu("GPU-a")))
    assert gpu_extender("quota", "--cluster", file).out == "no quota of devices\n"


def test_one_source(cluster: Path) -> None:
    """Files or an API server, not both, nor none."""
    for arguments in ((), ("--cluster", cluster, "--kubeconfig", cluster)):
        outcome = gpu_extender("quota", *arguments)
        assert outcome.code == 2
        assert "exactly one of --cluster and --kubeconfig" in outcome.err


def test_a_quota_twice_is_an_error(tmp_path: Path) -> None:
    """As nodes and pods are."""
    file = tmp_path / "cluster.json"
    twice = resource_quota("q", hard={})
    file.write_text(listed(twice, twice))
    outcome = gpu_extender("quota", "--cluster", file)
    assert outcome.code == 2
    assert "resourcequota default/q is there twice" in outcome.err


def test_schedule_explains_a_refusal(cluster: Path, tmp_path: Path) -> None:
    """With the numbers of the quota, in both outputs."""
    asking = tmp_path / "pod.json"
    asking.write_text(json.dumps(pod("p", "t").app("a", gpu=1, gpumem=1_001).build()))
    outcome = gpu_extender("schedule", "-f", asking, "--cluster", cluster)
    text = " ".join(outcome.out.split())
    assert "ResourceQuotaNotFit" in text
    assert "needs 1001, 9000 of 10000 MiB used" in text
    outcome = gpu_extender("schedule", "-f", asking, "--cluster", cluster, "-o", "json")
    told = json.loads(outcome.out)
    assert violations("schedule", told) == []
    [shortage] = told["pods"][0]["refusals"][0]["quota"]
    assert (shortage["needed"], shortage["used"], shortage["limit"]) == (
        1_001,
        9_000,
        10_000,
    )


def test_what_cannot_be_told(tmp_path: Path) -> None:
    """Of a percentage of nobody knows which card there is no number."""
    file = tmp_path / "cluster.json"
    torn = pod("h", "t").app("a", gpu=7, percentage=50).holding("torn").on("n1")
    quota = resource_quota("q", "t", hard={"limits.nvidia.com/gpumem": 10_000})
    file.write_text(listed(node("n1").gpu("GPU-a"), torn, quota))
    outcome = gpu_extender("quota", "--cluster", file)
    assert "gpumem unknown 10000" in " ".join(outcome.out.split())
    told = json.loads(gpu_extender("quota", "--cluster", file, "-o", "json").out)
    assert violations("quota", told) == []
    assert told["quotas"][0]["limits"][0]["used"] is None
