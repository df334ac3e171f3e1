"""Pod annotations that change what a request for one kind of device means."""

from collections.abc import Mapping
from typing import Final

from extender.core.company import (
    APP_CLASSES,
    NO_TRAITS,
    QOS_POLICIES,
    Trait,
    Traits,
)
from extender.core.kinds import Kind
from extender.errors import cut

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


def waits_for_plugin(annotations: Mapping[str, str], kind: Kind) -> bool:
    """Tell whether a plugin that marks the pods that it served has not served this.

    Example:
        >>> from dataclasses import replace
        >>> from extender.core.kinds import NVIDIA
        >>> kind = replace(NVIDIA, assigned_annotations=("one", "other"))
        >>> waits_for_plugin({"one": "false", "other": "false"}, kind)
        True
        >>> waits_for_plugin({"one": "false", "other": "true"}, kind)
        False
    """
    words = [annotations.get(name) for name in kind.assigned_annotations]
    return "false" in words and "true" not in words


def read_app_class(annotations: Mapping[str, str], kind: Kind) -> Trait | None:
    """Read a pod's application class; None without one, or of a word not known."""
    name = kind.app_class_annotation
    word = annotations.get(name) if name is not None else None
    return next((each for each in APP_CLASSES if each.value == word), None)


def read_traits(annotations: Mapping[str, str], kind: Kind) -> Traits:
    """Read what a pod is to others on its devices.

    Its policy is best-effort where it names none, as HAMi's webhook writes. A pod of
    class online has none.

    Example:
        >>> from dataclasses import replace
        >>> from extender.core.kinds import NVIDIA
        >>> kind = replace(NVIDIA, qos_annotation="x/qos")
        >>> [trait.value for trait in read_traits({}, kind)]
        ['best-effort']
        >>> kind = replace(kind, app_class_annotation="x/class")
        >>> [trait.value for trait in read_traits({"x/class": "online"}, kind)]
        ['online']
    """
    if kind.qos_annotation is None:
        return NO_TRAITS
    app_class = read_app_class(annotations, kind)
    if app_class is Trait.ONLINE:
        return frozenset((app_class,))
    word = annotations.get(kind.qos_annotation)
    named = [each for each in QOS_POLICIES if each.value == word]
    policy = named[0] if named else Trait.BEST_EFFORT
    return frozenset((policy,) if app_class is None else (policy, app_class))


def annotation_problem(annotations: Mapping[str, str], kind: Kind) -> str | None:
    """Tell which annotation has a word that its kind does not know; None for none.

    Example:
        >>> from dataclasses import replace
        >>> from extender.core.kinds import NVIDIA
        >>> kind = replace(NVIDIA, app_class_annotation="x/class")
        >>> annotation_problem({"x/class": "online"}, kind)
        >>> annotation_problem({"x/class": "batch"}, kind)
        "annotation x/class: 'batch' is not one of online, offline"
    """
    for name, known in (
        (kind.qos_annotation, QOS_POLICIES),
        (kind.app_class_annotation, APP_CLASSES),
    ):
        word = annotations.get(name) if name is not None else None
        if word is not None and word not in [each.value for each in known]:
            listed = ", ".join(each.value for each in known)
            return f"annotation {name}: {cut(word)!r} is not one of {listed}"
    return None
