"""Pods that have nothing to do with devices, told apart before they are read.

Most pods of most clusters are such, and each changes several times in its life.
"""

from collections.abc import Collection, Iterator

from extender.core.kind_set import Kinds


def is_plain(obj: object, kinds: Kinds) -> bool:
    """Tell whether a pod surely neither asks for devices nor holds any.

    Args:
        obj: The JSON object of a pod; one that is odd in any way is not plain.
        kinds: Give the names to look for.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> def pod(limits: dict[str, str]) -> object:
        ...     container = {"name": "a", "resources": {"limits": limits}}
        ...     return {"metadata": {}, "spec": {"containers": [container]}}
        >>> is_plain(pod({"cpu": "1"}), Kinds([NVIDIA]))
        True
        >>> is_plain(pod({"nvidia.com/gpu": "1"}), Kinds([NVIDIA]))
        False
    """
    if not isinstance(obj, dict):
        return False
    metadata, spec = obj.get("metadata"), obj.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return False
    annotations = metadata.get("annotations") or {}
    if not isinstance(annotations, dict) or any(
        name in kinds.by_allocation for name in annotations
    ):
        return False
    apps, inits = spec.get("containers"), spec.get("initContainers") or []
    if not isinstance(apps, list) or not isinstance(inits, list) or not apps:
        return False
    return all(
        named is not None and not any(each in kinds.by_resource for each in named)
        for container in (*inits, *apps)
        for named in _named(container)
    )


def _named(container: object) -> Iterator[Collection[str] | None]:
    """Give the resources that a container names; None for what is odd."""
    resources = container.get("resources") if isinstance(container, dict) else 0
    if resources is None:
        return
    if not isinstance(resources, dict):
        yield None
        return
    for where in ("limits", "requests"):
        named = resources.get(where)
        if named is not None:
            yield named if isinstance(named, dict) else None
