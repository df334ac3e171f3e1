"""How a pod wants its cards chosen, by its annotations.

Source: HAMi v2.10. A list of words sorts by several keys, from left to right; ``mutex``
and ``topology-aware`` in it are rules and sort nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from extender.core.device_policy import (
    OF_USE,
    CardKey,
    DevicePolicy,
    Weights,
)
from extender.core.kinds import Kind
from extender.core.pod import Pod
from extender.errors import BadAnnotation, cut
from extender.wire.objects import shown

DEVICE_POLICY_ANNOTATION: Final = "hami.io/gpu-scheduler-policy"
WEIGHTS_ANNOTATION: Final = "hami.io/device-scoring-weights"
EXCLUSIVE_ANNOTATION: Final = "gpu-extender/exclusive"
_IS_EXCLUSIVE: Final = "true"

MUTEX: Final = "mutex"
TOPOLOGY_AWARE: Final = "topology-aware"

_KEY_OF: Final[Mapping[str, CardKey | None]] = {
    "binpack": CardKey.MOST_USED,
    "spread": CardKey.LEAST_USED,
    "numa": CardKey.HIGHEST_NUMA,
    MUTEX: None,
    TOPOLOGY_AWARE: None,
}
_TRUE: Final = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_FALSE: Final = frozenset({"", "0", "f", "F", "false", "False", "FALSE"})
"""Both as Go's strconv.ParseBool; an empty text is as good as none."""

_WEIGHED: Final = frozenset({"slot", "memory", "core"})
_WEIGHT: Final = re.compile(r"(slot|memory|core)\s*=\s*([0-9]{1,6})", re.ASCII)


def read_device_policy(
    annotations: Mapping[str, str],
    kind: Kind,
    default: DevicePolicy,
    warnings: list[str],
    *,
    is_bound: bool = False,
) -> DevicePolicy:
    """Read how a pod's containers choose among the cards that would serve.

    Args:
        annotations: The pod's.
        kind: Of device; names the annotation that asks for one NUMA node.
        default: What counts when no policy is named, or one that is not known.
        warnings: A text is added here where it is not known.
        is_bound: Whether the pod is bound. Then it holds its cards alone if its policy
            says so, or bind has noted that it does: another default, or an edit of the
            policy, changes nothing.
    """
    policy = replace(default, is_exclusive=False) if is_bound else default
    text = annotations.get(DEVICE_POLICY_ANNOTATION)
    if text:
        named = device_policy_of(text)
        if named is None:
            known = ", ".join(_KEY_OF)
            warnings.append(
                f"{DEVICE_POLICY_ANNOTATION}: {cut(text)!r} is not one or "
                f"more of {known}; the default is used"
            )
        else:
            policy = replace(named, weights=default.weights)
    if _is_topology_aware(annotations, kind, warnings):
        policy = replace(policy, is_topology_aware=True)
    if _is_on(annotations, kind.numa_bind_annotation, warnings):
        policy = on_one_numa_node(policy, is_list="," in (text or ""))
    if is_bound and annotations.get(EXCLUSIVE_ANNOTATION) == _IS_EXCLUSIVE:
        policy = replace(policy, is_exclusive=True)
    return policy


def weighed(policy: DevicePolicy, annotations: Mapping[str, str]) -> DevicePolicy:
    """Give a policy the weights that a pod names.

    Raises:
        BadAnnotation: They cannot be read.
    """
    text = annotations.get(WEIGHTS_ANNOTATION)
    if text is None:
        return policy
    return replace(policy, weights=weights_of(text, WEIGHTS_ANNOTATION))


def exclusive_annotations(pod: Pod) -> dict[str, str]:
    """Write, at bind, that a pod holds its cards alone."""
    return {EXCLUSIVE_ANNOTATION: _IS_EXCLUSIVE} if pod.is_exclusive else {}


def _is_on(
    annotations: Mapping[str, str], name: str | None, warnings: list[str]
) -> bool:
    """Read a switch; what is neither true nor false is off, with a warning."""
    text = annotations.get(name, "") if name is not None else ""
    if text not in _TRUE and text not in _FALSE:
        warnings.append(f"{name}: {cut(text)!r} is neither true nor false; it is off")
    return text in _TRUE


def _is_topology_aware(
    annotations: Mapping[str, str], kind: Kind, warnings: list[str]
) -> bool:
    name = kind.topology_annotation
    if name is None or not annotations.get(name):
        return kind.is_topology_aware
    return _is_on(annotations, name, warnings)


def device_policy_of(text: str) -> DevicePolicy | None:
    """Read a policy, or several with commas between them; None where one is not known.

    Example:
        >>> device_policy_of("mutex, numa").keys
        (<CardKey.HIGHEST_NUMA: 'highest NUMA node'>,)
        >>> device_policy_of("pack") is None
        True
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word in _KEY_OF for word in words):
        return None
    keys = _without_repetition([_KEY_OF[word] for word in words])
    return DevicePolicy(
        keys or (CardKey.LEAST_USED,),
        is_exclusive=MUTEX in words,
        is_topology_aware=TOPOLOGY_AWARE in words,
    )


def _without_repetition(keys: Sequence[CardKey | None]) -> tuple[CardKey, ...]:
    """Leave out keys that say nothing more after those before them."""
    kept: list[CardKey] = []
    for key in keys:
        says_more = key not in OF_USE or OF_USE.isdisjoint(kept)
        if key is not None and key not in kept and says_more:
            kept.append(key)
    return tuple(kept)


def on_one_numa_node(policy: DevicePolicy, *, is_list: bool = False) -> DevicePolicy:
    """Try NUMA nodes one after another: packing from the lowest, else the highest.

    So a container's first card is on the NUMA node that HAMi would come to first; in a
    list, it tries the highest first whatever the words are.
    """
    is_packing = policy.keys == (CardKey.MOST_USED,) and not is_list
    first = CardKey.LOWEST_NUMA if is_packing else CardKey.HIGHEST_NUMA
    rest = tuple(key for key in policy.keys if key is not first)
    return replace(policy, keys=(first, *rest), on_one_numa_node=True)


def weights_of(text: str, field: str) -> Weights:
    """Read weights: all three, in any order, whole numbers, not all 0.

    Args:
        text: As ``slot=1,core=2,memory=1``; blanks are allowed around each.
        field: What the text was called, for the error.

    Raises:
        BadAnnotation: It cannot be read.

    Example:
        >>> weights_of("slot=1, core=0, memory=3", "weights")
        Weights(slots=1, memory=3, cores=0)
    """
    found: dict[str, int] = {}
    parts = text.split(",")
    for part in parts:
        match = _WEIGHT.fullmatch(part.strip())
        if match is not None:
            found[match[1]] = int(match[2])
    if (
        len(parts) != len(_WEIGHED)
        or found.keys() != _WEIGHED
        or not any(found.values())
    ):
        expected = "slot=A,core=B,memory=C, each from 0 to 999999, not all 0"
        raise BadAnnotation(field, shown(text), expected)
    return Weights(slots=found["slot"], memory=found["memory"], cores=found["core"])
