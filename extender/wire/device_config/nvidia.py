"""Block ``nvidia``."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from extender.core.kinds import NVIDIA, Kind
from extender.wire.device_config.block import Block

_PLUGIN_ALONE: Final = (
    "deviceSplitCount",
    "deviceMemoryScaling",
    "deviceCoreScaling",
    "preConfiguredDeviceMemory",
    "enableNumaTopology",
    "libCudaLogLevel",
    "disableCoreLimit",
    "migProfileAllowlist",
    "knownMigGeometries",
)
"""What comes of these stands in the register annotation; the last is of older files."""

_MOST_PERCENT: Final = 100


def nvidia_kinds(block: Block) -> Iterator[Kind]:
    """Read the block: one kind, or none where its resources have no names."""
    block.skip(*_PLUGIN_ALONE)
    admission = replace(
        NVIDIA.admission,
        default_count=block.number("defaultGPUNum"),
        priority_resource=block.resource("resourcePriorityName"),
        overwrites_env=block.flag("overwriteEnv"),
        core_policy=block.choice("gpuCorePolicy", "default", "force", "disable"),
        runtime_class_name=block.object_name("runtimeClassName"),
    )
    kind = replace(
        NVIDIA,
        count_resource=block.resource("resourceCountName") or "",
        memory_resource=block.resource("resourceMemoryName"),
        memory_percentage_resource=block.resource("resourceMemoryPercentageName"),
        core_resource=block.resource("resourceCoreName"),
        memory_factor=block.number("memoryFactor", default=1),
        default_memory_mib=block.number("defaultMemory"),
        default_core_percent=block.number("defaultCores", most=_MOST_PERCENT),
        admission=admission,
    )
    yield from named(block, kind, "resourceCountName")


def named(block: Block, kind: Kind, count_key: str) -> Iterator[Kind]:
    """Give a kind that has a name for its count.

    One that has no name at all is not meant to be there; one that has others can never
    be asked for, which nobody means.
    """
    if kind.count_resource:
        yield kind
    elif len(kind.resources) > 1 and not block.text(count_key):
        block.missing(count_key, "without it, nobody can ask for the others")
