"""What ``/doctor/fix`` is asked to do."""

from typing import Final

from extender.core.names import NodeName
from extender.errors import Described, MalformedBody
from extender.verbs.diagnosis import LockRelease
from extender.wire.objects import JsonObject, shown
from extender.wire.views import decode_view

MOST_RELEASES: Final = 64
"""Each is a few reads and one write."""


def decode_releases(posted: JsonObject) -> list[LockRelease]:
    """Read ``{"releases": [{"node": ..., "value": ...}]}``.

    Raises:
        MalformedBody: It is something else, or too many; names the field.
    """
    listed = posted.get("releases")
    if not isinstance(listed, list):
        raise MalformedBody("releases", shown(listed), "a list")
    if len(listed) > MOST_RELEASES:
        found = Described(f"{len(listed)} entries")
        raise MalformedBody("releases", found, f"at most {MOST_RELEASES}")
    releases = [
        decode_view(LockRelease, each, f"releases[{index}]")
        for index, each in enumerate(listed)
    ]
    for index, each in enumerate(releases):
        if not each.node or not each.value:
            raise MalformedBody(f"releases[{index}]", shown(""), "a node and a value")
    return releases


def encode_releases(releases: list[LockRelease]) -> JsonObject:
    """Write the same."""
    return {
        "releases": [
            {"node": NodeName(each.node), "value": each.value} for each in releases
        ]
    }
