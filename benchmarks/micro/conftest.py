"""What the steps are measured on: by the workload, built once."""

from pathlib import Path

import orjson
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.micro.measuring import Measured
from benchmarks.micro.stage import Stage, staged

_OPTION = "--workload"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the workload as a file of JSON."""
    parser.addoption(_OPTION, type=Path, required=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Measure what depends on a size at each size of the workload."""
    workload = orjson.loads(metafunc.config.getoption(_OPTION).read_bytes())
    for name, key in (("node_count", "nodes"), ("container_count", "containers")):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, workload[key])
    for name, key in (("fewest_nodes", "nodes"), ("fewest_containers", "containers")):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, [min(workload[key])])
    if "stage" in metafunc.fixturenames:
        per_node = workload["gpu_pods_per_node"]
        metafunc.parametrize("pods_per_node", [per_node])
    if "name_count" in metafunc.fixturenames:
        metafunc.parametrize("name_count", [workload["names"]])


@pytest.fixture
def stage(node_count: int, pods_per_node: int) -> Stage:
    """A cluster of one size, the same for all steps."""
    return staged(node_count, pods_per_node)


@pytest.fixture
def measured(benchmark: BenchmarkFixture) -> Measured:
    """What measures a step and says what it is compared with."""
    return Measured(benchmark)
