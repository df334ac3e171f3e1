"""A container of a pod, and when it holds what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from extender.core.names import DeviceUUID
from extender.core.usage import Usage


class Lifetime(Enum):
    """When a container holds its devices.

    Source: KEP-753. The position in ``initContainers`` says nothing about it; only
    ``restartPolicy: Always`` does.
    """

    INIT = "init"
    """Runs alone, beside the sidecars declared before it, and exits."""

    SIDECAR = "sidecar"
    """Starts in its turn and runs until the pod ends."""

    APP = "app"
    """Runs from the last init's exit until the pod ends."""


@dataclass(frozen=True, slots=True)
class ContainerUsage:
    """What one container holds per device, and when.

    Attributes:
        lifetime: When it runs.
        held: What it holds while it runs.
        kept: What it holds from the pod's start to its end, whenever it runs.
    """

    lifetime: Lifetime
    held: Mapping[DeviceUUID, Usage]
    kept: Mapping[DeviceUUID, Usage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod's spec."""

    name: str
    lifetime: Lifetime
