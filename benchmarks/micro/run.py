"""Run the steps by pytest-benchmark, in a process of its own."""

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import orjson

from benchmarks.micro.measuring import rows_of, step_of
from benchmarks.results import Row
from benchmarks.workloads import Section, limits_of

_STEPS: Final = Path(__file__).parent
_SHOWN_CHARACTERS: Final = 4_000


class StepsFailed(Exception):
    """pytest did not measure all steps; the message has what it printed."""


def measure(
    workload: Mapping[str, object], *, full: bool, say: Callable[[str], None]
) -> list[Row]:
    """Measure every step.

    Raises:
        WorkloadUnusable: The workload cannot be read, or has a limit on what is no
            step, or none on one that has a ratio.
        StepsFailed: A step failed.
    """
    said = Section(workload, "micro.yaml")
    if full:
        said = Section({**workload, **said.section("full")}, "micro.yaml")
    sizes = {
        "nodes": said.wholes("nodes", least=1),
        "containers": said.wholes("containers", least=1),
        "gpu_pods_per_node": said.whole("gpu_pods_per_node", least=_WITH_INIT),
        "names": said.whole("names", least=1),
    }
    say("building the clusters, and measuring step by step")
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        report = _run(Path(folder), sizes, said.number("max_seconds"))
    limits = said.section("limits")
    rows = rows_of(report, {ratio: limits_of(limits, ratio) for ratio in limits})
    check_limits(limits, rows)
    return rows


def check_limits(limits: Section, rows: Iterable[Row]) -> None:
    """See that each ratio of each step has its limit, and that there are no others.

    Args:
        limits: By ratio, and then by step.
        rows: All that were measured.

    Raises:
        WorkloadUnusable: It is not so.
    """
    measured: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for ratio in row.ratios:
            measured[ratio].add(step_of(row.case))
    limits.only(*measured)
    for ratio, steps in measured.items():
        by_step = limits.section(ratio)
        by_step.only(*sorted(steps))
        for step in sorted(steps):
            by_step.section(step)


_WITH_INIT: Final = 3
"""The third pod of a node is the first that has an init; events are of that one."""


def _run(
    folder: Path, sizes: Mapping[str, object], max_seconds: float
) -> dict[str, object]:
    workload, report = folder / "workload.json", folder / "report.json"
    workload.write_bytes(orjson.dumps(sizes))
    command: list[str | Path] = [
        *(sys.executable, "-m", "pytest", "--quiet", _STEPS),
        # Its own patterns keep the steps out of the tests.
        *("-o", "python_files=bench_*.py", "-o", "python_functions=bench_*"),
        *("-o", "addopts=--import-mode=importlib", "-o", "timeout=300"),
        *("-p", "no:cacheprovider", "--workload", workload),
        *("--benchmark-json", report, "--benchmark-disable-gc"),
        *("--benchmark-warmup=on", "--benchmark-warmup-iterations=5"),
        *("--benchmark-max-time", str(max_seconds), "--benchmark-min-rounds=10"),
    ]
    done = subprocess.run(
        command, cwd=_STEPS.parents[1], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StepsFailed((done.stdout + done.stderr)[-_SHOWN_CHARACTERS:])
    content: dict[str, object] = orjson.loads(report.read_bytes())
    return content
