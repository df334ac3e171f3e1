"""What is told of every run beside its figures: where, and with what, it was made."""

import platform
import subprocess
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from typing import Final

_LIBRARIES: Final = ("aiohttp", "kubernetes-asyncio", "numpy", "orjson")


def machine() -> str:
    """Name the processor and its count, never the host."""
    processor = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    return f"{cpu_count()} x {processor}, {platform.system()}"


def versions() -> dict[str, str]:
    """Name the versions that figures depend on."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
    }


def commit() -> str | None:
    """Name the commit that was measured; None where this is no checkout."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        said = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.stdout.decode().strip()
