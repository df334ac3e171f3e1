"""What a kind of device gives to pods at their creation."""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class WrittenAmounts(Enum):
    """Which amounts a container's limits get, besides those that it names."""

    AS_NAMED = "as named"
    """None."""

    ALL_CORES_OF_WHOLE = "all cores of whole cards"
    """All cores, where it asks for all memory of each device and names no cores: a
    device of which nothing is left for others is its own."""

    WHOLE_DEVICES = "whole devices"
    """Memory and cores of all its devices together, where it gets whole ones."""

    ALL_CORES_OF_SEVERAL = "all cores of several"
    """All cores of all its devices together, where it asks for several."""

    RAISED_MEMORY = "raised memory"
    """The memory that it gets, which may be more than it names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a pod is given at its creation.

    Attributes:
        default_count: For a container that names an amount and no count; 0 for none.
        least_count: A smaller count, of at least 1, is raised to it.
        amounts: Which further limits a container gets.
        priority_resource: Becomes an environment variable.
        priority_env: That variable.
        overwrites_env: Whether containers without devices are told that they have
            none.
        hidden_env: How: a variable and its value. Kinds may share the variable.
        core_policy: How cores are limited; ``default`` says nothing.
        core_policy_env: The variable that says it to containers with devices.
        container_name_env: A variable for a container's own name.
        count_annotation: Has the count of a container that asks for several devices.
        runtime_class_name: For pods that name none; empty for none.
    """

    default_count: int = 0
    least_count: int = 1
    amounts: WrittenAmounts = WrittenAmounts.AS_NAMED
    priority_resource: str | None = None
    priority_env: str = ""
    overwrites_env: bool = False
    hidden_env: tuple[str, str] | None = None
    core_policy: str = "default"
    core_policy_env: str = ""
    container_name_env: str = ""
    count_annotation: str = ""
    runtime_class_name: str = ""


NO_ADMISSION: Final = Admission()
