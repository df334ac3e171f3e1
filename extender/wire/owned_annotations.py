"""Annotations and labels of pods that only the extender and device plugins write.

The one home of their names: the webhook refuses pods that are created with one, a bind
empties what an unbound pod has of them, and ``manifests/guard`` lists them; a test
holds that list to this module.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.wire.allocation import (
    BIND_TIME_ANNOTATION,
    NODE_ANNOTATION,
    NODE_LABEL,
    PHASE_ANNOTATION,
    TIME_ANNOTATION,
    has_rows,
)
from extender.wire.device_policies import EXCLUSIVE_ANNOTATION
from extender.wire.side_annotations import side_annotation_names

OWNED_LABELS: Final = (NODE_LABEL,)

_WHATEVER_THE_KIND: Final = frozenset(
    (
        NODE_ANNOTATION,
        TIME_ANNOTATION,
        PHASE_ANNOTATION,
        BIND_TIME_ANNOTATION,
        EXCLUSIVE_ANNOTATION,
    )
)


def owned_annotations(kind: Kind) -> frozenset[str]:
    """Name all that a bind, or a plugin after it, writes to pods with such devices.

    Without what users may write too: the release of `extender.wire.pod_settings`, and a
    kind's policies.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> "hami.io/vgpu-devices-allocated" in owned_annotations(NVIDIA)
        True
        >>> "nvidia.com/use-gputype" in owned_annotations(NVIDIA)
        False
    """
    return frozenset(
        (
            *_WHATEVER_THE_KIND,
            *Kinds([kind]).of_allocations,
            *kind.assigned_annotations,
            *side_annotation_names(kind),
        )
    )


@lru_cache(maxsize=4)
def _of_all(kinds: Kinds) -> frozenset[str]:
    return _WHATEVER_THE_KIND.union(*map(owned_annotations, kinds))


def owned_in(annotations: Iterable[str], kinds: Kinds) -> tuple[str, ...]:
    """List, sorted, which of a pod's annotations are not its creator's to write.

    Rows are told by their form, so that those of a kind that is not configured, or not
    any more, are among them.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> names = ["hami.io/bind-time", "hami.io/tpu-devices-allocated", "owner"]
        >>> owned_in(names, Kinds([NVIDIA]))
        ('hami.io/bind-time', 'hami.io/tpu-devices-allocated')
    """
    owned = _of_all(kinds)
    return tuple(sorted([one for one in annotations if one in owned or has_rows(one)]))


def owned_labels_in(labels: Mapping[str, object]) -> tuple[str, ...]:
    """List which of a pod's labels are not its creator's to write."""
    return tuple([one for one in OWNED_LABELS if one in labels])
