"""Pod annotations that change what a request for one kind of device means."""

from collections.abc import Mapping
from typing import Final

from extender.core.kinds import Kind

IN_SOFTWARE: Final = "hami-core"
"""HAMi's word for sharing by its library in the container: a card's mode, or asked."""


def shares_in_software(annotations: Mapping[str, str], kind: Kind) -> bool:
    """Tell whether a pod asks for sharing in software.

    Example:
        >>> from dataclasses import replace
        >>> from extender.core.kinds import NVIDIA
        >>> npu = replace(NVIDIA, software_annotation="huawei.com/vnpu-mode")
        >>> shares_in_software({"huawei.com/vnpu-mode": "hami-core"}, npu)
        True
        >>> shares_in_software({"huawei.com/vnpu-mode": "hami-core"}, NVIDIA)
        False
    """
    name = kind.software_annotation
    return name is not None and annotations.get(name) == IN_SOFTWARE


def annotation_problem(annotations: Mapping[str, str], kind: Kind) -> str | None:
    """Tell which annotation asks for what is not built; None for none.

    Example:
        >>> from dataclasses import replace
        >>> from extender.core.kinds import NVIDIA
        >>> kind = replace(NVIDIA, refused_annotations=(("x/qos", "best-effort"),))
        >>> annotation_problem({"x/qos": "best-effort"}, kind)
        >>> annotation_problem({"x/qos": "fixed-share"}, kind)
        "annotation x/qos: 'fixed-share' is not served, only best-effort"
    """
    for name, served in kind.refused_annotations:
        value = annotations.get(name)
        if value is not None and value != served:
            only = f"only {served}" if served else "leave it out"
            return f"annotation {name}: {value[:80]!r} is not served, {only}"
    return None
