"""What HAMi v2.10 charges a pod: its own rule, to be told beside ours.

A sidecar is an init there, and the order of inits does not count::

    charge = max(largest row of any init or sidecar, sum of the app rows)

per card and dimension. Of slots, all inits and sidecars on a card take one together,
each app row one; the larger counts. Rows go by their position in the annotation, of
which the first are taken for inits. v2.10 leaves rows without a card out when it writes
them, so that an app's row may be taken for an init's; see `rows_as_written`.

Source: HAMi v2.10.0, as observed by running it; `extender.core.phases` is our rule.
"""

from collections.abc import Mapping, Sequence

from extender.core.allocation import Allocation, Row
from extender.core.container import Lifetime
from extender.core.names import DeviceUUID
from extender.core.phases import row_usage
from extender.core.pod_status import PodStatus, RunState
from extender.core.usage import NOTHING, Usage


def hami_charge(
    init_count: int, rows: Sequence[Row], *, is_shrunk: bool = False
) -> dict[DeviceUUID, Usage]:
    """Charge rows as HAMi v2.10 does, per device.

    Args:
        init_count: How many ``initContainers`` the pod declares, sidecars among them:
            so many rows are taken for theirs.
        rows: As they stand in the annotation.
        is_shrunk: Whether its inits are over; see `is_shrunk`. Then app rows alone
            count.

    Returns:
        One entry per device that a counted row names.

    Example:
        >>> from extender.core.allocation import Share
        >>> gpu = DeviceUUID("GPU-0")
        >>> def row(memory_mib: int) -> Row:
        ...     return (Share(gpu, memory_mib, 0, "NVIDIA"),)
        >>> hami_charge(1, [row(10_000), row(10_000)])
        {'GPU-0': Usage(slots=1, memory_mib=10000, core_percent=0)}

        A sidecar and an app of 10,000 each, which run side by side and hold 20,000.
    """
    peak: dict[DeviceUUID, Usage] = {}
    if not is_shrunk:
        for row in rows[:init_count]:
            for device_uuid, usage in row_usage(row).items():
                peak[device_uuid] = peak.get(device_uuid, NOTHING).largest(usage)
    apps: dict[DeviceUUID, Usage] = {}
    for row in rows[init_count:]:
        for device_uuid, usage in row_usage(row).items():
            apps[device_uuid] = apps.get(device_uuid, NOTHING) + usage
    return {
        device_uuid: peak.get(device_uuid, NOTHING).largest(
            apps.get(device_uuid, NOTHING)
        )
        for device_uuid in {**peak, **apps}
    }


def rows_as_written(allocation: Allocation) -> tuple[Row, ...]:
    """Give the rows of an allocation as v2.10 writes them: without empty ones."""
    return tuple(row for row in allocation if row)


def is_shrunk(lifetimes: Sequence[Lifetime], status: PodStatus) -> bool:
    """Tell whether HAMi v2.10 has let go of what only inits needed.

    It does once each of ``initContainers`` is terminated with exit 0; so a sidecar that
    runs keeps the peak for ever. It remembers that it did; this goes by the status.
    """
    inits = [
        status.of(index)
        for index, lifetime in enumerate(lifetimes)
        if lifetime is not Lifetime.APP
    ]
    return bool(inits) and all(
        each.run_state is RunState.TERMINATED and each.exit_code == 0 for each in inits
    )


def excess(
    ours: Mapping[DeviceUUID, Usage], theirs: Mapping[DeviceUUID, Usage]
) -> dict[DeviceUUID, Usage]:
    """Tell by how much one charge is above another, per device and dimension.

    Example:
        >>> gpu = DeviceUUID("GPU-0")
        >>> excess({gpu: Usage(2, 20_000)}, {gpu: Usage(1, 10_000, 30)})
        {'GPU-0': Usage(slots=1, memory_mib=10000, core_percent=0)}
    """
    found = {
        device_uuid: (usage - theirs.get(device_uuid, NOTHING)).largest(NOTHING)
        for device_uuid, usage in ours.items()
    }
    return {uuid: usage for uuid, usage in found.items() if usage != NOTHING}
