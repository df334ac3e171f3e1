"""The annotations by which a pod steers its placement."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar

from extender.core.kinds import Kind
from extender.core.names import DeviceUUID
from extender.core.pod import Pod, Release
from extender.core.pod_request import ANY_DEVICE, Policy, Selection
from extender.errors import cut
from extender.wire.kind_annotations import read_traits

NODE_POLICY_ANNOTATION: Final = "hami.io/node-scheduler-policy"
RELEASE_ANNOTATION: Final = "gpu-extender/release"

_NODE_POLICIES: Final[dict[str, Policy]] = {policy.value: policy for policy in Policy}
_RELEASES: Final[dict[str, Release]] = {each.value: each for each in Release}


_Word = TypeVar("_Word", bound=StrEnum)


def read_selection(annotations: Mapping[str, str], kind: Kind) -> Selection:
    """Read which devices a pod accepts.

    An empty value is no constraint; a value of nothing but commas and blanks, where
    it lists what to use, matches no device.
    """
    use_types, avoid_types, use_uuids, avoid_uuids, modes = (
        annotations.get(name) if name else None
        for name in (
            kind.use_type_annotation,
            kind.avoid_type_annotation,
            kind.use_uuid_annotation,
            kind.avoid_uuid_annotation,
            kind.mode_annotation,
        )
    )
    traits = read_traits(annotations, kind)
    if not (use_types or avoid_types or use_uuids or avoid_uuids or modes or traits):
        return ANY_DEVICE
    return Selection(
        use_types=tuple(_elements(use_types)) if use_types else None,
        avoid_types=tuple(_elements(avoid_types or "")),
        use_uuids=_uuids(use_uuids) if use_uuids else None,
        avoid_uuids=_uuids(avoid_uuids or ""),
        modes=modes or None,
        traits=traits,
    )


def _uuids(text: str) -> frozenset[DeviceUUID]:
    return frozenset(map(DeviceUUID, _elements(text)))


def _elements(text: str) -> list[str]:
    trimmed = [element.strip() for element in text.split(",")]
    return [element for element in trimmed if element]


def read_node_policy(
    annotations: Mapping[str, str], default: Policy, warnings: list[str]
) -> Policy:
    """Read which nodes a pod prefers; a word that is not known is the default.

    Args:
        annotations: The pod's.
        default: What counts when it is missing or not known.
        warnings: A text is added here where it is not known.
    """
    return _read_word(
        annotations, NODE_POLICY_ANNOTATION, _NODE_POLICIES, default, warnings
    )


def read_release(
    annotations: Mapping[str, str], default: Release, warnings: list[str]
) -> Release:
    """Read when a pod's inits are released; as `read_node_policy`."""
    return _read_word(annotations, RELEASE_ANNOTATION, _RELEASES, default, warnings)


def release_annotations(pod: Pod) -> dict[str, str]:
    """Write, at bind, by which release the pod is charged from then on.

    Without it, another setting of the cluster would charge pods anew that are bound.
    None for a pod that is charged the same by either.
    """
    if not any(request.inits_ask_for_devices for request in pod.requests):
        return {}
    return {RELEASE_ANNOTATION: pod.release.value}


def _read_word(
    annotations: Mapping[str, str],
    name: str,
    words: Mapping[str, _Word],
    default: _Word,
    warnings: list[str],
) -> _Word:
    text = annotations.get(name)
    if text is None:
        return default
    word = words.get(text)
    if word is None:
        known = " or ".join(words)
        warnings.append(f"{name}: {_shown(text)} is not {known}; {default} is used")
        return default
    return word


def _shown(text: str) -> str:
    return repr(cut(text))
