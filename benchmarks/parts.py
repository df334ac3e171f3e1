"""Which parts the benchmarks have, and how each is run.

A part is one module with ``measure``, and one file in ``workloads/``. Modules are
imported when their part is run, so that no part needs what another one imports.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, Protocol, cast

from benchmarks.results import Row
from benchmarks.workloads import load_workload

PARTS: Final[Mapping[str, str]] = {
    "micro": "benchmarks.micro.run",
    "http": "benchmarks.http.run",
    "churn": "benchmarks.churn.run",
    "start": "benchmarks.start.run",
    "burst": "benchmarks.burst.part",
}
"""The module of each part, in the order in which they are run."""

Say = Callable[[str], None]
"""Tells people how far a part is; one line."""


class Measure(Protocol):
    """What a part's module offers."""

    def __call__(
        self, workload: Mapping[str, object], *, full: bool, say: Say
    ) -> list[Row]:
        """Run the part.

        Args:
            workload: Its file, as `benchmarks.workloads.load_workload` gives it.
            full: Every case; otherwise those that take minutes together.
            say: Is told what is under way.
        """


def run_part(part: str, *, full: bool, say: Say) -> list[Row]:
    """Run one part by name.

    Raises:
        WorkloadUnusable: Its file cannot be used.
        Exception: What the part itself raises.
    """
    workload = load_workload(part)
    measure = cast("Measure", import_module(PARTS[part]).measure)
    return measure(workload, full=full, say=say)
