"""Annotations of a pod whose names are nearly ones that count."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.errors import LONGEST_SHOWN
from extender.wire.device_policies import DEVICE_POLICY_ANNOTATION, WEIGHTS_ANNOTATION
from extender.wire.owned_annotations import owned_in
from extender.wire.pod_settings import NODE_POLICY_ANNOTATION, RELEASE_ANNOTATION

_OF_ANY_KIND: Final = (
    DEVICE_POLICY_ANNOTATION,
    WEIGHTS_ANNOTATION,
    NODE_POLICY_ANNOTATION,
    RELEASE_ANNOTATION,
)
_CLOSE: Final = 0.85
"""Of difflib's ratio: a letter or two of a name are wrong, and not the word."""


_MOST_COMPARED: Final = 50
"""Names of one pod that are compared with all that are known, half a millisecond each.
A pod may bring ten thousand, and nothing else is answered meanwhile."""


def misnamed_annotations(annotations: Mapping[str, str], kinds: Kinds) -> Iterator[str]:
    """Tell of annotations that say nothing here, though they are probably meant to.

    Of a pod with very many, only the first that are not known are looked at.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> of_nvidia = Kinds([NVIDIA])
        >>> list(misnamed_annotations({"nvidia.com/use-gputypes": "A10"}, of_nvidia))
        ["annotation 'nvidia.com/use-gputypes' is not read; do you mean nvidia.com/use-gputype?"]
        >>> list(misnamed_annotations({"nvidia.com/gpumem": "3000"}, of_nvidia))
        ["annotation 'nvidia.com/gpumem' is not read: it is a resource, for a container's limits"]
        >>> list(misnamed_annotations({"example.com/owner": "me"}, of_nvidia))
        []
    """  # noqa: E501 - the sentences are whole
    known = {*_OF_ANY_KIND, *_of_kinds(kinds)}
    by_end = {name.partition("/")[2]: name for name in sorted(known)}
    owned = set(owned_in(annotations, kinds))  # refused, and no typo
    odd = (
        name
        for name in annotations
        if name not in known and name not in owned and len(name) <= LONGEST_SHOWN
    )
    for name in islice(odd, _MOST_COMPARED):
        said = f"annotation {name!r} is not read"
        if name in kinds.by_resource:
            yield f"{said}: it is a resource, for a container's limits"
            continue
        meant = by_end.get(name.partition("/")[2]) or _nearest(name, known)
        if meant is not None:
            yield f"{said}; do you mean {meant}?"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Find a name of the same domain; that it is the same says nothing.

    Example:
        >>> known = ["huawei.com/vnpu-mode", "nvidia.com/use-gputype"]
        >>> _nearest("nvidia.com/use-gputypes", known)
        'nvidia.com/use-gputype'
        >>> _nearest("huawei.com/npu-core", known)
    """
    domain, slash, end = name.rpartition("/")
    before = f"{domain}{slash}"
    ends = sorted(one.removeprefix(before) for one in known if one.startswith(before))
    close = get_close_matches(end, ends, n=1, cutoff=_CLOSE)
    return f"{before}{close[0]}" if close else None


def _of_kinds(kinds: Iterable[Kind]) -> Iterator[str]:
    for kind in kinds:
        names = (
            kind.use_type_annotation,
            kind.avoid_type_annotation,
            kind.use_uuid_annotation,
            kind.avoid_uuid_annotation,
            kind.numa_bind_annotation,
            kind.mode_annotation,
            kind.mig_annotation,
            kind.software_annotation,
            kind.to_allocate_annotation,
            kind.allocated_annotation,
            kind.admission.count_annotation,
            kind.qos_annotation,
            kind.app_class_annotation,
            kind.topology_annotation,
        )
        yield from filter(None, names)
