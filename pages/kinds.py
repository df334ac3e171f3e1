"""docs/kinds.md: every resource, annotation and label of every shipped kind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from extender.core.kind_admission import Admission
from extender.core.kinds import Kind
from extender.kube.cluster import WOKEN_ANNOTATION
from extender.wire.admission_pods import MIRROR_ANNOTATION, OPT_OUT_LABEL
from extender.wire.allocation import (
    BIND_TIME_ANNOTATION,
    NODE_ANNOTATION,
    PHASE_ANNOTATION,
    TIME_ANNOTATION,
)
from extender.wire.device_config import read_device_config
from extender.wire.device_policies import (
    DEVICE_POLICY_ANNOTATION,
    EXCLUSIVE_ANNOTATION,
    WEIGHTS_ANNOTATION,
)
from extender.wire.lock import LOCK_ANNOTATION
from extender.wire.nodes import CORDON_ANNOTATION
from extender.wire.pod_settings import NODE_POLICY_ANNOTATION, RELEASE_ANNOTATION
from pages.docstrings import field_docs
from pages.markdown import code, one_line, page, table

_SHIPPED: Final = Path(__file__).parents[1] / "config" / "device-config.yaml"

_INTRODUCTION: Final = """\
All names that are read or written, of all kinds in \
[config/device-config.yaml](../config/device-config.yaml). Names of resources are \
that file's: yours may differ, and `gpu-extender check-config FILE` shows them. How \
they are read is in [requests.md](requests.md) and [vendors.md](vendors.md); what some \
plugins read besides rows is in [guarding.md](guarding.md#what-is-guarded)."""

_ANY_KIND: Final = (
    (DEVICE_POLICY_ANNOTATION, "pod, by users", "which of a node's fitting cards"),
    (NODE_POLICY_ANNOTATION, "pod, by users", "which of the fitting nodes"),
    (WEIGHTS_ANNOTATION, "pod, by users", "what counts how much in a card's use"),
    (
        RELEASE_ANNOTATION,
        "pod, by users and at bind",
        "whether what only inits need is given back once they are over",
    ),
    (OPT_OUT_LABEL, "pod or namespace, by users", "`ignore`: no webhook is asked"),
    (
        MIRROR_ANNOTATION,
        "pod, by kubelet",
        "a mirror of a static pod: admission leaves it alone",
    ),
    (CORDON_ANNOTATION, "node, by administrators", "cards that get no new work"),
    (
        LOCK_ANNOTATION,
        "node, at bind",
        "which pod the device plugin serves; it removes the lock",
    ),
    (NODE_ANNOTATION, "pod, at bind", "its node; also a label"),
    (PHASE_ANNOTATION, "pod, at bind", "`allocating`; then `success` by the plugin"),
    (TIME_ANNOTATION, "pod, at bind", "Unix seconds of the choice"),
    (BIND_TIME_ANNOTATION, "pod, at bind", "Unix seconds of the bind"),
    (EXCLUSIVE_ANNOTATION, "pod, at bind", "`true`: it holds its cards alone"),
    (WOKEN_ANNOTATION, "pod", "when it was woken; nobody reads it"),
)


def kinds_page() -> str:
    """Write the page: what holds for all kinds, then each kind."""
    parts = [_INTRODUCTION, "## Any kind"]
    parts.append(
        table(
            ["annotation or label", "on, by", "says"],
            [[code(name), where, says] for name, where, says in _ANY_KIND],
        )
    )
    for kind in read_device_config(_SHIPPED.read_bytes(), str(_SHIPPED)):
        parts += [f"## {kind.type_word}", *_described(kind)]
    return page("Resources and annotations", *parts)


def _described(kind: Kind) -> Iterator[str]:
    yield table(["name", "what", "means"], [*_resources(kind), *_annotations(kind)])
    facts = list(_facts(kind))
    yield "\n".join(f"* {fact}" for fact in facts)


def _resources(kind: Kind) -> Iterator[tuple[str, str, str]]:
    memory, cores = _when_missing(kind)
    rows = (
        (kind.count_resource, "how many different cards of one node"),
        (kind.memory_resource, f"memory, in {kind.memory_unit}{memory}"),
        (kind.memory_percentage_resource, f"memory, in percent{memory}"),
        (kind.core_resource, f"cores{cores}"),
        (kind.admission.priority_resource, "becomes an environment variable"),
    )
    for name, means in rows:
        if name is not None:
            yield code(name), "resource", means


def _when_missing(kind: Kind) -> tuple[str, str]:
    """Tell what a container gets that names none; rules may say otherwise."""
    if kind.rules:
        return "", ""
    memory = f"{kind.default_memory_mib} MiB" if kind.default_memory_mib else "all"
    return f"; when missing: {memory}", f"; when missing: {kind.default_core_percent}"


def _annotations(kind: Kind) -> Iterator[tuple[str, str, str]]:
    """Give every name that the kind has in a field for an annotation or a label."""
    for field, doc in field_docs(Kind).items():
        is_name = field.endswith(("_annotation", "_annotations", "_label"))
        if not is_name or field == "side_annotations":
            continue
        value = getattr(kind, field)
        names = value if isinstance(value, tuple) else (value,)
        what, _, doc_of_it = one_line(doc).partition(": ")
        means = doc_of_it.partition("; None")[0].partition(". ")[0].rstrip(".")
        for name in names:
            if name:
                yield code(name), what.lower().removesuffix("s"), means
    if kind.admission.count_annotation:
        yield code(kind.admission.count_annotation), "pod annotation", _COUNT_SAYS


_COUNT_SAYS: Final = "Written at admission: how many devices a container asks for."


def _facts(kind: Kind) -> Iterator[str]:
    if kind.rules:
        rules = ", ".join(code(rule.value) for rule in kind.rules)
        yield f"Rules: {rules}; see [vendors.md](vendors.md#rules)."
    if kind.counts:
        yield f"Counts: {', '.join(map(str, kind.counts))}."
    if kind.memory_sizes:
        sizes = ", ".join(str(size.memory_mib) for size in kind.memory_sizes)
        yield f"Sizes in MiB: {sizes}."
    returns = "once it exits" if kind.inits_return else "when the pod ends"
    yield f"What an init holds is given back {returns}."
    yield f"Its plugin finds the pod by: {kind.served_by.value}."
    yield from _given_at_admission(kind.admission)


def _given_at_admission(admission: Admission) -> Iterator[str]:
    if admission.default_count:
        yield f"A container with an amount and no count gets {admission.default_count}."
    if admission.runtime_class_name:
        yield f"Its pods get runtime class {code(admission.runtime_class_name)}."
